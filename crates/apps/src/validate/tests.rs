//! Files and the codes they get.

use super::validate_agent_file;
use crate::python_source::PythonVersion;
use std::fs;

const GOOD: &str = include_str!("../python_source/fixtures/weather_agent.py");

fn codes_of(name: &str, content: impl AsRef<[u8]>) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let validation = validate_agent_file(&path, PythonVersion { major: 3, minor: 11 });
    assert_eq!(validation.ok, validation.errors.is_empty());
    let prefix = path.display().to_string();
    let line = |place: &str| place.strip_prefix(&prefix).unwrap().trim_start_matches(':').to_owned();
    validation.errors.iter().map(|error| (error.code, line(&error.path))).collect()
}

fn check(content: impl AsRef<[u8]>, expected: &[(&'static str, &str)]) {
    let expected: Vec<(&str, String)> =
        expected.iter().map(|(code, line)| (*code, (*line).to_owned())).collect();
    assert_eq!(codes_of("x_agent.py", &content), expected, "{}", content.as_ref().escape_ascii());
}

#[test]
fn a_good_agent_passes() {
    check(GOOD, &[]);
    check(include_str!("../python_source/fixtures/report_agent.py"), &[]);
}

#[test]
fn whatever_reading_or_parsing_refuses_is_an_error_with_its_line() {
    check(b"x = '\xe9'", &[("wrong_encoding", "1")]);
    check("x = 1\0", &[("nul_byte", "1")]);
    check("x = 1\ndef f(:\n", &[("syntax_error", "2")]);
    check("\ntype X = int\n", &[("unsupported_syntax", "2")]);
    check("(".repeat(100_000), &[("syntax_error", "")]);
    assert_eq!(codes_of("a b_agent.py", "")[0].0, "invalid_file_name");
    let folder = tempfile::tempdir().unwrap();
    let missing = validate_agent_file(&folder.path().join("x_agent.py"), PythonVersion::NEWEST);
    assert_eq!((missing.ok, missing.kind, missing.errors[0].code), (false, "agent", "unreadable"));
}

#[test]
fn a_file_without_a_class_that_can_perform_is_no_agent() {
    for text in [
        "",
        "def perform(): pass\n",
        "class A: pass\n",
        "class A(BasicAgent): pass\n",
        "class A(agents.basic_agent.BasicAgent): pass\n",
        "class _A:\n    def perform(self): pass\n",
        "class BasicAgent:\n    def perform(self): pass\n",
    ] {
        check(text, &[("no_agent", "")]);
    }
    for text in [
        "class A:\n    def perform(self, **kwargs): pass\n",
        "from x import Other\nclass A(Other): pass\n",
        "class A(BasicAgent, Mixin): pass\n",
    ] {
        check(text, &[]);
    }
}

#[test]
fn a_name_that_is_no_tool_name_is_refused_where_it_stands() {
    check("class A:\n    name = 'two words'\n    def perform(self): pass\n", &[("invalid_name", "2")]);
    check("class A:\n    name = ''\n    def perform(self): pass\n", &[("invalid_name", "2")]);
    check("class A:\n    def perform(self): pass\nclass Data:\n    name = 'two words'\n", &[]);
}

#[test]
fn all_errors_are_told_at_once() {
    let text =
        "# requires: x @ http://y\n__manifest__ = {'name': 'bad', 'tags': 1}\nclass A:\n    name = 'a b'\n";
    check(
        text,
        &[
            ("no_agent", ""),
            ("dependency_invalid", "1"),
            ("manifest_missing_field", "2"),
            ("manifest_missing_field", "2"),
            ("manifest_missing_field", "2"),
            ("manifest_missing_field", "2"),
            ("manifest_missing_field", "2"),
            ("manifest_missing_field", "2"),
            ("manifest_name", "2"),
            ("manifest_version", "2"),
            ("manifest_tags", "2"),
        ],
    );
}

#[test]
fn of_typescript_only_the_file_is_checked() {
    assert_eq!(codes_of("ShellAgent.ts", "this is not { TypeScript"), []);
    assert_eq!(codes_of("ShellAgent.ts", vec![b' '; (1 << 20) + 1])[0].0, "file_too_large");
}

#[test]
fn the_outcome_is_written_as_json() {
    let outcome = validate_agent_file(std::path::Path::new("/none/x_agent.py"), PythonVersion::NEWEST);
    assert_eq!(
        serde_json::to_string(&outcome).unwrap(),
        r#"{"ok":false,"kind":"agent","errors":[{"code":"unreadable","message":"there is no such file, or the link leads nowhere","path":"/none/x_agent.py"}]}"#
    );
}
