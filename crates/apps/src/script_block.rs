//! The PEP 723 block: a run of comment lines from `# /// script` to the last `# ///`, holding TOML.
//!
//! TypeScript files have the same block in their own comments, `// /// script` to `// ///`. Who wants something from
//! the block reads its table; keys of others are not looked at.

use roost_protocol::{Failure, Reason};
use toml::Table;

/// How a language begins a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comment {
    /// `#`, as in Python.
    Hash,
    /// `//`, as in TypeScript.
    Slashes,
}

impl Comment {
    fn sign(self) -> &'static str {
        match self {
            Self::Hash => "#",
            Self::Slashes => "//",
        }
    }
}

/// The block of the type `script`.
#[derive(Debug)]
pub(crate) struct ScriptBlock {
    /// What it says.
    pub(crate) table: Table,
    /// Number of its first line, from 1.
    pub(crate) line: u32,
    content: String,
}

impl ScriptBlock {
    /// The block of this text, if there is one. What is wrong with it is a failure of the given reason.
    pub(crate) fn find(text: &str, comment: Comment, reason: Reason) -> Result<Option<Self>, Failure> {
        let sign = comment.sign();
        // Most files have none; they are not split into lines to find that out.
        if !text.contains("/// script") {
            return Ok(None);
        }
        let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let mut script: Option<Block> = None;
        let mut at = 0;
        while at < lines.len() {
            match block_at(&lines, at, sign) {
                Some(block) => {
                    at = block.end + 1;
                    if block.kind != "script" {
                        continue;
                    }
                    let line = block.line;
                    if script.replace(block).is_some() {
                        let message = format!("there are two `{sign} /// script` blocks");
                        return Err(Failure::new(reason, message).at_line(line));
                    }
                }
                None => at += 1,
            }
        }
        let Some(Block { content, line, .. }) = script else { return Ok(None) };
        let table = content.parse().map_err(|error: toml::de::Error| {
            Failure::new(reason, format!("not TOML: {}", error.message())).at_line(line)
        })?;
        Ok(Some(Self { table, line, content }))
    }

    /// The line of the file that has this text; the block's first when none has it as written.
    pub(crate) fn line_with(&self, text: &str) -> u32 {
        let index = self.content.lines().position(|line| line.contains(text));
        index.and_then(|index| u32::try_from(index + 1).ok()).map_or(self.line, |below| self.line + below)
    }
}

struct Block<'a> {
    kind: &'a str,
    content: String,
    /// Number of its first line, from 1.
    line: u32,
    /// Index of its last line.
    end: usize,
}

/// The block that begins at this line. Its end is the last `# ///` of the comment lines that follow without a gap,
/// as the pattern of the specification, which takes as much as it can, has it.
fn block_at<'a>(lines: &[&'a str], start: usize, sign: &str) -> Option<Block<'a>> {
    let comment = |line: &'a str| line.strip_prefix(sign);
    let kind = comment(lines[start])?.strip_prefix(" /// ")?;
    if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let is_comment =
        |line: &'a str| comment(line).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let body = &lines[start + 1..];
    let comments = body.iter().take_while(|line| is_comment(line)).count();
    let end = body[..comments].iter().rposition(|line| comment(line) == Some(" ///"))?;
    if end == 0 {
        return None;
    }
    let mut content = String::new();
    for line in &body[..end] {
        let rest = comment(line).unwrap_or_default();
        content.push_str(rest.strip_prefix(' ').unwrap_or(rest));
        content.push('\n');
    }
    Some(Block { kind, content, line: u32::try_from(start + 1).unwrap_or(u32::MAX), end: start + 1 + end })
}
