//! Nothing half done: no macro that panics instead of code, no note to come back. What is left to do is an issue.

use super::{
    Violation,
    rust_text::{RustText, has_word},
};
use crate::repository::{Repository, TextFile};

const MACROS: &[&str] = &["todo!", "unimplemented!"];
const NOTES: &[&str] = &["TODO", "FIXME"];

/// Besides Rust, where notes can be told from text that only quotes them.
const ENDINGS: &[&str] = &["py", "mjs", "js", "ts", "svelte", "css", "html", "sh", "toml"];

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    repository.files().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    match file.ending() {
        "rs" => {
            let text = RustText::split(&file.text);
            let mut violations = places(file, &text.code, MACROS);
            violations.extend(places(file, &text.comments, NOTES));
            violations
        }
        ending if ENDINGS.contains(&ending) => places(file, &file.text, NOTES),
        _ => Vec::new(),
    }
}

fn places(file: &TextFile, text: &str, marks: &[&str]) -> Vec<Violation> {
    let found = |line: &str| marks.iter().find(|mark| has_word(line, mark)).copied();
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index, found(line)?)))
        .map(|(index, mark)| {
            Violation::at(&file.path, index, format!("`{mark}`: finish it, or open an issue"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[test]
    fn macros_and_notes_are_seen() {
        let rust = "fn a() {\n    todo!()\n}\n// TODO: b\nfn c() { unimplemented!(\"d\") }\n";
        let files = [("crates/apps/src/scan.rs", rust), ("runners/python/worker.py", "pass  # FIXME\n")];
        let expect = [
            "crates/apps/src/scan.rs:2",
            "crates/apps/src/scan.rs:5",
            "crates/apps/src/scan.rs:4",
            "runners/python/worker.py:1",
        ];
        assert_eq!(objections(check, &files), expect);
    }

    #[test]
    fn quoted_and_longer_words_are_not_notes() {
        let rust = "let a = \"TODO\";\nlet todo = TODO_LIST;\n// the TODOS table\n";
        assert!(
            objections(check, &[("crates/apps/src/scan.rs", rust), ("CONTRIBUTING.md", "TODO\n")]).is_empty()
        );
    }
}
