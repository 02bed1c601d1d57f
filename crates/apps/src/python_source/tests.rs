//! What is found in Python text, and that no bytes make the search panic.

use super::{PythonSource, PythonVersion};
use proptest::prelude::*;
use roost_protocol::Reason;
use serde_json::json;

const WEATHER: &str = include_str!("fixtures/weather_agent.py");
const REPORT: &str = include_str!("fixtures/report_agent.py");

fn parse(text: &str) -> PythonSource {
    PythonSource::parse(text.as_bytes(), PythonVersion::NEWEST).unwrap()
}

fn check_refused(text: &str, version: &str, reason: Reason, line: u32) {
    let target = PythonVersion::parse(version).unwrap();
    let failure = PythonSource::parse(text.as_bytes(), target).unwrap_err();
    assert_eq!((failure.reason, failure.line), (reason, Some(line)), "{failure:?}");
}

fn names(text: &str) -> Vec<Vec<String>> {
    let names =
        |class: &super::AgentClass| class.agent_names.iter().map(|found| found.name.clone()).collect();
    parse(text).classes().iter().map(names).collect()
}

#[test]
fn versions_are_read_with_and_without_a_patch() {
    let version = Some(PythonVersion { major: 3, minor: 11 });
    for text in ["3.11", "3.11.7", " 3.11.0rc1 "] {
        assert_eq!(PythonVersion::parse(text), version, "{text}");
    }
    for text in ["", "3", "three.one", "3.x"] {
        assert_eq!(PythonVersion::parse(text), None, "{text}");
    }
    assert_eq!(PythonVersion::NEWEST.to_string(), "3.14");
}

#[test]
fn a_syntax_error_names_its_line() {
    check_refused("x = 1\ndef broken(:\n    pass\n", "3.12", Reason::SyntaxError, 2);
    check_refused("\n\nprint 'python two'\n", "3.12", Reason::SyntaxError, 3);
}

#[test]
fn newer_syntax_is_refused_for_an_older_interpreter_only() {
    let text = "x = 1\nmatch x:\n    case 1:\n        pass\n";
    check_refused(text, "3.9", Reason::UnsupportedSyntax, 2);
    assert!(PythonSource::parse(text.as_bytes(), PythonVersion { major: 3, minor: 10 }).is_ok());
    check_refused("y = f'{\"\\n\".join(x)}'\n", "3.11", Reason::UnsupportedSyntax, 1);
}

#[test]
fn a_whole_agent_is_described() {
    let source = parse(WEATHER);
    assert!(source.docstring().unwrap().starts_with("Weather for one city"));
    let [class] = source.classes() else { panic!("{:?}", source.classes()) };
    assert_eq!((class.name.as_str(), &class.bases[..]), ("WeatherAgent", &["BasicAgent".to_owned()][..]));
    assert!(class.has_perform);
    assert_eq!(class.docstring.as_deref(), Some("Tells the weather."));
    assert_eq!(class.agent_names[0].name, "Weather");
    assert_eq!(WEATHER.lines().nth(class.line as usize - 1), Some("class WeatherAgent(BasicAgent):"));
    let manifest = source.manifest().unwrap();
    assert_eq!(manifest.value["name"], "@example/weather_agent");
    assert_eq!(WEATHER.lines().nth(manifest.line as usize - 1), Some("__manifest__ = {"));
}

#[test]
fn imports_say_whether_the_file_can_do_without() {
    let text = "import os.path, json
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import a
try:
    import b
except ImportError:
    import c
else:
    import d
try:
    import e
finally:
    import f
class K:
    import g
    def method(self):
        import h
        try:
            from i.j import k, l
        except Exception: pass
if __name__ == '__main__':
    import m
from . import n
from .o import p
if typing.TYPE_CHECKING: pass
else:
    import q
";
    let source = parse(text);
    let found: Vec<(&str, bool, bool)> =
        source.imports().iter().map(|import| (import.module.as_str(), import.guarded, import.lazy)).collect();
    assert_eq!(
        found,
        [
            ("os.path", false, false),
            ("json", false, false),
            ("typing", false, false),
            ("a", true, false),
            ("b", true, false),
            ("c", true, false),
            ("d", false, false),
            ("e", false, false),
            ("f", false, false),
            ("g", false, false),
            ("h", false, true),
            ("i.j", true, true),
            ("m", false, true),
            ("q", false, false),
        ]
    );
    let from = source.imports().iter().find(|import| import.module == "i.j").unwrap();
    assert_eq!(
        (from.top_level(), from.line, &from.names[..]),
        ("i", 20, &["k".to_owned(), "l".to_owned()][..])
    );
}

#[test]
fn names_are_resolved_where_constants_lead_to_them() {
    for (text, expected) in [
        ("class A:\n    name = 'One'\n", vec!["One"]),
        ("class A:\n    name: str = 'One'\n", vec!["One"]),
        ("class A:\n    def __init__(self):\n        self.name = 'One'\n", vec!["One"]),
        ("class A:\n    def __init__(self):\n        super().__init__('One', {})\n", vec!["One"]),
        (
            "class A:\n    def __init__(self):\n        super().__init__(metadata={}, name='One')\n",
            vec!["One"],
        ),
        ("class A:\n    def __init__(self):\n        Base.__init__(self, 'One')\n", vec!["One"]),
        ("N = 'One'\nclass A:\n    def __init__(self):\n        self.name = N\n", vec!["One"]),
        ("__manifest__ = {'k': 'One'}\nclass A:\n    name = __manifest__['k']\n", vec!["One"]),
        (
            "class A:\n    def __init__(self):\n        self.name = 'One'\n        super().__init__(self.name, {})\n",
            vec!["One"],
        ),
        (
            "class A:\n    name = 'One'\n    def __init__(self):\n        self.name = 'Two'\n",
            vec!["One", "Two"],
        ),
        ("N = 'One'\nclass A:\n    def __init__(self, N):\n        self.name = N\n", vec![]),
        ("N = 'One'\nN = f()\nclass A:\n    name = N\n", vec![]),
        (
            "class A:\n    def __init__(self):\n        self.name = f()\n        super().__init__(self.name)\n",
            vec![],
        ),
        ("class A:\n    def other(self):\n        self.name = 'One'\n", vec![]),
    ] {
        assert_eq!(names(text), [expected], "{text}");
    }
}

#[test]
fn classes_inside_conditions_belong_to_the_module_and_inner_classes_do_not() {
    let text = "try:\n    from x import Base\nexcept ImportError:\n    class Base: pass
class A(Base, metaclass=M):\n    class Inner:\n        def perform(self): pass
class B(x.Base[int]):\n    async def perform(self, **kwargs): pass
class C:\n    perform = helper\n";
    let source = parse(text);
    let found: Vec<(&str, Vec<&str>, bool)> = source
        .classes()
        .iter()
        .map(|class| {
            (class.name.as_str(), class.bases.iter().map(String::as_str).collect(), class.has_perform)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("Base", vec![], false),
            ("A", vec!["Base"], false),
            ("B", vec!["x.Base[int]"], true),
            ("C", vec![], true),
        ]
    );
}

fn manifest(text: &str) -> Option<serde_json::Value> {
    parse(text).manifest().map(|manifest| manifest.value.clone())
}

#[test]
fn every_literal_becomes_json() {
    let text = "__manifest__ = {'s': 'a' 'b', 'n': None, 'b': True, 'i': -3, 'f': +1.5, 't': (1, 2), 'set': {1},
        'e': set(), 'bytes': b'x', 'c': 1 + 2j, 'big': 99999999999999999999999, 'd': {1: 2, None: 3, 'u': 'é'}}";
    assert_eq!(
        manifest(text),
        Some(json!({
            "s": "ab", "n": null, "b": true, "i": -3, "f": 1.5, "t": [1, 2], "set": [1], "e": [], "bytes": "b'x'",
            "c": "1 + 2j", "big": "99999999999999999999999", "d": {"1": 2, "null": 3, "u": "é"}
        }))
    );
}

#[test]
fn a_value_that_must_be_run_is_no_manifest() {
    for value in [
        "{'a': f()}",
        "dict(a=1)",
        "{**x}",
        "f'{x}'",
        "'a' + 'b'",
        "[x for x in y]",
        "-'a'",
        "--1",
        "x",
        "...",
    ] {
        assert_eq!(manifest(&format!("__manifest__ = {value}\n")), None, "{value}");
    }
    assert_eq!(manifest("__manifest__: dict = {}\n"), None);
    assert_eq!(manifest("__manifest__ += {}\n"), None);
    assert_eq!(manifest("__manifest__ = None\n"), None);
}

#[test]
fn the_first_manifest_by_level_counts() {
    let check =
        |text: &str, expected: Option<i64>| assert_eq!(manifest(text), expected.map(|n| json!(n)), "{text}");
    check("class A:\n    __manifest__ = 1\n__manifest__ = 2\n", Some(2));
    check("if x:\n    __manifest__ = 1\n", Some(1));
    check("a = __manifest__ = 3\n", Some(3));
    check("__manifest__ = f()\n__manifest__ = 2\n", None);
    check("try: pass\nexcept E:\n    __manifest__ = 1\nfinally:\n    __manifest__ = 2\n", Some(2));
    check("if a: pass\nelif b:\n    __manifest__ = 1\nif c:\n    __manifest__ = 2\n", Some(2));
    check("if a: pass\nelse:\n    __manifest__ = 1\nif c:\n    __manifest__ = 2\n", Some(1));
}

#[test]
fn windows_and_old_mac_line_ends_are_counted() {
    check_refused("x = 1\r\ny = (\r\n", "3.12", Reason::SyntaxError, 2);
    check_refused("x = 1\ry = )\r", "3.12", Reason::SyntaxError, 2);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _result = PythonSource::parse(&bytes, PythonVersion::NEWEST);
    }

    #[test]
    fn no_text_of_python_pieces_makes_it_panic(
        pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..60)
    ) {
        let failure = PythonSource::parse(pieces.concat().as_bytes(), PythonVersion::NEWEST).err();
        prop_assert!(failure.is_none_or(|failure| failure.reason != Reason::Internal));
    }

    #[test]
    fn no_pieces_repeated_ever_so_often_run_out_of_stack(
        pieces in proptest::collection::vec(prop::sample::select(PIECES), 1..6), count in 50_usize..3_000
    ) {
        let failure = PythonSource::parse(pieces.concat().repeat(count).as_bytes(), PythonVersion::NEWEST).err();
        prop_assert!(failure.is_none_or(|failure| failure.reason != Reason::Internal));
    }

    #[test]
    fn no_change_of_a_real_agent_makes_it_panic(
        report: bool, cut in 0_usize..4_000, remove in 0_usize..40, insert in proptest::collection::vec(any::<u8>(), 0..8)
    ) {
        let mut bytes = if report { REPORT } else { WEATHER }.as_bytes().to_vec();
        let start = cut % bytes.len();
        let end = (start + remove).min(bytes.len());
        bytes.splice(start..end, insert);
        let failure = PythonSource::parse(&bytes, PythonVersion { major: 3, minor: 11 }).err();
        prop_assert!(failure.is_none_or(|failure| failure.reason != Reason::Internal));
    }
}

const PIECES: &[&str] = &[
    "class ",
    "def ",
    "perform",
    "__init__",
    "self",
    ".name",
    " = ",
    "'text'",
    "f'{",
    "}'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "\n",
    "\n    ",
    "\n        ",
    "import ",
    "from ",
    "try:",
    "except ",
    "if ",
    "elif ",
    "else:",
    "lambda ",
    "__manifest__",
    "super()",
    "1",
    "-",
    "not ",
    "**",
    "match ",
    "case ",
    "# coding: x",
    "'''",
    "\\",
    ";",
    "@",
    "é",
    "await ",
    "yield ",
    "with ",
    "return ",
    "*",
    "=",
    "->",
    "\r\n",
    "\t",
    "\u{feff}",
    "\x0c",
    "0x",
    "1e",
    "j",
    "b'",
    "rb\"",
];
