//! Classes that may be agents, and the agent names that are known without running them.
//!
//! A name is known when it is a string constant, or leads to one through a constant of the module or class, an
//! attribute set earlier, or a key of the manifest. Everything else is left to the running agent.

use super::{AgentClass, Manifest, NameInSource, docstring, lines::Lines, statements::in_scope, text_of};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::Ranged as _;
use serde_json::Value;
use std::collections::HashMap;

/// Every class in the module scope, also inside `if` and `try`.
pub(super) fn classes(
    body: &[Stmt],
    text: &str,
    lines: &Lines,
    manifest: Option<&Manifest>,
) -> Vec<AgentClass> {
    let mut found = Vec::new();
    let mut names = Names { manifest: manifest.map(|manifest| &manifest.value), ..Names::default() };
    in_scope(body, &mut |statement| match statement {
        Stmt::ClassDef(class) => found.push(describe(class, text, lines, &names)),
        other => names.learn_variable(other),
    });
    found
}

/// String constants known so far.
#[derive(Clone, Default)]
struct Names<'a> {
    variables: HashMap<&'a str, String>,
    attributes: HashMap<&'a str, String>,
    manifest: Option<&'a Value>,
}

impl<'a> Names<'a> {
    /// Remembers `x = "constant"`; forgets `x` when it becomes something else.
    fn learn_variable(&mut self, statement: &'a Stmt) {
        let Some((targets, value)) = assignment(statement) else { return };
        for target in targets {
            if let Expr::Name(name) = target {
                match self.resolve(value) {
                    Some(text) => self.variables.insert(name.id.as_str(), text),
                    None => self.variables.remove(name.id.as_str()),
                };
            }
        }
    }

    fn resolve(&self, expression: &Expr) -> Option<String> {
        match expression {
            Expr::StringLiteral(literal) => Some(literal.value.to_str().to_owned()),
            Expr::Name(name) => self.variables.get(name.id.as_str()).cloned(),
            Expr::Attribute(attribute) if is_self(&attribute.value) => {
                self.attributes.get(attribute.attr.as_str()).cloned()
            }
            Expr::Subscript(subscript) => {
                let Expr::Name(name) = &*subscript.value else { return None };
                let Expr::StringLiteral(key) = &*subscript.slice else { return None };
                let manifest = self.manifest.filter(|_| name.id.as_str() == "__manifest__")?;
                manifest.get(key.value.to_str())?.as_str().map(str::to_owned)
            }
            _ => None,
        }
    }
}

fn describe(class: &StmtClassDef, text: &str, lines: &Lines, names: &Names<'_>) -> AgentClass {
    let arguments = class.arguments.as_deref();
    let bases = arguments.map_or(&[][..], |arguments| &arguments.args[..]);
    let mut has_perform = false;
    in_scope(&class.body, &mut |statement| has_perform |= defines_perform(statement));
    AgentClass {
        name: class.name.to_string(),
        bases: bases.iter().map(|base| text_of(base, text).to_owned()).collect(),
        line: lines.line_of(class.name.start()),
        has_perform,
        docstring: docstring(&class.body),
        agent_names: agent_names(class, lines, names.clone()),
    }
}

fn defines_perform(statement: &Stmt) -> bool {
    match statement {
        Stmt::FunctionDef(function) => function.name.as_str() == "perform",
        other => assignment(other).is_some_and(|(targets, _)| {
            targets.iter().any(|target| matches!(target, Expr::Name(name) if name.id.as_str() == "perform"))
        }),
    }
}

fn agent_names<'a>(class: &'a StmtClassDef, lines: &Lines, mut names: Names<'a>) -> Vec<NameInSource> {
    let mut found: Vec<NameInSource> = Vec::new();
    let mut add = |name: Option<String>, at: &Expr| {
        if let Some(name) = name.filter(|name| found.iter().all(|known| known.name != *name)) {
            found.push(NameInSource { name, line: lines.line_of(at.start()) });
        }
    };
    let mut constructor: Option<&StmtFunctionDef> = None;
    in_scope(&class.body, &mut |statement| {
        if let Stmt::FunctionDef(function) = statement
            && function.name.as_str() == "__init__"
        {
            constructor = Some(function);
        }
        let Some((targets, value)) = assignment(statement) else { return };
        for target in targets {
            let Expr::Name(attribute) = target else { continue };
            let text = names.resolve(value);
            if attribute.id.as_str() == "name" {
                add(text.clone(), value);
            }
            if let Some(text) = text {
                names.attributes.insert(attribute.id.as_str(), text.clone());
                names.variables.insert(attribute.id.as_str(), text);
            }
        }
    });
    let Some(constructor) = constructor else { return found };
    // A parameter hides the constant of that name, and its value is the caller's.
    for parameter in constructor.parameters.iter_non_variadic_params() {
        names.variables.remove(parameter.name().as_str());
    }
    in_scope(&constructor.body, &mut |statement| {
        if let Some((targets, value)) = assignment(statement) {
            for target in targets {
                let Expr::Attribute(attribute) = target else { continue };
                if !is_self(&attribute.value) {
                    continue;
                }
                let text = names.resolve(value);
                if attribute.attr.as_str() == "name" {
                    add(text.clone(), value);
                }
                match text {
                    Some(text) => names.attributes.insert(attribute.attr.as_str(), text),
                    None => names.attributes.remove(attribute.attr.as_str()),
                };
            }
            names.learn_variable(statement);
        }
        if let Stmt::Expr(inner) = statement
            && let Expr::Call(call) = &*inner.value
            && let Some(argument) = name_argument(call)
        {
            add(names.resolve(argument), argument);
        }
    });
    found
}

/// The name given to the base class: `super().__init__(name)`, `super().__init__(name=name)` or
/// `Base.__init__(self, name)`.
fn name_argument(call: &ExprCall) -> Option<&Expr> {
    let Expr::Attribute(function) = &*call.func else { return None };
    if function.attr.as_str() != "__init__" {
        return None;
    }
    let by_keyword = call
        .arguments
        .keywords
        .iter()
        .find(|keyword| keyword.arg.as_ref().is_some_and(|name| name.as_str() == "name"))
        .map(|keyword| &keyword.value);
    let mut positional = call.arguments.args.iter();
    by_keyword.or_else(|| positional.find(|argument| !is_self(argument)))
}

fn assignment(statement: &Stmt) -> Option<(&[Expr], &Expr)> {
    match statement {
        Stmt::Assign(assign) => Some((&assign.targets, &assign.value)),
        Stmt::AnnAssign(assign) => Some((std::slice::from_ref(&assign.target), assign.value.as_deref()?)),
        _ => None,
    }
}

fn is_self(expression: &Expr) -> bool {
    matches!(expression, Expr::Name(name) if name.id.as_str() == "self")
}
