//! Texts made to be deep: none may panic or run out of stack, and what CPython takes is taken.

use super::super::{PythonSource, PythonVersion};
use super::{BRACKETS_MAX, DEPTH_ANYWHERE_MAX, DEPTH_MAX, INDENTS_MAX};
use roost_protocol::Reason;

fn parse(text: &str) -> Result<PythonSource, roost_protocol::Failure> {
    PythonSource::parse(text.as_bytes(), PythonVersion::NEWEST)
}

fn refused(text: &str) -> Option<String> {
    parse(text).err().map(|failure| {
        assert_eq!(failure.reason, Reason::SyntaxError, "{failure:?}");
        failure.message
    })
}

/// Shapes of nesting: what stands before each level, the middle, what stands after each level.
const SHAPES: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{", "1", "}"),
    ("{1: ", "1", "}"),
    ("f(", "1", ")"),
    ("a[", "1", "]"),
    ("[x for x in ", "a", "]"),
    ("-", "1", ""),
    ("~", "1", ""),
    ("not ", "1", ""),
    ("await ", "1", ""),
    ("*", "a", ""),
    ("**", "a", ""),
    ("yield ", "1", ""),
    ("return ", "1", ""),
    ("lambda: ", "1", ""),
    ("lambda x,: ", "1", ""),
    ("lambda x=", "1", ": 1"),
    ("1 if 1 else ", "1", ""),
    ("", "1", " if 1 else 1"),
    ("2 ** ", "1", ""),
    ("1 + ", "1", ""),
    ("1 < ", "1", ""),
    ("1 and ", "1", ""),
    ("1 and 1 or ", "1", ""),
    ("", "a", ".b"),
    ("", "a", "()"),
    ("", "a", "[0]"),
    ("a = ", "1", ""),
    ("a := ", "1", ""),
    ("a: ", "1", ""),
    ("if a: ", "pass", ""),
    ("if a,: ", "pass", ""),
    ("(\nif a,: ", "pass", ""),
    ("for a in b, c: ", "pass", ""),
    ("while a: ", "pass", ""),
    ("with a, b: ", "pass", ""),
    ("with (", "a", "): pass"),
    ("match (", "a", "):"),
    ("print (", "a", ") ="),
    ("type (", "a", ") ="),
    ("(a, *", "a", ")"),
    ("(lambda ", "a", ")"),
    ("try: ", "pass", ""),
    ("def f(a, b): ", "pass", ""),
    ("class A(a, b): ", "pass", ""),
    ("match a: ", "pass", ""),
    ("match a,: case b,: ", "pass", ""),
    ("async ", "pass", ""),
    ("@", "a", ""),
    ("f'{", "1", "}'"),
    ("f'{a:{", "1", "}}'"),
    ("f\"{f'{", "1", "}'}\""),
    ("t'{", "1", "}'"),
    ("import ", "a", ""),
    ("from a import ", "a", ""),
    ("type a = ", "1", ""),
    ("def f[T: ", "int", "](): pass"),
    ("x, ", "1", ""),
    ("x; ", "1", ""),
    ("x ", "1", ""),
    ("\\\n", "1", ""),
    ("else: ", "1", ""),
    ("except a,: ", "1", ""),
    ("'", "", ""),
    ("f'", "", ""),
    ("'''", "", ""),
    (")", "", ""),
    ("}", "", ""),
    ("f'{(", "", ""),
];

#[test]
fn no_shape_of_nesting_ends_the_process() {
    for count in [DEPTH_ANYWHERE_MAX / 3, DEPTH_ANYWHERE_MAX - 5, DEPTH_MAX - 5, 100_000] {
        for (before, middle, after) in SHAPES {
            let core = format!("{}{middle}{}\n", before.repeat(count), after.repeat(count));
            for text in [core.clone(), format!("x = ({core}"), format!("match a:\n case {core}")] {
                // Taken or refused, but answered.
                if let Err(failure) = parse(&text) {
                    let expected = matches!(failure.reason, Reason::SyntaxError | Reason::UnsupportedSyntax);
                    assert!(expected, "{before:?} x {count}: {failure:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_parsed_anywhere_needs_half_of_the_smallest_stack() {
    let parse_all = || {
        for (before, middle, after) in SHAPES {
            let count = DEPTH_ANYWHERE_MAX - 5;
            let _result = parse(&format!("{}{middle}{}\n", before.repeat(count), after.repeat(count)));
        }
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn_scoped(scope, parse_all)
            .unwrap()
            .join()
            .unwrap();
    });
}

#[test]
fn brackets_have_the_limit_of_cpython() {
    let nested = |count: usize| format!("x = {}{}\n", "(".repeat(count), ")".repeat(count));
    assert_eq!(refused(&nested(BRACKETS_MAX)), None);
    assert_eq!(refused(&nested(BRACKETS_MAX + 1)).as_deref(), Some("too many nested parentheses"));
}

#[test]
fn indentation_has_the_limit_of_cpython() {
    let nested = |count: usize| {
        let lines = (0..count).map(|level| format!("{}if x:\n", " ".repeat(level)));
        format!("{}{}pass\n", lines.collect::<String>(), " ".repeat(count))
    };
    assert_eq!(refused(&nested(INDENTS_MAX)), None);
    assert_eq!(refused(&nested(INDENTS_MAX + 1)).as_deref(), Some("too many levels of indentation"));
}

#[test]
fn long_chains_are_taken_up_to_the_limit() {
    let sum = |terms: usize| format!("x = {}1\n", "1 + ".repeat(terms));
    assert_eq!(refused(&sum(DEPTH_ANYWHERE_MAX * 4)), None);
    assert!(refused(&sum(DEPTH_MAX + 1)).is_some());
}

#[test]
fn wide_is_not_deep() {
    let items = "{'a': -1, 'b': [f(x).y + 1, lambda: 2]},\n".repeat(3_000);
    assert_eq!(refused(&format!("x = [\n{items}]\n")), None);
    assert_eq!(refused(&format!("x = (\n{})\n", "'text'\n".repeat(20_000))), None);
    assert_eq!(refused(&"x = f(1).y\n".repeat(20_000)), None);
    let clauses = "elif x == 1:\n    y = 2\n".repeat(5_000);
    assert_eq!(refused(&format!("if x:\n    y = 1\n{clauses}")), None);
}
