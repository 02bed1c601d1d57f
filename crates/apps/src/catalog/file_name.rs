//! The name of a file that came from elsewhere: one component of a path, and nothing that means another place.

use serde::Serialize;
use std::fmt;

/// As many bytes as file systems take.
const BYTES_MAX: usize = 255;

/// A name without a path: it can be joined to a folder and stays in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FileName(String);

/// The text is not the name of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of one file")]
pub struct InvalidFileName;

impl FileName {
    /// Checks that the text names one file: no separator, no drive, no control character, not hidden.
    pub fn parse(text: &str) -> Result<Self, InvalidFileName> {
        let is_fine = |character: char| {
            !character.is_control()
                && !matches!(character, '/' | '\\' | ':')
                && !super::entry::is_invisible(character)
        };
        let fits = (1..=BYTES_MAX).contains(&text.len())
            && !text.starts_with('.')
            && text.trim() == text
            && text.chars().all(is_fine);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidFileName) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::FileName;

    #[test]
    fn only_one_component_is_a_file_name() {
        for fine in ["a_agent.py", "index.html", "a..b", "Ünïcode.egg", "with space.py"] {
            assert_eq!(FileName::parse(fine).unwrap().as_str(), fine);
        }
        let long = "x".repeat(256);
        for bad in [
            "",
            ".",
            "..",
            "../a",
            "a/b",
            "a\\b",
            "/a",
            "C:a",
            "a\0b",
            "a\n",
            ".hidden",
            " a",
            "a\u{202e}b",
            &long,
        ] {
            assert!(FileName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
