//! What changed between two versions, as a unified diff that `patch` and people read.
//!
//! The work is bounded: what is no text or too large gets no diff but its own answer, and where the shortest
//! diff takes too long, a longer one that is just as true is given. Lines end with `\n` only, as `patch` sees
//! it.

use similar::{
    DiffOp, DiffTag,
    algorithms::{Capture, IdentifyDistinct, Replace, myers},
    group_diff_ops,
};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// Largest side that is compared: four times the usual limit of a file.
const SIDE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Most lines of a side: what costs time is their number, and nobody reads a longer diff.
const SIDE_LINES_MAX: usize = 100_000;

/// How long the shortest diff is looked for, so that a request is answered at once in any case.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(300);

/// Most lines of context: more than a screen shows nothing that the file itself would not.
const CONTEXT_LINES_MAX: usize = 1000;

/// One of the two contents that are compared.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What the header calls it. Use `/dev/null` for a file that is not there.
    pub name: &'a str,
    /// What it holds; empty for a file that is not there.
    pub content: &'a [u8],
}

/// How two contents differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diff {
    /// Not at all.
    Same,
    /// As this unified diff says.
    Unified(String),
    /// Somehow: one of them is no UTF-8 text or holds a NUL.
    Binary,
    /// Somehow: one of them has more than 4 MiB or 100,000 lines.
    TooLarge,
}

/// Compares two contents line by line, with this many lines around each change.
#[must_use]
pub fn unified_diff(old: Side<'_>, new: Side<'_>, context_lines: usize) -> Diff {
    if old.content == new.content {
        return Diff::Same;
    }
    if old.content.len().max(new.content.len()) > SIDE_BYTES_MAX {
        return Diff::TooLarge;
    }
    let (Some(old_lines), Some(new_lines)) = (lines(old.content), lines(new.content)) else {
        return Diff::Binary;
    };
    if old_lines.len().max(new_lines.len()) > SIDE_LINES_MAX {
        return Diff::TooLarge;
    }
    let changes = changes(&old_lines, &new_lines, Instant::now() + SEARCH_TIME_MAX);
    let mut text = format!("--- {}\n+++ {}\n", header_name(old.name), header_name(new.name));
    for hunk in group_diff_ops(changes, context_lines.min(CONTEXT_LINES_MAX)) {
        push_hunk(&mut text, &hunk, &old_lines, &new_lines);
    }
    Diff::Unified(text)
}

/// The shortest list of changes, or after the deadline one that is longer.
fn changes(old_lines: &[&str], new_lines: &[&str], deadline: Instant) -> Vec<DiffOp> {
    // Numbers instead of lines: the search compares the same lines again and again.
    let numbers = IdentifyDistinct::<u32>::new(old_lines, 0..old_lines.len(), new_lines, 0..new_lines.len());
    // Not `capture_diff_deadline`: it tidies up afterwards, in quadratic time and past the deadline.
    let mut changes = Replace::new(Capture::new());
    let Ok(()) = myers::diff_deadline(
        &mut changes,
        numbers.old_lookup(),
        numbers.old_range(),
        numbers.new_lookup(),
        numbers.new_range(),
        Some(deadline),
    );
    changes.into_inner().into_ops()
}

fn lines(content: &[u8]) -> Option<Vec<&str>> {
    let text = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))?;
    Some(text.split_inclusive('\n').collect())
}

/// A control character would end the header, and without the tab `patch` takes a name for what stands before
/// a blank.
fn header_name(name: &str) -> String {
    let mut shown: String =
        name.chars().map(|character| if character.is_control() { '?' } else { character }).collect();
    if shown.contains(' ') {
        shown.push('\t');
    }
    shown
}

fn push_hunk(text: &mut String, hunk: &[DiffOp], old_lines: &[&str], new_lines: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let old = Span { start: first.old_range().start, end: last.old_range().end };
    let new = Span { start: first.new_range().start, end: last.new_range().end };
    writeln!(text, "@@ -{} +{} @@", old.written(), new.written()).expect("a string takes all text");
    for change in hunk {
        let (old, new) = (&old_lines[change.old_range()], &new_lines[change.new_range()]);
        if change.tag() == DiffTag::Equal {
            push_lines(text, ' ', old);
        } else {
            push_lines(text, '-', old);
            push_lines(text, '+', new);
        }
    }
}

fn push_lines(text: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// First line and number of lines; an empty span names the line before it, and the number 1 is left out.
    fn written(&self) -> String {
        match self.end - self.start {
            0 => format!("{},0", self.start),
            1 => format!("{}", self.start + 1),
            lines => format!("{},{lines}", self.start + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Diff, SIDE_BYTES_MAX, SIDE_LINES_MAX, Side, changes, header_name, push_hunk, unified_diff};
    use proptest::prelude::*;
    use std::time::Instant;

    fn diff(old: &str, new: &str, context_lines: usize) -> Diff {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        unified_diff(Side { name: "a", content: old }, Side { name: "b", content: new }, context_lines)
    }

    #[track_caller]
    fn check(old: &str, new: &str, context_lines: usize, expect: &str) {
        assert_eq!(diff(old, new, context_lines), Diff::Unified(format!("--- a\n+++ b\n{expect}")));
    }

    #[test]
    fn a_changed_line_stands_between_its_neighbours() {
        check("1\n2\n3\n4\n5\n", "1\n2\nx\n4\n5\n", 1, "@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n");
        check("1\n2\n3\n", "1\nx\n3\n", 0, "@@ -2 +2 @@\n-2\n+x\n");
    }

    #[test]
    fn changes_far_apart_are_separate_hunks() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n",
            "x\n2\n3\n4\n5\n6\ny\n",
            1,
            "@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -6,2 +6,2 @@\n 6\n-7\n+y\n",
        );
    }

    #[test]
    fn a_new_file_and_a_removed_file_name_line_zero() {
        check("", "a\nb\n", 3, "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\n", "", 3, "@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_missing_last_line_break_is_said() {
        check("a", "a\n", 3, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        check("a\nb", "x\nb", 3, "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n");
        // A carriage return alone ends no line.
        check(
            "a\r",
            "b\r",
            3,
            "@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+b\r\n\\ No newline at end of file\n",
        );
    }

    #[test]
    fn carriage_returns_are_kept() {
        check("a\r\nb\r\n", "a\r\nc\n", 3, "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\n");
    }

    #[test]
    fn equal_contents_have_no_diff_whatever_they_are() {
        assert_eq!(diff("a", "a", 3), Diff::Same);
        let large = vec![0; SIDE_BYTES_MAX + 1];
        let side = Side { name: "a", content: &large };
        assert_eq!(unified_diff(side, side, 3), Diff::Same);
    }

    #[test]
    fn what_is_no_text_is_binary() {
        assert_eq!(diff("a\0", "a", 3), Diff::Binary);
        let invalid = Side { name: "a", content: b"\xff" };
        assert_eq!(unified_diff(invalid, Side { name: "b", content: b"" }, 3), Diff::Binary);
    }

    #[test]
    fn what_is_too_large_is_not_compared() {
        assert_eq!(diff(&"a".repeat(SIDE_BYTES_MAX + 1), "", 3), Diff::TooLarge);
        assert_eq!(diff("", &"\n".repeat(SIDE_LINES_MAX + 1), 3), Diff::TooLarge);
    }

    #[test]
    fn names_cannot_end_the_header_early() {
        assert_eq!(header_name("a\n+++ b\tc"), "a?+++ b?c\t");
        assert_eq!(header_name("notes.md"), "notes.md");
    }

    #[test]
    fn after_the_deadline_the_diff_is_longer_and_still_true() {
        let old: String = (0..300).map(|line| format!("{}\n", line % 7)).collect();
        let new: String = (0..300).map(|line| format!("{}\n", line % 5)).collect();
        let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let mut text = String::from("--- a\n+++ b\n");
        push_hunk(&mut text, &changes(&old_lines, &new_lines, Instant::now()), &old_lines, &new_lines);
        assert_eq!(patched(&old, &text), new);
    }

    /// Applies a diff as `patch` does, without its leniency.
    fn patched(old: &str, diff: &str) -> String {
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut result, mut taken, mut lines) =
            (Vec::new(), 0, diff.split_inclusive('\n').skip(2).peekable());
        while let Some(line) = lines.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let (old_span, new_span) = header.strip_suffix(" @@\n").unwrap().split_once(" +").unwrap();
                let start = |span: &str| {
                    let (first, count) = span.split_once(',').unwrap_or((span, "1"));
                    let first: usize = first.parse().unwrap();
                    if count == "0" { first } else { first - 1 }
                };
                result.extend_from_slice(&old_lines[taken..start(old_span)]);
                taken = start(old_span);
                assert_eq!(result.len(), start(new_span));
                continue;
            }
            let unfinished = lines.next_if(|next| next.starts_with('\\')).is_some();
            let content = &line[1..line.len() - usize::from(unfinished)];
            if !line.starts_with('+') {
                assert_eq!(old_lines[taken], content);
                taken += 1;
            }
            if !line.starts_with('-') {
                result.push(content);
            }
        }
        result.extend_from_slice(&old_lines[taken..]);
        result.concat()
    }

    proptest! {
        #[test]
        fn the_diff_leads_from_one_text_to_the_other(
            old in "[ab\\\\+\r\n-]{0,30}",
            new in "[ab\\\\+\r\n-]{0,30}",
            context_lines in 0..4usize,
        ) {
            match diff(&old, &new, context_lines) {
                Diff::Unified(text) => prop_assert_eq!(patched(&old, &text), new),
                other => prop_assert!(other == Diff::Same && old == new),
            }
        }
    }
}
