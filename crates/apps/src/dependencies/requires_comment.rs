//! The `# requires: a, b` comment of the RAPP kernels, in the first 8 KiB of a file.
//!
//! The same words begin ordinary sentences, so a comment that reads like one is not a declaration.

use super::requirement::Requirement;
use roost_protocol::Failure;

/// How far into the file the comment is looked for, as the kernels do.
const HEAD_BYTES: usize = 8 << 10;

/// What the comments declare; nothing when there is none.
pub(super) fn read(text: &str) -> Result<Option<Vec<Requirement>>, Failure> {
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    let mut found: Option<Vec<Requirement>> = None;
    for (number, line) in (1..).zip(head.lines()) {
        let Some(list) = list_in(line) else { continue };
        let items = split(list);
        if items.is_empty() || items.iter().any(|item| is_prose(item)) {
            continue;
        }
        let requirements = found.get_or_insert_default();
        for item in items {
            requirements.push(Requirement::parse(item).map_err(|failure| failure.at_line(number))?);
        }
    }
    Ok(found)
}

fn list_in(line: &str) -> Option<&str> {
    let comment = line.trim_start().strip_prefix('#')?;
    comment.trim_start().strip_prefix("requires")?.trim_start().strip_prefix(':').map(str::trim)
}

/// Splits at commas, but not inside brackets and not before another clause of the same version range.
fn split(list: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut start = 0;
    let mut open = 0_usize;
    for (index, character) in list.char_indices() {
        match character {
            '[' | '(' => open += 1,
            ']' | ')' => open = open.saturating_sub(1),
            ',' if open == 0 => {
                let rest = list[index + 1..].trim_start();
                if !rest.starts_with(['<', '>', '=', '!', '~']) {
                    items.push(&list[start..index]);
                    start = index + 1;
                }
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Two words in a row, or an end of sentence: text for people.
fn is_prose(item: &str) -> bool {
    let mut words = item.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_word = |text: &str| text.starts_with(|first: char| first.is_alphanumeric());
    let clause = first.contains(['<', '>', '=', '~', '!', ';', '@', '[']);
    is_word(first) && !clause && words.next().is_some_and(is_word)
}
