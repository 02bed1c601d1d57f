//! Documents written from code, so that they cannot say something else than the program does.

use anyhow::{Context as _, Result, ensure};
use roost_protocol::Reason;
use std::{fmt::Write as _, fs, path::Path, process::Command};

/// Where the list of reasons is written.
pub(crate) const REASONS_PATH: &str = "docs/reasons.md";

/// Where the description of the HTTP routes is written. A test of `server` says when it is stale.
const OPENAPI_PATH: &str = "docs/openapi.json";

/// Writes every generated document.
pub(crate) fn write(root: &Path) -> Result<()> {
    fs::write(root.join(REASONS_PATH), reasons()).with_context(|| format!("write {REASONS_PATH}"))?;
    println!("wrote {REASONS_PATH}: {} reasons", Reason::ALL.len());
    fs::write(root.join(OPENAPI_PATH), openapi(root)?).with_context(|| format!("write {OPENAPI_PATH}"))?;
    println!("wrote {OPENAPI_PATH}");
    Ok(())
}

/// What the program says about its routes. Asked instead of linked: tidy must not need the whole workspace built.
fn openapi(root: &Path) -> Result<Vec<u8>> {
    // With everything of the workspace, as all other steps build it: alone it would be compiled anew, with other features.
    let mut build = Command::new("cargo");
    let built = build.args(["build", "--quiet", "--workspace", "--bin", "roost"]).current_dir(root).status();
    ensure!(built.context("start cargo")?.success(), "the program does not build");
    let mut command = Command::new(root.join("target/debug/roost"));
    // A home that is not there, so that nobody's settings are read.
    command.args(["openapi", "--home"]).arg(root.join("target/no-home"));
    let printed = command.current_dir(root).output().context("start roost")?;
    let errors = String::from_utf8_lossy(&printed.stderr);
    ensure!(printed.status.success(), "`roost openapi` ended with {}: {errors}", printed.status);
    Ok(printed.stdout)
}

/// The closed list of reasons as a document.
pub(crate) fn reasons() -> String {
    let mut document = String::from(
        "# Reasons\n\n\
         <!-- Written by `cargo xtask codegen` from crates/protocol/src/reason.rs. Edit that file instead. -->\n\n\
         Everything in Roost that does not work carries one of these codes, on the command line, over HTTP and in\n\
         `roost why`. A code never changes its meaning; the sentence and the next step may be reworded. A failure\n\
         adds what was seen, and its own next step where it knows a better one.\n\n\
         | Code | What it means | Next step |\n\
         | --- | --- | --- |\n",
    );
    for reason in Reason::ALL {
        let (sentence, next) = (cell(reason.sentence()), cell(reason.next()));
        writeln!(document, "| `{}` | {sentence} | {next} |", reason.code())
            .expect("a String takes every write");
    }
    document
}

/// Text that stays inside one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::{Reason, cell, reasons};

    #[test]
    fn every_reason_has_one_row() {
        let document = reasons();
        for reason in Reason::ALL {
            let opening = format!("| `{}` | ", reason.code());
            assert_eq!(document.matches(&opening).count(), 1, "{}", reason.code());
        }
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
