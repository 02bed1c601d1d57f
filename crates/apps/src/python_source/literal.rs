//! The manifest as data: the value of the first plain assignment to `__manifest__`, when it is a literal.
//!
//! "First" is by level, as the registry finds it: an assignment in the module scope comes before one that stands
//! earlier in the text but inside a class or an `if`.

use super::{Manifest, lines::Lines, text_of};
use ruff_python_ast::{ElifElseClause, ExceptHandler, Expr, MatchCase, Number, Stmt, StmtAssign, UnaryOp};
use ruff_text_size::Ranged as _;
use serde_json::{Map, Value};
use std::collections::VecDeque;

const MANIFEST_NAME: &str = "__manifest__";

/// A node of the tree that holds statements, at the level CPython's tree has it.
enum Node<'a> {
    Statement(&'a Stmt),
    Handler(&'a ExceptHandler),
    Case(&'a MatchCase),
    /// An `elif` with the clauses after it: CPython nests each `elif` in the `else` of the one before.
    Elif(&'a [ElifElseClause]),
}

/// The manifest of a module. An assignment that is not a literal means that there is none.
pub(super) fn manifest(body: &[Stmt], text: &str, lines: &Lines) -> Option<Manifest> {
    // Most files without a manifest do not have the word at all.
    if !text.contains(MANIFEST_NAME) {
        return None;
    }
    let assignment = first_assignment(body)?;
    // The registry cannot tell a manifest of `None` from none at all.
    let value = to_json(&assignment.value, text).filter(|value| !value.is_null())?;
    Some(Manifest { value, line: lines.line_of(assignment.start()) })
}

fn first_assignment(body: &[Stmt]) -> Option<&StmtAssign> {
    let mut queue: VecDeque<Node<'_>> = body.iter().map(Node::Statement).collect();
    while let Some(node) = queue.pop_front() {
        if let Node::Statement(Stmt::Assign(assignment)) = node {
            let names_manifest =
                |target: &Expr| matches!(target, Expr::Name(name) if name.id.as_str() == MANIFEST_NAME);
            if assignment.targets.iter().any(names_manifest) {
                return Some(assignment);
            }
        }
        queue_children(node, &mut queue);
    }
    None
}

fn queue_children<'a>(node: Node<'a>, queue: &mut VecDeque<Node<'a>>) {
    let statements =
        |queue: &mut VecDeque<Node<'a>>, body: &'a [Stmt]| queue.extend(body.iter().map(Node::Statement));
    match node {
        Node::Handler(ExceptHandler::ExceptHandler(handler)) => statements(queue, &handler.body),
        Node::Case(case) => statements(queue, &case.body),
        Node::Elif([first, rest @ ..]) => {
            statements(queue, &first.body);
            queue_else(rest, queue);
        }
        Node::Elif([]) => {}
        Node::Statement(statement) => match statement {
            Stmt::FunctionDef(inner) => statements(queue, &inner.body),
            Stmt::ClassDef(inner) => statements(queue, &inner.body),
            Stmt::With(inner) => statements(queue, &inner.body),
            Stmt::For(inner) => {
                statements(queue, &inner.body);
                statements(queue, &inner.orelse);
            }
            Stmt::While(inner) => {
                statements(queue, &inner.body);
                statements(queue, &inner.orelse);
            }
            Stmt::If(inner) => {
                statements(queue, &inner.body);
                queue_else(&inner.elif_else_clauses, queue);
            }
            Stmt::Match(inner) => queue.extend(inner.cases.iter().map(Node::Case)),
            Stmt::Try(inner) => {
                statements(queue, &inner.body);
                queue.extend(inner.handlers.iter().map(Node::Handler));
                statements(queue, &inner.orelse);
                statements(queue, &inner.finalbody);
            }
            _ => {}
        },
    }
}

fn queue_else<'a>(clauses: &'a [ElifElseClause], queue: &mut VecDeque<Node<'a>>) {
    match clauses.first() {
        None => {}
        Some(clause) if clause.test.is_some() => queue.push_back(Node::Elif(clauses)),
        Some(clause) => queue.extend(clause.body.iter().map(Node::Statement)),
    }
}

/// A literal as JSON; nothing when it is not one Python's `literal_eval` takes. Brackets bound the recursion.
fn to_json(expression: &Expr, text: &str) -> Option<Value> {
    let array = |items: &[Expr]| items.iter().map(|item| to_json(item, text)).collect::<Option<Vec<_>>>();
    match expression {
        Expr::StringLiteral(literal) => Some(Value::String(literal.value.to_str().to_owned())),
        Expr::BytesLiteral(_) => Some(Value::String(text_of(expression, text).to_owned())),
        Expr::BooleanLiteral(literal) => Some(Value::Bool(literal.value)),
        Expr::NoneLiteral(_) => Some(Value::Null),
        Expr::NumberLiteral(literal) => Some(number(&literal.value, expression, text)),
        Expr::UnaryOp(_) | Expr::BinOp(_) => signed_or_complex(expression, text),
        Expr::List(list) => array(&list.elts).map(Value::Array),
        Expr::Tuple(tuple) => array(&tuple.elts).map(Value::Array),
        Expr::Set(set) => array(&set.elts).map(Value::Array),
        Expr::Call(call) => {
            let is_set = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "set");
            (is_set && call.arguments.args.is_empty() && call.arguments.keywords.is_empty())
                .then(|| Value::Array(Vec::new()))
        }
        Expr::Dict(dict) => {
            let mut map = Map::new();
            for item in &dict.items {
                let key = to_json(item.key.as_ref()?, text)?;
                map.insert(key_text(key), to_json(&item.value, text)?);
            }
            Some(Value::Object(map))
        }
        _ => None,
    }
}

/// A key as `json.dumps` would write it; text stays as it is.
fn key_text(key: Value) -> String {
    match key {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn number(number: &Number, expression: &Expr, text: &str) -> Value {
    let as_text = || Value::String(text_of(expression, text).to_owned());
    match number {
        Number::Int(int) => match int.as_i64() {
            Some(value) => Value::from(value),
            None => int.to_string().parse::<u64>().map_or_else(|_| as_text(), Value::from),
        },
        Number::Float(float) => serde_json::Number::from_f64(*float).map_or_else(as_text, Value::Number),
        Number::Complex { .. } => as_text(),
    }
}

/// `-1`, `+1.5`, and `1 + 2j`, which is text in JSON.
fn signed_or_complex(expression: &Expr, text: &str) -> Option<Value> {
    match expression {
        Expr::UnaryOp(unary) if matches!(unary.op, UnaryOp::USub | UnaryOp::UAdd) => {
            let Expr::NumberLiteral(literal) = &*unary.operand else { return None };
            let value = number(&literal.value, &unary.operand, text);
            if unary.op == UnaryOp::UAdd {
                return Some(value);
            }
            let negative = match (value.as_i64(), value.as_f64()) {
                (Some(int), _) => int.checked_neg().map(Value::from),
                (None, Some(float)) if value.is_f64() => {
                    serde_json::Number::from_f64(-float).map(Value::Number)
                }
                _ => None,
            };
            Some(negative.unwrap_or_else(|| Value::String(text_of(expression, text).to_owned())))
        }
        Expr::BinOp(binary) => {
            let is_sum = matches!(binary.op, ruff_python_ast::Operator::Add | ruff_python_ast::Operator::Sub);
            let left = match &*binary.left {
                Expr::UnaryOp(unary) if matches!(unary.op, UnaryOp::USub | UnaryOp::UAdd) => &*unary.operand,
                left => left,
            };
            let is_real =
                matches!(left, Expr::NumberLiteral(real) if !matches!(real.value, Number::Complex { .. }));
            let is_imaginary = matches!(&*binary.right, Expr::NumberLiteral(part) if matches!(part.value, Number::Complex { .. }));
            (is_sum && is_real && is_imaginary).then(|| Value::String(text_of(expression, text).to_owned()))
        }
        _ => None,
    }
}
