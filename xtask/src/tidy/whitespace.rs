//! No noise in a diff: no space at the end of a line, one newline at the end of a file.

use super::Violation;
use crate::repository::{Repository, TextFile};

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    repository.files().filter(|file| !file.text.is_empty()).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let ends_in_space = |line: &str| line.ends_with([' ', '\t', '\r']);
    // Not `lines`, which would hide a carriage return.
    let lines = file.text.split('\n').enumerate().filter(|(_, line)| ends_in_space(line));
    let mut violations: Vec<_> =
        lines.map(|(index, _)| Violation::at(&file.path, index, "space at the end of the line")).collect();
    if !file.text.ends_with('\n') || file.text.ends_with("\n\n") {
        violations.push(Violation::of_file(&file.path, "end the file with one newline"));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[test]
    fn spaces_and_missing_newlines_are_seen() {
        let files = [
            ("good.md", "a\n\nb\n"),
            ("empty.py", ""),
            ("space.md", "a\nb \n"),
            ("windows.md", "a\r\n"),
            ("open.md", "a"),
            ("long.md", "a\n\n"),
        ];
        assert_eq!(objections(check, &files), ["space.md:2", "windows.md:1", "open.md", "long.md"]);
    }
}
