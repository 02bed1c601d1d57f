//! What can be asked of an agent file, whatever language it is written in.
//!
//! `Agent` is one of the four joints of the system: `host` knows this trait and nothing of processes.

use futures::future::BoxFuture;
use roost_protocol::{
    AgentDescription, ClassFailure, Dependencies, Digest, Enforcement, Failure, HostCall, Language, Limits,
    Performed, WorkerUse,
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// One agent file with fixed bytes, and everything needed to run it.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file, absolute.
    pub file: PathBuf,
    /// The agents folder it belongs to.
    pub folder: PathBuf,
    /// Its language.
    pub language: Language,
    /// The bytes that run.
    pub source: Arc<[u8]>,
    /// Digest of those bytes.
    pub digest: Digest,
    /// Packages it needs.
    pub dependencies: Dependencies,
    /// What a worker may use.
    pub limits: Limits,
    /// The environment a worker sees.
    pub environment: BTreeMap<String, String>,
    /// Current directory of a worker.
    pub working_directory: PathBuf,
}

/// One call.
#[derive(Debug)]
pub struct Call<'a> {
    /// Which agent of the file.
    pub agent: &'a str,
    /// Keyword arguments.
    pub arguments: &'a Map<String, Value>,
    /// The sloshed context as JSON text.
    pub context: &'a str,
}

/// How a call ended.
#[derive(Debug)]
pub struct Done {
    /// The result; a failed agent is a value, not an error of the host.
    pub result: Result<Performed, Failure>,
    /// What it used; absent when no worker could be started.
    pub usage: Option<Usage>,
}

/// What one call used.
#[derive(Debug, Clone)]
pub struct Usage {
    /// The worker that ran it.
    pub worker: WorkerUse,
    /// How that worker is confined.
    pub enforcement: Enforcement,
    /// CPU time of the worker's process during the call.
    pub cpu_us: u64,
    /// Highest resident memory of the worker's process so far.
    pub peak_memory_kb: u64,
}

/// What loading a file gave.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Agents that can be called.
    pub agents: Vec<AgentDescription>,
    /// Classes that cannot.
    pub failures: Vec<ClassFailure>,
}

/// What becomes of the worker that described a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// It ends: most agents are listed far more often than called.
    Stop,
    /// It waits for a call that is about to come.
    Keep,
}

/// A program that can be asked. Dropping a future of any of these stops what it asked for: the worker that was
/// busy with it is killed with everything it started.
pub trait Agent: Send + Sync {
    /// Loads the file in a new worker and says what is in it.
    fn describe(&self, afterwards: Afterwards) -> BoxFuture<'_, Result<Loaded, Failure>>;

    /// Runs `perform` of one agent in the file, in a reused worker where there is one.
    fn perform<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Done>;

    /// The agent's contribution to the system prompt; empty when it has none.
    fn system_context<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<String, Failure>>;
}

/// What agents may ask of the host. Implemented by `host`; the caller is the connection's program, never a name
/// in a message.
pub trait HostCalls: Send + Sync {
    /// Answers one question of the program in `file`.
    fn answer<'a>(
        &'a self,
        file: &'a std::path::Path,
        call: HostCall,
    ) -> BoxFuture<'a, Result<Value, Failure>>;
}
