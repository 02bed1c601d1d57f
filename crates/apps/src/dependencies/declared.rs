//! What a PEP 723 block says about packages.

use super::{
    collect, invalid,
    requirement::{Requirement, check_version_specifiers},
};
use crate::script_block::{Comment, ScriptBlock};
use roost_protocol::{Dependencies, Failure, Reason};
use toml::{Table, Value};

/// What the block says; nothing when there is no block of the type `script`.
pub(super) fn read(text: &str) -> Result<Option<Dependencies>, Failure> {
    let block = ScriptBlock::find(text, Comment::Hash, Reason::DependencyInvalid)?;
    block
        .map(|block| dependencies_of(&block.table).map_err(|failure| failure.at_line(block.line)))
        .transpose()
}

fn dependencies_of(table: &Table) -> Result<Dependencies, Failure> {
    let mut required = Vec::new();
    match table.get("dependencies") {
        None => {}
        Some(Value::Array(items)) => {
            for item in items {
                let Value::String(text) = item else {
                    return Err(invalid("`dependencies` is not a list of texts"));
                };
                required.push(Requirement::parse(text)?);
            }
        }
        Some(_) => return Err(invalid("`dependencies` is not a list of texts")),
    }
    let requires_python = match table.get("requires-python") {
        None => None,
        Some(Value::String(text)) => {
            check_version_specifiers(text)?;
            Some(text.trim().to_owned())
        }
        Some(_) => return Err(invalid("`requires-python` is not text")),
    };
    collect(required, Vec::new(), requires_python)
}
