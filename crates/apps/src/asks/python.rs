//! What a Python module shows about the rights it needs, from its tree.
//!
//! One walk over all expressions; the names they use are learned before. Docstrings, annotations and the manifest are
//! not looked at: they say something to a reader and do nothing.

mod walk; // every node once, without recursion
mod names; // what names stand for
mod paths; // paths put together from parts
mod imports; // what an import alone shows
mod calls; // what a call shows

use super::{Found, findings::Findings, urls::is_read_only_key};
use names::{Names, TEXT_BYTES_MAX, operands};
use paths::Root;
use ruff_python_ast::{
    CmpOp, Comprehension, Expr, ExprCall, ExprContext, ExprDict, ExprFString, Operator, Stmt,
};
use ruff_text_size::Ranged;
use walk::{Below, Node, walk};

/// Everything the module shows; `line_of` gives the line of an offset in its text.
pub(crate) fn in_module(body: &[Stmt], text: &str, line_of: impl Fn(usize) -> u32) -> Found {
    let mut search =
        Search { names: Names::of(body), findings: Findings::default(), text, names_home: names_home(text) };
    walk(body, |node| match node {
        Node::Statement(statement) => search.statement(statement),
        Node::Expression(expression) => search.expression(expression),
    });
    search.findings.conclude(line_of)
}

/// True when the text has a word that every way to the home folder has. Most files have none.
fn names_home(text: &str) -> bool {
    ["expanduser", "HOME", ".home"].iter().any(|word| text.contains(word))
}

struct Search<'a> {
    names: Names<'a>,
    findings: Findings,
    text: &'a str,
    names_home: bool,
}

impl<'a> Search<'a> {
    fn statement(&mut self, statement: &'a Stmt) -> Below<'a> {
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                imports::look_at(statement, &mut self.findings);
                Below::Nothing
            }
            Stmt::Expr(inner) if is_text(&inner.value) => Below::Nothing,
            Stmt::Assign(assign) if assign.targets.iter().any(is_manifest) => Below::Nothing,
            _ => Below::Everything,
        }
    }

    fn expression(&mut self, expression: &'a Expr) -> Below<'a> {
        match expression {
            Expr::StringLiteral(literal) => self.findings.text(offset(expression), literal.value.to_str()),
            Expr::FString(literal) => self.template(expression, literal),
            Expr::BinOp(operation) if operation.op == Operator::Add => return self.sum(expression),
            Expr::BinOp(operation) if operation.op == Operator::Div => self.path(expression),
            Expr::Dict(dict) => return without_read_only(dict),
            Expr::Call(call) => return self.call(expression, call),
            Expr::Attribute(attribute) => self.mention(expression, attribute.attr.as_str()),
            Expr::Name(name) => self.word(offset(expression), name.id.as_str()),
            Expr::Subscript(subscript)
                if subscript.ctx == ExprContext::Load && self.is_environment(&subscript.value) =>
            {
                self.environment(offset(expression), &subscript.slice);
                self.path(expression);
            }
            Expr::Compare(compare) => {
                let lefts = std::iter::once(&*compare.left).chain(&compare.comparators);
                for ((left, operator), right) in lefts.zip(&compare.ops).zip(&compare.comparators) {
                    if matches!(operator, CmpOp::In | CmpOp::NotIn) && self.is_environment(right) {
                        self.environment(offset(expression), left);
                    }
                }
            }
            Expr::ListComp(inner) => self.loops(&inner.generators),
            Expr::SetComp(inner) => self.loops(&inner.generators),
            Expr::DictComp(inner) => self.loops(&inner.generators),
            Expr::Generator(inner) => self.loops(&inner.generators),
            _ => {}
        }
        Below::Everything
    }

    fn loops(&mut self, generators: &'a [Comprehension]) {
        for generator in generators {
            self.names.learn_loop(&generator.target, &generator.iter);
        }
    }

    fn is_environment(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Name(_) | Expr::Attribute(_))
            && self.names.full_name(expression).as_deref() == Some("os.environ")
    }

    fn environment(&mut self, at: usize, name: &Expr) {
        for name in self.names.texts(name) {
            self.findings.environment(at, &name);
        }
    }

    /// The text of a template, with constants filled in.
    fn template(&mut self, expression: &'a Expr, literal: &'a ExprFString) {
        if self.names_home {
            self.path(expression);
        }
        let source = self.source(expression);
        if !source.contains("://") {
            return;
        }
        if source.len() <= TEXT_BYTES_MAX
            && let Some(text) = self.names.text(expression)
        {
            self.findings.text(offset(expression), &text);
        } else {
            // Too long to be put together: each piece speaks for itself.
            let literals = literal.value.elements().filter_map(|element| element.as_literal());
            literals.for_each(|piece| self.findings.text(offset(expression), &piece.value));
        }
    }

    /// A chain of `+`, looked at as one text. Its operands are visited, and not the chain link by link: a long one
    /// would be read again for each of its links.
    fn sum(&mut self, expression: &'a Expr) -> Below<'a> {
        let parts = operands(expression, usize::MAX).unwrap_or_default();
        if self.names_home {
            self.path(expression);
        }
        let mut is_known = false;
        if self.source(expression).contains("://")
            && let Some(text) = self.names.text(expression)
        {
            self.findings.text(offset(expression), &text);
            is_known = true;
        }
        Below::Only(
            parts.into_iter().filter(|part| !(is_known && matches!(part, Expr::StringLiteral(_)))).collect(),
        )
    }

    fn call(&mut self, expression: &'a Expr, call: &'a ExprCall) -> Below<'a> {
        if paths::may_give(call) {
            self.path(expression);
        }
        calls::look_at(expression, &self.names, &mut self.findings);
        let is_read_only = |name: Option<&str>| name.is_some_and(is_read_only_key);
        let keywords = &call.arguments.keywords;
        if !keywords.iter().any(|keyword| is_read_only(keyword.arg.as_ref().map(|name| name.as_str()))) {
            return Below::Everything;
        }
        let kept = keywords
            .iter()
            .filter(|keyword| !is_read_only(keyword.arg.as_ref().map(|name| name.as_str())))
            .map(|keyword| &keyword.value);
        Below::Only(std::iter::once(&*call.func).chain(&call.arguments.args).chain(kept).collect())
    }

    /// Notes the path that the expression stands for, when that begins in the home folder. A path from the root is
    /// only noted for `/` between parts, which nothing but a path has.
    fn path(&mut self, expression: &Expr) {
        let is_division = matches!(expression, Expr::BinOp(operation) if operation.op == Operator::Div);
        if !(self.names_home || is_division) {
            return;
        }
        if let Some(path) = self.names.path(expression)
            && (path.root == Root::Home || is_division)
            && let Some(place) = path.place()
        {
            self.findings.place(offset(expression), &place);
        }
    }

    /// `module.attribute`, called or passed on.
    fn mention(&mut self, expression: &Expr, attribute: &str) {
        let at = offset(expression);
        if calls::may_start_programs(attribute)
            && self.names.full_name(expression).is_some_and(|name| calls::starts_programs(&name))
        {
            self.findings.right(at, "subprocess");
        }
        self.word(at, attribute);
    }

    /// Names of the kernels, which mean the same wherever they come from unless the file defines them itself.
    fn word(&mut self, at: usize, word: &str) {
        let right = match word {
            "AzureFileStorageManager" | "DynamicsStorageManager" => "memory:write",
            "call_llm" | "call_copilot" => "model",
            "AGENTS_PATH" => return self.findings.agents(at),
            _ => return,
        };
        if !self.names.defines(word) {
            self.findings.right(at, right);
        }
    }

    fn source(&self, expression: &Expr) -> &'a str {
        self.text.get(expression.range().to_std_range()).unwrap_or_default()
    }
}

/// The parts of a dictionary, without texts that name something or are meant for a reader.
fn without_read_only(dict: &ExprDict) -> Below<'_> {
    let is_read_only = |key: Option<&Expr>| {
        let text = key.and_then(|key| key.as_string_literal_expr());
        text.is_some_and(|key| is_read_only_key(key.value.to_str()))
    };
    if !dict.items.iter().any(|item| is_read_only(item.key.as_ref())) {
        return Below::Everything;
    }
    let kept = dict.items.iter().filter(|item| !is_read_only(item.key.as_ref()));
    Below::Only(kept.flat_map(|item| item.key.iter().chain(std::iter::once(&item.value))).collect())
}

fn is_text(expression: &Expr) -> bool {
    matches!(expression, Expr::StringLiteral(_) | Expr::FString(_))
}

fn is_manifest(target: &Expr) -> bool {
    matches!(target, Expr::Name(name) if name.id.as_str() == "__manifest__")
}

fn offset(node: &impl Ranged) -> usize {
    node.start().to_usize()
}
