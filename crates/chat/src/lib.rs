//! The loop between a model and its tools: what is sent, what comes back, when it ends.
//!
//! Knows no agent and no worker: a tool is a name, a schema and an answer. Serves no HTTP and reads no settings.

mod model; // what can be asked of a model, and everybody who has one
mod models; // which of them is asked
mod login; // signing in at GitHub
mod state_file; // what is kept between runs
mod tools; // what a model can use
mod tool_definition; // what a model is told of a tool
mod tool_list; // tools as they are sent
mod ranking; // which tools a text is about
mod shortlist; // the tools that fit into one request
mod turn; // from a message to an answer
mod turn_log; // what the tools of a turn did
mod conversation; // what came before
mod prompt; // what the model is told about itself
mod slots; // what a reply says aloud and to the twin
mod explicit; // what was asked for with a slash
mod offer; // what is offered when there is no model
mod spelling; // words that are nearly the same
#[cfg(test)]
mod scripted; // a model for tests

pub use self::{
    conversation::{History, HistoryRule, InvalidHistory, history},
    explicit::{Explicit, ExplicitProblem, parse_explicit},
    login::{DeviceCode, Login, LoginProgress, RetryOutcome},
    model::{
        AppModels, Ask, AuthReport, AzureCredential, AzureSettings, CredentialSource, Endpoint,
        FIRST_BYTE_WAIT, FindAppModel, LocalEndpoint, ManagedIdentity, Model, ModelFailure, ModelProblem,
        OnPiece, PIECE_WAIT, ProviderName, ProxySettings, Reply, Secret, SessionReport, StartLocal,
        guarded_client, web_client,
    },
    models::{
        AnthropicSettings, GitHubSettings, ListedModel, ModelList, ModelSettings, Models, OpenAiSettings,
        ServerProbe, SetModel, Standing, StandingState,
    },
    offer::{Choice, FormField, Offer, offer},
    prompt::{Prompt, first_sentence, system_message},
    ranking::{Described, Ranked, Ranking},
    shortlist::{Priorities, Shortlist, TOOLS_BYTES_MAX, TOOLS_MAX, ToolForms, names_in},
    slots::{Slots, split_slots},
    tool_definition::ToolDefinition,
    tool_list::ToolList,
    tools::{ToolAnswer, ToolCall, Tools},
    turn::{OnEvent, Turn, TurnEvent, TurnOutcome, run_turn},
    turn_log::{TurnLog, UnknownLine, log_lines},
};
