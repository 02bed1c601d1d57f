//! Answers: text for people, JSON for programs, and the exit status for both.

use roost_protocol::{Failure, Reason};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

/// The thing asked about is not ok.
pub(crate) const NOT_OK: u8 = 1;
const WRONG_USE: u8 = 2;
const HOST_FAILED: u8 = 3;

/// How answers are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) verbose: bool,
}

impl Output {
    pub(crate) fn new(json: bool, verbose: bool) -> Self {
        Self { json, verbose }
    }

    /// True when a person looks at the error stream while the program works.
    pub(crate) fn shows_progress(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// Prints a JSON document.
    pub(crate) fn document(self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.line(&text),
            Err(error) => self.note(&format!("error: {error}")),
        }
    }

    /// Prints an answer of the host: as it is for programs, in lines for people.
    pub(crate) fn show(self, answer: &Value, to_people: impl FnOnce(&Value, Self)) {
        if self.json {
            self.document(answer);
        } else {
            to_people(answer, self);
        }
    }

    /// Prints a line of the answer. A reader that left wants no more of it.
    pub(crate) fn line(self, text: &str) {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{text}").and_then(|()| stdout.flush()).ok();
    }

    /// Prints a line beside the answer.
    pub(crate) fn note(self, text: &str) {
        writeln!(io::stderr().lock(), "{text}").ok();
    }

    /// Prints a failure and says which exit status it means.
    pub(crate) fn failure(self, failure: &Failure) -> ExitCode {
        if self.json {
            self.document(&json!({ "error": failure }));
        } else {
            self.explain(failure);
        }
        ExitCode::from(match failure.reason {
            Reason::WrongUse | Reason::BadArguments => WRONG_USE,
            Reason::Internal
            | Reason::HomeUnusable
            | Reason::InvalidSettings
            | Reason::PortInUse
            | Reason::StartFailed => HOST_FAILED,
            _ => NOT_OK,
        })
    }

    /// The same for a person.
    pub(crate) fn explain(self, failure: &Failure) {
        let line = failure.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        self.note(&format!("error[{}]: {}{line}", failure.reason.code(), failure.message));
        self.note(&format!("  next: {}", failure.next_step()));
    }

    pub(crate) fn host_failed(self, message: &str) -> ExitCode {
        self.failure(&Failure::new(Reason::Internal, message))
    }
}

/// What clap found wrong, in the form the caller reads.
pub(crate) fn usage_error(error: &clap::Error) -> ExitCode {
    let is_help = !error.use_stderr();
    let wants_json = std::env::args().any(|word| word == "--json");
    if is_help || !wants_json {
        error.print().ok();
        return ExitCode::from(if is_help { 0 } else { WRONG_USE });
    }
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Output::new(true, false).failure(&Failure::new(Reason::WrongUse, first))
}
