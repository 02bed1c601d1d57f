//! Names in a native manifest: ids, versions, capabilities and hooks.

use roost_protocol::{is_hidden, is_id_text};
use serde::{Serialize, Serializer};
use std::{cmp::Ordering, fmt};

/// Endings of folders beside an app that hold a version that is not installed.
const RESERVED_ENDINGS: [&str; 2] = [".pending", ".updating"];

/// An app's id, `com.example.calculator`: 1 to 64 letters, digits, `.`, `_` or `-`, a letter or digit at both ends, no
/// `..`. It is the name of a folder and part of a socket's path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NativeId(String);

impl NativeId {
    /// Checks the form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let fits = is_id_text(text)
            && !text.contains("..")
            && text.ends_with(|last: char| last.is_ascii_alphanumeric())
            && !RESERVED_ENDINGS.iter().any(|ending| lower.ends_with(ending));
        fits.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NativeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for NativeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// True for 1 to 64 letters, digits, `.`, `_`, `-` or `+`, so that a version can be part of a file's name.
pub(crate) fn is_version(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte))
}

/// Which of two versions is the later one. Numbers count as numbers; what follows a `-` comes before the version
/// itself, and what follows a `+` does not count, as in semantic versions.
#[must_use]
pub fn compare_versions(one: &str, other: &str) -> Ordering {
    let parts = |text: &str| {
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (numbers, before) = text.split_once('-').unwrap_or((text, ""));
        (numbers.to_owned(), before.to_owned())
    };
    let ((one, one_before), (other, other_before)) = (parts(one), parts(other));
    compare_dotted(&one, &other).then_with(|| match (one_before.is_empty(), other_before.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => compare_dotted(&one_before, &other_before),
    })
}

fn compare_dotted(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one.split('.'), other.split('.'));
    loop {
        let (first, second) = match (one.next(), other.next()) {
            (None, None) => return Ordering::Equal,
            // A part that is not there is 0: 1.2 is 1.2.0.
            (first, second) => (first.unwrap_or("0"), second.unwrap_or("0")),
        };
        let order = match (first.parse::<u64>(), second.parse::<u64>()) {
            (Ok(first), Ok(second)) => first.cmp(&second),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => first.cmp(second),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// True for a text with something in it that is shown as it is, in one line.
pub(super) fn is_one_line(text: &str, characters_max: usize) -> bool {
    !text.trim().is_empty()
        && text.chars().count() <= characters_max
        && !text.chars().any(|character| character.is_control() || is_hidden(character))
}

/// The name of an app as part of a tool's name: lower case, `-` for spaces and `_`, nothing but `a-z0-9-`.
#[must_use]
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.trim().to_lowercase().chars() {
        let character = if matches!(character, ' ' | '_') { '-' } else { character };
        let fits = character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
        if fits && !(character == '-' && slug.ends_with('-')) {
            slug.push(character);
        }
    }
    slug
}

/// Something an app offers to the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// `gateway`: language models.
    Gateway,
    /// `vision`: a tool that looks at images.
    Vision,
    /// `browser`: a tool that uses a browser.
    Browser,
    /// `comm`: messages between agents.
    Comm,
    /// `ui`: pages.
    Ui,
    /// `schedule`: doing things at set times.
    Schedule,
    /// `hooks`: changing what the host does.
    Hooks,
    /// `tool:NAME`.
    Tool(String),
    /// `channel:NAME`: conversations elsewhere.
    Channel(String),
}

impl Capability {
    /// Longest name of a tool or channel.
    const NAME_CHARACTERS_MAX: usize = 64;

    /// Reads a capability.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let named = |name: &str| is_one_line(name, Self::NAME_CHARACTERS_MAX).then(|| name.to_owned());
        match text {
            "gateway" => Some(Self::Gateway),
            "vision" => Some(Self::Vision),
            "browser" => Some(Self::Browser),
            "comm" => Some(Self::Comm),
            "ui" => Some(Self::Ui),
            "schedule" => Some(Self::Schedule),
            "hooks" => Some(Self::Hooks),
            _ => match text.split_once(':')? {
                ("tool", name) => named(name).map(Self::Tool),
                ("channel", name) => named(name).map(Self::Channel),
                _ => None,
            },
        }
    }

    /// The prefix of the permissions of which one must be asked for before this is used.
    #[must_use]
    pub fn needs(&self) -> Option<&'static str> {
        match self {
            Self::Gateway => Some("network"),
            Self::Comm => Some("comm"),
            Self::Channel(_) => Some("channel"),
            Self::Schedule => Some("schedule"),
            Self::Hooks => Some("hook"),
            Self::Vision | Self::Browser | Self::Ui | Self::Tool(_) => None,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Gateway => "gateway",
            Self::Vision => "vision",
            Self::Browser => "browser",
            Self::Comm => "comm",
            Self::Ui => "ui",
            Self::Schedule => "schedule",
            Self::Hooks => "hooks",
            Self::Tool(name) => return write!(formatter, "tool:{name}"),
            Self::Channel(name) => return write!(formatter, "channel:{name}"),
        })
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Every point at which an app may change what the host does.
pub const HOOKS: [&str; 10] = [
    "tool.pre_execute",
    "tool.post_execute",
    "message.pre_send",
    "message.post_receive",
    "memory.pre_store",
    "memory.pre_recall",
    "session.message_append",
    "prompt.system_sections",
    "steering.generate",
    "response.stream",
];

#[cfg(test)]
mod tests {
    use super::{Capability, NativeId, compare_versions, is_version, slug};

    #[test]
    fn an_id_is_a_folder_everywhere() {
        for good in ["com.example.app", "notepad", "Janus-gateway", "a_b", "7zip", "x"] {
            assert!(NativeId::parse(good).is_some(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            ".hidden",
            "a..b",
            "a.",
            "a-",
            "a b",
            "a\0",
            "é",
            "a.pending",
            "a.UPDATING",
            ".installing-x",
            &long,
            "a:b",
            "a%2e",
        ] {
            assert!(NativeId::parse(bad).is_none(), "{bad}");
        }
        assert!(
            is_version("1.0.0-rc.1+build") && !is_version("") && !is_version("1/2") && !is_version("../1")
        );
    }

    #[test]
    fn versions_have_an_order() {
        let rising =
            ["0.9", "1.0.0-alpha", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.2", "1.10.0", "2.0.0"];
        for pair in rising.windows(2) {
            assert!(compare_versions(pair[0], pair[1]).is_lt(), "{pair:?}");
            assert!(compare_versions(pair[1], pair[0]).is_gt(), "{pair:?}");
        }
        for (one, other) in [("1.2", "1.2.0"), ("1.0.0+a", "1.0.0+b"), ("x", "x")] {
            assert!(compare_versions(one, other).is_eq(), "{one} {other}");
        }
    }

    #[test]
    fn capabilities_are_seven_words_and_two_prefixes() {
        for good in [
            "gateway",
            "vision",
            "browser",
            "comm",
            "ui",
            "schedule",
            "hooks",
            "tool:calculator",
            "channel:telegram",
        ] {
            assert_eq!(Capability::parse(good).unwrap().to_string(), good);
        }
        for bad in
            ["", "tool", "channel", "tool:", "channel:", "tools", "Gateway", "gateway ", "tool:a\nb", "x:y"]
        {
            assert!(Capability::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_slug_is_made_as_published_hosts_make_it() {
        for (name, expected) in [
            ("Calculator", "calculator"),
            ("  Compliance Filter ", "compliance-filter"),
            ("a__b  c", "a-b-c"),
            ("Füße & Co.", "fe-co"),
            ("日本", ""),
        ] {
            assert_eq!(slug(name), expected, "{name}");
        }
    }
}
