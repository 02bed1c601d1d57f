//! What a model can use. `Tools` is one of the four joints of the system: the host implements it with its agents.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

/// One use of a tool, as the model wanted it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The call's id, repeated by its answer.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// How a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// What it returned, or why it did not.
    pub result: Result<String, String>,
    /// Everything else that is known of the call, for people: duration, receipt, reason.
    pub record: Value,
}

/// Tools that can be run. Several of one message run at the same time; dropping a future ends the call.
pub trait Tools: Send + Sync {
    /// Whether there is a tool of this name.
    fn has(&self, name: &str) -> bool;

    /// Runs one.
    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer>;
}
