//! The fields of a manifest, taken one by one: each that is wrong is noted with its reason, and the others are still read.

use super::manifest::PageProblem;
use roost_protocol::is_hidden;
use serde_json::{Map, Value};

/// Problems that are told of one manifest; the rest would be more of the same.
const PROBLEMS_MAX: usize = 64;

/// Characters of a wrong value that a message repeats.
const SHOWN_MAX: usize = 60;

/// An object whose known fields are taken out, and what was wrong with them.
pub(super) struct Fields {
    left: Map<String, Value>,
    problems: Vec<PageProblem>,
}

impl Fields {
    pub(super) fn new(object: Map<String, Value>) -> Self {
        Self { left: object, problems: Vec::new() }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// A field that must be there, read by `read`, which says what is wrong.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let Some(value) = self.take(name) else {
            self.note(name, "is missing");
            return None;
        };
        self.read(name, &value, read)
    }

    /// A field that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.take(name)?;
        self.read(name, &value, read)
    }

    fn read<T>(
        &mut self,
        name: &str,
        value: &Value,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        read(value).map_err(|why| self.note(name, why)).ok()
    }

    pub(super) fn note(&mut self, field: &str, why: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(PageProblem { field: field.to_owned(), message: why.into() });
        }
    }

    /// What nobody asked for, and what was wrong.
    pub(super) fn finish(self) -> (Vec<String>, Vec<PageProblem>) {
        let unknown = self.left.keys().map(|key| cleaned(key).chars().take(SHOWN_MAX).collect());
        (unknown.collect(), self.problems)
    }
}

/// Text with 1 to so many characters, without those that hide something.
pub(super) fn text(value: &Value, characters_max: usize) -> Result<String, String> {
    let text = cleaned(value.as_str().ok_or_else(|| format!("is not text: {}", shown(value)))?);
    match text.chars().count() {
        0 => Err("is empty".to_owned()),
        count if count > characters_max => Err(format!("has {count} characters; at most {characters_max}")),
        _ => Ok(text),
    }
}

/// Without characters that cannot be seen or that change how the rest is shown.
pub(super) fn cleaned(text: &str) -> String {
    let visible: String = text.chars().filter(|character| !is_hidden(*character)).collect();
    visible.trim().to_owned()
}

pub(super) fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("is neither true nor false: {}", shown(value)))
}

/// Milliseconds since 1970.
pub(super) fn moment(value: &Value) -> Result<i64, String> {
    value
        .as_i64()
        .filter(|moment| *moment >= 0)
        .ok_or_else(|| format!("is not a whole number of milliseconds since 1970: {}", shown(value)))
}

/// A wrong value, short and without surprises.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    let escaped: String = text.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    // Quotes hide nothing, and a text without its backslashes is read more easily.
    let mut shown = escaped.replace("\\\"", "\"");
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}
