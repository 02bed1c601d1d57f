//! The registry's contract tests that run nothing; the host adds those that need a running agent.
//!
//! Names and meaning are the registry's: has_manifest, manifest_fields and name_format come first, has_docstring and
//! no_hardcoded_secrets last. A file that does not parse fails all but the last.

use crate::{manifest, python_source::PythonSource};
use serde::Serialize;
use serde_json::{Map, Value};

/// Texts that look like a secret written into the source, each also with single quotes.
const SECRET_PATTERNS: [&str; 5] =
    ["API_KEY = \"sk-", "password = \"", "token = \"", "secret = \"", "api_key = \""];

/// The outcome of one contract test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContractCheck {
    /// Which test.
    pub test: &'static str,
    /// Whether the file passed.
    pub passed: bool,
    /// What was seen.
    pub message: String,
}

impl ContractCheck {
    /// The outcome of a test.
    pub fn new(test: &'static str, passed: bool, message: impl Into<String>) -> Self {
        Self { test, passed, message: message.into() }
    }
}

/// The file has a manifest that can be read without running it.
#[must_use]
pub fn has_manifest(source: &PythonSource) -> ContractCheck {
    let passed = source.manifest().is_some();
    let message = if passed { "__manifest__ dict found" } else { "no __manifest__ dict in file" };
    ContractCheck::new("has_manifest", passed, message)
}

/// The manifest has all eight required keys.
#[must_use]
pub fn manifest_fields(source: &PythonSource) -> ContractCheck {
    let missing: Vec<&str> = manifest::missing_fields(&fields(source)).collect();
    let message = if missing.is_empty() {
        "all required fields present".to_owned()
    } else {
        format!("missing fields: {}", missing.join(", "))
    };
    ContractCheck::new("manifest_fields", missing.is_empty(), message)
}

/// The manifest's name has the form `@publisher/slug`.
#[must_use]
pub fn name_format(source: &PythonSource) -> ContractCheck {
    let fields = fields(source);
    let name = fields.get("name").cloned().unwrap_or_else(|| Value::String(String::new()));
    let passed = manifest::has_registry_name(&fields);
    let verdict = if passed { "is" } else { "must be" };
    ContractCheck::new("name_format", passed, format!("name {name} {verdict} in the form @publisher/slug"))
}

/// The module has a docstring that is not blank.
#[must_use]
pub fn has_docstring(source: &PythonSource) -> ContractCheck {
    match source.docstring().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => {
            let message = format!("module docstring present ({} characters)", text.chars().count());
            ContractCheck::new("has_docstring", true, message)
        }
        None => ContractCheck::new("has_docstring", false, "module docstring missing or empty"),
    }
}

/// The text has none of the patterns that a secret in the source usually makes.
#[must_use]
pub fn no_hardcoded_secrets(text: &str) -> ContractCheck {
    let found: Vec<String> = SECRET_PATTERNS
        .iter()
        .flat_map(|pattern| [(*pattern).to_owned(), pattern.replace('"', "'")])
        .filter(|pattern| text.contains(pattern))
        .collect();
    let message = if found.is_empty() {
        "no hardcoded secret patterns detected".to_owned()
    } else {
        format!("suspicious patterns found: {}", found.join(", "))
    };
    ContractCheck::new("no_hardcoded_secrets", found.is_empty(), message)
}

fn fields(source: &PythonSource) -> Map<String, Value> {
    match source.manifest().map(|manifest| &manifest.value) {
        Some(Value::Object(fields)) => fields.clone(),
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ContractCheck, has_docstring, has_manifest, manifest_fields, name_format, no_hardcoded_secrets,
    };
    use crate::python_source::{PythonSource, PythonVersion};

    fn source(text: &str) -> PythonSource {
        PythonSource::parse(text.as_bytes(), PythonVersion::NEWEST).unwrap()
    }

    fn passed(text: &str) -> [bool; 5] {
        let source = source(text);
        let checks: [ContractCheck; 5] = [
            has_manifest(&source),
            manifest_fields(&source),
            name_format(&source),
            has_docstring(&source),
            no_hardcoded_secrets(source.text()),
        ];
        checks.map(|check| check.passed)
    }

    #[test]
    fn a_real_agent_passes_all_of_them() {
        assert_eq!(passed(include_str!("python_source/fixtures/weather_agent.py")), [true; 5]);
    }

    #[test]
    fn an_empty_file_fails_all_but_the_search_for_secrets() {
        assert_eq!(passed(""), [false, false, false, false, true]);
        assert_eq!(passed("'''  '''\n__manifest__ = {'name': 'a/b'}\n"), [true, false, false, false, true]);
    }

    #[test]
    fn secrets_are_found_with_either_quote() {
        for text in
            ["API_KEY = \"sk-1\"", "password = ''", "my_token = 'x'", "secret = \"", "# api_key = 'x'"]
        {
            assert!(!no_hardcoded_secrets(text).passed, "{text}");
        }
        for text in ["API_KEY = \"pk-1\"", "password=''", "token = os.environ['T']"] {
            assert!(no_hardcoded_secrets(text).passed, "{text}");
        }
    }

    #[test]
    fn a_check_is_written_as_the_registry_writes_it() {
        let check = manifest_fields(&source(
            "__manifest__ = {'schema': 1, 'name': '@a/b', 'version': '', 'tags': []}",
        ));
        assert_eq!(
            serde_json::to_string(&check).unwrap(),
            r#"{"test":"manifest_fields","passed":false,"message":"missing fields: display_name, description, author, category"}"#
        );
    }
}
