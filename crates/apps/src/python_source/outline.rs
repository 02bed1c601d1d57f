//! The top level of a module and nothing below it, as the rules of bundles look at it: names that are assigned,
//! classes with their bases, functions.
//!
//! The text is taken as text: a byte order mark and zero bytes are errors, and a coding comment means nothing.

use super::{lines::Lines, nesting, parser_stopped, refuse_errors};
use roost_protocol::{Failure, Reason};
use ruff_python_ast::{
    Expr, ExprDict, InterpolatedElement, InterpolatedStringElement, Parameters, Stmt, StmtClassDef,
    visitor::{Visitor, walk_interpolated_string_element},
};
use ruff_python_parser::{Mode, ParseOptions};
use ruff_text_size::Ranged as _;
use std::panic::AssertUnwindSafe;

use super::PythonVersion;

/// Most tokens that are made a tree of: more than an agent of the largest size can have, so that memory has a bound.
const TOKENS_MAX: usize = 220_000;

/// The top level of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Names with a plain assignment, one for each time a name is a target.
    pub(crate) assignments: Vec<Assignment>,
    /// Classes, in the order of the text.
    pub(crate) classes: Vec<OutlineClass>,
    /// Names of functions.
    pub(crate) functions: Vec<String>,
}

/// `name = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) line: u32,
    /// The value's keys that are text, when it is a dict display.
    pub(crate) dict: Option<Vec<(String, Field)>>,
}

/// A value in a dict display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Field {
    /// A string constant.
    Text(String),
    /// Anything else.
    Other,
}

/// A class and what its body defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutlineClass {
    pub(crate) name: String,
    pub(crate) line: u32,
    /// The last part of each base that is a name or a dotted name.
    pub(crate) bases: Vec<String>,
    /// For every `perform` in the body: whether it can be called with keywords that it does not know beforehand or
    /// names itself.
    pub(crate) performs: Vec<bool>,
}

impl Outline {
    /// Parses a text for an interpreter of version `target`.
    pub(crate) fn parse(text: &str, target: PythonVersion) -> Result<Self, Failure> {
        if text.contains('\0') {
            return Err(Failure::new(Reason::SyntaxError, "source code cannot contain null bytes"));
        }
        if text.starts_with('\u{feff}') {
            let message = "invalid non-printable character U+FEFF";
            return Err(Failure::new(Reason::SyntaxError, message).at_line(1));
        }
        let depth =
            std::panic::catch_unwind(|| nesting::depth_bound(text)).map_err(|_| parser_stopped())??;
        if depth.tokens > TOKENS_MAX {
            return Err(Failure::new(Reason::SyntaxError, format!("it has more than {TOKENS_MAX} tokens")));
        }
        nesting::with_room(depth, || {
            std::panic::catch_unwind(AssertUnwindSafe(|| outline(text, target)))
                .unwrap_or_else(|_| Err(parser_stopped()))
        })?
    }
}

fn outline(text: &str, target: PythonVersion) -> Result<Outline, Failure> {
    let target = ruff_python_ast::PythonVersion { major: target.major, minor: target.minor };
    let options = ParseOptions::from(Mode::Module).with_target_version(target);
    let parsed = ruff_python_parser::parse_unchecked(text, options)
        .try_into_module()
        .ok_or_else(|| Failure::plain(Reason::SyntaxError))?;
    let lines = Lines::of(text);
    refuse_errors(&parsed, text, &lines)?;
    refuse_newer_formats(&parsed.syntax().body, target, &lines)?;
    let mut outline = Outline::default();
    for statement in &parsed.syntax().body {
        match statement {
            Stmt::Assign(assignment) => {
                let names = assignment.targets.iter().filter_map(|target| match target {
                    Expr::Name(name) => Some(name.id.to_string()),
                    _ => None,
                });
                let dict = match &*assignment.value {
                    Expr::Dict(dict) => Some(fields(dict)),
                    _ => None,
                };
                let line = lines.line_of(assignment.start());
                outline.assignments.extend(names.map(|name| Assignment { name, line, dict: dict.clone() }));
            }
            Stmt::ClassDef(class) => outline.classes.push(describe(class, &lines)),
            Stmt::FunctionDef(function) => outline.functions.push(function.name.to_string()),
            _ => {}
        }
    }
    Ok(outline)
}

/// What the parser does not know of Python before 3.12: a format inside a format holds no expression, and `{*x}` is
/// none.
fn refuse_newer_formats(
    body: &[Stmt],
    target: ruff_python_ast::PythonVersion,
    lines: &Lines,
) -> Result<(), Failure> {
    struct NewerFormats(Option<ruff_text_size::TextSize>);

    impl<'a> Visitor<'a> for NewerFormats {
        fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
            let inner = |element: &'a InterpolatedStringElement| match element {
                InterpolatedStringElement::Interpolation(inner) => Some(inner),
                InterpolatedStringElement::Literal(_) => None,
            };
            let formats = |inner: &'a InterpolatedElement| {
                inner.format_spec.iter().flat_map(|format| format.elements.iter())
            };
            let deep = inner(element)
                .into_iter()
                .flat_map(formats)
                .filter_map(inner)
                .flat_map(formats)
                .find_map(inner);
            let starred = inner(element).filter(|inner| inner.expression.is_starred_expr());
            if let (None, Some(newer)) = (self.0, deep.or(starred)) {
                self.0 = Some(newer.start());
            }
            walk_interpolated_string_element(self, element);
        }
    }

    if target >= ruff_python_ast::PythonVersion::PY312 {
        return Ok(());
    }
    let mut found = NewerFormats(None);
    found.visit_body(body);
    match found.0 {
        None => Ok(()),
        Some(at) => {
            let message = "an f-string needs Python 3.12";
            Err(Failure::new(Reason::SyntaxError, message).at_line(lines.line_of(at)))
        }
    }
}

fn fields(dict: &ExprDict) -> Vec<(String, Field)> {
    let field = |value: &Expr| match value {
        Expr::StringLiteral(literal) => Field::Text(literal.value.to_str().to_owned()),
        _ => Field::Other,
    };
    dict.items
        .iter()
        .filter_map(|item| match item.key.as_ref()? {
            Expr::StringLiteral(key) => Some((key.value.to_str().to_owned(), field(&item.value))),
            _ => None,
        })
        .collect()
}

fn describe(class: &StmtClassDef, lines: &Lines) -> OutlineClass {
    let bases = class.arguments.as_deref().map_or(&[][..], |arguments| &arguments.args[..]);
    let last_part = |base: &Expr| match base {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(attribute.attr.to_string()),
        _ => None,
    };
    let performs = class.body.iter().filter_map(|statement| match statement {
        Stmt::FunctionDef(function) if function.name.as_str() == "perform" => {
            Some(takes_keywords(&function.parameters))
        }
        _ => None,
    });
    OutlineClass {
        name: class.name.to_string(),
        line: lines.line_of(class.name.start()),
        bases: bases.iter().filter_map(last_part).collect(),
        performs: performs.collect(),
    }
}

/// True for `(self, **kwargs)` and for `(self, named)`: the object itself, then nothing that only a place can fill.
fn takes_keywords(parameters: &Parameters) -> bool {
    let placed = parameters.posonlyargs.len() + parameters.args.len();
    let has_self = placed > 0 || parameters.vararg.is_some();
    let named = placed.saturating_sub(1) + parameters.kwonlyargs.len();
    has_self && parameters.posonlyargs.len() <= 1 && (parameters.kwarg.is_some() || named > 0)
}
