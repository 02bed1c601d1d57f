//! What an app asks for, what a person granted, and what was refused.

use crate::{Digest, Failure, Reason, Right};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who asks: an agent file by its name in the agents folder, or by its absolute path when it lies elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AppId(String);

impl AppId {
    /// The app of this name or path. Any text is one: the host makes it from a file it read, never from a message.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AppId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// Where an app came from; policies differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A file a person put there.
    Local,
    /// Installed from a catalog.
    Catalog,
    /// Written by another agent.
    Generated,
    /// A page of the workspace: nothing but a person gives it anything.
    Page,
}

/// One right an app asks for, and why we think so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The right.
    pub right: Right,
    /// How it is known.
    pub evidence: Evidence,
    /// The line of the source that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The permission as the app wrote it, where that is another language than ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// How an ask is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The app says so itself.
    Declared,
    /// Its source shows it.
    Source,
    /// It tried, and was refused.
    Tried,
}

/// Everything an app asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    /// True when the app declares its rights: then nothing else counts.
    pub declared: bool,
    /// In the order of the text, each right once.
    pub asks: Vec<Ask>,
}

impl Asks {
    /// True when the right was asked for.
    #[must_use]
    pub fn cover(&self, right: &Right) -> bool {
        self.asks.iter().any(|ask| ask.right.covers(right))
    }

    /// Identifies the set of rights, whatever the order and the evidence. What was only tried does not count: it says
    /// something about a run, not about the source.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut texts: Vec<String> = self
            .asks
            .iter()
            .filter(|ask| ask.evidence != Evidence::Tried)
            .map(|ask| ask.right.to_string())
            .collect();
        texts.sort();
        texts.dedup();
        Digest::of(texts.join("\n").as_bytes())
    }
}

/// How long a grant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lasting {
    /// For one call.
    Once,
    /// As long as the app's content stays the same.
    Version,
    /// Also for later contents that ask for the same, where the policy allows it.
    Always,
}

/// One thing that was tried and not allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What was tried, in words, for example `open /root/.ssh/id_ed25519 for reading`.
    pub what: String,
    /// The right that would have allowed it; absent where none would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Right>,
    /// Who refused.
    pub by: RefusedBy,
    /// How often during the call.
    pub count: u64,
    /// The command that grants it, or what to do instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
}

/// The part of the sandbox that refused something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefusedBy {
    /// Landlock, or the file's own mode.
    Files,
    /// The filter of system calls.
    Syscalls,
    /// The host's proxy.
    Proxy,
    /// The network namespace has no such way.
    Network,
    /// The gate, when the agent asked the host for something.
    Gate,
    /// A limit on what a worker may use or leave behind.
    Limits,
}

impl Refusal {
    /// The failure of a call that ended because of this.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(Reason::RightMissing, format!("not allowed: {}", self.what));
        if self.next.is_empty() { failure } else { failure.with_next(self.next.clone()) }
    }
}
