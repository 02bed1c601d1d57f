//! Finds the program that runs TypeScript agents: Deno where it is found, else Node.

use crate::{
    process::find_program,
    programs::{Programs, Surface},
};
use roost_protocol::{Failure, Limits, Reason};
use std::{ffi::OsString, path::PathBuf};

/// Which program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Has permission flags of its own.
    Deno,
    /// Common, without them.
    Node,
}

/// A program that can run TypeScript workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Which one.
    pub kind: EngineKind,
    /// Where it is.
    pub path: PathBuf,
    /// Its version, for example `2.9.8`.
    pub version: String,
}

/// Oldest Node whose sockets and modules the runner was tried with.
const NODE_MAJOR_MIN: u32 = 20;

impl Engine {
    /// The best one on this machine.
    pub(crate) async fn find(surface: &Surface, programs: &Programs) -> Result<Self, Failure> {
        let mut folders = surface.search_path.clone();
        folders.extend(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
        folders.extend(surface.user_home.as_ref().map(|home| home.join(".deno/bin")));
        let mut too_old = None;
        for (kind, name) in [(EngineKind::Deno, "deno"), (EngineKind::Node, "node")] {
            let Some(path) = find_program(name, &folders) else { continue };
            let answer = programs.ask(&path, &["--version"]).await?;
            let version = answer.split_whitespace().find(|word| word.contains('.')).unwrap_or_default();
            let version = version.trim_start_matches('v').to_owned();
            let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
            let fits = match kind {
                EngineKind::Deno => major >= 2,
                EngineKind::Node => major >= NODE_MAJOR_MIN,
            };
            if fits {
                return Ok(Self { kind, path, version });
            }
            too_old = Some(format!("{name} {version} is too old"));
        }
        let seen = too_old.unwrap_or_else(|| "neither deno nor node was found".to_owned());
        let message = format!("{seen}; TypeScript agents need Deno 2 or Node {NODE_MAJOR_MIN}");
        Err(Failure::new(Reason::RuntimeMissing, message)
            .with_next("install Deno or Node, then run `roost doctor`"))
    }

    /// For receipts and `doctor`.
    pub(crate) fn label(&self) -> String {
        let name = match self.kind {
            EngineKind::Deno => "deno",
            EngineKind::Node => "node",
        };
        format!("{name} {}", self.version)
    }

    /// Arguments that start the runner. The heap may take three quarters of the memory, so that the engine itself
    /// says that memory is short before the kernel does.
    pub(crate) fn arguments(&self, runner: PathBuf, limits: &Limits) -> Vec<OsString> {
        let heap = format!("--max-old-space-size={}", limits.memory_mb.saturating_mul(3) / 4);
        let arguments: Vec<OsString> = match self.kind {
            EngineKind::Deno => vec![
                "run".into(),
                "--quiet".into(),
                "--no-config".into(),
                "--no-lock".into(),
                "--no-prompt".into(),
                "--no-remote".into(),
                "--no-npm".into(),
                "--node-modules-dir=none".into(),
                "--allow-all".into(),
                format!("--v8-flags={heap}").into(),
            ],
            EngineKind::Node => vec!["--no-warnings".into(), heap.into()],
        };
        arguments.into_iter().chain([runner.into()]).collect()
    }
}
