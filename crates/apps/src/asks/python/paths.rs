//! Paths, put together from what a source says about them: home folders, joined parts and the file's own place.
//!
//! Nothing is looked up on disk. A part that is not known is a `{}` in the path.

use super::names::{Budget, Names, STEPS_MAX, TEXT_BYTES_MAX, UNKNOWN, operands};
use ruff_python_ast::{BoolOp, Expr, ExprCall, FStringPart, InterpolatedStringElement, Operator};

/// Longest path that is put together: only its beginning is ever asked for.
const PATH_BYTES_MAX: usize = 512;

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// The person's home folder.
    Home,
    /// The agent's own file, or a folder above it.
    Own,
    /// As the text says: the root, or some other folder.
    Text,
}

/// A path as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePath {
    pub(super) root: Root,
    /// What follows the root.
    pub(super) rest: String,
}

impl SourcePath {
    fn new(root: Root, rest: &str) -> Self {
        Self { root, rest: rest.to_owned() }
    }

    /// The path as a place is written, when it is in the home folder or begins at the root.
    pub(super) fn place(&self) -> Option<String> {
        match self.root {
            Root::Home => Some(format!("~/{}", self.rest.trim_start_matches('/'))),
            Root::Text if self.rest.starts_with('/') => Some(self.rest.clone()),
            _ => None,
        }
    }

    fn join(mut self, part: &str) -> Self {
        if part.starts_with('/') {
            return Self::new(Root::Text, part);
        }
        if !(self.rest.ends_with('/') || self.rest.is_empty() && self.root == Root::Text) {
            self.rest.push('/');
        }
        self.rest.push_str(part);
        self
    }

    /// `~` becomes the home folder.
    fn expanded(self) -> Self {
        match self.rest.strip_prefix('~') {
            Some(rest) if self.root == Root::Text && (rest.is_empty() || rest.starts_with('/')) => {
                Self::new(Root::Home, rest)
            }
            _ => self,
        }
    }
}

/// Attributes that a call which gives a path ends in.
const PATH_CALLS: &[&str] = &[
    "Path",
    "absolute",
    "abspath",
    "dirname",
    "expanduser",
    "expandvars",
    "fspath",
    "get",
    "getenv",
    "home",
    "join",
    "joinpath",
    "normpath",
    "realpath",
    "resolve",
];

/// False for most calls, before anything is looked up for them.
pub(super) fn may_give(call: &ExprCall) -> bool {
    match &*call.func {
        Expr::Attribute(attribute) => PATH_CALLS.contains(&attribute.attr.as_str()),
        function => matches!(function, Expr::Name(_)),
    }
}

impl Names<'_> {
    /// The path an expression stands for.
    pub(super) fn path(&self, expression: &Expr) -> Option<SourcePath> {
        self.path_within(expression, &mut Budget::new())
    }

    fn path_within(&self, expression: &Expr, budget: &mut Budget) -> Option<SourcePath> {
        budget.step()?;
        match expression {
            Expr::StringLiteral(literal) => {
                let text = literal.value.to_str();
                (text.len() <= TEXT_BYTES_MAX).then(|| SourcePath::new(Root::Text, text))
            }
            Expr::Name(name) if name.id.as_str() == "__file__" => Some(SourcePath::new(Root::Own, "")),
            Expr::FString(_) => self.template(expression, budget),
            Expr::BinOp(operation) if operation.op == Operator::Div => {
                let left = self.path_within(&operation.left, budget)?;
                Some(left.join(&self.part(&operation.right)))
            }
            Expr::BinOp(operation) if operation.op == Operator::Add => {
                let parts = operands(expression, STEPS_MAX)?;
                let (first, rest) = parts.split_first()?;
                let mut path = self.path_within(first, budget)?;
                rest.iter().for_each(|part| path.rest.push_str(&self.part(part)));
                Some(path)
            }
            Expr::BoolOp(choice) if choice.op == BoolOp::Or => {
                choice.values.iter().take(STEPS_MAX).find_map(|value| self.path_within(value, budget))
            }
            Expr::If(choice) => {
                self.path_within(&choice.body, budget).or_else(|| self.path_within(&choice.orelse, budget))
            }
            Expr::Subscript(subscript) => {
                let is_home =
                    self.full_name(&subscript.value)? == "os.environ" && self.is_home_name(&subscript.slice);
                is_home.then(|| SourcePath::new(Root::Home, ""))
            }
            Expr::Call(call) => self.called(call, budget),
            // The folder above; which one it is matters only for the agent's own file.
            Expr::Attribute(attribute) if attribute.attr.as_str() == "parent" => {
                let path = self.path_within(&attribute.value, budget)?;
                (path.root == Root::Own).then_some(path)
            }
            other => self.path_within(self.value(other)?, budget),
        }
    }

    /// A template that begins with a path, such as `f"{home}/notes"`, or with text.
    fn template(&self, expression: &Expr, budget: &mut Budget) -> Option<SourcePath> {
        let Expr::FString(literal) = expression else { return None };
        let first = literal.value.iter().next()?;
        if let FStringPart::FString(inner) = first
            && let Some(InterpolatedStringElement::Interpolation(start)) = inner.elements.iter().next()
            && let Some(mut path) = self.path_within(&start.expression, budget)
        {
            let known = self.text(&start.expression).unwrap_or_else(|| UNKNOWN.to_owned());
            let whole = self.text(expression)?;
            path.rest.push_str(whole.strip_prefix(&known)?);
            return Some(path);
        }
        self.text(expression).map(|text| SourcePath::new(Root::Text, &text))
    }

    fn called(&self, call: &ExprCall, budget: &mut Budget) -> Option<SourcePath> {
        let arguments = &call.arguments.args;
        if let Some(name) = self.full_name(&call.func) {
            match name.as_str() {
                "pathlib.Path.home" | "Path.home" => return Some(SourcePath::new(Root::Home, "")),
                "os.path.expanduser" => {
                    return Some(self.path_within(arguments.first()?, budget)?.expanded());
                }
                "os.path.expandvars" => {
                    let text = self.text(arguments.first()?)?;
                    let rest = text.strip_prefix("$HOME").or_else(|| text.strip_prefix("${HOME}"))?;
                    return Some(SourcePath::new(Root::Home, rest));
                }
                "os.path.join" | "pathlib.Path" | "Path" => return self.joined(arguments, budget),
                "os.environ.get" | "os.getenv" => {
                    let is_home = self.is_home_name(arguments.first()?);
                    return is_home.then(|| SourcePath::new(Root::Home, ""));
                }
                "str" | "os.fspath" | "os.path.abspath" | "os.path.realpath" | "os.path.normpath" => {
                    return self.path_within(arguments.first()?, budget);
                }
                "os.path.dirname" => {
                    let path = self.path_within(arguments.first()?, budget)?;
                    return (path.root == Root::Own).then_some(path);
                }
                _ => {}
            }
        }
        let Expr::Attribute(method) = &*call.func else { return None };
        let path = |budget: &mut Budget| self.path_within(&method.value, budget);
        match method.attr.as_str() {
            "expanduser" => Some(path(budget)?.expanded()),
            "resolve" | "absolute" => path(budget),
            "joinpath" => {
                let path = path(budget)?;
                Some(self.join_all(path, arguments))
            }
            _ => None,
        }
    }

    fn joined(&self, parts: &[Expr], budget: &mut Budget) -> Option<SourcePath> {
        let (first, rest) = parts.split_first()?;
        let path = self.path_within(first, budget)?;
        Some(self.join_all(path, rest))
    }

    /// The path with these parts below it. What comes after the first few changes nothing that is asked for.
    fn join_all(&self, mut path: SourcePath, parts: &[Expr]) -> SourcePath {
        for part in parts.iter().take(STEPS_MAX) {
            if path.rest.len() > PATH_BYTES_MAX {
                break;
            }
            path = path.join(&self.part(part));
        }
        path
    }

    fn part(&self, expression: &Expr) -> String {
        self.text(expression).unwrap_or_else(|| UNKNOWN.to_owned())
    }

    fn is_home_name(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::StringLiteral(literal) if literal.value.to_str() == "HOME")
    }
}
