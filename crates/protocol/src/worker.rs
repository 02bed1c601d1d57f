//! Frames between the host and a worker: a big-endian `u32` length, then one JSON object.
//!
//! The channel carries one question at a time, asked by the host. What an agent asks of the host travels on a
//! second channel (`host_call`), so that a thread of the agent can never take an answer meant for another.

use crate::{Failure, Limits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf};

/// Largest frame either side accepts: above every default limit, far below what would hurt the host.
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// The first frame: what to load and with what. For Python the source follows as `source_bytes` raw bytes, so
/// that what was hashed is what runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The agent's file, absolute; `__file__` of the agent.
    pub file: PathBuf,
    /// The agents folder: the path of the `agents` package.
    pub folder: PathBuf,
    /// Where the agents' own data lives.
    pub data: PathBuf,
    /// Current directory of the worker.
    pub working_directory: PathBuf,
    /// The whole environment of the worker; nothing of the host's own is inherited.
    pub environment: BTreeMap<String, String>,
    /// The limits already applied to the process, for messages.
    pub limits: Limits,
    /// Length of the source that follows the frame; 0 when `module` is used.
    pub source_bytes: u64,
    /// The converted module to import instead, for TypeScript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<PathBuf>,
}

/// One call, as the worker gets it. The sloshed context follows as `context_bytes` bytes of JSON: most agents never
/// look at it, and then it is never parsed.
#[derive(Debug, Serialize)]
pub struct PerformFrame<'a> {
    /// Question number, repeated by the answer.
    pub id: u64,
    /// Which agent of the file.
    pub agent: &'a str,
    /// Keyword arguments.
    pub arguments: &'a Map<String, Value>,
    /// Length of the context that follows the frame.
    pub context_bytes: usize,
}

/// What the host says to a worker.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ToWorker<'a> {
    /// Load the file.
    Start(&'a Start),
    /// Run an agent.
    Perform(PerformFrame<'a>),
    /// Ask an agent for its contribution to the system prompt.
    SystemContext {
        /// Question number, repeated by the answer.
        id: u64,
        /// Which agent of the file.
        agent: &'a str,
    },
}

/// What a worker answers.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum FromWorker {
    /// The file was loaded; some of its classes may have failed.
    Loaded {
        /// Agents that can be called.
        agents: Vec<AgentDescription>,
        /// Classes that cannot.
        #[serde(default)]
        failures: Vec<ClassFailure>,
    },
    /// The file could not be loaded.
    Failed(Failure),
    /// The call ended and this is its result.
    Result {
        /// Question number.
        id: u64,
        /// What `perform` returned, as text.
        output: String,
        /// Signals for the next agent, when the result was an object rather than text.
        #[serde(default)]
        slush: Option<Map<String, Value>>,
    },
    /// The call ended with an error.
    Error {
        /// Question number.
        id: u64,
        /// What happened.
        #[serde(flatten)]
        failure: Failure,
    },
}

/// One agent of a file, as its class describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentDescription {
    /// The instance's `name`; not yet checked.
    pub name: String,
    /// The class it is an instance of.
    pub class: String,
    /// From the metadata; empty when absent.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
    /// What `to_tool()` returned, when the class has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Value>,
    /// True when the class has a `system_context` of its own, which is then asked on every turn.
    #[serde(default)]
    pub has_system_context: bool,
}

/// A class of a file that could not become an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassFailure {
    /// The class.
    pub class: String,
    /// Its agent name, if it got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub failure: Failure,
}
