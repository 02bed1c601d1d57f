//! Walking the statements of a tree.
//!
//! Only statements hold imports, classes and assignments, and they nest no deeper than indentation does, so none of
//! these walks can run out of stack.

use ruff_python_ast::{ExceptHandler, Stmt};

/// A block of statements inside a statement, and what kind of block it is.
pub(super) struct Block<'a> {
    pub(super) body: &'a [Stmt],
    pub(super) kind: BlockKind,
}

/// What a block of statements is to the statement it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// The body of a function.
    Function,
    /// The body of a class.
    Class,
    /// The first block of an `if`.
    IfTrue,
    /// The body of a `try` that has an `except`, or one of its handlers.
    Guarded,
    /// Any other block: it runs in the scope and under the conditions of its statement.
    Plain,
}

/// The blocks directly inside a statement, in the order of the text.
pub(super) fn blocks(statement: &Stmt) -> Vec<Block<'_>> {
    let block = |body, kind| Block { body, kind };
    match statement {
        Stmt::FunctionDef(inner) => vec![block(&inner.body, BlockKind::Function)],
        Stmt::ClassDef(inner) => vec![block(&inner.body, BlockKind::Class)],
        Stmt::If(inner) => std::iter::once(block(&inner.body, BlockKind::IfTrue))
            .chain(inner.elif_else_clauses.iter().map(|clause| block(&clause.body, BlockKind::Plain)))
            .collect(),
        Stmt::For(inner) => {
            vec![block(&inner.body, BlockKind::Plain), block(&inner.orelse, BlockKind::Plain)]
        }
        Stmt::While(inner) => {
            vec![block(&inner.body, BlockKind::Plain), block(&inner.orelse, BlockKind::Plain)]
        }
        Stmt::With(inner) => vec![block(&inner.body, BlockKind::Plain)],
        Stmt::Match(inner) => inner.cases.iter().map(|case| block(&case.body, BlockKind::Plain)).collect(),
        Stmt::Try(inner) => {
            let body = if inner.handlers.is_empty() { BlockKind::Plain } else { BlockKind::Guarded };
            let mut blocks = vec![block(&inner.body, body)];
            blocks.extend(inner.handlers.iter().map(|handler| {
                let ExceptHandler::ExceptHandler(handler) = handler;
                block(&handler.body, BlockKind::Guarded)
            }));
            blocks.push(block(&inner.orelse, BlockKind::Plain));
            blocks.push(block(&inner.finalbody, BlockKind::Plain));
            blocks
        }
        _ => Vec::new(),
    }
}

/// Visits the statements of one scope in the order of the text: into `if`, `try` and loops, not into functions and
/// classes.
pub(super) fn in_scope<'a>(body: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for statement in body {
        visit(statement);
        for block in blocks(statement) {
            if !matches!(block.kind, BlockKind::Function | BlockKind::Class) {
                in_scope(block.body, visit);
            }
        }
    }
}
