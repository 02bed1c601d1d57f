//! Where something stands in a text: the lines that hold a word or match a regular expression.
//!
//! The `regex` crate never goes back over a text: a search takes time in proportion to the text times the
//! size of the compiled pattern. That is never endless and can still be seconds for a megabyte, so there is a
//! deadline, looked at after each line. Which files are searched is the caller's choice.

use regex::{Regex, RegexBuilder};
use std::time::Instant;

/// Longest query; also keeps the parsing of it short.
const QUERY_BYTES_MAX: usize = 1024;

/// Largest compiled pattern. Repetitions multiply, so that a short query can ask for a huge one.
const PATTERN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Most memory that one search keeps for its states.
const STATES_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Deepest nesting of groups in a query.
const NESTING_MAX: u32 = 50;

/// How much of a line a regular expression gets to see: the deadline cannot stop it within a line.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Longest part of a line that is shown.
const SHOWN_CHARACTERS_MAX: usize = 300;

/// How much of a long line is shown before what was found.
const SHOWN_BEFORE_CHARACTERS: usize = 100;

/// What is looked for, line by line.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    line_bytes_max: usize,
}

/// Whether letters differ by their case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// `a` is not `A`.
    Exact,
    /// `a` is `A`, in every script that has the two.
    Ignored,
}

/// Why a query is not searched for. The query is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    /// Every line would match.
    #[error("a query is not empty")]
    Empty,
    /// Longer than the limit.
    #[error("a query has at most {QUERY_BYTES_MAX} bytes")]
    TooLong,
    /// Lines are searched one by one, so no line could match.
    #[error("a query has no line break")]
    LineBreak,
    /// Not a regular expression that is understood. Look-around and back-references are not.
    #[error("not a regular expression")]
    Syntax,
    /// Repeats so much that searching would be slow.
    #[error("a regular expression that becomes too large")]
    TooLarge,
}

/// The deadline passed before the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the search took too long")]
pub struct OutOfTime;

/// One line in which something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Number of the line, from 1.
    pub line: usize,
    /// Where in the line the first place begins: a number of characters, from 1.
    pub column: usize,
    /// The line without its break. Of a line with more than 300 characters, 300 that hold the beginning of
    /// the place.
    pub text: String,
}

impl Pattern {
    /// Looks for these very characters.
    pub fn literal(query: &str, case: Case) -> Result<Self, InvalidPattern> {
        check_query(query)?;
        if query.contains(['\n', '\r']) {
            return Err(InvalidPattern::LineBreak);
        }
        Ok(Self { regex: compile(&regex::escape(query), case)?, line_bytes_max: usize::MAX })
    }

    /// Looks for what a regular expression says; `^` and `$` are the ends of a line. Of a line with more than
    /// 64 KiB only these are searched.
    pub fn regex(query: &str) -> Result<Self, InvalidPattern> {
        check_query(query)?;
        Ok(Self { regex: compile(query, Case::Exact)?, line_bytes_max: LINE_BYTES_MAX })
    }

    /// The first lines that match, at most `lines_max` of them.
    pub fn matches(&self, text: &str, lines_max: usize, deadline: Instant) -> Result<Vec<Match>, OutOfTime> {
        let mut matches = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if matches.len() >= lines_max {
                break;
            }
            if Instant::now() >= deadline {
                return Err(OutOfTime);
            }
            let seen = &line[..line.floor_char_boundary(self.line_bytes_max)];
            if let Some(found) = self.regex.find(seen) {
                let before = line[..found.start()].chars().count();
                matches.push(Match { line: index + 1, column: before + 1, text: shown(line, before) });
            }
        }
        Ok(matches)
    }
}

fn check_query(query: &str) -> Result<(), InvalidPattern> {
    match query.len() {
        0 => Err(InvalidPattern::Empty),
        1..=QUERY_BYTES_MAX => Ok(()),
        _ => Err(InvalidPattern::TooLong),
    }
}

fn compile(expression: &str, case: Case) -> Result<Regex, InvalidPattern> {
    let compiled = RegexBuilder::new(expression)
        .case_insensitive(case == Case::Ignored)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(STATES_BYTES_MAX)
        .nest_limit(NESTING_MAX)
        .build();
    compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => InvalidPattern::TooLarge,
        _ => InvalidPattern::Syntax,
    })
}

/// The part of a line that is shown, for a place with this many characters before it.
fn shown(line: &str, before: usize) -> String {
    let skipped = match before {
        0..SHOWN_CHARACTERS_MAX => 0,
        _ => before - SHOWN_BEFORE_CHARACTERS,
    };
    line.chars().skip(skipped).take(SHOWN_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{Case, InvalidPattern, LINE_BYTES_MAX, Match, OutOfTime, Pattern};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn find(pattern: &Pattern, text: &str, lines_max: usize) -> Vec<Match> {
        pattern.matches(text, lines_max, Instant::now() + Duration::from_secs(60)).unwrap()
    }

    #[track_caller]
    fn check(pattern: &Pattern, text: &str, expect: &[(usize, usize, &str)]) {
        let expect: Vec<Match> = expect
            .iter()
            .map(|&(line, column, text)| Match { line, column, text: text.to_owned() })
            .collect();
        assert_eq!(find(pattern, text, 100), expect);
    }

    fn literal(query: &str) -> Pattern {
        Pattern::literal(query, Case::Exact).unwrap()
    }

    #[test]
    fn every_line_with_the_word_is_found_once() {
        check(&literal("ab"), "x\nab ab\r\n\nyab", &[(2, 1, "ab ab"), (4, 2, "yab")]);
    }

    #[test]
    fn a_literal_has_no_special_characters() {
        check(&literal("a.*"), "abc\na.*", &[(2, 1, "a.*")]);
        check(&literal("(["), "([", &[(1, 1, "([")]);
        check(&literal("a#b c"), "a#b c", &[(1, 1, "a#b c")]);
    }

    #[test]
    fn case_is_ignored_on_request_only() {
        check(&literal("straße"), "STRAßE", &[]);
        let ignoring = Pattern::literal("éa.", Case::Ignored).unwrap();
        check(&ignoring, "ÉA.\nÉAx", &[(1, 1, "ÉA.")]);
    }

    #[test]
    fn columns_count_characters() {
        check(&literal("x"), "日本x", &[(1, 3, "日本x")]);
    }

    #[test]
    fn a_regular_expression_sees_one_line_at_a_time() {
        let pattern = Pattern::regex(r"^\w+ \d+$").unwrap();
        check(&pattern, "one 1\ntwo\nthree 3\r\n", &[(1, 1, "one 1"), (3, 1, "three 3")]);
        check(&Pattern::regex(r"a\s+b").unwrap(), "a\nb", &[]);
        check(&Pattern::regex("(?i)A").unwrap(), "a", &[(1, 1, "a")]);
    }

    #[test]
    fn not_more_lines_are_given_than_asked_for() {
        assert_eq!(find(&literal("a"), &"a\n".repeat(10), 3).len(), 3);
        assert!(find(&literal("a"), "a", 0).is_empty());
    }

    #[test]
    fn a_long_line_is_cut_around_what_was_found() {
        let line = format!("{}needle{}", "é".repeat(1000), "ü".repeat(1000));
        let found = find(&literal("needle"), &line, 1).remove(0);
        assert_eq!((found.column, found.text.chars().count()), (1001, 300));
        assert!(found.text.starts_with(&format!("{}needle", "é".repeat(100))));
        let early = find(&literal("é"), &line, 1).remove(0);
        assert_eq!(early.text, "é".repeat(300));
    }

    #[test]
    fn a_regular_expression_sees_the_beginning_of_a_very_long_line() {
        let line = format!("{}x", "é".repeat(LINE_BYTES_MAX / 2));
        assert!(find(&Pattern::regex("x").unwrap(), &line, 1).is_empty());
        assert_eq!(find(&literal("x"), &line, 1).len(), 1);
    }

    #[test]
    fn a_search_ends_with_its_deadline() {
        assert_eq!(literal("a").matches("a", 1, Instant::now()), Err(OutOfTime));
    }

    #[test]
    fn queries_have_limits() {
        let refused = |query: &str| Pattern::literal(query, Case::Exact).unwrap_err();
        assert_eq!(refused(""), InvalidPattern::Empty);
        assert_eq!(refused(&"a".repeat(1025)), InvalidPattern::TooLong);
        assert_eq!(refused("a\nb"), InvalidPattern::LineBreak);
        assert!(Pattern::literal(&"a".repeat(1024), Case::Ignored).is_ok());
    }

    #[test]
    fn expressions_that_are_wrong_or_huge_are_refused() {
        let refused = |query: &str| Pattern::regex(query).unwrap_err();
        for query in [
            "(",
            "a**b(",
            r"(a)\1",
            "(?=a)",
            "[",
            &"(".repeat(500),
            &format!("{}a{}", "(".repeat(60), ")".repeat(60)),
        ] {
            assert_eq!(refused(query), InvalidPattern::Syntax, "{query}");
        }
        for query in ["(a{1000}){1000}", r"\pL{900}", "((a{100}){100}){100}"] {
            assert_eq!(refused(query), InvalidPattern::TooLarge, "{query}");
        }
        assert_eq!(refused(""), InvalidPattern::Empty);
    }

    #[test]
    fn a_pattern_that_makes_other_engines_run_away_does_not() {
        let pattern = Pattern::regex("(a+)+$").unwrap();
        check(&pattern, &format!("{}b", "a".repeat(5000)), &[]);
    }

    proptest! {
        #[test]
        fn a_literal_is_found_in_exactly_the_lines_that_hold_it(
            text in "[abé.\n]{0,30}",
            query in "[abé.]{1,2}",
        ) {
            let holding = text.lines().zip(1..).filter(|(line, _)| line.contains(&query));
            let expect: Vec<usize> = holding.map(|(_, number)| number).collect();
            let found = find(&literal(&query), &text, 100);
            prop_assert_eq!(found.iter().map(|found| found.line).collect::<Vec<usize>>(), expect);
        }
    }
}
