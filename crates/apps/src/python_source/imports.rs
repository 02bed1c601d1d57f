//! What a file imports, and whether it can do without.

use super::{
    Import,
    lines::Lines,
    statements::{BlockKind, blocks},
};
use ruff_python_ast::{Expr, Stmt, StmtIf};
use ruff_text_size::Ranged as _;

/// Under what conditions a statement runs.
#[derive(Clone, Copy, Default)]
struct Conditions {
    guarded: bool,
    lazy: bool,
}

/// Every import of the file, in the order of the text.
pub(super) fn imports(body: &[Stmt], lines: &Lines) -> Vec<Import> {
    let mut found = Vec::new();
    collect(body, Conditions::default(), lines, &mut found);
    found
}

fn collect(body: &[Stmt], conditions: Conditions, lines: &Lines, found: &mut Vec<Import>) {
    for statement in body {
        let line = || lines.line_of(statement.start());
        let Conditions { guarded, lazy } = conditions;
        match statement {
            Stmt::Import(import) => found.extend(import.names.iter().map(|alias| Import {
                module: alias.name.to_string(),
                names: Vec::new(),
                line: line(),
                guarded,
                lazy: lazy || import.is_lazy,
            })),
            Stmt::ImportFrom(import) if import.level == 0 => {
                found.extend(import.module.iter().map(|module| Import {
                    module: module.to_string(),
                    names: import.names.iter().map(|alias| alias.name.to_string()).collect(),
                    line: line(),
                    guarded,
                    lazy: lazy || import.is_lazy,
                }))
            }
            _ => {
                for block in blocks(statement) {
                    collect(block.body, within(conditions, statement, block.kind), lines, found);
                }
            }
        }
    }
}

fn within(conditions: Conditions, statement: &Stmt, kind: BlockKind) -> Conditions {
    let Conditions { guarded, lazy } = conditions;
    match (kind, statement) {
        (BlockKind::Function, _) => Conditions { guarded, lazy: true },
        (BlockKind::Guarded, _) => Conditions { guarded: true, lazy },
        (BlockKind::IfTrue, Stmt::If(inner)) => {
            Conditions { guarded: guarded || is_type_checking(inner), lazy: lazy || is_main(inner) }
        }
        _ => conditions,
    }
}

/// `if TYPE_CHECKING` or `if typing.TYPE_CHECKING`.
fn is_type_checking(statement: &StmtIf) -> bool {
    match &*statement.test {
        Expr::Name(name) => name.id.as_str() == "TYPE_CHECKING",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "TYPE_CHECKING",
        _ => false,
    }
}

/// `if __name__ == "__main__"`: not run when the file is loaded as an agent.
fn is_main(statement: &StmtIf) -> bool {
    let Expr::Compare(compare) = &*statement.test else { return false };
    let is_name =
        |expression: &Expr| matches!(expression, Expr::Name(name) if name.id.as_str() == "__name__");
    is_name(&compare.left) || compare.comparators.iter().any(is_name)
}
