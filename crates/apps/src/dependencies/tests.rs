//! Declared and guessed dependencies, as one agent after another writes them.

use super::{declared_dependencies, dependencies, requirement::Requirement};
use crate::python_source::{PythonSource, PythonVersion};
use proptest::prelude::*;
use roost_protocol::{Dependencies, Failure, Reason};

fn of(text: &str) -> Result<Dependencies, Failure> {
    dependencies(&PythonSource::parse(text.as_bytes(), PythonVersion::NEWEST).unwrap())
}

fn check(text: &str, required: &[&str], optional: &[&str]) {
    let found = of(text).unwrap();
    assert_eq!(
        (&found.required[..], &found.optional[..]),
        (&to_owned(required)[..], &to_owned(optional)[..]),
        "{text}"
    );
}

fn to_owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn check_invalid(text: &str, line: u32) {
    let failure = of(text).unwrap_err();
    assert_eq!(
        (failure.reason, failure.line),
        (Reason::DependencyInvalid, Some(line)),
        "{failure:?}\n{text}"
    );
}

#[test]
fn known_imports_are_required_and_guarded_or_lazy_ones_are_not() {
    check("import requests, yaml\nimport os\n", &["PyYAML", "requests"], &[]);
    check("try:\n    import requests\nexcept ImportError:\n    requests = None\n", &[], &["requests"]);
    check("def f():\n    from bs4 import BeautifulSoup\n", &[], &["beautifulsoup4"]);
    check("import requests\ndef f():\n    import requests\n", &["requests"], &[]);
    check("from azure.storage.fileshare import ShareClient\n", &["azure-storage-file-share"], &[]);
    check("from azure import identity, core\n", &["azure-core", "azure-identity"], &[]);
    check(&"import numpy\n".repeat(500), &["numpy"], &[]);
    check("import unheard_of\nfrom agents.basic_agent import BasicAgent\nimport utils.llm\n", &[], &[]);
}

#[test]
fn a_script_block_is_the_whole_truth() {
    let text = "# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"rich>=13,<14\",\n#   \"Zope.Interface\",\n# ]\n# [tool.x]\n# y = 1\n# ///\nimport requests\n";
    let found = of(text).unwrap();
    assert_eq!(found.required, ["rich>=13,<14", "Zope.Interface"]);
    assert_eq!(found.requires_python.as_deref(), Some(">=3.11"));
    assert!(found.optional.is_empty());
    check("# /// script\n# dependencies = []\n# ///\nimport requests\n", &[], &[]);
    check("# /// script\r\n# dependencies = ['rich']\r\n# ///\r\n", &["rich"], &[]);
    check("# /// script\n#\n# ///\nimport requests\n", &[], &[]);
}

#[test]
fn only_a_whole_block_of_that_type_counts() {
    check("# /// other\n# dependencies = ['rich']\n# ///\nimport requests\n", &["requests"], &[]);
    check("# /// script\n# dependencies = ['rich']\nimport requests\n", &["requests"], &[]);
    check("# /// script\n# ///\nimport requests\n", &["requests"], &[]);
    check("# /// script \n# dependencies = ['rich']\n# ///\nimport requests\n", &["requests"], &[]);
    check("# /// script\n# dependencies = ['rich']\n\n# ///\nimport requests\n", &["requests"], &[]);
    check("  # /// script\n# dependencies = ['rich']\n# ///\nimport requests\n", &["requests"], &[]);
}

#[test]
fn the_block_ends_at_the_last_end_mark_of_the_comment() {
    check(
        "# /// script\n# dependencies = [\n# '''rich''', # a\n# ]\n# x = '''\n# ///\n# '''\n# ///\n",
        &["rich"],
        &[],
    );
}

#[test]
fn a_block_that_cannot_be_read_is_refused_with_its_line() {
    let block = |body: &str| format!("x = 1\n# /// script\n# {body}\n# ///\n");
    for body in [
        "dependencies = 'rich'",
        "dependencies = [1]",
        "dependencies = [",
        "requires-python = 3",
        "requires-python = '3'",
        "requires-python = ''",
        "dependencies = ['rich @ https://example.org/rich.whl']",
        "dependencies = ['git+https://example.org/x']",
        "dependencies = ['./local']",
        "dependencies = ['-e .']",
        "dependencies = ['--index-url=https://example.org']",
        "dependencies = ['']",
    ] {
        check_invalid(&block(body), 2);
    }
    let two = "# /// script\n# x = 1\n# ///\n\n# /// script\n# x = 1\n# ///\n";
    check_invalid(two, 5);
    let many: Vec<String> = (0..201).map(|index| format!("'p{index}'")).collect();
    check_invalid(&block(&format!("dependencies = [{}]", many.join(","))), 2);
    check_invalid(&block(&format!("x = {}", "[".repeat(100_000))), 2);
}

#[test]
fn a_requires_comment_adds_to_what_is_imported() {
    check(
        "# requires: yfinance, pyyaml\nimport yaml\nimport requests\n",
        &["pyyaml", "requests", "yfinance"],
        &[],
    );
    check("\"\"\"Doc.\"\"\"\n#requires:a>=1,<2, b[x,y]\n# requires: c\n", &["a>=1,<2", "b[x,y]", "c"], &[]);
    check(
        "try:\n    import requests\nexcept ImportError:\n    pass\n# requires: requests>=2\n",
        &["requests>=2"],
        &[],
    );
    check_invalid("x = 1\n# requires: a @ https://example.org/a.whl\n", 2);
    check_invalid("# requires: -r other.txt\n", 1);
    check(&format!("#{}\n# requires: late\n", "x".repeat(8192)), &[], &[]);
}

#[test]
fn a_sentence_is_no_declaration() {
    for text in [
        "# requires: an API key\n",
        "# requires: a running Chrome, and patience\n",
        "# requires:\n",
        "# requires root\n",
    ] {
        check(text, &[], &[]);
    }
}

#[test]
fn requirements_are_taken_in_the_form_of_pep_508() {
    for good in [
        "requests",
        "A.b-c_d",
        "a [x, y] >= 1.0 , != 1.5.*",
        "a (>=1,<2)",
        "a===1.0+local",
        "a~=2.1; python_version < '3.12' and (sys_platform == \"linux\" or extra == 'x')",
        "a; 'win' not in sys_platform",
        "a[]",
    ] {
        assert!(Requirement::parse(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "-a",
        "a-",
        "_a",
        "a b",
        "a >",
        "a = 1",
        "a >= 1 2",
        "a[",
        "a[x y]",
        "a (>=1",
        "a; ",
        "a; python == '3'",
        "a; python_version < '3",
        "a; (os_name == 'x'",
        "a; os_name == 'x')",
        "a; os_name == 'x' os_name",
        "a@b",
        "a/b",
        "a:b",
        "a\nb",
        "a>=1;;",
        "é",
    ] {
        assert!(Requirement::parse(bad).is_err(), "{bad}");
    }
    assert!(Requirement::parse(&format!("a; {}", "(".repeat(400))).is_err());
    assert!(Requirement::parse(&"a".repeat(501)).is_err());
}

#[test]
fn requirements_that_say_the_same_are_kept_once() {
    let text =
        "# /// script\n# dependencies = ['b', 'A_b >=1', 'a.B>= 1', 'a-b<3; os_name == \"nt\"']\n# ///\n";
    check(text, &["a-b<3; os_name == \"nt\"", "A_b >=1", "b"], &[]);
}

#[test]
fn declarations_are_found_in_text_that_does_not_parse() {
    let declared = declared_dependencies("# requires: rich\ndef broken(\n").unwrap().unwrap();
    assert_eq!(declared.required, ["rich"]);
    assert!(declared_dependencies("import rich\n").unwrap().is_none());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _result = declared_dependencies(&text);
        let _requirement = Requirement::parse(&text);
    }

    #[test]
    fn no_text_like_a_block_makes_it_panic(
        lines in proptest::collection::vec(prop::sample::select(LINES), 0..12), end in "[\r\n ]{1,2}"
    ) {
        let _result = declared_dependencies(&lines.join(&end));
    }

    #[test]
    fn what_is_taken_names_a_package_and_no_address(text in "[a-c@:/;<>=.,\\[\\] '(-]{1,12}") {
        if let Ok(requirement) = Requirement::parse(&text) {
            let text = requirement.into_text();
            prop_assert!(!text.starts_with('-'));
            let before_marker = text.split(';').next().unwrap_or_default();
            prop_assert!(!before_marker.contains(['@', ':', '/']), "{}", text);
        }
    }
}

const LINES: &[&str] = &[
    "# /// script",
    "# ///",
    "#",
    "# ",
    "# dependencies = [",
    "# 'rich',",
    "# ]",
    "# requires: a",
    "# requires: ,",
    "x",
    "",
    "# /// other",
    "# requires-python = '>=3'",
    "# é",
    "# requires: a[,",
    "#/// script",
    "# '''",
    "# requires: \u{e9}",
];
