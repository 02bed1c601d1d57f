//! What Python text says about itself without being run: imports, classes, names and the manifest.
//!
//! The parser's own tree is seen here and in `asks::python` only, so that a new parser changes little else. A file
//! that passes here may still fail to load; a file that is refused here would fail in every interpreter of that
//! version.

mod decode; // bytes to text
mod lines; // offsets to line numbers
mod nesting; // how deep a tree the text can make
mod statements; // walking the tree
mod imports; // what is imported, and how much depends on it
mod classes; // classes that may be agents, and their names
mod literal; // the manifest as data
mod outline; // the top level alone, as the rules of bundles look at it

pub(crate) use outline::{Field, Outline, OutlineClass};

use crate::asks;
use lines::Lines;
use roost_protocol::{Failure, Reason};
use ruff_python_ast::{Expr, ModModule, Stmt};
use ruff_python_parser::{Mode, ParseOptions, Parsed};
use ruff_text_size::{Ranged as _, TextSize};
use serde_json::Value;
use std::{fmt, panic::AssertUnwindSafe};

/// A version of the Python language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PythonVersion {
    /// 3, so far.
    pub major: u8,
    /// 11 in 3.11.
    pub minor: u8,
}

impl PythonVersion {
    /// The newest the parser knows: nothing is refused for being too new.
    pub const NEWEST: Self = Self { major: 3, minor: 14 };

    /// Reads `3.11` or `3.11.7`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().splitn(3, '.');
        Some(Self { major: parts.next()?.parse().ok()?, minor: parts.next()?.parse().ok()? })
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// A Python file that parses.
#[derive(Debug, Clone)]
pub struct PythonSource {
    text: String,
    docstring: Option<String>,
    imports: Vec<Import>,
    classes: Vec<AgentClass>,
    manifest: Option<Manifest>,
    found: asks::Found,
}

/// One imported module. Relative imports are left out: they never name a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The module as written, for example `azure.storage.blob`.
    pub module: String,
    /// What is taken from it, for `from module import names`.
    pub names: Vec<String>,
    /// Where.
    pub line: u32,
    /// The file goes on without it: inside `try` with an `except`, or for type checkers only.
    pub guarded: bool,
    /// Not run when the file is loaded: inside a function, or only when run as a program.
    pub lazy: bool,
}

impl Import {
    /// The first component, for example `azure`.
    #[must_use]
    pub fn top_level(&self) -> &str {
        self.module.split('.').next().unwrap_or_default()
    }
}

/// A class that the file has in its module scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentClass {
    /// Its name.
    pub name: String,
    /// Its base classes as written.
    pub bases: Vec<String>,
    /// Where it begins.
    pub line: u32,
    /// True when its own body defines `perform`.
    pub has_perform: bool,
    /// Its docstring.
    pub docstring: Option<String>,
    /// Agent names that are known without running the file, in the order of the text, each once.
    pub agent_names: Vec<NameInSource>,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameInSource {
    /// The name; not yet checked.
    pub name: String,
    /// Where.
    pub line: u32,
}

/// The literal value of `__manifest__`. What JSON cannot say is said in the nearest way it can: tuples and sets as
/// arrays, bytes and complex numbers as their source text.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The value.
    pub value: Value,
    /// Where the assignment begins.
    pub line: u32,
}

impl PythonSource {
    /// Decodes and parses a file for an interpreter of version `target`.
    pub fn parse(bytes: &[u8], target: PythonVersion) -> Result<Self, Failure> {
        let text = decode::decode(bytes)?;
        // The parser is someone else's and the bytes are a stranger's; a defect there must not end a listing.
        let depth =
            std::panic::catch_unwind(|| nesting::depth_bound(&text)).map_err(|_| parser_stopped())??;
        let found = nesting::with_room(depth, || {
            std::panic::catch_unwind(AssertUnwindSafe(|| extract(&text, target)))
                .unwrap_or_else(|_| Err(parser_stopped()))
        })??;
        let Extracted { docstring, imports, classes, manifest, found } = found;
        Ok(Self { text, docstring, imports, classes, manifest, found })
    }

    /// The decoded text, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The module's docstring.
    #[must_use]
    pub fn docstring(&self) -> Option<&str> {
        self.docstring.as_deref()
    }

    /// Imports anywhere in the file, in the order of the text.
    #[must_use]
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Classes in the module scope, in the order of the text.
    #[must_use]
    pub fn classes(&self) -> &[AgentClass] {
        &self.classes
    }

    /// The manifest, when the first assignment of `__manifest__` is a literal.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The rights the source shows.
    pub(crate) fn found(&self) -> &asks::Found {
        &self.found
    }
}

struct Extracted {
    docstring: Option<String>,
    imports: Vec<Import>,
    classes: Vec<AgentClass>,
    manifest: Option<Manifest>,
    found: asks::Found,
}

/// Parses, takes what is wanted, and drops the tree: all of it on the stack that was made large enough.
fn extract(text: &str, target: PythonVersion) -> Result<Extracted, Failure> {
    let target = ruff_python_ast::PythonVersion { major: target.major, minor: target.minor };
    let options = ParseOptions::from(Mode::Module).with_target_version(target);
    let parsed = ruff_python_parser::parse_unchecked(text, options)
        .try_into_module()
        .ok_or_else(|| Failure::plain(Reason::SyntaxError))?;
    let lines = Lines::of(text);
    refuse_errors(&parsed, text, &lines)?;
    let body = &parsed.syntax().body;
    let manifest = literal::manifest(body, text, &lines);
    let classes = classes::classes(body, text, &lines, manifest.as_ref());
    let line_of = |offset| lines.line_of(TextSize::try_from(offset).unwrap_or_default());
    let found = asks::in_module(body, text, line_of);
    Ok(Extracted {
        docstring: docstring(body),
        imports: imports::imports(body, &lines),
        classes,
        manifest,
        found,
    })
}

fn refuse_errors(parsed: &Parsed<ModModule>, text: &str, lines: &Lines) -> Result<(), Failure> {
    if let Some(error) = parsed.errors().iter().min_by_key(|error| error.location.start()) {
        // An error at the end of the file is about the last line that has something on it.
        let last = TextSize::try_from(text.trim_end().len()).unwrap_or_default();
        let line = lines.line_of(error.location.start().min(last));
        return Err(Failure::new(Reason::SyntaxError, error.error.to_string()).at_line(line));
    }
    if let Some(error) = parsed.unsupported_syntax_errors().iter().min_by_key(|error| error.range.start()) {
        let line = lines.line_of(error.range.start());
        return Err(Failure::new(Reason::UnsupportedSyntax, error.to_string()).at_line(line));
    }
    Ok(())
}

/// The docstring of a module or class: its first statement, when that is a plain string.
fn docstring(body: &[Stmt]) -> Option<String> {
    let Stmt::Expr(first) = body.first()? else { return None };
    let Expr::StringLiteral(literal) = &*first.value else { return None };
    Some(literal.value.to_str().to_owned())
}

/// The source text of an expression.
fn text_of<'a>(expression: &Expr, text: &'a str) -> &'a str {
    text.get(expression.range().to_std_range()).unwrap_or_default()
}

fn parser_stopped() -> Failure {
    Failure::new(Reason::Internal, "the Python parser stopped on this file")
}

#[cfg(test)]
mod tests;
