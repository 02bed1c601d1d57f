//! Which files of the agents and services folders came with an app. Whoever prepares a file asks here, so that it has
//! the app's folders and the standing of what somebody else wrote.

use roost_apps::{
    Stamp,
    library::{Library, LibraryPlaces},
};
use roost_protocol::FileKind;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What is known of the library of one home. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstalledFiles(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The list as it was when it was read; nothing when there was none.
    stamp: Option<Stamp>,
    owners: HashMap<(FileKind, String), String>,
    ids: BTreeSet<String>,
    /// True when the list is there and cannot be read.
    is_unreadable: bool,
    /// Files that are being tried before they are installed.
    arriving: Vec<((FileKind, String), String)>,
}

/// Whose file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A person put it there.
    Nobody,
    /// It came with this app.
    App(String),
    /// Nobody can say.
    Unknown,
}

/// A file counts as the app's for as long as this value lives.
#[must_use]
pub(crate) struct Arriving {
    files: InstalledFiles,
    key: ((FileKind, String), String),
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let mut state = self.files.lock();
        if let Some(place) = state.arriving.iter().position(|arriving| *arriving == self.key) {
            state.arriving.swap_remove(place);
        }
    }
}

impl InstalledFiles {
    /// Whose file this is.
    pub(crate) fn owner(&self, places: &LibraryPlaces, kind: FileKind, file_name: &str) -> Owner {
        let state = self.current(places);
        let key = (kind, file_name.to_owned());
        let arriving = state.arriving.iter().find(|(file, _)| *file == key).map(|(_, id)| id.clone());
        match arriving.or_else(|| state.owners.get(&key).cloned()) {
            Some(id) => Owner::App(id),
            None if state.is_unreadable => Owner::Unknown,
            None => Owner::Nobody,
        }
    }

    /// True when an app has this id, whose folders are named by it.
    pub(crate) fn has_app(&self, places: &LibraryPlaces, id: &str) -> bool {
        self.current(places).ids.contains(id)
    }

    /// Lets a file count as the app's before it is installed.
    pub(crate) fn arriving(&self, kind: FileKind, file_name: &str, id: &str) -> Arriving {
        let key = ((kind, file_name.to_owned()), id.to_owned());
        self.lock().arriving.push(key.clone());
        Arriving { files: self.clone(), key }
    }

    /// Reads the list again where it changed.
    fn current(&self, places: &LibraryPlaces) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        let stamp = Stamp::of(&places.list()).ok();
        // What could not be read is read again: it may have been restored, or be gone.
        if stamp == state.stamp && !state.is_unreadable {
            return state;
        }
        let read = Library::new(places.clone()).read();
        state.is_unreadable = read.is_err();
        state.stamp = stamp;
        let apps = read.map(|contents| contents.apps).unwrap_or_default();
        state.ids = apps.iter().map(|app| app.id.clone()).collect();
        state.owners = apps
            .iter()
            .flat_map(|app| {
                app.current.code().map(|(kind, part)| ((kind, part.file_name.clone()), app.id.clone()))
            })
            .collect();
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Owner;
    use crate::settings::Home;
    use std::fs;

    #[test]
    fn a_file_is_the_apps_while_it_arrives_and_nobodys_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let file = home.agents().join("tea_agent.py");
        assert_eq!(home.owner_of(&file), Owner::Nobody);
        let arriving = home.installed().arriving(roost_protocol::FileKind::Agent, "tea_agent.py", "tea");
        assert_eq!(home.owner_of(&file), Owner::App("tea".to_owned()));
        assert_eq!(home.owner_of(&home.services().join("tea_agent.py")), Owner::Nobody);
        assert_eq!(home.owner_of(&folder.path().join("tea_agent.py")), Owner::Nobody);
        drop(arriving);
        assert_eq!(home.owner_of(&file), Owner::Nobody);
    }

    #[test]
    fn where_the_list_cannot_be_read_every_file_may_be_another_s_work() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let file = home.agents().join("tea_agent.py");
        fs::create_dir_all(folder.path().join("apps")).unwrap();
        fs::write(home.library().list(), "{").unwrap();
        assert_eq!((home.owner_of(&file), home.owner_of(&file)), (Owner::Unknown, Owner::Unknown));
        fs::remove_file(home.library().list()).unwrap();
        assert_eq!(home.owner_of(&file), Owner::Nobody);
    }
}
