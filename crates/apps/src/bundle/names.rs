//! The three names a bundle has: its id, its publisher and its version.
//!
//! Strictly they are what the written rules say. Loosely they are what the published validator's patterns let
//! through: a line end after the text, digits of any script, zeros in front.

use std::{cmp::Ordering, fmt};

/// Longest id or publisher; an account name has at most 39.
const NAME_BYTES_MAX: usize = 64;

/// The digit zero of every script; the other nine follow it.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
    0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Longest number that Python turns from text; at a longer one the published validator stops.
const DIGITS_MAX: usize = 4300;

/// A bundle's id: a lower-case letter, then lower-case letters, digits and `_`. Ids that are already in a catalog may
/// have dashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundleId(String);

impl BundleId {
    /// An id as the gate takes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() <= NAME_BYTES_MAX && is_id(text, b"_")).then(|| Self(text.to_owned()))
    }

    /// An id as catalogs have it.
    #[must_use]
    pub fn parse_existing(text: &str) -> Option<Self> {
        (text.len() <= NAME_BYTES_MAX && is_id(text, b"_-")).then(|| Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BundleId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Who publishes a bundle: `@` and an account name. Two that differ in case only are the same account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Publisher(String);

impl Publisher {
    /// Checks the form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() <= NAME_BYTES_MAX && is_publisher(text)).then(|| Self(text.to_owned()))
    }

    /// The publisher as text, with its `@`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True when both are the same account.
    #[must_use]
    pub fn is_same_account(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl fmt::Display for Publisher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A version: MAJOR.MINOR.PATCH, ordered by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Breaking changes.
    pub major: u64,
    /// Additions.
    pub minor: u64,
    /// Repairs.
    pub patch: u64,
}

impl Version {
    /// Checks the form: three numbers without zeros in front.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |part: &str| {
            let has_form = !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && (part == "0" || !part.starts_with('0'));
            if has_form { part.parse().ok() } else { None }
        };
        let mut parts = text.split('.').map(number);
        let [major, minor, patch] = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(Self { major, minor, patch })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// An id as the published pattern takes it.
pub(super) fn is_loose_id(text: &str) -> bool {
    is_id(without_line_end(text), b"_")
}

/// A publisher as the published pattern takes it.
pub(super) fn is_loose_publisher(text: &str) -> bool {
    is_publisher(without_line_end(text))
}

/// OWNER/REPOSITORY as the published pattern takes it.
pub(super) fn is_loose_repository(text: &str) -> bool {
    is_repository(without_line_end(text))
}

/// OWNER/REPOSITORY whose parts are names, so that an address made of them leads nowhere else.
pub(super) fn is_repository(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    text.split_once('/').is_some_and(|(owner, name)| {
        owner.starts_with(|first: char| first.is_ascii_alphanumeric())
            && owner.bytes().all(is_part)
            && !name.is_empty()
            && name.bytes().all(is_part)
    })
}

/// A version as the published pattern takes it.
pub(super) fn is_loose_version(text: &str) -> bool {
    loose_numbers(text).is_some()
}

/// True when `new` is greater, as the published validator compares them.
pub(super) fn is_greater(new: &str, stored: &str) -> bool {
    let (Some(new), Some(stored)) = (loose_numbers(new), loose_numbers(stored)) else { return false };
    if new.iter().chain(&stored).any(|number| number.len() > DIGITS_MAX) {
        return false;
    }
    let compare =
        |left: &Vec<u8>, right: &Vec<u8>| left.len().cmp(&right.len()).then_with(|| left.cmp(right));
    let differing =
        new.iter().zip(&stored).map(|(left, right)| compare(left, right)).find(|order| order.is_ne());
    differing == Some(Ordering::Greater)
}

/// The three numbers, each without zeros in front.
fn loose_numbers(text: &str) -> Option<[Vec<u8>; 3]> {
    let number = |part: &str| {
        let digits = part.chars().map(digit).collect::<Option<Vec<u8>>>()?;
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        (!digits.is_empty()).then(|| digits[zeros..].to_vec())
    };
    let mut parts = without_line_end(text).split('.').map(number);
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

fn digit(character: char) -> Option<u8> {
    let code = u32::from(character);
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    u8::try_from(code - zero).ok()
}

fn without_line_end(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn is_id(text: &str, also: &[u8]) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || also.contains(&byte))
}

fn is_publisher(text: &str) -> bool {
    text.strip_prefix('@').is_some_and(|account| {
        account.starts_with(|first: char| first.is_ascii_alphanumeric())
            && account.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::{BundleId, Publisher, Version, is_greater, is_loose_id, is_loose_version, is_repository};

    #[test]
    fn strict_names_are_what_is_written_and_loose_ones_what_the_pattern_lets_through() {
        for (text, strict, loose) in [
            ("a", true, true),
            ("spine_dag2", true, true),
            ("", false, false),
            ("_a", false, false),
            ("1a", false, false),
            ("A", false, false),
            ("a-b", false, false),
            ("a\n", false, true),
            ("a\n\n", false, false),
            ("é", false, false),
        ] {
            assert_eq!((BundleId::parse(text).is_some(), is_loose_id(text)), (strict, loose), "{text:?}");
        }
        assert!(BundleId::parse_existing("rapp-zoo").is_some() && BundleId::parse(&"a".repeat(65)).is_none());
        assert!(Publisher::parse("@kody-w").is_some() && Publisher::parse("@-x").is_none());
        assert!(is_repository("a/..") && !is_repository("a/b/c") && !is_repository("-a/b"));
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (text, strict, loose) in [
            ("1.2.3", true, true),
            ("0.0.0", true, true),
            ("01.2.3", false, true),
            ("1.2.3\n", false, true),
            ("१.२.३", false, true),
            ("1.2", false, false),
            ("1.2.3.4", false, false),
            ("1.2.x", false, false),
            ("1.2.3-a", false, false),
            ("1..3", false, false),
        ] {
            assert_eq!((Version::parse(text).is_some(), is_loose_version(text)), (strict, loose), "{text:?}");
        }
        for (new, stored, expected) in [
            ("1.0.1", "1.0.0", true),
            ("1.10.0", "1.9.9", true),
            ("2.0.0", "10.0.0", false),
            ("1.0.0", "1.0.0", false),
            ("0.9.9", "1.0.0", false),
            ("1.0.0", "latest", false),
            ("01.0.1", "1.0.0", true),
            ("२.0.0", "1.0.0", true),
            ("99999999999999999999.0.0", "99999999999999999998.0.0", true),
        ] {
            assert_eq!(is_greater(new, stored), expected, "{new} {stored}");
        }
    }
}
