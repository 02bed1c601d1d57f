//! The PEP 723 block: a run of comment lines from `# /// script` to the last `# ///`, holding TOML.

use super::{
    collect, invalid,
    requirement::{Requirement, check_version_specifiers},
};
use roost_protocol::{Dependencies, Failure};
use toml::{Table, Value};

const END: &str = "# ///";

/// What the block says; nothing when there is no block of the type `script`.
pub(super) fn read(text: &str) -> Result<Option<Dependencies>, Failure> {
    // Most files have none; they are not split into lines to find that out.
    if !text.contains("# /// script") {
        return Ok(None);
    }
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let mut script: Option<Block> = None;
    let mut at = 0;
    while at < lines.len() {
        match block_at(&lines, at) {
            Some(block) => {
                at = block.end + 1;
                if block.kind != "script" {
                    continue;
                }
                let line = block.line;
                if script.replace(block).is_some() {
                    return Err(invalid("there are two `# /// script` blocks").at_line(line));
                }
            }
            None => at += 1,
        }
    }
    script.map(|block| dependencies_of(&block).map_err(|failure| failure.at_line(block.line))).transpose()
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
fn block_at<'a>(lines: &[&'a str], start: usize) -> Option<Block<'a>> {
    let kind = lines[start].strip_prefix("# /// ")?;
    if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let body = &lines[start + 1..];
    let comments = body.iter().take_while(|line| **line == "#" || line.starts_with("# ")).count();
    let end = body[..comments].iter().rposition(|line| *line == END)?;
    if end == 0 {
        return None;
    }
    let mut content = String::new();
    for line in &body[..end] {
        content.push_str(line.strip_prefix("# ").unwrap_or(&line[1..]));
        content.push('\n');
    }
    Some(Block { kind, content, line: u32::try_from(start + 1).unwrap_or(u32::MAX), end: start + 1 + end })
}

fn dependencies_of(block: &Block<'_>) -> Result<Dependencies, Failure> {
    let table: Table = block
        .content
        .parse()
        .map_err(|error: toml::de::Error| invalid(format!("not TOML: {}", error.message())))?;
    let mut required = Vec::new();
    match table.get("dependencies") {
        None => {}
        Some(Value::Array(items)) => {
            for item in items {
                let Value::String(text) = item else {
                    return Err(invalid("`dependencies` is not a list of texts"));
                };
                required.push(Requirement::parse(text)?);
            }
        }
        Some(_) => return Err(invalid("`dependencies` is not a list of texts")),
    }
    let requires_python = match table.get("requires-python") {
        None => None,
        Some(Value::String(text)) => {
            check_version_specifiers(text)?;
            Some(text.trim().to_owned())
        }
        Some(_) => return Err(invalid("`requires-python` is not text")),
    };
    collect(required, Vec::new(), requires_python)
}
