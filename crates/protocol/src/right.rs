//! The closed list of rights: everything an app can ask for and a person can grant.
//!
//! A right is written as text, for example `network:api.example.com:443`, the same in the grant store, on the command
//! line, in policies and in audit rows. What is not in this list cannot be granted.

mod checked_text; // text that shows what it is
mod host; // computers on the network
mod place; // files on this computer
mod pattern; // names with `*`
mod feature; // parts of the host that only apps of other contracts ask for
mod native; // how native apps write rights
mod page; // how pages write rights

pub use self::{
    checked_text::is_hidden,
    feature::Feature,
    host::{Host, HostPort},
    native::{from_native, to_native},
    page::{from_page, to_page},
    pattern::Pattern,
    place::Place,
};

use self::checked_text::shows_what_it_is;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// One thing an app may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Right {
    /// `network:*`: reach every computer, without going through the host's proxy.
    AnyNetwork,
    /// `network:HOST` (ports 80 and 443) or `network:HOST:PORT`.
    Network(HostPort),
    /// `subprocess`: start programs of this computer, inside the same sandbox.
    Subprocess,
    /// `files:read:PLACE` or `files:write:PLACE`.
    Files {
        /// What may be done there.
        access: Access,
        /// Where, with everything below it.
        place: Place,
    },
    /// `env:NAME`: see the value of a variable.
    Environment(VariableName),
    /// `secret:NAME@HOST:HEADER`, or `secret:NAME@http://HOST:HEADER` without encryption: use a value without seeing it.
    Secret {
        /// The variable that holds the value.
        name: VariableName,
        /// Whether it is sent inside TLS.
        transport: Transport,
        /// The only computer that gets it.
        host: HostPort,
        /// The only header that carries it.
        header: HeaderName,
    },
    /// `agents:read`, `agents:write` or `agents:call:NAME`.
    Agents(AgentsUse),
    /// `memory:read` or `memory:write`: what is remembered for users.
    Memory(Access),
    /// `model`: ask a language model.
    Model,
    /// `workspace:read:PATTERN` or `workspace:write:PATTERN`, of versioned files.
    Workspace {
        /// What may be done with them.
        access: Access,
        /// Which ones.
        pattern: Pattern,
    },
    /// `events:watch:PATTERN` or `events:emit:PATTERN`.
    Events {
        /// Which way.
        direction: Direction,
        /// Names of events.
        pattern: Pattern,
    },
    /// `hooks:NAME`: change what the host does at that point.
    Hooks(Pattern),
    /// `schedule`: run at set times.
    Schedule,
    /// `notifications`: show messages to the person.
    Notifications,
    /// `clipboard`: read and write what was copied.
    Clipboard,
    /// `storage:BYTES`: keep so much in the browser.
    Storage(u64),
    /// `feature:PREFIX:SUFFIX`: a part of the host that has no right of its own.
    Feature(Feature),
}

/// Reading, or reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reading only.
    Read,
    /// Writing; reading comes with it.
    Write,
}

/// How a secret travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Inside TLS, to a server whose certificate was verified.
    Tls,
    /// Plain HTTP, which everybody on the way can read. A person names it: `http://`.
    PlainText,
}

impl Transport {
    /// What stands before the host.
    const PLAIN_TEXT_PREFIX: &str = "http://";

    /// The port when none is named.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Tls => 443,
            Self::PlainText => 80,
        }
    }
}

/// Which way events go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the host to the app.
    Watch,
    /// From the app to the host.
    Emit,
}

/// What an app may do with the other agents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentsUse {
    /// Read their source.
    Read,
    /// Add and change them.
    Write,
    /// Call those whose name fits.
    Call(Pattern),
}

/// The name of an environment variable: 1 to 128 letters, digits or `_`, no digit first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableName(String);

impl VariableName {
    /// Checks the form.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        let fits = (1..=128).contains(&text.len())
            && !text.starts_with(|first: char| first.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if fits { Ok(Self(text.to_owned())) } else { Err(invalid(text, "is not a variable's name")) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of an HTTP header, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderName(String);

impl HeaderName {
    /// Checks the form.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if fits { Ok(Self(text.to_ascii_lowercase())) } else { Err(invalid(text, "is not a header's name")) }
    }

    /// The name in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not a right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {why}")]
pub struct InvalidRight {
    text: String,
    why: &'static str,
}

fn invalid(text: &str, why: &'static str) -> InvalidRight {
    InvalidRight { text: text.chars().take(120).flat_map(char::escape_default).collect(), why }
}

/// Longest text of a right: above any real path, below what would fill a screen.
const RIGHT_BYTES_MAX: usize = 4096;

impl FromStr for Right {
    type Err = InvalidRight;

    fn from_str(text: &str) -> Result<Self, InvalidRight> {
        if text.len() > RIGHT_BYTES_MAX {
            return Err(invalid(text, "is too long for a right"));
        }
        if !shows_what_it_is(text) {
            return Err(invalid(text, "has characters that cannot be seen or that change how it is shown"));
        }
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let unknown = || invalid(text, "is not a right; `roost rights --list` shows all of them");
        match (kind, rest) {
            ("network", Some("*")) => Ok(Self::AnyNetwork),
            ("network", Some(target)) => HostPort::parse(target).map(Self::Network),
            ("subprocess", None) => Ok(Self::Subprocess),
            ("files", Some(rest)) => {
                let (access, place) = access_and(rest).ok_or_else(unknown)?;
                Ok(Self::Files { access, place: Place::parse(place)? })
            }
            ("env", Some(name)) => VariableName::parse(name).map(Self::Environment),
            ("secret", Some(rest)) => secret(rest).unwrap_or_else(|| Err(unknown())),
            ("agents", Some("read")) => Ok(Self::Agents(AgentsUse::Read)),
            ("agents", Some("write")) => Ok(Self::Agents(AgentsUse::Write)),
            ("agents", Some(rest)) => {
                let pattern = rest.strip_prefix("call:").ok_or_else(unknown)?;
                Ok(Self::Agents(AgentsUse::Call(Pattern::parse(pattern)?)))
            }
            ("memory", Some("read")) => Ok(Self::Memory(Access::Read)),
            ("memory", Some("write")) => Ok(Self::Memory(Access::Write)),
            ("model", None) => Ok(Self::Model),
            ("workspace", Some(rest)) => {
                let (access, pattern) = access_and(rest).ok_or_else(unknown)?;
                Ok(Self::Workspace { access, pattern: Pattern::parse(pattern)? })
            }
            ("events", Some(rest)) => {
                let (direction, pattern) = match rest.split_once(':') {
                    Some(("watch", pattern)) => (Direction::Watch, pattern),
                    Some(("emit", pattern)) => (Direction::Emit, pattern),
                    _ => return Err(unknown()),
                };
                Ok(Self::Events { direction, pattern: Pattern::parse(pattern)? })
            }
            ("hooks", Some(name)) => Pattern::parse(name).map(Self::Hooks),
            ("schedule", None) => Ok(Self::Schedule),
            ("notifications", None) => Ok(Self::Notifications),
            ("clipboard", None) => Ok(Self::Clipboard),
            ("storage", Some(bytes)) => bytes.parse().map(Self::Storage).map_err(|_| unknown()),
            ("feature", Some(rest)) => Feature::parse(rest).map(Self::Feature),
            _ => Err(unknown()),
        }
    }
}

fn access_and(rest: &str) -> Option<(Access, &str)> {
    match rest.split_once(':')? {
        ("read", target) => Some((Access::Read, target)),
        ("write", target) => Some((Access::Write, target)),
        _ => None,
    }
}

fn secret(rest: &str) -> Option<Result<Right, InvalidRight>> {
    let (name, target) = rest.split_once('@')?;
    let (host, header) = target.rsplit_once(':')?;
    let (transport, host) = match host.strip_prefix(Transport::PLAIN_TEXT_PREFIX) {
        Some(host) => (Transport::PlainText, host),
        None => (Transport::Tls, host),
    };
    let read = || {
        let (name, header) = (VariableName::parse(name)?, HeaderName::parse(header)?);
        Ok(Right::Secret { name, transport, host: HostPort::parse(host)?, header })
    };
    Some(read())
}

impl fmt::Display for Right {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnyNetwork => to.write_str("network:*"),
            Self::Network(target) => write!(to, "network:{target}"),
            Self::Subprocess => to.write_str("subprocess"),
            Self::Files { access, place } => write!(to, "files:{access}:{place}"),
            Self::Environment(name) => write!(to, "env:{}", name.0),
            Self::Secret { name, transport, host, header } => {
                let prefix = match transport {
                    Transport::Tls => "",
                    Transport::PlainText => Transport::PLAIN_TEXT_PREFIX,
                };
                write!(to, "secret:{}@{prefix}{host}:{}", name.0, header.0)
            }
            Self::Agents(AgentsUse::Read) => to.write_str("agents:read"),
            Self::Agents(AgentsUse::Write) => to.write_str("agents:write"),
            Self::Agents(AgentsUse::Call(pattern)) => write!(to, "agents:call:{pattern}"),
            Self::Memory(access) => write!(to, "memory:{access}"),
            Self::Model => to.write_str("model"),
            Self::Workspace { access, pattern } => write!(to, "workspace:{access}:{pattern}"),
            Self::Events { direction: Direction::Watch, pattern } => write!(to, "events:watch:{pattern}"),
            Self::Events { direction: Direction::Emit, pattern } => write!(to, "events:emit:{pattern}"),
            Self::Hooks(pattern) => write!(to, "hooks:{pattern}"),
            Self::Schedule => to.write_str("schedule"),
            Self::Notifications => to.write_str("notifications"),
            Self::Clipboard => to.write_str("clipboard"),
            Self::Storage(bytes) => write!(to, "storage:{bytes}"),
            Self::Feature(feature) => write!(to, "feature:{feature}"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl TryFrom<String> for Right {
    type Error = InvalidRight;
    fn try_from(text: String) -> Result<Self, InvalidRight> {
        text.parse()
    }
}

impl From<Right> for String {
    fn from(right: Right) -> String {
        right.to_string()
    }
}

impl Right {
    /// True when whoever has this right may do everything that the other one allows.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AnyNetwork, Self::AnyNetwork | Self::Network(_)) => true,
            (Self::Network(ours), Self::Network(theirs)) => ours.covers(theirs),
            (Self::Files { access, place }, Self::Files { access: their_access, place: their_place }) => {
                access >= their_access && place.covers(their_place)
            }
            // Seeing a value is more than using it unseen.
            (Self::Environment(name), Self::Secret { name: other, .. }) => name == other,
            (Self::Agents(AgentsUse::Write), Self::Agents(AgentsUse::Read)) => true,
            (Self::Agents(AgentsUse::Call(ours)), Self::Agents(AgentsUse::Call(theirs))) => {
                ours.covers(theirs)
            }
            (Self::Memory(ours), Self::Memory(theirs)) => ours >= theirs,
            (
                Self::Workspace { access, pattern },
                Self::Workspace { access: their_access, pattern: their_pattern },
            ) => access >= their_access && pattern.covers(their_pattern),
            (
                Self::Events { direction, pattern },
                Self::Events { direction: their_direction, pattern: their_pattern },
            ) => direction == their_direction && pattern.covers(their_pattern),
            (Self::Hooks(ours), Self::Hooks(theirs)) => ours.covers(theirs),
            (Self::Storage(ours), Self::Storage(theirs)) => ours >= theirs,
            (Self::Feature(ours), Self::Feature(theirs)) => ours.covers(theirs),
            (ours, theirs) => ours == theirs,
        }
    }

    /// What it allows, for a person: completes "This app may …".
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::AnyNetwork => {
                "connect to any computer, also to this one and those in your network".to_owned()
            }
            Self::Network(target) => format!("connect to {}", target.in_words()),
            Self::Subprocess => "start other programs of this computer, inside its sandbox".to_owned(),
            Self::Files { access: Access::Read, place } => format!("read {}", place.in_words()),
            Self::Files { access: Access::Write, place } => format!("read and change {}", place.in_words()),
            Self::Environment(name) => format!("see the value of the variable {}", name.0),
            Self::Secret { name, transport, host, header } => {
                let unprotected = match transport {
                    Transport::Tls => "",
                    Transport::PlainText => "; it is sent unencrypted, readable to everybody on the way",
                };
                let (host, header) = (host.in_words(), &header.0);
                format!(
                    "use {} towards {host} in the header `{header}`, without seeing it{unprotected}",
                    name.0
                )
            }
            Self::Agents(AgentsUse::Read) => "read the source of the other agents".to_owned(),
            Self::Agents(AgentsUse::Write) => "add agents, and change the source of the others".to_owned(),
            Self::Agents(AgentsUse::Call(pattern)) => format!("call {}", pattern.in_words("other agents")),
            Self::Memory(Access::Read) => "read what is remembered for you".to_owned(),
            Self::Memory(Access::Write) => "read and change what is remembered for you".to_owned(),
            Self::Model => "ask the language model, which may cost money".to_owned(),
            Self::Workspace { access: Access::Read, pattern } => {
                format!("read {}", pattern.in_words("workspace files"))
            }
            Self::Workspace { access: Access::Write, pattern } => {
                format!("read and change {}", pattern.in_words("workspace files"))
            }
            Self::Events { direction: Direction::Watch, pattern } => {
                format!("watch {}", pattern.in_words("events"))
            }
            Self::Events { direction: Direction::Emit, pattern } => {
                format!("send {}", pattern.in_words("events"))
            }
            Self::Hooks(pattern) => format!("change what the host does at {}", pattern.in_words("hooks")),
            Self::Schedule => "run at set times without being asked".to_owned(),
            Self::Notifications => "show you notifications".to_owned(),
            Self::Clipboard => "read and change what you copied".to_owned(),
            Self::Storage(bytes) => format!("keep up to {bytes} bytes in your browser"),
            Self::Feature(feature) => format!("use {}", feature.in_words()),
        }
    }
}

#[cfg(test)]
mod tests;
