//! Everything about an agent file that can be refused without running it, all at once.
//!
//! A file that passes may still fail to load. The syntax of TypeScript is checked by the runtime, which can convert
//! it; here only the file itself is looked at.

use crate::{
    agent_file::AgentFile,
    dependencies::dependencies,
    manifest,
    python_source::{AgentClass, PythonSource, PythonVersion},
};
use roost_protocol::{AgentName, Failure, Language, Reason};
use serde::Serialize;
use std::path::Path;

/// The outcome of validating one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Validation {
    /// True when there are no errors.
    pub ok: bool,
    /// What the file was taken for: `agent`.
    pub kind: &'static str,
    /// What is wrong, in the order it was found.
    pub errors: Vec<ValidationError>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValidationError {
    /// A reason's code, or one of the `manifest_` codes.
    pub code: &'static str,
    /// What was seen.
    pub message: String,
    /// Where: the file as it was named, and the line when it is known.
    pub path: String,
}

/// Validates a file for an interpreter of version `target`.
#[must_use]
pub fn validate_agent_file(path: &Path, target: PythonVersion) -> Validation {
    let mut errors = Errors { path: path.display().to_string(), found: Vec::new() };
    match AgentFile::read(path) {
        Err(failure) => errors.add_failure(&failure),
        Ok(file) => match file.language {
            Language::TypeScript => {}
            Language::Python => match PythonSource::parse(&file.bytes, target) {
                Err(failure) => errors.add_failure(&failure),
                Ok(source) => check_python(&source, &mut errors),
            },
        },
    }
    Validation { ok: errors.found.is_empty(), kind: "agent", errors: errors.found }
}

struct Errors {
    path: String,
    found: Vec<ValidationError>,
}

impl Errors {
    fn add(&mut self, code: &'static str, message: String, line: Option<u32>) {
        let path = line.map_or_else(|| self.path.clone(), |line| format!("{}:{line}", self.path));
        self.found.push(ValidationError { code, message, path });
    }

    fn add_failure(&mut self, failure: &Failure) {
        self.add(failure.reason.code(), failure.message.clone(), failure.line);
    }
}

fn check_python(source: &PythonSource, errors: &mut Errors) {
    let agents: Vec<&AgentClass> = source.classes().iter().filter(|class| may_be_agent(class)).collect();
    if agents.is_empty() {
        errors.add(Reason::NoAgent.code(), "no class of the file has a `perform`".to_owned(), None);
    }
    for found in agents.iter().flat_map(|class| &class.agent_names) {
        if let Err(error) = AgentName::parse(&found.name) {
            errors.add(Reason::InvalidName.code(), error.to_string(), Some(found.line));
        }
    }
    if let Err(failure) = dependencies(source) {
        errors.add_failure(&failure);
    }
    if let Some(found) = source.manifest() {
        for problem in manifest::problems(&found.value) {
            errors.add(problem.code, problem.message, Some(found.line));
        }
    }
}

/// A class with a `perform` of its own, or with a base that may bring one. The base class itself, under any of its
/// import paths, brings only a stub.
fn may_be_agent(class: &AgentClass) -> bool {
    let is_stub = |base: &str| matches!(base.rsplit('.').next(), Some("BasicAgent" | "object"));
    let is_candidate = class.name != "BasicAgent" && !class.name.starts_with('_');
    is_candidate && (class.has_perform || class.bases.iter().any(|base| !is_stub(base)))
}

#[cfg(test)]
mod tests;
