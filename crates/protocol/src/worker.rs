//! Frames between the host and a worker: a big-endian `u32` length, then one JSON object.
//!
//! The channel carries one question at a time, asked by the host. What an agent asks of the host travels on a
//! second channel (`host_call`), so that a thread of the agent can never take an answer meant for another.

use crate::{Failure, FileKind, Limits, NetworkMode};
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
    /// What the file is for.
    #[serde(default, skip_serializing_if = "FileKind::is_agent")]
    pub kind: FileKind,
    /// Name of the folders that are the file's own.
    pub own: String,
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
    /// The environment with the file's packages, for Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<PathBuf>,
    /// What a forked worker applies to itself before it reads the source; an engine has it applied before it starts.
    pub sandbox: Recipe,
    /// What the worker knows of its bounds, so that it can say what was refused in words.
    pub bounds: Bounds,
}

/// The sandbox as data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// Namespaces the process was made in, and what to set up in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<NamespaceRecipe>,
    /// The system call filter, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Whether file rules come as a descriptor on the host-call socket.
    #[serde(default)]
    pub has_rules: bool,
    /// What Landlock allows below the worker's own `/proc`.
    #[serde(default)]
    pub proc_access: u64,
    /// Where the proxy listens.
    #[serde(default)]
    pub proxy_port: u16,
}

/// Namespaces as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceRecipe {
    /// Where mounts go that come as descriptors on the host-call socket, in this order.
    pub mounts: Vec<PathBuf>,
    /// Whether a listener for the proxy is wanted.
    pub has_proxy: bool,
}

/// The bounds of a worker, for words; they bind nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// False when nothing is confined, and so nothing can be refused.
    pub confined: bool,
    /// What it may read, besides what it may write.
    pub readable: Vec<PathBuf>,
    /// What it may write.
    pub writable: Vec<PathBuf>,
    /// Whether it may start programs.
    pub may_start_programs: bool,
    /// What it may reach.
    pub network: NetworkMode,
    /// Variables it asks for and does not get.
    pub withheld: Vec<String>,
    /// Paths and variables that a person granted: their use is noticed, so that unused grants can be taken back.
    pub watched: Vec<String>,
}

/// Something the agent tried and could not do, as its worker noticed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// What kind of thing.
    pub kind: TriedKind,
    /// A path, `host:port`, a program, a process or a variable.
    pub target: String,
}

/// Kinds of things that workers notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriedKind {
    /// Read a file or list a folder.
    Read,
    /// Make, change, move or delete a file.
    Write,
    /// Connect to a computer, or look it up.
    Connect,
    /// Start a program.
    Start,
    /// Send a signal to a process.
    Signal,
    /// Look into another process.
    Inspect,
    /// Read an environment variable.
    Variable,
}

/// What a worker noticed while it did what it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Noticed {
    /// What was tried and refused.
    #[serde(default)]
    pub refused: Vec<Tried>,
    /// True when the agent started a process, which may still be there.
    #[serde(default)]
    pub forked: bool,
    /// Watched paths and variables that were used.
    #[serde(default)]
    pub touched: Vec<String>,
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
    /// Who is calling, for an agent that takes a `user_guid`; it stands in place of one in the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_guid: Option<&'a str>,
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
    /// Ask an agent for its contribution to the system prompt. The context follows as for a call, so that the agent
    /// knows for whom the prompt is made.
    SystemContext {
        /// Question number, repeated by the answer.
        id: u64,
        /// Which agent of the file.
        agent: &'a str,
        /// Length of the context that follows the frame.
        context_bytes: usize,
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
        /// What else happened.
        #[serde(flatten)]
        noticed: Noticed,
    },
    /// The file could not be loaded.
    Failed {
        /// Why.
        #[serde(flatten)]
        failure: Failure,
        /// What else happened.
        #[serde(flatten)]
        noticed: Noticed,
    },
    /// The call ended and this is its result.
    Result {
        /// Question number.
        id: u64,
        /// What `perform` returned, as text.
        output: String,
        /// Signals for the next agent, when the result was an object rather than text.
        #[serde(default)]
        slush: Option<Map<String, Value>>,
        /// What was tried and refused.
        #[serde(default)]
        refused: Vec<Tried>,
        /// True when the agent started a process.
        #[serde(default)]
        forked: bool,
        /// Watched paths and variables that were used.
        #[serde(default)]
        touched: Vec<String>,
    },
    /// The call ended with an error.
    Error {
        /// Question number.
        id: u64,
        /// What happened.
        #[serde(flatten)]
        failure: Failure,
        /// What else happened.
        #[serde(flatten)]
        noticed: Noticed,
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
