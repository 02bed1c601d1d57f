//! What becomes of an app, as every surface shows it.

use super::folder::{NativeFolder, NativeOrigin};
use jiff::Timestamp;
use roost_protocol::Failure;
use serde::Serialize;
use std::path::PathBuf;

/// One app and how it is.
#[derive(Debug, Clone, Serialize)]
pub struct NativeState {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// What it offers.
    pub provides: Vec<String>,
    /// What it asks for, as it is written.
    pub permissions: Vec<String>,
    /// How it came here.
    pub origin: NativeOrigin,
    /// Where it lies.
    pub folder: PathBuf,
    /// Whether it runs.
    pub phase: NativePhase,
    /// Since when.
    pub since: Timestamp,
    /// Why it does not run, or last did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
    /// Its process, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Restarts lately.
    pub restarts: usize,
    /// What it offers and does not get to give, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A capability that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The capability, or a part of it.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Whether an app runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NativePhase {
    /// It was started and does not answer yet.
    Starting,
    /// It answers.
    Running,
    /// It ended or hung, and is started again after a while.
    Waiting,
    /// It failed to start, or failed too often, and is not started again.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

impl NativeState {
    pub(super) fn of(folder: &NativeFolder) -> Self {
        let manifest = &folder.manifest;
        Self {
            id: manifest.id.to_string(),
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            description: manifest.description.clone(),
            provides: manifest.provides.iter().map(ToString::to_string).collect(),
            permissions: manifest.written().map(str::to_owned).collect(),
            origin: folder.origin,
            folder: folder.path.clone(),
            phase: NativePhase::Starting,
            since: Timestamp::now(),
            reason: None,
            pid: None,
            restarts: 0,
            left_out: Vec::new(),
        }
    }
}

impl LeftOut {
    pub(super) fn new(what: &str, why: &Failure) -> Self {
        Self { what: what.to_owned(), why: why.message.clone() }
    }
}
