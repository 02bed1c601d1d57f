//! One call of an agent as its caller sees it: the output or the failure, and the receipt of what was enforced.

use crate::{AgentName, Digest, Failure, Limits, Serving};
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

/// What was really enforced during one call, and what the call used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// How the process was confined.
    pub enforcement: Enforcement,
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
}

/// How the process was confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// `process-only`: a process of its own with limits, but no kernel sandbox.
    pub level: String,
    /// Limits the kernel enforces here, by name.
    pub enforced: Vec<String>,
    /// Limits that could not be enforced here, by name.
    pub missing: Vec<String>,
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
