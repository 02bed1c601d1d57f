//! Tests that wait a fixed time are slow or flaky, mostly both; tests that do not run protect nothing.

use super::{
    Violation,
    rust_text::{RustText, has_word},
};
use crate::repository::{Repository, TextFile};

/// Attributes that switch a test off or make any panic a success.
const ATTRIBUTES: &[&str] = &["#[ignore", "#[should_panic"];

/// Written on the line of a wait or the line above it, with the reason.
const SLEEP_ALLOWED: &str = "// tidy: sleep because ";

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    repository.rust().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let text = RustText::split(&file.text);
    let comments: Vec<&str> = text.comments.lines().collect();
    let first_test_line =
        if file.holds_only_tests() || file.is_below(&["tests"]) { 0 } else { text.test_module_line() };
    let allowed = |index: usize| {
        comments[index.saturating_sub(1)..=index].iter().any(|comment| comment.contains(SLEEP_ALLOWED))
    };
    let mut violations = Vec::new();
    for (index, line) in text.code.lines().enumerate() {
        if let Some(attribute) = ATTRIBUTES.iter().find(|attribute| line.contains(**attribute)) {
            violations.push(Violation::at(
                &file.path,
                index,
                format!("`{attribute}]`: make the test decide, or remove it"),
            ));
        }
        if index >= first_test_line && has_word(line, "sleep") && !allowed(index) {
            let message = format!("wait for what is meant to happen, or write `{SLEEP_ALLOWED}…`");
            violations.push(Violation::at(&file.path, index, message));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[test]
    fn tests_that_do_not_run_are_refused() {
        let text = "#[test]\n#[ignore]\nfn a() {}\n#[test]\n#[should_panic(expected = \"b\")]\nfn b() {}\n";
        let expect = ["crates/apps/src/scan.rs:2", "crates/apps/src/scan.rs:5"];
        assert_eq!(objections(check, &[("crates/apps/src/scan.rs", text)]), expect);
    }

    #[test]
    fn tests_do_not_sleep_without_a_reason() {
        let text =
            "std::thread::sleep(a);\n// tidy: sleep because the clock is tested\ntokio::time::sleep(a);\n";
        assert_eq!(objections(check, &[("tests/it/start.rs", text)]), ["tests/it/start.rs:1"]);
        assert_eq!(objections(check, &[("tests/src/home.rs", text)]), ["tests/src/home.rs:1"]);
        let inline = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert_eq!(objections(check, &[("crates/apps/src/scan.rs", &inline)]), ["crates/apps/src/scan.rs:4"]);
    }

    #[test]
    fn agents_in_quotes_and_code_that_is_no_test_may_sleep() {
        let files = [
            ("tests/it/start.rs", "let agent = \"time.sleep(9)\";\n"),
            ("crates/runtime/src/idle.rs", "tokio::time::sleep(a).await;\n"),
        ];
        assert!(objections(check, &files).is_empty());
    }
}
