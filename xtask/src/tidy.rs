//! Rules that read the repository instead of building it. Each rule is one file; all run as one test.
//!
//! A rule is here only if a machine can decide it. The others stand in CONTRIBUTING.md and are a reviewer's.

mod rust_text; // Rust source, split into code and comments
mod layers; // which crate may use which
mod file_length; // one concept per file
mod names; // names that say nothing
mod openings; // every file says what it is for
mod unsafe_code; // one place for what the compiler cannot check
mod unfinished; // nothing half done
mod test_rules; // tests that wait, or do not run
mod generated; // documents written from code are fresh
mod protocol_examples; // examples in documents are what the code says
mod documents; // changelog and links
mod page_source; // no markup from text in the web UI
mod whitespace; // no noise in a diff

use crate::repository::Repository;
use anyhow::{Result, bail};
use std::fmt;

type Check = fn(&Repository) -> Vec<Violation>;

const CHECKS: &[Check] = &[
    layers::check,
    file_length::check,
    names::check,
    openings::check,
    unsafe_code::check,
    unfinished::check,
    test_rules::check,
    generated::check,
    protocol_examples::check,
    documents::check,
    page_source::check,
    whitespace::check,
];

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    /// Counted from one; absent when the whole file is meant.
    line: Option<usize>,
    /// What is wrong and what to do instead.
    message: String,
}

impl Violation {
    fn of_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    /// At a line that is counted from zero, as iterators do.
    fn at(path: &str, index: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(index + 1), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path, self.message),
            None => write!(formatter, "{}: {}", self.path, self.message),
        }
    }
}

/// Prints every violation; an error if there is one.
pub(crate) fn run(repository: &Repository) -> Result<()> {
    let violations = violations(repository);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        count => bail!("tidy: {count} to fix; the rules are in CONTRIBUTING.md"),
    }
}

fn violations(repository: &Repository) -> Vec<Violation> {
    let mut violations: Vec<_> = CHECKS.iter().flat_map(|check| check(repository)).collect();
    violations.sort_by(|left, right| (&left.path, left.line).cmp(&(&right.path, right.line)));
    violations
}

#[cfg(test)]
mod tests {
    use super::{Check, Violation, violations};
    use crate::repository::Repository;

    /// The places, as `path` or `path:line`, where `check` objects to these files.
    pub(super) fn objections(check: Check, files: &[(&str, &str)]) -> Vec<String> {
        let place = |violation: Violation| match violation.line {
            Some(line) => format!("{}:{line}", violation.path),
            None => violation.path,
        };
        check(&Repository::of(files)).into_iter().map(place).collect()
    }

    #[test]
    fn the_repository_keeps_its_rules() {
        let repository = Repository::read(crate::root()).unwrap();
        let lines: Vec<String> = violations(&repository).iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
