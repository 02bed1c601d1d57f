//! What can be asked of a model, whoever runs it.
//!
//! `Model` is one of the four joints of the system: the loop knows this trait and nothing of providers. Messages and
//! tools travel as JSON in the form of OpenAI's chat completions, because callers' own keys in them must survive.

mod secret; // credentials that cannot be printed
mod failed; // what can go wrong on the way
mod trust; // whom a connection trusts
mod guarded; // a client for addresses that somebody else chose
mod wire; // the one client of all providers
mod events; // a stream of events
mod completion; // the form most providers speak
mod deltas; // a streamed reply, put together
mod provider; // who can be asked, and the one place that tells them apart
mod compatible; // any server that speaks OpenAI's form
mod openai;
mod azure;
mod azure_identity; // how a machine in Azure shows who it is
mod anthropic;
mod account; // the person at GitHub: token and session
mod copilot;
mod github_models;
mod ollama;
mod servers_here; // LM Studio and llama.cpp
mod local;
mod app_models; // models of apps

pub(crate) use self::{
    account::{Account, AccountStanding, Exchanged, now},
    anthropic::{ADDRESS as ANTHROPIC_ADDRESS, Anthropic},
    app_models::APP_MODEL_MARK,
    azure::Azure,
    compatible::Compatible,
    completion::Completion,
    copilot::{BUILT_IN, Copilot, best_model},
    failed::Trouble,
    github_models::GitHubModels,
    local::Local,
    ollama::{Ollama, address as ollama_address},
    openai::ADDRESS as OPENAI_ADDRESS,
    provider::{ModelEntry, Provider},
    servers_here::probe,
    wire::{Target, Wire, without_password},
};
pub use self::{
    account::{AuthReport, CredentialSource, SessionReport},
    app_models::{AppModels, FindAppModel},
    azure::{AzureCredential, AzureSettings},
    azure_identity::ManagedIdentity,
    guarded::guarded_client,
    local::{Endpoint, LocalEndpoint, StartLocal},
    provider::ProviderName,
    secret::Secret,
    wire::{FIRST_BYTE_WAIT, PIECE_WAIT, ProxySettings, web_client},
};

use crate::tool_list::ToolList;
use futures::future::BoxFuture;
use roost_protocol::{Failure, ModelUse, Reason};
use serde_json::{Map, Value};
use std::time::Duration;

/// One question to a model.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The conversation: one system message, then the rest in order.
    pub messages: &'a [Value],
    /// Functions the model may call; when there are none, neither `tools` nor `tool_choice` is sent.
    pub tools: &'a ToolList,
    /// The model wanted; the chosen one when absent.
    pub model: Option<&'a str>,
    /// More of the request as the caller wrote it, such as `temperature`.
    pub options: Option<&'a Map<String, Value>>,
    /// Who asks, where that is known. Only models of apps on this machine are told.
    pub user: Option<&'a str>,
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
    pub usage: ModelUse,
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
    /// The host's own model is not there or does not run.
    Local {
        /// Which of the two.
        reason: Reason,
    },
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
            ModelProblem::Local { reason } => reason,
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
