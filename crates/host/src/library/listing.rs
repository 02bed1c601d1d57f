//! Installed apps as every surface shows them: state, reason, and what answers.

use super::{AppKind, AppLibrary, AppOrigin, Grade};
use crate::{
    knowledge::NoProgress,
    native::{NativePhase, NativeState},
};
use roost_apps::library::{AppRecord, NativeRecord};
use roost_protocol::{AgentState, Digest, Failure, FileKind, Reason, Right};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// How an app stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppState {
    /// It answers.
    Enabled,
    /// It answers, and a newer version waits for a person.
    PendingUpdate,
    /// A person changed its files.
    Changed,
    /// It is switched off in the settings.
    Disabled,
    /// It does not answer.
    Failed,
    /// Its program was taken away.
    Quarantined,
}

impl AppState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::PendingUpdate => "pending update",
            Self::Changed => "changed",
            Self::Disabled => "disabled",
            Self::Failed => "failed",
            Self::Quarantined => "quarantined",
        }
    }
}

/// One installed app.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AppListing {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// What it is made of.
    pub kind: AppKind,
    /// What it does.
    pub summary: String,
    /// The version that serves.
    pub version: Option<String>,
    /// Digest of all of its files.
    pub digest: Digest,
    /// Where it came from.
    pub origin: AppOrigin,
    /// How it stands.
    pub state: AppState,
    /// Why it is not simply enabled, or why an update was not taken.
    pub reason: Option<Failure>,
    /// Its agent's file.
    pub agent_file: Option<String>,
    /// Its service's file.
    pub service_file: Option<String>,
    /// Its page's file.
    pub page_file: Option<String>,
    /// Names that answer: agents, then services.
    pub agents: Vec<String>,
    /// Services that answer.
    pub services: Vec<String>,
    /// Its program: who vouched for it, what it offers and wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeRecord>,
    /// What its process does, where this host keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Value>,
    /// The rights it asks for.
    pub rights: Vec<Right>,
    /// How much it could do with them.
    pub grade: Grade,
    /// The version that a rollback brings back.
    pub previous_version: Option<String>,
    /// The version that waits.
    pub waiting_version: Option<String>,
    /// Where its workspace is.
    pub workspace: PathBuf,
    /// When this version was put here, UTC.
    pub installed_at: String,
}

impl AppLibrary {
    /// Every installed app, after a look at what answers.
    pub async fn list(&self) -> Result<Vec<AppListing>, Failure> {
        self.inner().agents.refresh(&NoProgress).await?;
        self.inner().services.refresh(&NoProgress).await?;
        Ok(self.contents()?.apps.iter().map(|app| self.shown(app)).collect())
    }

    /// One installed app, after a look at what answers.
    pub async fn show(&self, id: &str) -> Result<AppListing, Failure> {
        let app = self.record(id)?;
        self.look_at(app.current.code().map(|(kind, part)| (kind, part.file_name.as_str()))).await?;
        Ok(self.shown(&app))
    }

    /// When the version that serves was put here.
    #[must_use]
    pub fn installed_at(&self, id: &str) -> Option<String> {
        self.record(id).ok().map(|app| app.current.installed_at)
    }

    /// One installed app, as it is known now.
    pub(super) fn listing(&self, id: &str) -> Result<AppListing, Failure> {
        Ok(self.shown(&self.record(id)?))
    }

    fn shown(&self, app: &AppRecord) -> AppListing {
        let current = &app.current;
        let (state, reason) = self.state(app);
        let file =
            |part: &Option<roost_apps::library::PartRecord>| part.as_ref().map(|part| part.file_name.clone());
        AppListing {
            id: app.id.clone(),
            name: app.name.clone(),
            publisher: app.publisher.clone(),
            kind: app.kind,
            summary: app.summary.clone(),
            version: current.version.clone(),
            digest: current.digest,
            origin: current.origin.clone(),
            state,
            reason,
            agent_file: file(&current.agent),
            service_file: file(&current.service),
            page_file: file(&current.page),
            agents: self.names(FileKind::Agent, file(&current.agent)),
            services: self.names(FileKind::Service, file(&current.service)),
            native: current.native.clone(),
            process: self.process(app).and_then(|state| serde_json::to_value(state).ok()),
            rights: current.rights.clone(),
            grade: Grade::of(&current.rights),
            previous_version: app.previous.as_ref().map(|version| version.shown_version().to_owned()),
            waiting_version: app.waiting.as_ref().map(|version| version.shown_version().to_owned()),
            workspace: self.disk().places().lasting(app),
            installed_at: current.installed_at.clone(),
        }
    }

    fn process(&self, app: &AppRecord) -> Option<NativeState> {
        let is_native = app.kind == AppKind::Native;
        self.host.native_apps().state(&app.id).ok().filter(|_| is_native)
    }

    /// The names that answer from a file.
    fn names(&self, kind: FileKind, file: Option<String>) -> Vec<String> {
        let Some(file) = file else { return Vec::new() };
        let roster = self.shelves(kind).roster();
        let of_file =
            roster.listings.iter().filter(|listing| listing.source.is_none() && listing.file == file);
        of_file.filter(|listing| listing.serving.is_some()).map(|listing| listing.name.clone()).collect()
    }

    fn state(&self, app: &AppRecord) -> (AppState, Option<Failure>) {
        if let Some(quarantine) = &app.quarantine {
            return (AppState::Quarantined, Some(quarantine.reason.clone()));
        }
        if let Some(path) = self.disk().changed_files(app).first() {
            let message = format!("{} is not as it was installed", path.display());
            return (AppState::Changed, Some(Failure::new(Reason::AppChanged, message)));
        }
        for (kind, part) in app.current.code() {
            let roster = self.shelves(kind).roster();
            let of_file = roster
                .listings
                .iter()
                .filter(|listing| listing.source.is_none() && listing.file == part.file_name);
            for listing in of_file {
                let state = match listing.state {
                    AgentState::Ready => continue,
                    AgentState::Disabled => AppState::Disabled,
                    AgentState::Failed | AgentState::Shadowed => AppState::Failed,
                };
                return (state, listing.reason.clone());
            }
        }
        if let Some(process) = self.process(app)
            && matches!(process.phase, NativePhase::Failed | NativePhase::Waiting)
        {
            return (AppState::Failed, process.reason.or_else(|| app.reason.clone()));
        }
        let state = if app.waiting.is_some() { AppState::PendingUpdate } else { AppState::Enabled };
        (state, app.reason.clone())
    }
}
