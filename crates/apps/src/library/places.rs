//! Where the files of installed apps lie.

use super::record::{AppKind, AppRecord, VersionRecord};
use roost_protocol::FileKind;
use std::path::{Path, PathBuf};

/// The folders that the library writes to.
#[derive(Debug, Clone)]
pub struct LibraryPlaces {
    /// The library itself: `apps` of a home.
    pub apps: PathBuf,
    /// Where agent files lie.
    pub agents: PathBuf,
    /// Where service files lie.
    pub services: PathBuf,
    /// What agents keep themselves.
    pub data: PathBuf,
    /// Where files go that a person changed and that are in the way.
    pub trash: PathBuf,
    /// `roost.lock`.
    pub lock: PathBuf,
    /// What programs keep and print, a folder for each.
    pub native: PathBuf,
}

impl LibraryPlaces {
    /// The list of what is installed.
    #[must_use]
    pub fn list(&self) -> PathBuf {
        self.apps.join("library.json")
    }

    /// Held by whoever changes the library.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.apps.join("library.lock")
    }

    /// Where versions are written before they count.
    pub(super) fn staging(&self) -> PathBuf {
        self.apps.join(".staging")
    }

    /// Everything that is kept of an app.
    pub(super) fn app(&self, id: &str) -> PathBuf {
        self.apps.join(id)
    }

    /// The files of one version.
    #[must_use]
    pub fn version(&self, app: &AppRecord, version: &VersionRecord) -> PathBuf {
        self.app(&app.id).join(version.folder_name())
    }

    /// Where a file that runs is used.
    #[must_use]
    pub fn code(&self, kind: FileKind, file_name: &str) -> PathBuf {
        self.code_folder(kind).join(file_name)
    }

    pub(super) fn code_folder(&self, kind: FileKind) -> &Path {
        match kind {
            FileKind::Agent => &self.agents,
            FileKind::Service => &self.services,
        }
    }

    /// The page, where other hosts have it.
    #[must_use]
    pub fn page(&self, id: &str) -> PathBuf {
        self.data.join("rapp_ui").join(id)
    }

    /// The folder that an app shares with people.
    #[must_use]
    pub fn workspace(&self, id: &str) -> PathBuf {
        self.data.join("workspaces").join(id)
    }

    /// What an app keeps for itself.
    #[must_use]
    pub fn state(&self, id: &str) -> PathBuf {
        self.data.join(id)
    }

    /// What a program keeps; no version of it touches another's.
    #[must_use]
    pub fn native_data(&self, id: &str) -> PathBuf {
        self.native.join(id).join("data")
    }

    /// What a program prints.
    #[must_use]
    pub fn native_logs(&self, id: &str) -> PathBuf {
        self.native.join(id).join("logs")
    }

    /// What of an app stays when it is removed.
    #[must_use]
    pub fn lasting(&self, app: &AppRecord) -> PathBuf {
        match app.kind {
            AppKind::Native => self.native_data(&app.id),
            AppKind::Agent | AppKind::Rapplication => self.workspace(&app.id),
        }
    }

    /// The list of installed apps as other hosts have it.
    pub(super) fn binder(&self) -> PathBuf {
        self.data.join("binder.json")
    }
}
