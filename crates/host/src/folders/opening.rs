//! Agents' folders as people look at them: where they are, and open in the file manager of this machine.

use super::{Direction, Folders, all_secrets, owner_of, workspaces_of, writer_before};
use crate::{host::Host, store::Store, vault::ResolvedSecret};
use roost_protocol::{Failure, Reason};
use serde::Serialize;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Opens a folder with whatever the desktop has for folders.
const OPENER: &str = "xdg-open";

/// An opener that still runs then is the file manager itself, or waits for it. Either way the folder is open.
const OPEN_WITHIN: Duration = Duration::from_secs(5);

/// More folders than anybody chooses from.
const FOLDERS_MAX: usize = 1000;

/// A folder of an agent or an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentFolder {
    /// Its name.
    pub folder: String,
    /// The workspace with its history.
    pub workspace: String,
    /// Where it is on this machine.
    pub path: PathBuf,
}

/// What became of a folder that was to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenedFolder {
    /// Where it is on this machine.
    pub path: PathBuf,
    /// True when a file manager shows it; else a person looks there by themselves.
    pub opened: bool,
}

impl Host {
    /// The folders that agents and apps have on this machine, by name.
    pub fn agent_folders(&self) -> Result<Vec<AgentFolder>, Failure> {
        let place = workspaces_of(self.home());
        let unreadable =
            |error: io::Error| Failure::new(Reason::Internal, format!("{}: {error}", place.display()));
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut folders: Vec<AgentFolder> =
            names.filter_map(|name| folder_in(&place, &name)).take(FOLDERS_MAX).collect();
        folders.sort_by(|one, other| one.folder.cmp(&other.folder));
        Ok(folders)
    }

    /// Shows a folder to whoever sits in front of this machine, where there is a screen and something to show it with.
    pub async fn open_agent_folder(&self, folder: &str) -> Result<OpenedFolder, Failure> {
        let shown: String = folder.escape_debug().take(100).collect();
        let found = folder_in(&workspaces_of(self.home()), folder)
            .ok_or_else(|| Failure::new(Reason::UnknownFile, format!("no agent has a folder `{shown}`")))?;
        let secrets = all_secrets(&self.inner.workshop().vault).await;
        self.inner.folders.be_current(&self.inner.store, folder, &secrets).await;
        let surface = &self.inner.settings.surface;
        let opener = roost_runtime::find_executable(OPENER, &surface.search_path);
        let (Some(environment), Some(opener)) = (&surface.desktop_environment, opener) else {
            return Ok(OpenedFolder { path: found.path, opened: false });
        };
        let words = [found.path.clone().into_os_string()];
        let opening = roost_runtime::run(&opener, &words, environment, OPEN_WITHIN * 2);
        let opened = match tokio::time::timeout(OPEN_WITHIN, opening).await {
            Ok(ran) => ran.is_ok_and(|ran| ran.succeeded),
            Err(_) => true,
        };
        Ok(OpenedFolder { path: found.path, opened })
    }
}

impl Folders {
    /// Makes the folder hold the newest versions. Where a call runs in it, what that does there is left alone.
    async fn be_current(&self, store: &Arc<Store>, own_name: &str, secrets: &Arc<[ResolvedSecret]>) {
        if !store.has_workspaces() {
            return;
        }
        let folder = self.folder(own_name);
        let is_alone = folder.visits.load(Ordering::Acquire) == 0;
        let direction = if is_alone { Direction::Both } else { Direction::IntoFolder };
        drop(self.meet(store, &folder, direction, || writer_before(&folder, secrets)).await);
    }
}

/// A folder of this name that really is one: a link would show a person something else.
fn folder_in(place: &Path, name: &str) -> Option<AgentFolder> {
    let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    let path = place.join(name);
    let is_folder = is_name && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
    let workspace = owner_of(name).workspace.to_string();
    is_folder.then(|| AgentFolder { folder: name.to_owned(), workspace, path })
}

#[cfg(test)]
mod tests {
    use super::folder_in;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn only_folders_are_shown_and_nothing_else_that_a_name_could_lead_to() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("weather_agent/below")).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        symlink("/", place.path().join("link")).unwrap();
        let found = folder_in(place.path(), "weather_agent").unwrap();
        assert_eq!((found.workspace.as_str(), found.path.is_dir()), ("app.weather_agent", true));
        for name in ["", ".", "..", "file", "link", "weather_agent/below", "../x", "none", "a\0b"] {
            assert_eq!(folder_in(place.path(), name), None, "{name}");
        }
    }
}
