//! The web UI has no way from text to markup, and every file of it says what it is for.

use super::Violation;
use crate::repository::{Repository, TextFile};

const FOLDER: &[&str] = &["web/src"];

/// What makes markup or script of text, and what the page's policy would refuse anyway.
const WAYS: &[(&str, &str)] = &[
    ("{@html", "show text as text, or make a part for it: text of others must never be markup"),
    ("innerHTML", "show text as text"),
    ("insertAdjacentHTML", "show text as text"),
    ("document.write", "show text as text"),
    ("new Function", "no text becomes script"),
    ("eval(", "no text becomes script"),
    (" style=\"", "use a class or `style:name`; the page's policy refuses style attributes"),
];

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    repository.files().filter(|file| file.is_below(FOLDER)).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let opening = match file.ending() {
        "svelte" => "<!--",
        "ts" => "//",
        _ => "/*",
    };
    if !file.text.starts_with(opening) {
        violations.push(Violation::at(&file.path, 0, "open the file with a comment: what it is for"));
    }
    // Tests hold the attacks.
    if file.path.ends_with(".test.ts") {
        return violations;
    }
    for (index, line) in file.text.lines().enumerate() {
        for (_, instead) in WAYS.iter().filter(|(way, _)| line.contains(way)) {
            violations.push(Violation::at(&file.path, index, *instead));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[test]
    fn markup_from_text_is_seen() {
        let files = [
            ("web/src/good.ts", "// Good.\nlet a = 1;\n"),
            ("web/src/Raw.svelte", "<!-- Raw. -->\n{@html text}\n<p style=\"color: red\">\n"),
            ("web/src/late.ts", "let a = 1;\n"),
            ("web/src/attack.test.ts", "// Attacks.\nconst text = '{@html x}';\n"),
            ("docs/x.ts", "element.innerHTML = text;\n"),
        ];
        let expect = ["web/src/Raw.svelte:2", "web/src/Raw.svelte:3", "web/src/late.ts:1"];
        assert_eq!(objections(check, &files), expect);
    }
}
