//! From one state of the library to the next, whole or not at all.
//!
//! New files are written aside first. Then `library.json` is replaced: from that rename on the new state counts, and the
//! file says what must still be put into the home. Cut off before, nothing happened; cut off after, the next one who
//! takes the lock does the rest. Where the rest cannot be done now, the state before is put back in the same way.

use super::{
    contents::{Contents, Unfinished},
    lock_text::lock_text,
    places::LibraryPlaces,
    placing::{Placing, digest_at, gone, make_folder, page_files, read_part, version_files},
    record::{AppKind, AppRecord, VersionRecord},
    steps::Steps,
};
use crate::{Files, LockFile, atomic_file};
use roost_protocol::{Failure, FileKind, Reason};
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a change waits for another one: what is done under the lock takes less than a second on a slow disk.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(30);

/// The library of one home. Clones are the same.
#[derive(Debug, Clone)]
pub struct Library {
    places: LibraryPlaces,
    steps: Steps,
}

/// What is to be different.
#[derive(Debug)]
pub enum Change {
    /// This app, as it is from now on, with the files of versions that are not here yet.
    Put {
        /// The app.
        app: Box<AppRecord>,
        /// New versions.
        bring: Vec<(VersionRecord, Files)>,
    },
    /// Not this app any more.
    Remove {
        /// Its id.
        id: String,
    },
}

/// What a change did besides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// Files that a person had changed, where they are kept now.
    pub kept: Vec<PathBuf>,
}

impl Library {
    /// The library at these places.
    #[must_use]
    pub fn new(places: LibraryPlaces) -> Self {
        Self { places, steps: Steps::default() }
    }

    /// The same, with steps that may fail.
    #[must_use]
    pub fn with_steps(self, steps: Steps) -> Self {
        Self { steps, ..self }
    }

    /// Where everything is.
    #[must_use]
    pub fn places(&self) -> &LibraryPlaces {
        &self.places
    }

    /// What is installed now.
    pub fn read(&self) -> Result<Contents, Failure> {
        Contents::read(&self.places.list()).map_err(|error| {
            let message = format!("{}: {error}", self.places.list().display());
            Failure::new(Reason::LibraryUnusable, message)
        })
    }

    /// Finishes what was cut off, and removes what it left behind. Costs a look when there is nothing to do.
    pub fn recover(&self, time: &str) -> Result<(), Failure> {
        let is_whole = self.read()?.unfinished.is_none() && !self.places.staging().exists();
        if is_whole {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.finish(time).map(drop)
    }

    /// Changes the library. `decide` sees what is installed while nobody else can change it.
    pub fn change(
        &self,
        time: &str,
        decide: impl FnOnce(&Contents) -> Result<Change, Failure>,
    ) -> Result<Changed, Failure> {
        let _lock = self.lock()?;
        let before = self.finish(time)?;
        let change = decide(&before)?;
        let (id, after) = match change {
            Change::Put { app, bring } => {
                self.check_free(&before, &app)?;
                if let Err(error) =
                    bring.iter().try_for_each(|(version, files)| self.bring(&app, version, files))
                {
                    self.prune(&before).ok();
                    return Err(self.unchanged(&error));
                }
                (app.id.clone(), before.with(*app))
            }
            Change::Remove { id } => {
                if before.app(&id).is_none() {
                    return Err(unknown(&id));
                }
                (id.clone(), before.without(&id))
            }
        };
        self.commit(time, &id, &before, after)
    }

    /// The files of a version, as they were installed.
    pub fn files(&self, app: &AppRecord, version: &VersionRecord) -> Result<Files, Failure> {
        let tree = self.places.version(app, version);
        match version_files(&tree, version) {
            Ok(files) if files.digest() == version.digest => Ok(files),
            _ => Err(tampered(&app.id, &tree)),
        }
    }

    /// One file of the page, by its path from there; nothing where there is none.
    pub fn page_file(&self, app: &AppRecord, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let Some(page) = &app.current.page else { return Ok(None) };
        let tree = self.places.version(app, &app.current);
        let path = if path.is_empty() { page.file_name.as_str() } else { path };
        if path == page.file_name {
            let read = read_part(&tree, &page.path, page.digest);
            return read.map(Some).map_err(|_| tampered(&app.id, &tree));
        }
        let files = page_files(&tree, &page.path).map_err(|_| tampered(&app.id, &tree))?;
        Ok(files.get(path).map(<[u8]>::to_vec))
    }

    /// Files of an app in the agents and services folders that are not as they were installed.
    #[must_use]
    pub fn changed_files(&self, app: &AppRecord) -> Vec<PathBuf> {
        let code =
            app.current.code().map(|(kind, part)| (self.places.code(kind, &part.file_name), part.digest));
        code.filter(|(path, digest)| digest_at(path) != Some(*digest)).map(|(path, _)| path).collect()
    }

    /// Removes the folders of an app that was not installed after all, where nothing is in them.
    pub fn remove_empty_folders(&self, id: &str) {
        let (data, logs) = (self.places.native_data(id), self.places.native_logs(id));
        let own = self.places.native.join(id);
        for folder in [self.places.workspace(id), self.places.state(id), data, logs, own] {
            // One that is not empty stays, and so does what somebody else put there.
            fs::remove_dir(folder).ok();
        }
    }

    fn lock(&self) -> Result<LockFile, Failure> {
        let taken = make_folder(&self.places.apps)
            .and_then(|()| LockFile::take(&self.places.lock_file(), LOCK_WAIT_MAX));
        taken.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Failure::plain(Reason::LibraryBusy),
            _ => self.unchanged(&error),
        })
    }

    /// The files that an app wants to have must be nobody's, or its own.
    fn check_free(&self, before: &Contents, app: &AppRecord) -> Result<(), Failure> {
        for (kind, part) in app.current.code() {
            let path = self.places.code(kind, &part.file_name);
            let taken = |by: String| {
                let message = format!("{} {by}", path.display());
                Failure::new(Reason::FileTaken, message)
            };
            match before.owner_of(kind, &part.file_name) {
                Some(owner) if owner.id == app.id => {}
                Some(owner) => return Err(taken(format!("belongs to the app {}", owner.id))),
                None if path.symlink_metadata().is_ok() => {
                    return Err(taken("is there already and was not installed".to_owned()));
                }
                None => {}
            }
        }
        self.check_folders(app)
    }

    /// A file that a person put there and that is named like the app has the same folders.
    fn check_folders(&self, app: &AppRecord) -> Result<(), Failure> {
        // A program's folders are not where those of files are.
        let kinds = if app.kind == AppKind::Native { &[][..] } else { &[FileKind::Agent, FileKind::Service] };
        for &kind in kinds {
            for ending in ["py", "ts", "js"] {
                let name = format!("{}.{ending}", app.id);
                let is_own = app
                    .versions()
                    .flat_map(VersionRecord::code)
                    .any(|(of, part)| of == kind && part.file_name == name);
                let path = self.places.code(kind, &name);
                if !is_own && kind.language_of(&name).is_some() && path.symlink_metadata().is_ok() {
                    let message =
                        format!("{} keeps its files under the same name as this app", path.display());
                    return Err(Failure::new(Reason::FileTaken, message));
                }
            }
        }
        Ok(())
    }

    /// Writes the files of a version aside, and then in one step to where it will be.
    fn bring(&self, app: &AppRecord, version: &VersionRecord, files: &Files) -> io::Result<()> {
        let tree = self.places.version(app, version);
        if files.digest() != version.digest {
            return Err(io::Error::other("the files are not those of the version"));
        }
        if version_files(&tree, version).is_ok_and(|there| there == *files) {
            return Ok(());
        }
        self.steps.next()?;
        let staging = self.places.staging();
        make_folder(&staging)?;
        let staged = staging.join(format!("{}-{}", app.id, version.folder_name()));
        gone(fs::remove_dir_all(&staged))?;
        self.steps.next()?;
        match &version.native {
            Some(native) => files.write_private_beneath(&staged, &native.binary)?,
            None => files.write_beneath(&staged)?,
        }
        self.steps.next()?;
        make_folder(&self.places.app(&app.id))?;
        gone(fs::remove_dir_all(&tree))?;
        self.steps.next()?;
        fs::rename(&staged, &tree)?;
        sync(&self.places.app(&app.id))?;
        sync(&self.places.apps)
    }

    /// Makes `after` count and puts its files in place. Where that cannot be done, `before` counts again.
    fn commit(&self, time: &str, id: &str, before: &Contents, after: Contents) -> Result<Changed, Failure> {
        let unfinished = |placed| Some(Unfinished { id: id.to_owned(), before: placed });
        let counted = Contents { unfinished: unfinished(before.placed(id)), ..after };
        if let Err(error) = self.write(&counted) {
            // What could not be written may be there all the same: then it is finished below or at the next start.
            if self.read().ok().as_ref() != Some(&counted) {
                self.prune(before).ok();
                return Err(self.unchanged(&error));
            }
        }
        let error = match self.settle(time, &counted) {
            Ok(changed) => return Ok(changed),
            Err(error) => error,
        };
        let mut placed = counted.placed(id);
        placed.extend(before.placed(id));
        let back = Contents { unfinished: unfinished(placed), ..before.clone() };
        match self.write(&back).and_then(|()| self.settle(time, &back)) {
            Ok(_) => {
                if before.app(id).is_none() {
                    self.remove_empty_folders(id);
                }
                Err(self.unchanged(&error))
            }
            Err(again) => {
                let message =
                    format!("{error}; and then: {again}; the next command finishes or takes it back");
                Err(Failure::new(Reason::HomeUnusable, message))
            }
        }
    }

    /// Does the rest of a change that was cut off. Returns what is installed.
    fn finish(&self, time: &str) -> Result<Contents, Failure> {
        let contents = self.read()?;
        if contents.unfinished.is_some() {
            self.settle(time, &contents).map_err(|error| {
                let message = format!("a change that was cut off cannot be finished: {error}");
                Failure::new(Reason::HomeUnusable, message)
            })?;
        } else if self.places.staging().exists() {
            self.prune(&contents).map_err(|error| self.unchanged(&error))?;
        }
        self.read()
    }

    /// Puts into the home what the library says, and takes away what it no longer says.
    fn settle(&self, time: &str, contents: &Contents) -> io::Result<Changed> {
        let Some(unfinished) = &contents.unfinished else { return Ok(Changed::default()) };
        let now = contents.app(&unfinished.id);
        let before = unfinished.before.as_slice();
        let mut placing =
            Placing { places: &self.places, steps: &self.steps, time, before, kept: Vec::new() };
        if let Some(app) = now {
            placing.put(app)?;
        }
        placing.take_out(now, &unfinished.id)?;
        let kept = placing.kept;
        self.steps.next()?;
        make_folder(&self.places.data)?;
        atomic_file::replace(&self.places.binder(), &binder(contents)?)?;
        self.steps.next()?;
        let text = lock_text(contents).map_err(io::Error::other)?;
        atomic_file::replace(&self.places.lock, text.as_bytes())?;
        let finished = Contents { unfinished: None, ..contents.clone() };
        // It counts and is in place. What is left over costs room and nothing else, and goes with the next change.
        if let Err(error) = self.prune(&finished).and_then(|()| self.write(&finished)) {
            tracing::warn!(%error, "remove what is left of older versions");
        }
        Ok(Changed { kept })
    }

    fn write(&self, contents: &Contents) -> io::Result<()> {
        self.steps.next()?;
        atomic_file::replace(&self.places.list(), &contents.to_bytes()?)
    }

    /// Removes versions that nobody names any more, and what was staged.
    fn prune(&self, contents: &Contents) -> io::Result<()> {
        self.steps.next()?;
        gone(fs::remove_dir_all(self.places.staging()))?;
        let named: BTreeSet<(String, String)> = contents
            .apps
            .iter()
            .flat_map(|app| app.kept_versions().map(|version| (app.id.clone(), version.folder_name())))
            .collect();
        for app in names_in(&self.places.apps)? {
            if app.starts_with('.') || !self.places.app(&app).is_dir() {
                continue;
            }
            for version in names_in(&self.places.app(&app))? {
                let is_named = named.contains(&(app.clone(), version.clone()));
                if !is_named {
                    self.steps.next()?;
                    gone(fs::remove_dir_all(self.places.app(&app).join(version)))?;
                }
            }
            if contents.app(&app).is_none() {
                gone(fs::remove_dir(self.places.app(&app)))?;
            }
        }
        Ok(())
    }

    fn unchanged(&self, error: &io::Error) -> Failure {
        let message = format!("{}: {error}; nothing was changed", self.places.apps.display());
        Failure::new(Reason::HomeUnusable, message)
            .with_next("make room on the disk, or make the home writable, and try again")
    }
}

/// No app has this id.
fn unknown(id: &str) -> Failure {
    let shown: String = id.escape_debug().take(100).collect();
    Failure::new(Reason::UnknownApp, format!("no app `{shown}` is installed"))
}

fn tampered(id: &str, tree: &Path) -> Failure {
    let message = format!("the files of {id} in {} are not what was installed", tree.display());
    Failure::new(Reason::DigestMismatch, message)
        .with_next(format!("roost remove {id}, and install it again"))
}

/// What is installed, as other hosts write it down.
fn binder(contents: &Contents) -> io::Result<Vec<u8>> {
    let installed: Vec<serde_json::Value> = contents
        .apps
        .iter()
        .filter(|app| app.kind != AppKind::Native)
        .map(|app| {
            let current = &app.current;
            let mut entry = json!({ "id": app.id, "version": current.version });
            for (key, part) in [
                ("agent_filename", &current.agent),
                ("filename", &current.agent),
                ("service_filename", &current.service),
                ("ui_filename", &current.page),
            ] {
                if let (Some(part), Some(fields)) = (part, entry.as_object_mut()) {
                    fields.insert(key.to_owned(), json!(part.file_name));
                }
            }
            entry
        })
        .collect();
    serde_json::to_vec_pretty(&json!({ "installed": installed })).map_err(io::Error::other)
}

fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}
