//! One concept per file: a file that needs more than 500 lines holds two. Tests do not count.

use super::{Violation, rust_text::RustText};
use crate::repository::{Repository, TextFile};

const FILE_LINES_MAX: usize = 500;

/// A `lib.rs` is a table of contents that is read in one minute.
const LIB_LINES_MAX: usize = 80;

/// Lists of same-shaped entries, where a second file would only hide half of the list.
const LISTS: &[&str] = &[
    "crates/protocol/src/reason.rs",
    // Each probe is a few lines, and an agent is one file.
    "runners/python/probe_agent.py",
    "runners/typescript/probe_agent.js",
];

const ENDINGS: &[&str] = &["rs", "py", "mjs", "js", "ts", "svelte"];

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let counted = |file: &&TextFile| {
        ENDINGS.contains(&file.ending()) && !file.holds_only_tests() && !LISTS.contains(&file.path.as_str())
    };
    repository.files().filter(counted).filter_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Option<Violation> {
    let lines = match file.ending() {
        "rs" => RustText::split(&file.text).test_module_line(),
        _ => file.text.lines().count(),
    };
    let lines_max = if file.name() == "lib.rs" { LIB_LINES_MAX } else { FILE_LINES_MAX };
    let message =
        format!("{lines} lines without tests, at most {lines_max}; give a second concept its own file");
    (lines > lines_max).then(|| Violation::of_file(&file.path, message))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[track_caller]
    fn refuses(path: &str, text: &str, refused: bool) {
        assert_eq!(!objections(check, &[(path, text)]).is_empty(), refused, "{path}");
    }

    #[test]
    fn long_files_are_refused_in_every_language() {
        let (short, long) = ("x\n".repeat(500), "x\n".repeat(501));
        for path in
            ["crates/apps/src/scan.rs", "runners/python/worker.py", "web/src/App.svelte", "tests/src/home.rs"]
        {
            refuses(path, &short, false);
            refuses(path, &long, true);
        }
    }

    #[test]
    fn tests_lists_and_prose_may_be_long() {
        let long = "x\n".repeat(501);
        for path in
            ["crates/apps/tests/scan.rs", "tests/it/start.rs", "crates/protocol/src/reason.rs", "README.md"]
        {
            refuses(path, &long, false);
        }
        let tested = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        refuses("crates/apps/src/scan.rs", &tested, false);
    }

    #[test]
    fn a_lib_is_a_table_of_contents() {
        refuses("crates/apps/src/lib.rs", &"x\n".repeat(80), false);
        refuses("crates/apps/src/lib.rs", &"x\n".repeat(81), true);
    }
}
