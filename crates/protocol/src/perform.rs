//! One call of an agent as its caller sees it: the output or the failure, and the receipt of what was enforced.

use crate::{AgentName, Digest, Failure, FolderReport, Limits, Refusal, Right, Serving};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a call ended: the stable JSON shape of `roost run` and `roost call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// The agent that ran.
    pub agent: AgentName,
    /// Exactly what `perform()` returned, as text; empty when it failed.
    pub output: String,
    /// Why there is no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Signals for the next agent of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slush: Option<Map<String, Value>>,
    /// What was enforced and used.
    pub receipt: Receipt,
}

/// What a worker returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Performed {
    /// The result as text.
    pub output: String,
    /// Signals given as an object instead of inside the text.
    pub slush: Option<Map<String, Value>>,
}

/// Names one call on this home: time and a number, so that ids sort by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    /// The id of a call that began so many milliseconds after 1970, the n-th of its process.
    #[must_use]
    pub fn new(milliseconds: u64, process: u32, number: u64) -> Self {
        Self(format!("c{milliseconds:011x}-{process:x}-{number:x}"))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CallId {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

/// What was really enforced during one call, and what the call used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The call this is about; `roost why` takes it.
    pub call: CallId,
    /// The run it happened in; `roost runs show` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How the process was confined.
    pub enforcement: Enforcement,
    /// The rights in force.
    pub rights: Vec<Right>,
    /// The limits in force.
    pub limits: Limits,
    /// Names (never values) of the environment the agent saw.
    pub environment: Vec<String>,
    /// Digest of the bytes that ran.
    pub digest: Digest,
    /// Whether those bytes are the file's current content.
    pub serving: Serving,
    /// Where the worker came from.
    pub worker: WorkerUse,
    /// Wall time of the call, start of the worker included.
    pub duration_us: u64,
    /// CPU time the worker's process used during the call.
    pub cpu_us: u64,
    /// Highest resident memory of the worker's process so far.
    pub peak_memory_kb: u64,
    /// Computers that were reached through the proxy, and how much went each way.
    pub traffic: Vec<HostTraffic>,
    /// What was tried and not allowed.
    pub refused: Vec<Refusal>,
    /// Processes that were left over when the call ended, and were ended then.
    pub stray_processes: u32,
    /// What the agent asked of the host's model; absent when it asked nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
    /// What became of the agent's folder; absent when nothing changed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<FolderReport>,
}

/// How the process was confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// The level, from the layers that held.
    pub level: Level,
    /// The version of Landlock that held.
    pub landlock_abi: Option<u32>,
    /// Whether system calls were filtered.
    pub seccomp: bool,
    /// Kinds of namespaces the process had of its own.
    pub namespaces: Vec<String>,
    /// What it could reach.
    pub network: NetworkMode,
    /// What the kernel enforced, by name.
    pub enforced: Vec<String>,
    /// What could not be enforced here, by name.
    pub missing: Vec<String>,
    /// What the host saw of the process from outside before it gave it anything to run, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<String>,
}

/// How well a process can be confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A process of its own with limits, and nothing that keeps it from files or the network.
    ProcessOnly,
    /// Files and system calls are confined by the kernel; there is no namespace, and so no network but all or none.
    Light,
    /// Files, system calls, network and processes are confined by the kernel.
    Full,
}

impl Level {
    /// The level as it is written everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProcessOnly => "process-only",
            Self::Light => "light",
            Self::Full => "full",
        }
    }
}

/// What a process could reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Nothing.
    None,
    /// Named computers, through the host's proxy.
    Hosts,
    /// Everything this computer can reach, unseen by the host.
    Any,
}

/// What went to and from one computer during a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTraffic {
    /// As the agent named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Requests or tunnels.
    pub requests: u64,
    /// Bytes from the agent.
    pub sent_bytes: u64,
    /// Bytes to the agent.
    pub received_bytes: u64,
}

/// What models were asked, in one call or one turn, as their providers counted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUse {
    /// Completions that were asked for.
    pub completions: u32,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Of those, tokens the provider already had.
    pub cached_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for ModelUse {
    fn add_assign(&mut self, other: Self) {
        self.completions += other.completions;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// Where the worker of a call came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerUse {
    /// Process id.
    pub pid: u32,
    /// True when the process was already there.
    pub reused: bool,
    /// What runs it, for example `python 3.12.1` or `deno 2.9.8`.
    pub runtime: String,
}
