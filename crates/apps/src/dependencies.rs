//! The packages a file needs, from what it declares or, failing that, from what it imports.
//!
//! A PEP 723 block is the whole truth. Without one, a `# requires:` comment and the imports of well-known packages
//! count together, as in the RAPP kernels. An import that is not in the table is never guessed at: the name of a
//! module says nothing about who owns the package of that name.

mod declared; // `# /// script`
mod requires_comment; // `# requires: a, b`
mod requirement; // one requirement in PEP 508 form
mod known_imports; // import names of well-known packages

use crate::python_source::PythonSource;
use requirement::Requirement;
use roost_protocol::{Dependencies, Failure, Reason};
use std::collections::BTreeMap;

/// Most requirements of one file: above any real agent's, below what would keep an installer busy for an hour.
const REQUIREMENTS_MAX: usize = 200;

/// What a Python file needs beyond the standard library.
pub fn dependencies(source: &PythonSource) -> Result<Dependencies, Failure> {
    if let Some(block) = declared::read(source.text())? {
        return Ok(block);
    }
    let mut required = requires_comment::read(source.text())?.unwrap_or_default();
    let mut optional = Vec::new();
    for import in source.imports() {
        for distribution in known_imports::distributions(import) {
            let requirement = Requirement::named(distribution);
            if import.guarded || import.lazy {
                optional.push(requirement)
            } else {
                required.push(requirement)
            }
        }
    }
    collect(required, optional, None)
}

/// What the text declares in a PEP 723 block or a `# requires:` comment; nothing when it declares nothing.
/// The text need not parse as Python.
pub fn declared_dependencies(text: &str) -> Result<Option<Dependencies>, Failure> {
    if let Some(block) = declared::read(text)? {
        return Ok(Some(block));
    }
    match requires_comment::read(text)? {
        Some(required) => collect(required, Vec::new(), None).map(Some),
        None => Ok(None),
    }
}

/// Sorts both lists, keeps each requirement once, and drops the optional ones that are required anyway.
fn collect(
    required: Vec<Requirement>,
    optional: Vec<Requirement>,
    requires_python: Option<String>,
) -> Result<Dependencies, Failure> {
    let required = by_key(required);
    if required.len() > REQUIREMENTS_MAX {
        return Err(invalid(format!("more than {REQUIREMENTS_MAX} dependencies")));
    }
    let is_required = |name: &str| required.values().any(|requirement| requirement.normal_name() == name);
    let optional: Vec<Requirement> =
        optional.into_iter().filter(|requirement| !is_required(requirement.normal_name())).collect();
    let texts = |requirements: BTreeMap<String, Requirement>| {
        requirements.into_values().map(Requirement::into_text).collect::<Vec<_>>()
    };
    let optional = texts(by_key(optional));
    Ok(Dependencies { required: texts(required), optional, requires_python })
}

/// Under one key stand requirements that say the same; the first one written is kept.
fn by_key(requirements: Vec<Requirement>) -> BTreeMap<String, Requirement> {
    let mut kept = BTreeMap::new();
    for requirement in requirements {
        kept.entry(requirement.key()).or_insert(requirement);
    }
    kept
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Reason::DependencyInvalid, message)
}

#[cfg(test)]
mod tests;
