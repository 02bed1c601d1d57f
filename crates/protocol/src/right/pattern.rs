//! Names with `*`, as manifests of pages write them: anchored at both ends, `*` is any run of characters.

use super::{InvalidRight, invalid};
use std::fmt;

/// A pattern over names or workspace paths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(String);

/// More stars than any honest pattern has; each one multiplies the work of matching.
const STARS_MAX: usize = 8;

impl Pattern {
    /// Checks the form.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        if text.is_empty() {
            return Err(invalid(text, "is empty"));
        }
        if text.split('/').any(|segment| segment == "..") {
            return Err(invalid(text, "climbs out with `..`"));
        }
        if text.matches('*').count() > STARS_MAX {
            return Err(invalid(text, "has too many `*`"));
        }
        Ok(Self(text.to_owned()))
    }

    /// True when the name fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let Some(last) = self.0.contains('*').then(|| parts.next_back()).flatten() else {
            return rest.is_empty();
        };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }

    /// True when every name that fits the other also fits this one. A `*` of the other is a character like any: only
    /// a `*` of ours reaches over it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self == other || self.matches(&other.0)
    }

    /// The pattern as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn in_words(&self, things: &str) -> String {
        if matches!(self.0.as_str(), "*" | "/*") {
            format!("all {things}")
        } else {
            format!("{things} `{}`", self.0)
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}
