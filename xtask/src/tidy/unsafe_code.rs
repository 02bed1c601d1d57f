//! One place for what the compiler cannot check: the sandbox, which has to speak to the kernel.

use super::{
    Violation,
    rust_text::{RustText, has_word},
};
use crate::repository::Repository;

const SANDBOX_FOLDER: &str = "crates/runtime/src/sandbox";
const SANDBOX_FILE: &str = "crates/runtime/src/sandbox.rs";

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.rust() {
        if file.path == SANDBOX_FILE || file.is_below(&[SANDBOX_FOLDER]) {
            continue;
        }
        let code = RustText::split(&file.text).code;
        for (index, _) in code.lines().enumerate().filter(|(_, line)| has_word(line, "unsafe")) {
            violations.push(Violation::at(
                &file.path,
                index,
                format!("`unsafe` belongs below {SANDBOX_FOLDER}"),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[test]
    fn only_the_sandbox_may() {
        let text = "fn a() {\n    unsafe { b() }\n}\n";
        let files = [
            ("crates/runtime/src/sandbox.rs", text),
            ("crates/runtime/src/sandbox/landlock.rs", text),
            ("crates/runtime/src/sandboxed.rs", text),
            ("tests/it/start.rs", text),
        ];
        assert_eq!(objections(check, &files), ["crates/runtime/src/sandboxed.rs:2", "tests/it/start.rs:2"]);
    }

    #[test]
    fn the_lint_and_prose_are_not_the_keyword() {
        let text = "#![deny(unsafe_code)]\n// unsafe is elsewhere\nlet a = \"unsafe\";\n";
        assert!(objections(check, &[("crates/apps/src/scan.rs", text)]).is_empty());
    }
}
