//! One requirement in PEP 508 form: a name, extras, versions and a marker.
//!
//! Only what an index can answer is taken. Addresses, paths and installer options are refused: they would let a
//! comment in a file fetch and run anything from anywhere.

use super::invalid;
use roost_protocol::Failure;

/// Longest requirement: the longest real ones, with a marker, have about 150 characters.
const REQUIREMENT_BYTES_MAX: usize = 500;

/// Deepest parentheses in a marker.
const MARKER_DEPTH_MAX: usize = 10;

/// Comparison operators, the longer ones before those they begin with.
const OPERATORS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

const MARKER_VARIABLES: [&str; 12] = [
    "python_version",
    "python_full_version",
    "os_name",
    "sys_platform",
    "platform_release",
    "platform_system",
    "platform_version",
    "platform_machine",
    "platform_python_implementation",
    "implementation_name",
    "implementation_version",
    "extra",
];

/// A requirement that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    text: String,
    normal_name: String,
    name_bytes: usize,
}

impl Requirement {
    /// Checks the form.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let text = text.trim();
        if text.len() > REQUIREMENT_BYTES_MAX {
            return Err(invalid(format!("a requirement has more than {REQUIREMENT_BYTES_MAX} bytes")));
        }
        let refuse = |what: &str| invalid(format!("`{}` {what}", text.escape_debug()));
        let name_bytes = text.bytes().take_while(|byte| is_name_byte(*byte)).count();
        let (name, rest) = text.split_at(name_bytes);
        if text.starts_with('-') {
            return Err(refuse("is an option; only packages by name are taken"));
        }
        if !name.starts_with(|first: char| first.is_ascii_alphanumeric())
            || !name.ends_with(|last: char| last.is_ascii_alphanumeric())
        {
            return Err(refuse("does not begin with a package name"));
        }
        let rest = skip_extras(rest.trim_start())
            .ok_or_else(|| refuse("has extras that are not a list of names"))?;
        let (versions, marker) = match rest.split_once(';') {
            Some((versions, marker)) => (versions.trim(), Some(marker.trim())),
            None => (rest.trim(), None),
        };
        if versions.starts_with(['@', ':', '/', '\\']) {
            return Err(refuse("names an address or a path; only packages by name are taken"));
        }
        let versions = match versions.strip_prefix('(') {
            Some(inner) => inner.strip_suffix(')').ok_or_else(|| refuse("has an open parenthesis"))?,
            None => versions,
        };
        if !versions.is_empty() && !are_version_specifiers(versions) {
            return Err(refuse("has versions that cannot be read"));
        }
        if marker.is_some_and(|marker| !is_marker(marker)) {
            return Err(refuse("has a marker that cannot be read"));
        }
        Ok(Self { text: text.to_owned(), normal_name: normalise(name), name_bytes })
    }

    /// The newest version of a package.
    pub(super) fn named(distribution: &str) -> Self {
        let (text, name_bytes) = (distribution.to_owned(), distribution.len());
        Self { text, normal_name: normalise(distribution), name_bytes }
    }

    /// The name as indexes compare it.
    pub(super) fn normal_name(&self) -> &str {
        &self.normal_name
    }

    /// Equal for requirements that say the same; sorts by name.
    pub(super) fn key(&self) -> String {
        let rest = self.text[self.name_bytes..].chars().filter(|character| !character.is_whitespace());
        self.normal_name.chars().chain(rest).collect()
    }

    /// As written.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Checks a version range such as `>=3.10,<4`.
pub(super) fn check_version_specifiers(text: &str) -> Result<(), Failure> {
    if text.len() <= REQUIREMENT_BYTES_MAX && are_version_specifiers(text.trim()) {
        Ok(())
    } else {
        Err(invalid("the Python versions cannot be read"))
    }
}

fn normalise(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            other => normal.push(other.to_ascii_lowercase()),
        }
    }
    normal
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_name_byte)
}

/// What follows `[extra, extra]`, or the text itself when there are none.
fn skip_extras(text: &str) -> Option<&str> {
    let Some(inner) = text.strip_prefix('[') else { return Some(text) };
    let (extras, rest) = inner.split_once(']')?;
    let fits = extras.trim().is_empty() || extras.split(',').all(|extra| is_name(extra.trim()));
    fits.then(|| rest.trim_start())
}

fn are_version_specifiers(text: &str) -> bool {
    text.split(',').all(|clause| {
        let clause = clause.trim();
        let Some(version) = OPERATORS.iter().find_map(|operator| clause.strip_prefix(operator)) else {
            return false;
        };
        let version = version.trim_start();
        let fits = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'*' | b'+' | b'!' | b'-' | b'_')
        };
        version.starts_with(|first: char| first.is_ascii_alphanumeric()) && version.bytes().all(fits)
    })
}

/// Comparisons joined by `and` and `or`, with parentheses.
fn is_marker(text: &str) -> bool {
    let mut rest = text;
    let mut open = 0_usize;
    loop {
        rest = rest.trim_start();
        while let Some(inner) = rest.strip_prefix('(') {
            open += 1;
            if open > MARKER_DEPTH_MAX {
                return false;
            }
            rest = inner.trim_start();
        }
        let Some(after) = skip_comparison(rest) else { return false };
        rest = after.trim_start();
        while let Some(outer) = rest.strip_prefix(')') {
            if open == 0 {
                return false;
            }
            open -= 1;
            rest = outer.trim_start();
        }
        if rest.is_empty() {
            return open == 0;
        }
        let Some(next) = skip_word(rest, "and").or_else(|| skip_word(rest, "or")) else { return false };
        rest = next;
    }
}

fn skip_comparison(text: &str) -> Option<&str> {
    let rest = skip_operand(text)?.trim_start();
    let symbol = OPERATORS.iter().find_map(|operator| rest.strip_prefix(operator));
    let rest = symbol.or_else(|| skip_word(rest, "in")).or_else(|| {
        let rest = skip_word(rest, "not")?.trim_start();
        skip_word(rest, "in")
    })?;
    skip_operand(rest.trim_start())
}

fn skip_operand(text: &str) -> Option<&str> {
    for quote in ['\'', '"'] {
        if let Some(rest) = text.strip_prefix(quote) {
            return rest.split_once(quote).map(|(_, after)| after);
        }
    }
    MARKER_VARIABLES.iter().find_map(|variable| skip_word(text, variable))
}

/// What follows a word, unless the word goes on.
fn skip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (!rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')).then_some(rest)
}
