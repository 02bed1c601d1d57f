//! The loop between a model and its tools: what is sent, what comes back, when it ends.
//!
//! Knows no agent and no worker: a tool is a name, a schema and an answer. Serves no HTTP and reads no settings.

mod model; // what can be asked of a model
mod tools; // what a model can use
mod turn; // from a message to an answer
mod turn_log; // what the tools of a turn did
mod conversation; // what came before
mod prompt; // what the model is told about itself
mod slots; // what a reply says aloud and to the twin
#[cfg(test)]
mod scripted; // a model for tests

pub use self::{
    conversation::{History, HistoryRule, InvalidHistory, history},
    model::{Ask, Model, ModelFailure, ModelProblem, OnPiece, Reply, Usage},
    prompt::{Prompt, system_message},
    slots::{Slots, split_slots},
    tools::{ToolAnswer, ToolCall, Tools},
    turn::{OnEvent, Turn, TurnEvent, TurnOutcome, run_turn},
    turn_log::{TurnLog, UnknownLine, log_lines},
};
