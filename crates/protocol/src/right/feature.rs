//! Parts of the host that only apps of other contracts ask for, such as a native app's `session:create`.

use super::{InvalidRight, invalid};
use std::fmt;

/// `PREFIX:SUFFIX` of a native permission that has no right of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    prefix: &'static str,
    suffix: String,
}

/// Each prefix and what it is about.
const PREFIXES: &[(&str, &str)] = &[
    ("advisor", "advisors"),
    ("browser", "a web browser"),
    ("capability", "its registration as a part of the host"),
    ("channel", "message channels"),
    ("comm", "messages between apps"),
    ("context", "the context of conversations"),
    ("database", "its database"),
    ("embedding", "text embeddings"),
    ("lane", "work queues"),
    ("mcp", "MCP servers"),
    ("oauth", "sign-ins at other sites"),
    ("session", "conversations"),
    ("settings", "settings"),
    ("skill", "skills"),
    ("storage", "stored data"),
    ("tool", "tools of the host"),
    ("user", "who you are"),
    ("voice", "the microphone"),
];

impl Feature {
    /// Reads `PREFIX:SUFFIX`.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        let refuse = || invalid(text, "is not a feature of the host");
        let (prefix, suffix) = text.split_once(':').ok_or_else(refuse)?;
        let (prefix, _) = PREFIXES.iter().find(|(known, _)| *known == prefix).ok_or_else(refuse)?;
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:_".contains(&byte);
        if suffix != "*" && (suffix.is_empty() || !suffix.bytes().all(is_plain)) {
            return Err(refuse());
        }
        Ok(Self { prefix, suffix: suffix.to_owned() })
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.prefix == other.prefix && (self.suffix == "*" || self.suffix == other.suffix)
    }

    pub(super) fn in_words(&self) -> String {
        let about = PREFIXES.iter().find(|(known, _)| *known == self.prefix).map_or("", |(_, about)| about);
        if self.suffix == "*" { about.to_owned() } else { format!("{about} ({})", self.suffix) }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}", self.prefix, self.suffix)
    }
}
