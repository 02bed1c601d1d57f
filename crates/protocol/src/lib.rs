//! Shapes that cross a boundary: what the host, its workers, its clients and its files say to each other.
//!
//! No IO, no clock, no tasks. Whatever is parsed here is data from outside; a value of one of these types is
//! well formed, not yet allowed.

mod reason; // why something is not "works"
mod ids; // names and digests that were checked
mod dependencies; // packages a file needs
mod limits; // what one worker may use
mod right; // what can be asked for and granted
mod grant; // who asks, what holds, what was refused
mod worker; // frames between the host and a worker
mod host_call; // what an agent asks of the host
mod folder; // what became of an agent's folder
mod perform; // one call of an agent and its receipt
mod listing; // agents as every surface lists them
mod media_type; // what browsers are told a file is

pub use self::{
    dependencies::Dependencies,
    folder::{CommittedFile, ConflictingFile, FolderReport, SkippedFile},
    grant::{AppId, Ask, Asks, Evidence, Lasting, Origin, Refusal, RefusedBy},
    host_call::{HostCall, HostCallReply},
    ids::{
        AgentName, Digest, FileKind, InvalidAgentName, InvalidDigest, InvalidTenant, InvalidUserGuid,
        Language, Tenant, UserGuid, is_id_text,
    },
    limits::Limits,
    listing::{AgentLanguage, AgentListing, AgentState, EndpointListing, Serving},
    media_type::media_type,
    perform::{
        CallId, CallOutcome, Enforcement, HostTraffic, Level, ModelUse, NetworkMode, Performed, Receipt,
        WorkerUse,
    },
    reason::{Failure, Reason},
    right::{
        Access, AgentsUse, Direction, Feature, HeaderName, Host, HostPort, InvalidRight, Pattern, Place,
        Right, Transport, VariableName, from_native, from_page, is_hidden, to_native, to_page,
    },
    worker::{
        AgentDescription, Bounds, ClassFailure, FRAME_BYTES_MAX, FromWorker, NamespaceRecipe, Noticed,
        PerformFrame, Recipe, Start, ToWorker, Tried, TriedKind,
    },
};

/// The identity every RAPP kernel uses when a caller names none. Not valid hexadecimal on purpose.
pub const DEFAULT_USER_GUID: &str = "c0p110t0-aaaa-bbbb-cccc-123456789abc";
