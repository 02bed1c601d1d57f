//! Changes of some lines of a text, so that a long file need not be sent whole to change a word of it.
//!
//! A line ends with `\n`; a `\r` before it is part of the line and stays as it is. What is inserted is taken
//! byte for byte, except that a missing line break at its end is added in the manner of the line above.
//! Reading, storing and preconditions are not done here.

use serde::Deserialize;

/// Most edits of one request: each walks the whole text once or twice.
pub const EDITS_MAX: usize = 1000;

/// Occurrences are counted up to here. Counting on would cost time and tell a person nothing more.
const OCCURRENCES_COUNTED_MAX: usize = 100;

/// One change. Line numbers are those of the text as the edits before it left it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Edit {
    /// Puts `new` in the place of `old`, which stands in the text exactly once.
    Replace {
        /// What is there; may span lines.
        old: String,
        /// What comes there.
        new: String,
    },
    /// Adds whole lines.
    Insert {
        /// The line after which they come; 0 is the top.
        line: usize,
        /// One line or several.
        text: String,
    },
    /// Takes whole lines away.
    Delete {
        /// The first of them, counted from 1.
        from: usize,
        /// The last of them.
        to: usize,
    },
    /// Adds whole lines at the end.
    Append {
        /// One line or several.
        text: String,
    },
}

/// Why a text was left as it is. Edits are numbered from 1; what they say is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// More edits than one request may have.
    #[error("{edits} edits, at most {EDITS_MAX}")]
    TooMany {
        /// How many there were.
        edits: usize,
    },
    /// There is nothing to look for.
    #[error("edit {edit}: the text to replace is empty")]
    EmptyOld {
        /// Which edit.
        edit: usize,
    },
    /// The text to replace is not there.
    #[error("edit {edit}: the text to replace was found 0 times; it must be there exactly once")]
    NotFound {
        /// Which edit.
        edit: usize,
    },
    /// The text to replace does not say which place is meant.
    #[error(
        "edit {edit}: the text to replace was found {} times; it must be there exactly once",
        counted(*.found)
    )]
    Ambiguous {
        /// Which edit.
        edit: usize,
        /// How often, overlapping places included; counting stops at 100.
        found: usize,
    },
    /// The text has no such line.
    #[error("edit {edit}: there is no line {line}; the text has {lines}")]
    NoSuchLine {
        /// Which edit.
        edit: usize,
        /// The line it names.
        line: usize,
        /// How many there are.
        lines: usize,
    },
    /// The last line to delete comes before the first.
    #[error("edit {edit}: the last line comes before the first")]
    BackwardRange {
        /// Which edit.
        edit: usize,
    },
}

/// The text after all edits, one after the other. One that does not fit refuses them all.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    if edits.len() > EDITS_MAX {
        return Err(EditError::TooMany { edits: edits.len() });
    }
    let mut text = text.to_owned();
    for (index, edit) in edits.iter().enumerate() {
        let number = index + 1;
        match edit {
            Edit::Replace { old, new } => replace(&mut text, number, old, new)?,
            Edit::Insert { line, text: lines } => {
                let at = end_of_line(&text, number, *line)?;
                insert(&mut text, at, lines);
            }
            Edit::Delete { from, to } => delete(&mut text, number, *from, *to)?,
            Edit::Append { text: lines } => {
                let at = text.len();
                insert(&mut text, at, lines);
            }
        }
    }
    Ok(text)
}

fn replace(text: &mut String, edit: usize, old: &str, new: &str) -> Result<(), EditError> {
    let step = old.chars().next().ok_or(EditError::EmptyOld { edit })?.len_utf8();
    let first = text.find(old).ok_or(EditError::NotFound { edit })?;
    // Overlapping places count: in `aaa` it is not clear which `aa` is meant.
    let (mut found, mut after) = (1, first + step);
    while let Some(next) = text[after..].find(old).filter(|_| found < OCCURRENCES_COUNTED_MAX) {
        found += 1;
        after += next + step;
    }
    if found > 1 {
        return Err(EditError::Ambiguous { edit, found });
    }
    text.replace_range(first..first + old.len(), new);
    Ok(())
}

fn delete(text: &mut String, edit: usize, from: usize, to: usize) -> Result<(), EditError> {
    if to < from {
        return Err(EditError::BackwardRange { edit });
    }
    let Some(before) = from.checked_sub(1) else {
        return Err(EditError::NoSuchLine { edit, line: 0, lines: text.split_inclusive('\n').count() });
    };
    // The end first: where the range leaves the text, its last line is what is wrong.
    let end = end_of_line(text, edit, to)?;
    text.replace_range(end_of_line(text, edit, before)?..end, "");
    Ok(())
}

/// Where the line with this number ends, its break included; the start of the text for 0.
fn end_of_line(text: &str, edit: usize, line: usize) -> Result<usize, EditError> {
    let mut end = 0;
    let mut lines = text.split_inclusive('\n');
    for passed in 0..line {
        let Some(content) = lines.next() else {
            return Err(EditError::NoSuchLine { edit, line, lines: passed });
        };
        end += content.len();
    }
    Ok(end)
}

/// Puts whole lines at a place where a line ends or the text begins.
fn insert(text: &mut String, at: usize, lines: &str) {
    let line_break = line_break_near(text, at);
    let mut inserted = String::with_capacity(lines.len() + 2 * line_break.len());
    if at > 0 && !text[..at].ends_with('\n') {
        inserted.push_str(line_break);
    }
    inserted.push_str(lines);
    if !lines.ends_with('\n') {
        inserted.push_str(line_break);
    }
    text.insert_str(at, &inserted);
}

/// The break of the last finished line above, else that of the first below, else `\n`.
fn line_break_near(text: &str, at: usize) -> &'static str {
    let above = text[..at].rfind('\n').map(|end| &text[..end]);
    let near = above.or_else(|| text[at..].find('\n').map(|end| &text[..at + end]));
    if near.is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { "\n" }
}

fn counted(found: usize) -> String {
    let more = if found == OCCURRENCES_COUNTED_MAX { "at least " } else { "" };
    format!("{more}{found}")
}

#[cfg(test)]
mod tests {
    use super::{EDITS_MAX, Edit, EditError, apply};
    use proptest::prelude::*;

    fn replace(old: &str, new: &str) -> Edit {
        Edit::Replace { old: old.into(), new: new.into() }
    }

    fn insert(line: usize, text: &str) -> Edit {
        Edit::Insert { line, text: text.into() }
    }

    fn append(text: &str) -> Edit {
        Edit::Append { text: text.into() }
    }

    #[track_caller]
    fn check(text: &str, edits: &[Edit], expect: &str) {
        assert_eq!(apply(text, edits).as_deref(), Ok(expect));
    }

    #[track_caller]
    fn refused(text: &str, edits: &[Edit], expect: &EditError) {
        assert_eq!(apply(text, edits).as_ref(), Err(expect));
    }

    #[test]
    fn a_text_that_stands_once_is_replaced() {
        check("one two three", &[replace("two", "2")], "one 2 three");
        check("a\nb\nc\n", &[replace("a\nb", "x")], "x\nc\n");
        check("é", &[replace("é", "")], "");
    }

    #[test]
    fn a_text_that_does_not_stand_exactly_once_is_refused_with_its_count() {
        refused("abc", &[replace("x", "y")], &EditError::NotFound { edit: 1 });
        refused("a a a", &[replace("a", "y")], &EditError::Ambiguous { edit: 1, found: 3 });
        refused("aaa", &[replace("aa", "y")], &EditError::Ambiguous { edit: 1, found: 2 });
        refused("éé", &[replace("é", "y")], &EditError::Ambiguous { edit: 1, found: 2 });
        refused("abc", &[replace("", "y")], &EditError::EmptyOld { edit: 1 });
        let error = apply("a a", &[replace("a", "y")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "edit 1: the text to replace was found 2 times; it must be there exactly once"
        );
    }

    #[test]
    fn counting_stops_where_it_would_only_cost_time() {
        let error = apply(&"a".repeat(200_000), &[replace(&"a".repeat(1000), "y")]).unwrap_err();
        assert_eq!(error, EditError::Ambiguous { edit: 1, found: 100 });
        assert!(error.to_string().contains("found at least 100 times"));
    }

    #[test]
    fn lines_come_after_the_line_that_is_named() {
        check("a\nb\n", &[insert(0, "x")], "x\na\nb\n");
        check("a\nb\n", &[insert(1, "x\ny\n")], "a\nx\ny\nb\n");
        check("a\nb\n", &[insert(2, "x")], "a\nb\nx\n");
        check("", &[insert(0, "x")], "x\n");
        check("a\n", &[insert(1, "")], "a\n\n");
        refused("a\nb\n", &[insert(3, "x")], &EditError::NoSuchLine { edit: 1, line: 3, lines: 2 });
    }

    #[test]
    fn an_unfinished_last_line_is_finished_before_lines_follow_it() {
        check("a\nb", &[insert(2, "x")], "a\nb\nx\n");
        check("a", &[append("x")], "a\nx\n");
        check("a\r\nb", &[append("x")], "a\r\nb\r\nx\r\n");
    }

    #[test]
    fn lines_are_appended_at_the_end() {
        check("a\n", &[append("x\n"), append("y")], "a\nx\ny\n");
        check("", &[append("x")], "x\n");
    }

    #[test]
    fn lines_are_deleted_with_both_ends() {
        let delete = |from, to| [Edit::Delete { from, to }];
        check("a\nb\nc\n", &delete(2, 2), "a\nc\n");
        check("a\nb\nc", &delete(2, 3), "a\n");
        check("a\nb\nc\n", &delete(1, 3), "");
        refused("a\nb\n", &delete(2, 3), &EditError::NoSuchLine { edit: 1, line: 3, lines: 2 });
        refused("a\n", &delete(0, 1), &EditError::NoSuchLine { edit: 1, line: 0, lines: 1 });
        refused("a\nb\n", &delete(2, 1), &EditError::BackwardRange { edit: 1 });
        refused("", &delete(1, 1), &EditError::NoSuchLine { edit: 1, line: 1, lines: 0 });
        refused("a", &delete(1, usize::MAX), &EditError::NoSuchLine { edit: 1, line: usize::MAX, lines: 1 });
    }

    #[test]
    fn breaks_with_carriage_return_stay_and_are_followed() {
        check("a\r\nb\r\n", &[insert(1, "x")], "a\r\nx\r\nb\r\n");
        check("a\r\nb\r\n", &[insert(0, "x")], "x\r\na\r\nb\r\n");
        check("a\r\nb\r\n", &[replace("b", "c")], "a\r\nc\r\n");
        check("a\r\nb\nc\r\n", &[insert(2, "x")], "a\r\nb\nx\nc\r\n");
        check("a\r\n", &[insert(1, "x\ny\n")], "a\r\nx\ny\n");
    }

    #[test]
    fn edits_see_what_the_ones_before_them_left() {
        let edits = [insert(0, "top"), Edit::Delete { from: 2, to: 2 }, replace("top", "head")];
        check("a\nb\n", &edits, "head\nb\n");
    }

    #[test]
    fn one_edit_that_does_not_fit_refuses_all() {
        refused("a\n", &[append("x"), replace("missing", "y")], &EditError::NotFound { edit: 2 });
    }

    #[test]
    fn a_request_has_a_limit_of_edits() {
        assert!(apply("", &vec![append("x"); EDITS_MAX]).is_ok());
        refused("", &vec![append("x"); EDITS_MAX + 1], &EditError::TooMany { edits: EDITS_MAX + 1 });
    }

    #[test]
    fn edits_are_read_from_json_and_nothing_unknown_is_taken() {
        let read = |text: &str| serde_json::from_str::<Edit>(text);
        assert_eq!(read(r#"{"op":"replace","old":"a","new":"b"}"#).unwrap(), replace("a", "b"));
        assert_eq!(read(r#"{"line":0,"text":"x","op":"insert"}"#).unwrap(), insert(0, "x"));
        assert_eq!(read(r#"{"op":"delete","from":1,"to":2}"#).unwrap(), Edit::Delete { from: 1, to: 2 });
        assert_eq!(read(r#"{"op":"append","text":"x"}"#).unwrap(), append("x"));
        for text in [
            r#"{"op":"append","text":"x","line":1}"#,
            r#"{"op":"insert","line":-1,"text":"x"}"#,
            r#"{"op":"insert","text":"x"}"#,
            r#"{"op":"rename","text":"x"}"#,
            r#"{"text":"x"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    /// The same rules on a list of lines.
    fn model(text: &str, edits: &[Edit]) -> Option<String> {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        for edit in edits {
            let (at, added) = match edit {
                Edit::Replace { old, new } => {
                    let whole = lines.concat();
                    let places: Vec<usize> = (0..whole.len())
                        .filter(|&at| whole.as_bytes()[at..].starts_with(old.as_bytes()))
                        .collect();
                    let ([place], false) = (places.as_slice(), old.is_empty()) else { return None };
                    let replaced = [&whole[..*place], new, &whole[place + old.len()..]].concat();
                    lines = replaced.split_inclusive('\n').map(str::to_owned).collect();
                    continue;
                }
                Edit::Delete { from, to } => {
                    if *from == 0 || from > to || *to > lines.len() {
                        return None;
                    }
                    lines.drain(from - 1..*to);
                    continue;
                }
                Edit::Insert { line, text } => (*line, text),
                Edit::Append { text } => (lines.len(), text),
            };
            if at > lines.len() {
                return None;
            }
            if let Some(above) =
                at.checked_sub(1).map(|above| &mut lines[above]).filter(|line| !line.ends_with('\n'))
            {
                above.push('\n');
            }
            let finished = if added.ends_with('\n') { added.clone() } else { format!("{added}\n") };
            lines.splice(at..at, finished.split_inclusive('\n').map(str::to_owned));
        }
        Some(lines.concat())
    }

    fn any_edit() -> impl Strategy<Value = Edit> {
        prop_oneof![
            ("[abé\n]{0,3}", "[xy\n]{0,3}").prop_map(|(old, new)| Edit::Replace { old, new }),
            (0..5usize, "[xy\n]{0,4}").prop_map(|(line, text)| Edit::Insert { line, text }),
            (0..5usize, 0..5usize).prop_map(|(from, to)| Edit::Delete { from, to }),
            "[xy\n]{0,4}".prop_map(|text| Edit::Append { text }),
        ]
    }

    proptest! {
        #[test]
        fn edits_do_what_a_list_of_lines_would(
            text in "[abcdé\n]{0,16}",
            edits in prop::collection::vec(any_edit(), 0..4),
        ) {
            prop_assert_eq!(apply(&text, &edits).ok(), model(&text, &edits));
        }
    }
}
