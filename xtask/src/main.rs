//! The repository's own chores: `cargo xtask ci`, `cargo xtask tidy`, `cargo xtask codegen`.
//!
//! Ships with nothing and is needed by nothing at run time. What a check means for a contributor stands in
//! CONTRIBUTING.md.

#![expect(
    clippy::disallowed_methods,
    reason = "runs cargo and python3; agents' processes are none of its business"
)]
#![expect(clippy::print_stdout, reason = "its output is for the person who typed the command")]

mod ci; // every check, in order
mod tidy; // the checks that read the repository instead of building it
mod codegen; // documents written from code
mod repository; // the files that are checked

use crate::repository::Repository;
use anyhow::{Result, bail};
use std::{path::Path, process::ExitCode};

const USAGE: &str = "use: cargo xtask ci | tidy | codegen";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Printed here and not by the runtime, which would bury the one line that matters under a stack trace.
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["ci"] => ci::run(root()),
        ["tidy"] => tidy::run(&Repository::read(root())?),
        ["codegen"] => codegen::write(root()),
        _ => bail!(USAGE),
    }
}

/// The repository this program was built from.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}
