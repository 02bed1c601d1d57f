//! The loop between a model and its tools: what is sent, what comes back, when it ends.
//!
//! Knows no agent and no worker: a tool is a name, a schema and an answer. Serves no HTTP and reads no settings.

mod model; // what can be asked of a model
mod tools; // what a model can use

pub use self::{
    model::{Ask, Model, ModelFailure, ModelProblem, OnPiece, Reply, Usage},
    tools::{ToolAnswer, ToolCall, Tools},
};
