//! What a file of a workspace may be called.
//!
//! The namespace is flat: a slash is a character of the name, and no name is ever turned into another one. Nothing here
//! touches a disk; a name that passed is safe to join to a folder.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a file.
///
/// Invariant: relative, no NUL, control character or backslash, no empty, `.` or `..` segment. Names that clients give
/// follow the stricter rule of [`FilePath::parse`]; names that programs made on a real folder may not.
/// Read back from where it was kept by the rule of [`FilePath::of_folder`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilePath(String);

/// Why a text is no file name. What was given is never repeated: it may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing is left to be a name.
    #[error("a path is not empty")]
    Empty,
    /// Longer than its limit.
    #[error("a path has at most {max} bytes")]
    TooLong {
        /// The limit that was crossed.
        max: usize,
    },
    /// Begins with something else than a letter or digit.
    #[error("a path begins with a letter or a digit")]
    FirstCharacter,
    /// Holds a character that no name may have.
    #[error("a path has a character that is not allowed")]
    Character,
    /// Could be read as a way out of the workspace.
    #[error("a path has no `..`")]
    Parent,
    /// Two slashes in a row, a slash at an end, or a segment `.`.
    #[error("a path has no empty segment, no `.` segment and no slash at its end")]
    Segment,
    /// A percent sign without two hexadecimal digits.
    #[error("a path has a malformed percent escape")]
    Escape,
    /// Decodes to bytes that are no text.
    #[error("a path is not valid UTF-8")]
    NotUtf8,
    /// A prefix longer than any path.
    #[error("a prefix has at most {} characters", Prefix::CHARACTERS_MAX)]
    PrefixTooLong,
}

impl TryFrom<String> for FilePath {
    type Error = PathError;
    fn try_from(text: String) -> Result<Self, PathError> {
        Self::of_folder(&text)
    }
}

impl From<FilePath> for String {
    fn from(path: FilePath) -> String {
        path.0
    }
}

impl FilePath {
    /// Longest name that the published pattern allows.
    pub const BYTES_MAX: usize = 256;

    /// Longest name taken from a folder: deep trees are ordinary there, and a database index still holds it.
    pub const FOLDER_BYTES_MAX: usize = 1024;

    /// Checks a name that a client gave: ASCII letters, digits, `.`, `_`, `/` and `-`, the first a letter or digit.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let first = text.bytes().next().ok_or(PathError::Empty)?;
        if text.len() > Self::BYTES_MAX {
            return Err(PathError::TooLong { max: Self::BYTES_MAX });
        }
        if !first.is_ascii_alphanumeric() {
            return Err(PathError::FirstCharacter);
        }
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b'-');
        if !text.bytes().all(allowed) {
            return Err(PathError::Character);
        }
        // The published pattern lets `..` pass and the published text forbids it anywhere, so `a..b` is refused too.
        if text.contains("..") {
            return Err(PathError::Parent);
        }
        check_segments(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Checks a name, relative to a real folder, that a program chose there.
    pub fn of_folder(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > Self::FOLDER_BYTES_MAX {
            return Err(PathError::TooLong { max: Self::FOLDER_BYTES_MAX });
        }
        // A backslash separates segments on other systems, where the same name would lie elsewhere.
        if text.chars().any(|character| character.is_control() || character == '\\') {
            return Err(PathError::Character);
        }
        check_segments(text)?;
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True where the name also follows the rule for clients, so that every surface can show and address the file.
    #[must_use]
    pub fn is_portable(&self) -> bool {
        Self::parse(&self.0).is_ok()
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How the names of some files begin. Compared byte by byte: no character has a meaning of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Longest prefix that is taken, in characters.
    pub const CHARACTERS_MAX: usize = 256;

    /// Checks the length alone: a prefix that could not start any name finds nothing.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        match text.chars().nth(Self::CHARACTERS_MAX) {
            Some(_) => Err(PathError::PrefixTooLong),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The prefix as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True where the name begins like this.
    #[must_use]
    pub fn starts(&self, path: &FilePath) -> bool {
        path.0.starts_with(&self.0)
    }
}

/// Undoes the percent escapes of the rest of a URL path, once: `%252e` becomes the text `%2e`, which is no name.
pub fn decode_once(raw: &str) -> Result<String, PathError> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut parts = raw.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let digits = part.as_bytes().get(..2).ok_or(PathError::Escape)?;
        bytes.extend(hex::decode(digits).map_err(|_| PathError::Escape)?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| PathError::NotUtf8)
}

fn check_segments(text: &str) -> Result<(), PathError> {
    for segment in text.split('/') {
        match segment {
            "" | "." => return Err(PathError::Segment),
            ".." => return Err(PathError::Parent),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FilePath, PathError, Prefix, decode_once};
    use proptest::prelude::*;

    #[track_caller]
    fn refused(text: &str, expect: PathError) {
        assert_eq!(FilePath::parse(text), Err(expect), "{text:?}");
    }

    #[test]
    fn names_of_the_contract_are_taken_as_they_are() {
        for text in ["a", "IDENTITY.md", "behavior/CRUD.md", "0-_.x", "a.b/.c", "a/-b", "UPPER/lower"] {
            let path = FilePath::parse(text).unwrap();
            assert_eq!(path.as_str(), text);
            assert!(path.is_portable());
        }
    }

    #[test]
    fn a_name_has_1_to_256_characters() {
        assert!(FilePath::parse(&"a".repeat(256)).is_ok());
        refused(&"a".repeat(257), PathError::TooLong { max: 256 });
        refused("", PathError::Empty);
    }

    #[test]
    fn a_name_begins_with_a_letter_or_digit() {
        for text in ["/a", ".a", "-a", "_a", "é", "\n"] {
            refused(text, PathError::FirstCharacter);
        }
    }

    #[test]
    fn other_characters_are_refused_also_at_the_end() {
        for text in ["a b", "a\n", "a\0", "a%2e", "aé", "a\\b", "a:b", "a~", "a\r\n"] {
            refused(text, PathError::Character);
        }
    }

    #[test]
    fn two_dots_are_refused_wherever_they_stand() {
        for text in ["a/..", "a/../b", "a..b", "a/..b", "a..", "a/b.../c"] {
            refused(text, PathError::Parent);
        }
    }

    #[test]
    fn empty_and_dot_segments_are_refused_rather_than_normalised() {
        for text in ["a//b", "a/./b", "a/.", "a/", "a/b/"] {
            refused(text, PathError::Segment);
        }
    }

    #[test]
    fn names_of_a_folder_may_be_what_programs_like() {
        for text in [".cache/x", "Résumé 1.txt", "a..b", "日本/語", "_x", &["x"; 512].join("/")] {
            let path = FilePath::of_folder(text).unwrap();
            assert_eq!(path.as_str(), text);
            assert!(!path.is_portable(), "{text}");
        }
        assert!(FilePath::of_folder("plain/name.md").unwrap().is_portable());
    }

    #[test]
    fn names_of_a_folder_stay_inside_it() {
        let refused = |text: &str| FilePath::of_folder(text).unwrap_err();
        assert_eq!(refused(""), PathError::Empty);
        assert_eq!(refused(&"a".repeat(1025)), PathError::TooLong { max: 1024 });
        for text in ["../a", "a/../b", "..", "a/.."] {
            assert_eq!(refused(text), PathError::Parent, "{text}");
        }
        for text in ["/etc", "a//b", "a/", ".", "./a", "/"] {
            assert_eq!(refused(text), PathError::Segment, "{text}");
        }
        for text in ["a\0b", "a\nb", "a\u{7f}", "a\u{85}b", "..\\a", "C:\\a"] {
            assert_eq!(refused(text), PathError::Character, "{text:?}");
        }
    }

    #[test]
    fn a_prefix_is_compared_byte_by_byte() {
        let path = FilePath::parse("notes/100.md").unwrap();
        for (prefix, starts) in [
            ("", true),
            ("notes/", true),
            ("notes/1", true),
            ("Notes", false),
            ("notes/%", false),
            ("n_t", false),
        ] {
            assert_eq!(Prefix::parse(prefix).unwrap().starts(&path), starts, "{prefix}");
        }
    }

    #[test]
    fn a_prefix_has_up_to_256_characters_of_any_kind() {
        assert!(Prefix::parse(&"é".repeat(256)).is_ok());
        assert_eq!(Prefix::parse(&"é".repeat(257)), Err(PathError::PrefixTooLong));
        assert!(Prefix::parse("../%_*\0").is_ok());
    }

    #[test]
    fn escapes_are_undone_once() {
        for (raw, expect) in [
            ("a/b.md", "a/b.md"),
            ("behavior%2FCRUD.md", "behavior/CRUD.md"),
            ("%252e%252E", "%2e%2E"),
            ("a+b%20c", "a+b c"),
            ("%C3%a9é", "éé"),
            ("", ""),
        ] {
            assert_eq!(decode_once(raw).as_deref(), Ok(expect), "{raw}");
        }
    }

    #[test]
    fn malformed_escapes_are_refused() {
        for raw in ["%", "a%", "%2", "%2%30", "%zz", "%+1", "%é", "%%41"] {
            assert_eq!(decode_once(raw), Err(PathError::Escape), "{raw}");
        }
        for raw in ["%ff", "%c3", "a%C3%28"] {
            assert_eq!(decode_once(raw), Err(PathError::NotUtf8), "{raw}");
        }
    }

    #[test]
    fn messages_do_not_repeat_the_input() {
        for text in ["qqq/../qqq", "qqq qqq", "/qqq", "qqq//", &"q".repeat(3000)] {
            for error in
                [FilePath::parse(text).err(), FilePath::of_folder(text).err(), Prefix::parse(text).err()]
            {
                assert!(!error.is_some_and(|error| error.to_string().contains("qqq")));
            }
        }
    }

    proptest! {
        #[test]
        fn no_accepted_name_leaves_the_workspace(text in "[a.][a./]{0,12}|.{0,12}") {
            if let Ok(path) = FilePath::parse(&text) {
                prop_assert!(!path.as_str().contains(".."));
                prop_assert!(!path.as_str().contains("//") && !path.as_str().ends_with('/'));
                prop_assert_eq!(FilePath::of_folder(&text), Ok(path));
            }
            if let Ok(path) = FilePath::of_folder(&text) {
                prop_assert!(path.as_str().split('/').all(|segment| !matches!(segment, "" | "." | "..")));
            }
        }

        #[test]
        fn decoding_undoes_encoding(text in "\\PC{0,20}") {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(decode_once(&encoded), Ok(text.clone()));
            let mixed = text.replace('%', "%25").replace('/', "%2F");
            prop_assert_eq!(decode_once(&mixed), Ok(text));
        }

        #[test]
        fn decoding_takes_any_text_without_falling_over(text in "[%0-9a-f+é/]{0,20}") {
            let decoded = decode_once(&text);
            prop_assert!(decoded.is_err() || text.contains('%') || decoded == Ok(text));
        }
    }
}
