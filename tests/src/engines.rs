//! Which program runs an agent, chosen by the search path that `roost` gets.

use crate::program::{caller_search_path, find_on_path};
use std::path::{Path, PathBuf};

/// Where `roost` looks besides the search path.
const ALWAYS_SEARCHED: &[&str] = &["/usr/local/bin", "/usr/bin"];

/// A program that runs agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Runs Python files.
    Python,
    /// Runs TypeScript files where there is no Deno.
    Node,
    /// Runs TypeScript files.
    Deno,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Python, Self::Node, Self::Deno];

    /// The word a receipt begins with.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Deno => "deno",
        }
    }

    /// The search path with which `roost` uses this engine; `None`, and said so, when it is not on this machine.
    #[must_use]
    pub fn search_path(self) -> Option<String> {
        let folders = match self {
            Self::Python => caller_search_path(),
            Self::Deno if find_on_path("deno").is_none() => return skip("no deno in PATH"),
            Self::Deno => caller_search_path(),
            Self::Node => {
                if ALWAYS_SEARCHED.iter().any(|folder| Path::new(folder).join("deno").exists()) {
                    return skip("deno is where it is always found, so Node is never used");
                }
                caller_search_path().into_iter().filter(|folder| !folder.join("deno").exists()).collect()
            }
        };
        let has_node = |folder: &PathBuf| folder.join("node").exists();
        if self == Self::Node && !folders.iter().any(has_node) {
            return skip("no node in PATH beside deno");
        }
        std::env::join_paths(folders).ok()?.into_string().ok()
    }
}

fn skip(why: &str) -> Option<String> {
    eprintln!("skipped: {why}");
    None
}
