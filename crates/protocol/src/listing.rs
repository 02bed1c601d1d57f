//! Agents as every surface lists them.

use crate::{Digest, Failure, Language};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of the agent list: an agent, or a file that did not become one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentListing {
    /// The agent's name; the file's stem when nothing better is known.
    pub name: String,
    /// File name in the agents folder.
    pub file: String,
    /// The connected source the file came from; absent for the home's own agents folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it is written in.
    pub language: AgentLanguage,
    /// Whether it can be called.
    pub state: AgentState,
    /// Why it is not `ready`, or why an older version serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
    /// Which bytes serve calls; absent when none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
    /// Digest of the file's current content, when it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// What an agent is written in, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentLanguage {
    /// Python.
    Python,
    /// TypeScript or JavaScript.
    TypeScript,
    /// Any language: it is a tool of a native app.
    Native,
}

impl From<Language> for AgentLanguage {
    fn from(language: Language) -> Self {
        match language {
            Language::Python => Self::Python,
            Language::TypeScript => Self::TypeScript,
        }
    }
}

/// One line of the list of services.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndpointListing {
    /// Its name in `/api/<name>`; the file's stem when nothing better is known.
    pub name: String,
    /// File name in the services folder.
    pub file: String,
    /// Whether it answers.
    pub state: AgentState,
    /// Why it is not `ready`, or why an older version serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
    /// What it is for, from the file's first line.
    pub description: String,
    /// Which bytes serve requests; absent when none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
    /// Digest of the file's current content, when it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

impl From<AgentListing> for EndpointListing {
    fn from(listing: AgentListing) -> Self {
        let AgentListing { name, file, state, reason, description, serving, digest, .. } = listing;
        Self { name, file, state, reason, description, serving, digest }
    }
}

/// Whether an agent can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentState {
    /// It answers.
    Ready,
    /// Its file does not load; `serving` says whether its last good version still answers.
    Failed,
    /// Another agent holds its name.
    Shadowed,
    /// A person switched it off.
    Disabled,
}

/// Which bytes of a file answer calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serving {
    /// The file as it is now.
    Current,
    /// The last content that loaded.
    LastGood,
}
