//! Joins files, workers and callers of one home, and runs calls. Serves no HTTP and reads no command line.

mod settings; // what a host is told at its start
mod host; // the agents of one home
mod knowledge; // what is known of one folder, kept current
mod shelves; // the folders agents come from
mod agent_files; // files that come and go
mod services; // files that answer below /api/
mod sources; // agents from elsewhere
pub mod catalogs; // apps from elsewhere
pub mod library; // apps that are installed
mod roster; // which agents there are, and why others are not
mod gate; // the one place that decides
mod standing; // what an agent file is to the gate
mod program; // from a file to a program
mod confinement; // from rights to what a worker may touch
mod secrets; // values that agents use without seeing them
mod vault; // values, sealed
pub mod trust; // keys to sign with, and whom the home believes
mod perform; // one call
mod arguments; // key=value by schema
mod context; // what an agent knows before it runs
mod memory; // what agents remembered
mod calls; // what agents may ask of the host
mod converse; // one turn of a conversation
mod toolbox; // the agents as tools of a model
pub mod schedules; // things done at set times
mod conversations; // transcripts the host keeps
pub mod local_models; // models of this machine
pub mod peer; // another host as an agent
pub mod storefront; // a catalog that this machine runs
mod call_log; // calls that can be explained later
mod book; // what happened lately
pub mod modes; // two switches of every answer
pub mod voice; // the voice configuration
mod owner; // who owns the host
mod browser_sessions; // browsers of the owner
mod store; // what must survive
mod folders; // agents' folders, with history
mod tokens; // who may use a workspace
pub mod runs; // what happened, and going through it again
pub mod chat; // turns and models, for those who serve them
pub mod workspace; // files with history, for those who serve them
pub mod pages; // page apps: files, sessions, bridge
mod watch; // the folder, live
mod contract; // the ten contract tests
pub mod native; // native apps
mod rights; // rights as a person sees them
pub mod self_test; // trying the sandbox
pub mod doctor; // what this machine has
pub mod why; // one cause, one next step
mod starter; // what a new home gets

pub use self::{
    agent_files::{ArrivedFile, ArrivingFile, ListedFile},
    arguments::arguments_from_words,
    book::{Book, BookEvent, BookKeeping, keep_book},
    browser_sessions::{BrowserSession, Invitation},
    call_log::CallRecord,
    contract::{ContractResult, bundle_and_page_tests, contract_tests, validate_file},
    conversations::{ConversationListing, Conversations, SessionId},
    converse::{CHAT_DEPTH_MAX, ChatAnswer, ChatFailure, ChatRequest, Speaker},
    gate::{
        AuditBroken, AuditFilter, AuditListing, AuditOutcome, AuditRow, AuditVerified, AuditWhat, Caller,
        Decision, Gate, Grant, Policy, Revoked, Source as RightSource, Why as WhyDenied,
    },
    host::{Host, KnownAgents, OpenFile},
    knowledge::{NoProgress, Progress},
    owner::OwnerToken,
    perform::{ChosenBy, Request},
    rights::{AppRights, RightState, State as RightStateKind},
    services::{EndpointAnswer, EndpointBody, EndpointRequest, Served},
    settings::{AgentSettings, Home, HostSettings, ModeSettings, SandboxSettings, StoreSettings, Variables},
    sources::{NewSource, SourceChange, SourceKind, SourceListing},
    starter::{NewAgent, create_home, new_agent},
    store::{local_owner, store_migrations},
    tokens::{Credential, MadeToken, NewToken, NoCredential, Scope, TokenListing, TooOften},
    vault::{InvalidSecretValue, KeyPlace, SecretListing, SecretUser, SecretValue, Secrets, Vault},
    watch::{Watch, watch},
};
