//! Routes, one file per family.

pub(crate) mod agent_files;
pub(crate) mod agents;
pub(crate) mod apps;
pub(crate) mod binder;
pub(crate) mod chat;
pub(crate) mod diagnostics;
pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod liveness;
pub(crate) mod login;
pub(crate) mod models;
pub(crate) mod page;
pub(crate) mod secrets;
pub(crate) mod runs;
pub(crate) mod services;
pub(crate) mod sources;
pub(crate) mod tokens;
pub(crate) mod twin;
pub(crate) mod voice;
pub(crate) mod workspace_extras;
pub(crate) mod workspace;
pub(crate) mod workspace_requests;
