//! What whole files ask for, and that no text breaks the analysis.

mod python; // evidence in Python
mod typescript; // evidence in TypeScript

use super::asks;
use crate::python_source::PythonVersion;
use proptest::prelude::*;
use roost_protocol::{Asks, Evidence, Failure, Language, Reason};

fn found(language: Language, text: &str) -> Result<Asks, Failure> {
    asks(language, text.as_bytes(), PythonVersion::NEWEST)
}

/// Checks the rights a text asks for, in their order.
fn check(language: Language, text: &str, expected: &[&str]) {
    let asks = found(language, text).unwrap_or_else(|failure| panic!("{failure:?}: {text}"));
    let rights: Vec<String> = asks.asks.iter().map(|ask| ask.right.to_string()).collect();
    assert_eq!(rights, expected, "{text}");
    assert!(!asks.declared && asks.asks.iter().all(|ask| ask.evidence == Evidence::Source));
    let lines: Vec<Option<u32>> = asks.asks.iter().map(|ask| ask.line).collect();
    assert!(lines.is_sorted() && lines.iter().all(Option::is_some), "{lines:?}");
}

/// The rights with their lines.
fn with_lines(language: Language, text: &str) -> Vec<String> {
    let asks = found(language, text).unwrap().asks;
    asks.iter().map(|ask| format!("{} {}", ask.line.unwrap(), ask.right)).collect()
}

#[test]
fn a_declaration_is_the_whole_truth_in_both_languages() {
    let python = "# /// script\n# [tool.roost]\n# rights = [\"model\"]\n# ///\nimport subprocess\n";
    let typescript = python.replace('#', "//").replace("import subprocess", "fetch(x)");
    for (language, text) in [(Language::Python, python), (Language::TypeScript, typescript.as_str())] {
        let asks = found(language, text).unwrap();
        assert!(asks.declared);
        let [ask] = &asks.asks[..] else { panic!("{asks:?}") };
        assert_eq!(
            (ask.right.to_string().as_str(), ask.line, ask.evidence),
            ("model", Some(3), Evidence::Declared)
        );
    }
    let broken = python.replace("model", "everything");
    assert_eq!(found(Language::Python, &broken).unwrap_err().reason, Reason::InvalidRight);
}

#[test]
fn text_in_another_encoding_is_refused() {
    let failure = asks(Language::TypeScript, b"const x = '\xff'", PythonVersion::NEWEST).unwrap_err();
    assert_eq!(failure.reason, Reason::WrongEncoding);
}

/// Shapes that nest: what stands before each level, the middle, what stands after each level.
const SHAPES: &[(&str, &str, &str)] = &[
    ("(", "'https://a.example'", ")"),
    ("[", "'https://a.example'", "]"),
    ("f'{", "1", "}'"),
    ("f(", "1", ")"),
    ("{'a': ", "1", "}"),
    ("-", "1", ""),
    ("'a' + ", "'://'", ""),
    ("x / ", "'a'", ""),
    ("", "a", ".b"),
    ("", "os.path.join(a", ", 'b')"),
    ("`${", "1", "}`"),
    ("{", "1", "}"),
    ("/[", "1", ""),
    ("`", "${", ""),
    ("'{", "://", "'"),
];

#[test]
fn nothing_that_nests_deeply_runs_out_of_stack() {
    for (before, middle, after) in SHAPES {
        for depth in [150, 400, 10_000] {
            let text = format!("x = {}{middle}{}\n", before.repeat(depth), after.repeat(depth));
            for language in [Language::Python, Language::TypeScript] {
                // Python refuses some of them; what matters is that there is an answer.
                let _result = found(language, &text);
            }
        }
    }
    let chain = format!("import os\nx = '/' {}\n", "+ os.environ['DEEP_KEY']".repeat(2_000));
    check(Language::Python, &chain, &["env:DEEP_KEY"]);
}

#[test]
fn names_that_lead_to_each_other_come_to_an_end() {
    check(Language::Python, "import os\na = b\nb = a\nx = os.environ[a]\n", &[]);
    check(Language::Python, "a = f'{b}{b}://'\nb = f'{c}{c}://'\nc = f'{a}{a}://'\nopen(a)\n", &[]);
    check(Language::TypeScript, "const a = `${b}://`\nconst b = `${a}://`\nfoo(a)\n", &[]);
}

const PIECES: &[&str] = &[
    "os.environ",
    "['KEY']",
    ".get(",
    "'https://",
    "a.example",
    ":8080",
    "/x'",
    "f'{",
    "}'",
    "process.env",
    ".KEY",
    "`",
    "${",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "'",
    "\"",
    "\\",
    "/",
    "//",
    "/*",
    "*/",
    "\n",
    " ",
    " = ",
    " + ",
    ",",
    ":",
    "import ",
    "from ",
    "require(",
    "os.path.expanduser(",
    "'~/.x'",
    "Path.home()",
    "homedir()",
    "open(",
    "'/srv/x'",
    "é",
    "\u{202e}",
    "\u{feff}",
    "x",
    "self.",
    "for k in ",
    "async ",
    "fetch(",
    "__file__",
    "://",
    "#",
    "\r",
    "\0",
    "=",
];

proptest! {
    #[test]
    fn no_text_breaks_the_analysis(text in ".{0,200}") {
        for language in [Language::Python, Language::TypeScript] {
            let failure = found(language, &text).err();
            prop_assert!(failure.is_none_or(|failure| failure.reason != Reason::Internal));
        }
    }

    #[test]
    fn no_pieces_of_source_break_the_analysis(
        pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..60)
    ) {
        for language in [Language::Python, Language::TypeScript] {
            let failure = found(language, &pieces.concat()).err();
            prop_assert!(failure.is_none_or(|failure| failure.reason != Reason::Internal));
        }
    }

    #[test]
    fn no_bytes_break_the_analysis(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for language in [Language::Python, Language::TypeScript] {
            let failure = asks(language, &bytes, PythonVersion::NEWEST).err();
            prop_assert!(failure.is_none_or(|failure| failure.reason != Reason::Internal));
        }
    }
}
