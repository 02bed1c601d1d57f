//! Walking a whole tree, statements and expressions, in the order of the text.
//!
//! The nodes still to visit stand in a list of our own instead of on the stack: expressions nest as deep as a chain
//! of operators is long, and this walk needs no more stack for ten thousand levels than for one.

use ruff_python_ast::{
    Expr, Stmt,
    visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt},
};

/// One node of the tree.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    Statement(&'a Stmt),
    Expression(&'a Expr),
}

/// What to visit below a node.
pub(super) enum Below<'a> {
    Everything,
    Nothing,
    Only(Vec<&'a Expr>),
}

/// Visits every node of the module, parents before children.
pub(super) fn walk<'a>(body: &'a [Stmt], mut visit: impl FnMut(Node<'a>) -> Below<'a>) {
    let mut open = Open(body.iter().rev().map(Node::Statement).collect());
    while let Some(node) = open.0.pop() {
        let end = open.0.len();
        match (visit(node), node) {
            (Below::Nothing, _) => {}
            (Below::Only(chosen), _) => open.0.extend(chosen.into_iter().map(Node::Expression)),
            (Below::Everything, Node::Statement(statement)) => walk_stmt(&mut open, statement),
            (Below::Everything, Node::Expression(expression)) => walk_expr(&mut open, expression),
        }
        open.0[end..].reverse();
    }
}

/// Visits every statement of the module, without their expressions.
pub(super) fn statements<'a>(body: &'a [Stmt], mut visit: impl FnMut(&'a Stmt)) {
    walk(body, |node| match node {
        Node::Statement(statement) => {
            visit(statement);
            Below::Everything
        }
        Node::Expression(_) => Below::Nothing,
    });
}

/// Nodes that were found and not yet visited. As a visitor it notes the direct children of a node and goes no deeper;
/// patterns and format specifications, which it does go through, nest no deeper than brackets may.
struct Open<'a>(Vec<Node<'a>>);

impl<'a> SourceOrderVisitor<'a> for Open<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.0.push(Node::Statement(statement));
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.0.push(Node::Expression(expression));
    }

    /// Says what a value is, and does nothing.
    fn visit_annotation(&mut self, _expression: &'a Expr) {}
}
