//! How deep a tree a text can make, found before the parser makes it.
//!
//! The parser grows its stack as it needs, without end, but dropping the tree recurses on the stack there is: a file
//! of a hundred thousand minus signs would end the host. Brackets and indentation have CPython's own limits; what
//! else nests (chains of operators, calls, lambdas) is counted, and above a limit the file is refused.

use roost_protocol::{Failure, Reason};
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// CPython refuses a 201st open bracket.
const BRACKETS_MAX: usize = 200;

/// CPython refuses a 100th level of indentation.
const INDENTS_MAX: usize = 99;

/// Deepest tree that is parsed at all. CPython gives up at about 3,000 levels, from 3.13 on at about 10,000;
/// written code stays below a few hundred.
const DEPTH_MAX: usize = 10_000;

/// Deepest tree that any thread has room for: a test parses such trees, without optimisation, on half of the 2 MiB
/// that a thread has.
const DEPTH_ANYWHERE_MAX: usize = 500;

/// Stack for the trees in between; it is only touched as far as it is used.
const DEEP_STACK_BYTES: usize = 64 << 20;

/// Bounds on the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Depth {
    deepest: usize,
    /// How many tokens there are; no tree has more leaves.
    pub(super) tokens: usize,
}

/// What is open at one level of brackets.
#[derive(Default)]
struct Level {
    /// Tokens that may nest, since the last comma or the start of the statement.
    chain: usize,
    /// Tokens that nest across commas: lambdas, and statements that an erroneous line strings together.
    keywords: usize,
}

/// An upper bound of the tree's depth, or the refusal of what no interpreter takes.
pub(super) fn depth_bound(text: &str) -> Result<Depth, Failure> {
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut levels = vec![Level::default()];
    // The sum of `chain + keywords` over all levels but the last, so that each token costs the same.
    let mut below = 0;
    let mut indents = 0_usize;
    let mut deepest = 0;
    let mut tokens = 0;
    // One byte can make two tokens (a dedent and what follows); the bound only guards against a lexer that stands still.
    for _ in 0..text.len().saturating_mul(2).saturating_add(1024) {
        let kind = lexer.next_token();
        tokens += 1;
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { break };
        match kind {
            TokenKind::EndOfFile => break,
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            TokenKind::Newline => {
                // The lexer sees no open bracket here, whatever was counted in an erroneous text.
                levels.truncate(1);
                levels[0] = Level::default();
                below = 0;
            }
            TokenKind::Comma if depth > 1 => level.chain = 0,
            TokenKind::Semi if depth == 1 => level.chain = 0,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                level.chain += 1;
                below += level.chain + level.keywords;
                levels.push(Level::default());
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace if depth > 1 => {
                levels.pop();
                below -= levels.last().map_or(0, |level| level.chain + level.keywords);
            }
            kind if nests_across_commas(kind) => level.keywords += 1,
            kind if nests(kind) => level.chain += 1,
            _ => {}
        }
        deepest = deepest.max(below + levels.last().map_or(0, |level| level.chain + level.keywords));
        if levels.len() > BRACKETS_MAX + 1 {
            return Err(refused("too many nested parentheses"));
        }
        if indents > INDENTS_MAX {
            return Err(refused("too many levels of indentation"));
        }
        if deepest > DEPTH_MAX {
            return Err(refused("an expression is nested too deeply"));
        }
    }
    Ok(Depth { deepest, tokens })
}

/// Runs `work` with stack enough for a tree of this depth.
pub(super) fn with_room<T: Send>(depth: Depth, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    if depth.deepest <= DEPTH_ANYWHERE_MAX {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(DEEP_STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread
            .map_err(|error| Failure::new(Reason::Internal, format!("no thread to parse on: {error}")))?;
        thread.join().map_err(|_| super::parser_stopped())
    })
}

fn nests_across_commas(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Lambda
            | TokenKind::If
            | TokenKind::Elif
            | TokenKind::Else
            | TokenKind::For
            | TokenKind::While
            | TokenKind::With
            | TokenKind::Try
            | TokenKind::Except
            | TokenKind::Finally
            | TokenKind::Def
            | TokenKind::Class
            | TokenKind::Match
            | TokenKind::Case
            | TokenKind::Async
    )
}

/// Names, numbers, text and line ends are leaves; every other token may put one tree inside another.
fn nests(kind: TokenKind) -> bool {
    !matches!(
        kind,
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringStart
            | TokenKind::FStringMiddle
            | TokenKind::FStringEnd
            | TokenKind::TStringStart
            | TokenKind::TStringMiddle
            | TokenKind::TStringEnd
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline
            | TokenKind::True
            | TokenKind::False
            | TokenKind::None
            | TokenKind::Comma
    )
}

fn refused(message: &str) -> Failure {
    Failure::new(Reason::SyntaxError, message)
        .with_next("split the expression or the function into smaller ones")
}

#[cfg(test)]
mod tests;
