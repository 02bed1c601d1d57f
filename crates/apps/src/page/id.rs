//! What a page may be called: lower-case words joined by single hyphens, so that it is a folder and a host name.

use crate::native::NativeId;
use serde::Serialize;
use std::fmt;

/// The id of a page: 1 to 63 characters, `^[a-z0-9]+(-[a-z0-9]+)*$`, and not a name the host keeps for itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PageId(String);

/// The text is not the id of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an id is 1 to 63 lower-case letters and digits, in words joined by single hyphens, and no reserved name"
)]
pub struct InvalidPageId;

/// Longest label of a host name.
const CHARACTERS_MAX: usize = 63;

/// Names that look like the host itself.
const RESERVED: [&str; 10] =
    ["sdk", "roost", "host", "localhost", "probe", "www", "api", "apps", "import", "sessions"];

impl PageId {
    /// Checks the form. Two hyphens in a row, and with them the `xn--` of encoded names, have none.
    pub fn parse(text: &str) -> Result<Self, InvalidPageId> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let fits = text.len() <= CHARACTERS_MAX && text.split('-').all(is_word) && !RESERVED.contains(&text);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidPageId) }
    }

    /// The id of a bundle, which may also have underscores.
    pub fn of_bundle(text: &str) -> Result<Self, InvalidPageId> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        let fits = (1..=CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(is_plain);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidPageId) }
    }

    /// The id of a native app, which may also have dots and capitals.
    #[must_use]
    pub fn of_native(id: &NativeId) -> Self {
        Self(id.as_str().to_owned())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::PageId;

    #[test]
    fn ids_are_words_joined_by_hyphens() {
        for good in ["a", "my-dashboard", "vfs-usage-monitor", "2048", &"x".repeat(63)] {
            assert_eq!(PageId::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "_sdk",
            "sdk",
            "xn--abc",
            "a.b",
            "a/b",
            "..",
            "a b",
            "é",
            "a\n",
            &"x".repeat(64),
        ] {
            assert!(PageId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
