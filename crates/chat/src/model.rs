//! What can be asked of a model, whoever runs it.
//!
//! `Model` is one of the four joints of the system: the loop knows this trait and nothing of providers. Messages and
//! tools travel as JSON in the form of OpenAI's chat completions, because callers' own keys in them must survive.

use futures::future::BoxFuture;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// One question to a model.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The conversation: one system message, then the rest in order.
    pub messages: &'a [Value],
    /// Functions the model may call; when there are none, neither `tools` nor `tool_choice` is sent.
    pub tools: &'a [Value],
    /// The model wanted; the chosen one when absent.
    pub model: Option<&'a str>,
    /// More of the request as the caller wrote it, such as `temperature`.
    pub options: Option<&'a Map<String, Value>>,
}

/// Receives the text of a reply while it is being written.
pub type OnPiece<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The assistant's message, as it is to be sent back on the next round.
    pub message: Value,
    /// The model that answered.
    pub model: String,
    /// The model that was asked first.
    pub requested_model: String,
    /// What it cost.
    pub usage: Usage,
}

impl Reply {
    /// The text of the message; empty when it has none.
    #[must_use]
    pub fn text(&self) -> &str {
        self.message["content"].as_str().unwrap_or_default()
    }

    /// The calls of the message as they were received.
    #[must_use]
    pub fn calls(&self) -> &[Value] {
        self.message["tool_calls"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// Tokens of one or several replies, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Completions that were asked for.
    pub completions: u32,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Of those, tokens the provider already had.
    pub cached_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.completions += other.completions;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// Why there is no reply. Callers tell usage limits, missing set-up and the rest apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    /// What kind of problem.
    pub problem: ModelProblem,
    /// One sentence for a person; never holds a credential.
    pub message: String,
    /// The model that was asked; empty when none could be.
    pub model: String,
    /// The beginning of what the provider said.
    pub detail: String,
}

/// Kinds of problems with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelProblem {
    /// No provider is set up.
    NotSetUp,
    /// A provider is set up, and nobody signed in.
    NotSignedIn,
    /// The account may not use Copilot.
    NoCopilotAccess {
        /// The account.
        user: String,
    },
    /// The provider's limit is reached.
    Limited {
        /// When to ask again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The provider answered with an error.
    Refused {
        /// Its status.
        status: u16,
    },
    /// There was no connection.
    Unreachable,
    /// It did not answer in time.
    Silent,
    /// The answer is not one.
    Garbled,
}

impl From<ModelFailure> for Failure {
    fn from(failure: ModelFailure) -> Self {
        let reason = match failure.problem {
            ModelProblem::NotSetUp => Reason::ModelUnavailable,
            ModelProblem::NotSignedIn => Reason::NotSignedIn,
            ModelProblem::NoCopilotAccess { .. } => Reason::NoCopilotAccess,
            ModelProblem::Limited { .. } => Reason::ModelLimited,
            ModelProblem::Refused { .. } => Reason::ModelRefused,
            ModelProblem::Unreachable => Reason::ModelUnreachable,
            ModelProblem::Silent => Reason::ModelSilent,
            ModelProblem::Garbled => Reason::ModelGarbled,
        };
        Failure::new(reason, failure.message)
    }
}

/// A model that can be asked. Dropping the future ends the request.
pub trait Model: Send + Sync {
    /// One completion. With `on_piece`, its text is also given piece by piece while it is written.
    fn reply<'a>(
        &'a self,
        ask: Ask<'a>,
        on_piece: Option<OnPiece<'a>>,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>>;
}
