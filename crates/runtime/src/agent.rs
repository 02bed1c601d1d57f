//! What can be asked of an agent file, whatever language it is written in.
//!
//! `Agent` is one of the four joints of the system: `host` knows this trait and nothing of processes.

use crate::{confinement::Confinement, proxy::Verdict};
use futures::future::BoxFuture;
use roost_protocol::{
    AgentDescription, ClassFailure, Dependencies, Digest, Enforcement, Failure, FileKind, HostCall, HostPort,
    HostTraffic, Language, Limits, ModelUse, Performed, Refusal, WorkerUse,
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, sync::Arc};

/// One agent file with fixed bytes, and everything needed to run it.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file, absolute.
    pub file: PathBuf,
    /// What it is for.
    pub kind: FileKind,
    /// Name of the folders that are its own.
    pub own: String,
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
    /// What a worker may touch.
    pub confinement: Confinement,
    /// Variables the agent asks for and does not get, so that a worker can say so.
    pub withheld: Vec<String>,
    /// Granted paths and variables whose use is wanted to be known.
    pub watched: Vec<String>,
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
    /// Who is calling, for an agent that takes a `user_guid`: it stands in place of one in the arguments.
    pub user_guid: Option<&'a str>,
    /// How many chats stand above it: said to the host itself when the agent calls it.
    pub depth: u32,
}

/// How a call ended.
#[derive(Debug)]
pub enum Done {
    /// The worker was asked; a failed agent is a value, not an error of the host.
    Asked {
        /// The result.
        result: Result<Performed, Failure>,
        /// What it used.
        usage: Box<Usage>,
    },
    /// No worker could be started, or the file did not load in it.
    NotStarted(LoadFailed),
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
    /// Computers that were reached through the proxy.
    pub traffic: Vec<HostTraffic>,
    /// What was tried and refused; the next steps are the host's to say.
    pub refused: Vec<Refusal>,
    /// Watched paths and variables that the agent is known to have used.
    pub touched: Vec<String>,
    /// True when it started a process.
    pub forked: bool,
    /// Processes that were left over, and were ended.
    pub stray_processes: u32,
    /// What was asked of the host's model.
    pub model: Option<ModelUse>,
}

/// A file that could not be loaded, and what it tried meanwhile.
#[derive(Debug)]
pub struct LoadFailed {
    /// Why.
    pub failure: Failure,
    /// What was tried and refused.
    pub refused: Vec<Refusal>,
}

impl From<Failure> for LoadFailed {
    fn from(failure: Failure) -> Self {
        Self { failure, refused: Vec::new() }
    }
}

/// What loading a file gave.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Agents that can be called.
    pub agents: Vec<AgentDescription>,
    /// Classes that cannot.
    pub failures: Vec<ClassFailure>,
    /// What was tried and refused meanwhile.
    pub refused: Vec<Refusal>,
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
    fn describe(&self, afterwards: Afterwards) -> BoxFuture<'_, Result<Loaded, LoadFailed>>;

    /// Runs `perform` of one agent in the file, in a reused worker where there is one.
    fn perform<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Done>;

    /// The agent's contribution to the system prompt, made in the context of the turn; empty when it has none.
    fn system_context<'a>(
        &'a self,
        agent: &'a str,
        context: &'a str,
    ) -> BoxFuture<'a, Result<String, Failure>>;
}

/// The host's answer to a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// What the agent gets.
    pub value: Value,
    /// What it cost.
    pub model: Option<ModelUse>,
}

/// What agents may ask of the host. Implemented by `host`; the caller is the connection's program, never a name
/// in a message.
pub trait HostCalls: Send + Sync {
    /// Answers one question of the program.
    fn answer<'a>(&'a self, caller: &'a Program, call: HostCall) -> BoxFuture<'a, Result<Answer, Failure>>;

    /// Whether the program may reach this computer, asked with the name it used before that is looked up.
    fn may_reach(&self, caller: &Program, target: &HostPort) -> Verdict;

    /// Whether the program was given this address itself; asked when a name led to an address that is not public.
    fn may_reach_private(&self, caller: &Program, address: IpAddr, port: u16) -> Verdict;
}
