//! Which version a writer has seen: tags of versions, and the conditions that requests put on them.
//!
//! A tag is random: one made from the number or the content of a version could match again after the file was deleted
//! and made anew, or match the file of another owner. Status codes are none of this module's business.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The tag of one version of one file: 128 random bits in quotes, as they stand in headers and bodies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Etag(String);

/// The text is not a tag that was made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a quoted tag of 32 hexadecimal digits")]
pub struct InvalidEtag;

impl TryFrom<String> for Etag {
    type Error = InvalidEtag;
    fn try_from(text: String) -> Result<Self, InvalidEtag> {
        Self::parse(&text)
    }
}

impl From<Etag> for String {
    fn from(etag: Etag) -> String {
        etag.0
    }
}

impl Etag {
    const RANDOM_BYTES: usize = 16;

    /// A tag that no version has had before.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; Self::RANDOM_BYTES];
        getrandom::fill(&mut bytes).expect("an operating system that runs the host has random numbers");
        Self(format!("\"{}\"", hex::encode(bytes)))
    }

    /// Reads a tag that was kept.
    pub fn parse(text: &str) -> Result<Self, InvalidEtag> {
        let opaque = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(InvalidEtag)?;
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let fits = opaque.len() == 2 * Self::RANDOM_BYTES && opaque.bytes().all(digit);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidEtag) }
    }

    /// The tag with its quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn opaque(&self) -> &str {
        &self.0[1..self.0.len() - 1]
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Why a header with tags could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTagList {
    /// There is no tag in it.
    #[error("a list of tags is not empty")]
    Empty,
    /// Longer than the contract allows.
    #[error("a list of tags has at most {TAGS_CHARACTERS_MAX} characters")]
    TooLong,
    /// A quote is not closed, something follows one, or `*` stands among tags.
    #[error("a list of tags is `*`, or quoted tags with commas between them")]
    Malformed,
}

/// The header `If-Match`: what the current version must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatch(TagList);

impl IfMatch {
    /// Reads the values of all `If-Match` lines of a request. Quotes that a client lost are added; nothing else is
    /// forgiven.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidTagList> {
        TagList::parse(values).map(Self)
    }

    /// Only this version.
    #[must_use]
    pub fn exactly(etag: &Etag) -> Self {
        Self(TagList::Tags(vec![Tag { weak: false, opaque: etag.opaque().to_owned() }]))
    }

    /// True where a live file has one of the tags. A weak tag equals none.
    #[must_use]
    pub fn holds(&self, current: Option<&Etag>) -> bool {
        self.0.has(current, |tag| !tag.weak)
    }
}

/// The header `If-None-Match`: what the current version must not be. `*` means that there must be no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfNoneMatch(TagList);

impl IfNoneMatch {
    /// Reads the values of all `If-None-Match` lines of a request, as forgiving as [`IfMatch::parse`].
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidTagList> {
        TagList::parse(values).map(Self)
    }

    /// There must be no file.
    #[must_use]
    pub fn any() -> Self {
        Self(TagList::Any)
    }

    /// True where no live file has one of the tags. A weak tag counts: caches weaken tags, and this header is theirs.
    #[must_use]
    pub fn holds(&self, current: Option<&Etag>) -> bool {
        !self.0.has(current, |_| true)
    }
}

/// What must be true of the current version for a write to happen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    if_match: Option<IfMatch>,
    if_none_match: Option<IfNoneMatch>,
}

impl Condition {
    /// The condition of a request with these headers. Without any, every write happens.
    #[must_use]
    pub fn of_headers(if_match: Option<IfMatch>, if_none_match: Option<IfNoneMatch>) -> Self {
        Self { if_match, if_none_match }
    }

    /// Write whatever is there.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Write over this version only.
    #[must_use]
    pub fn unchanged(etag: &Etag) -> Self {
        Self { if_match: Some(IfMatch::exactly(etag)), if_none_match: None }
    }

    /// Write only where there is no file.
    #[must_use]
    pub fn create_only() -> Self {
        Self { if_match: None, if_none_match: Some(IfNoneMatch::any()) }
    }

    /// The one version that may be written over, or nothing where any may; `None` for every other condition.
    pub(crate) fn simply(&self) -> Option<Option<Etag>> {
        match (&self.if_match, &self.if_none_match) {
            (None, None) => Some(None),
            (Some(IfMatch(TagList::Tags(tags))), None) => match tags.as_slice() {
                [Tag { weak: false, opaque }] => Etag::parse(&format!("\"{opaque}\"")).ok().map(Some),
                _ => None,
            },
            _ => None,
        }
    }

    /// True where the write may happen; `current` is the tag of the live file, if there is one.
    #[must_use]
    pub fn holds(&self, current: Option<&Etag>) -> bool {
        self.if_match.as_ref().is_none_or(|header| header.holds(current))
            && self.if_none_match.as_ref().is_none_or(|header| header.holds(current))
    }
}

/// Longest list, over all lines of a request, by the contract of `If-Match`.
const TAGS_CHARACTERS_MAX: usize = 255;

#[derive(Debug, Clone, PartialEq, Eq)]
enum TagList {
    Any,
    Tags(Vec<Tag>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    weak: bool,
    /// Without quotes.
    opaque: String,
}

impl TagList {
    fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidTagList> {
        let mut list = String::new();
        for value in values {
            // Several lines mean the same as one with commas between them; a quote never spans two lines.
            list.push_str(if list.is_empty() { "" } else { "," });
            list.push_str(value);
            if !value.matches('"').count().is_multiple_of(2) {
                return Err(InvalidTagList::Malformed);
            }
            if list.chars().nth(TAGS_CHARACTERS_MAX).is_some() {
                return Err(InvalidTagList::TooLong);
            }
        }
        if list.trim_matches(BLANKS) == "*" {
            return Ok(Self::Any);
        }
        let mut tags = Vec::new();
        let mut rest = list.trim_start_matches(SEPARATORS);
        while !rest.is_empty() {
            let (tag, after) = Tag::take(rest)?;
            tags.push(tag);
            let after = after.trim_start_matches(BLANKS);
            if !after.is_empty() && !after.starts_with(',') {
                return Err(InvalidTagList::Malformed);
            }
            rest = after.trim_start_matches(SEPARATORS);
        }
        if tags.is_empty() { Err(InvalidTagList::Empty) } else { Ok(Self::Tags(tags)) }
    }

    fn has(&self, current: Option<&Etag>, counts: impl Fn(&Tag) -> bool) -> bool {
        current.is_some_and(|etag| match self {
            Self::Any => true,
            Self::Tags(tags) => tags.iter().any(|tag| counts(tag) && tag.opaque == etag.opaque()),
        })
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// What may stand between two tags; empty elements of a list are ignored, as HTTP asks.
const SEPARATORS: [char; 3] = [' ', '\t', ','];

impl Tag {
    /// Takes one tag from the start of a list that does not begin with a blank.
    fn take(list: &str) -> Result<(Self, &str), InvalidTagList> {
        let (weak, rest) = match list.strip_prefix("W/") {
            Some(rest) => (true, rest),
            None => (false, list),
        };
        if let Some(quoted) = rest.strip_prefix('"') {
            let (opaque, after) = quoted.split_once('"').ok_or(InvalidTagList::Malformed)?;
            return Ok((Self { weak, opaque: opaque.to_owned() }, after));
        }
        let (opaque, after) = list.split_at(list.find(SEPARATORS).unwrap_or(list.len()));
        if opaque == "*" || opaque.contains('"') {
            return Err(InvalidTagList::Malformed);
        }
        Ok((Self { weak: false, opaque: opaque.to_owned() }, after))
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Etag, IfMatch, IfNoneMatch, InvalidEtag, InvalidTagList};
    use proptest::prelude::*;

    const TOKEN: &str = "00112233445566778899aabbccddeeff";

    fn etag() -> Etag {
        Etag::parse(&format!("\"{TOKEN}\"")).unwrap()
    }

    #[track_caller]
    fn if_match_holds(header: &str, holds: bool) {
        let header = header.replace('T', TOKEN);
        assert_eq!(IfMatch::parse([header.as_str()]).unwrap().holds(Some(&etag())), holds, "{header}");
    }

    #[track_caller]
    fn refused(values: &[&str], expect: InvalidTagList) {
        assert_eq!(IfMatch::parse(values.iter().copied()), Err(expect), "{values:?}");
    }

    #[test]
    fn two_random_tags_differ_and_are_read_back() {
        let (one, two) = (Etag::random(), Etag::random());
        assert_ne!(one, two);
        assert_eq!(Etag::parse(one.as_str()), Ok(one.clone()));
        assert_eq!(one.as_str().len(), 34);
        assert!(one.as_str().starts_with('"') && one.as_str().ends_with('"'));
    }

    #[test]
    fn only_tags_of_this_form_are_read_back() {
        for text in ["", "\"", "\"\"", "\"v3\"", TOKEN, "\"00112233445566778899AABBCCDDEEFF\""] {
            assert_eq!(Etag::parse(text), Err(InvalidEtag), "{text}");
        }
    }

    #[test]
    fn the_same_tag_matches_with_and_without_quotes() {
        for header in ["\"T\"", "T", " \"T\" ", "\t T"] {
            if_match_holds(header, true);
        }
        for header in ["\"definitely-stale\"", "definitely-stale", "\"T \"", "\"\"", "\"*\""] {
            if_match_holds(header, false);
        }
    }

    #[test]
    fn one_matching_tag_of_a_list_is_enough() {
        for header in
            ["\"a\", \"T\"", "\"T\",\"b\"", ",, \"T\" ,", "a,T", "\"x,y\",\"T\"", "\"a\" , T , \"b\""]
        {
            if_match_holds(header, true);
        }
        // The commas belong to the one tag that is there.
        if_match_holds("\",T,\"", false);
    }

    #[test]
    fn a_weak_tag_never_equals_for_a_write() {
        if_match_holds("W/\"T\"", false);
        if_match_holds("W/T", false);
        if_match_holds("W/\"T\", \"T\"", true);
    }

    #[test]
    fn a_star_matches_any_live_file() {
        for header in ["*", " * "] {
            let header = IfMatch::parse([header]).unwrap();
            assert!(header.holds(Some(&etag())));
            assert!(!header.holds(None));
        }
    }

    #[test]
    fn several_lines_are_one_list() {
        let stale_then_right = IfMatch::parse(["\"a\"", etag().as_str()]).unwrap();
        assert!(stale_then_right.holds(Some(&etag())));
        refused(&["\"a", "b\""], InvalidTagList::Malformed);
        refused(&["*", "*"], InvalidTagList::Malformed);
    }

    #[test]
    fn a_list_without_a_tag_is_refused() {
        for values in [&[][..], &[""], &["  "], &[","], &["", ""], &[" ,\t, "]] {
            refused(values, InvalidTagList::Empty);
        }
    }

    #[test]
    fn a_list_has_at_most_255_characters_over_all_lines() {
        let longest = "x".repeat(255);
        assert!(IfMatch::parse([longest.as_str()]).is_ok());
        refused(&[&"x".repeat(256)], InvalidTagList::TooLong);
        refused(&[&longest[..127], &longest[..128]], InvalidTagList::TooLong);
    }

    #[test]
    fn broken_lists_are_refused() {
        for header in [
            "\"a",
            "a\"",
            "\"a\"b",
            "\"a\" \"b\"",
            "a b",
            "*, \"a\"",
            "\"a\",*",
            "w/\"a\"",
            "W/W/\"a\"",
            "\"\"\"",
        ] {
            refused(&[header], InvalidTagList::Malformed);
        }
    }

    #[test]
    fn if_none_match_is_the_opposite_and_counts_weak_tags() {
        let holds = |header: &str, current: Option<&Etag>| {
            IfNoneMatch::parse([header.replace('T', TOKEN).as_str()]).unwrap().holds(current)
        };
        assert!(!holds("\"T\"", Some(&etag())));
        assert!(!holds("W/\"T\"", Some(&etag())));
        assert!(holds("\"a\"", Some(&etag())));
        assert!(holds("\"T\"", None));
        assert!(!holds("*", Some(&etag())));
        assert!(holds("*", None));
    }

    #[test]
    fn a_condition_holds_by_what_is_there() {
        let (tag, other) = (etag(), Etag::random());
        for (condition, same, changed, absent) in [
            (Condition::none(), true, true, true),
            (Condition::unchanged(&tag), true, false, false),
            (Condition::create_only(), false, false, true),
            (
                Condition::of_headers(Some(IfMatch::exactly(&tag)), Some(IfNoneMatch::any())),
                false,
                false,
                false,
            ),
        ] {
            assert_eq!(condition.holds(Some(&tag)), same, "{condition:?}");
            assert_eq!(condition.holds(Some(&other)), changed, "{condition:?}");
            assert_eq!(condition.holds(None), absent, "{condition:?}");
        }
    }

    proptest! {
        #[test]
        fn a_list_matches_exactly_where_a_strong_tag_of_it_is_the_current_one(
            tags in prop::collection::vec((any::<bool>(), any::<bool>(), "[a-z,W/* ]{1,5}"), 1..8),
            blank in "[ \t]{0,2}",
            place in any::<prop::sample::Index>(),
            put in any::<bool>(),
        ) {
            let mut written: Vec<String> = tags
                .iter()
                .map(|(weak, _, text)| format!("{}\"{text}\"", if *weak { "W/" } else { "" }))
                .collect();
            if put {
                let at = place.index(written.len());
                let (weak, bare, _) = &tags[at];
                written[at] = match (weak, bare) {
                    (true, _) => format!("W/\"{TOKEN}\""),
                    (false, true) => TOKEN.to_owned(),
                    (false, false) => format!("\"{TOKEN}\""),
                };
            }
            let expect = put && !tags[place.index(written.len())].0;
            let joined = written.join(&format!("{blank},{blank}"));
            prop_assert_eq!(IfMatch::parse([joined.as_str()]).unwrap().holds(Some(&etag())), expect);
            prop_assert_eq!(IfMatch::parse(written.iter().map(String::as_str)).unwrap().holds(Some(&etag())), expect);
        }

        #[test]
        fn any_header_is_read_or_refused(values in prop::collection::vec("[\"*,W/a é\t]{0,12}", 0..4)) {
            let parsed = IfMatch::parse(values.iter().map(String::as_str));
            prop_assert!(!parsed.is_ok_and(|header| header.holds(None)));
        }
    }
}
