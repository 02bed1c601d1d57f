//! The folder of all sources: each is there as a whole, or not at all, whatever step fails.

use super::{
    address::is_id,
    manifest::{FILE_NAME, Manifest},
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// What begins with this is being made or removed.
const STAGING: &str = ".staging-";

/// What was left behind by a host that died is removed after this; nothing that is being made takes as long.
const STAGING_LASTS: Duration = Duration::from_secs(3600);

/// Counts the steps of a change, so that a test can make any of them fail.
#[derive(Debug)]
pub(crate) struct Steps(Cell<usize>);

impl Steps {
    /// Every step works unless the disk says otherwise.
    pub(crate) fn all() -> Self {
        Self(Cell::new(usize::MAX))
    }

    #[cfg(test)]
    pub(crate) fn only(count: usize) -> Self {
        Self(Cell::new(count))
    }

    fn next(&self) -> io::Result<()> {
        let left = self.0.get().checked_sub(1).ok_or_else(|| io::Error::other("this step fails"))?;
        self.0.set(left);
        Ok(())
    }
}

/// All sources of a home.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where the files of a source are.
    pub(crate) fn path(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// A folder in which a source is made; it goes with the returned value.
    pub(crate) fn staging(&self) -> io::Result<TempDir> {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        tempfile::Builder::new().prefix(STAGING).tempdir_in(&self.folder)
    }

    /// Every source by its id, with its manifest or what is wrong with it.
    pub(crate) fn list(&self) -> BTreeMap<String, io::Result<Manifest>> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| is_id(name)).map(|id| (id.clone(), Manifest::read(&self.path(&id)))).collect()
    }

    /// Puts a source there, in place of what it brought before.
    pub(crate) fn put(
        &self,
        manifest: &Manifest,
        files: &BTreeMap<String, Vec<u8>>,
        steps: &Steps,
    ) -> io::Result<()> {
        let staging = self.staging()?;
        for (name, bytes) in files {
            steps.next()?;
            write(&staging.path().join(name), bytes)?;
        }
        steps.next()?;
        write(&staging.path().join(FILE_NAME), &manifest.to_bytes()?)?;
        steps.next()?;
        let target = self.path(&manifest.id);
        if target.symlink_metadata().is_ok() {
            exchange(staging.path(), &target)?;
            // What is left in the staging folder now is what was there before; it goes with it.
        } else {
            fs::rename(staging.path(), &target)?;
        }
        // Done: whether it survives a power cut at once is for the file system to say.
        fs::File::open(&self.folder).and_then(|folder| folder.sync_all()).ok();
        Ok(())
    }

    /// Removes a source: it is gone at once, and then its files are.
    pub(crate) fn remove(&self, id: &str, steps: &Steps) -> io::Result<()> {
        let staging = self.staging()?;
        steps.next()?;
        fs::rename(self.path(id), staging.path().join(id))
    }

    /// Removes what a host left behind that died while it changed something.
    pub(crate) fn clean(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(STAGING)) {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
            if age.is_some_and(|age| age > STAGING_LASTS) {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Swaps two folders in one step, or in two with a way back where the file system cannot.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
        swapped => return swapped.map_err(io::Error::from),
    }
    let aside = new.join(".before");
    fs::rename(old, &aside)?;
    let files = || fs::read_dir(new).into_iter().flatten().flatten().filter(|entry| entry.path() != aside);
    let moved = fs::create_dir(old)
        .and_then(|()| files().try_for_each(|entry| fs::rename(entry.path(), old.join(entry.file_name()))));
    if moved.is_err() {
        fs::remove_dir_all(old).ok();
        fs::rename(&aside, old)?;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::{Manifest, Steps, Store};
    use crate::sources::address::{NewSource, SourceKind};
    use std::{collections::BTreeMap, fs, path::Path};

    const ID: &str = "agents-12345678";

    fn files(texts: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn manifest(files: &BTreeMap<String, Vec<u8>>) -> Manifest {
        let whole = (ID.to_owned(), SourceKind::Folder, NewSource::default());
        Manifest::new(whole, None, String::new(), files)
    }

    /// Every file below the folder with its text, but for what is being made.
    fn seen(folder: &Path) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            for file in fs::read_dir(entry.path()).unwrap().flatten() {
                let name = format!("{}/{}", entry.file_name().display(), file.file_name().display());
                seen.insert(name, fs::read_to_string(file.path()).unwrap());
            }
            seen.insert(entry.file_name().display().to_string(), String::new());
        }
        seen
    }

    /// Makes each step fail in turn, and looks at what is there afterwards; returns how many steps there are.
    fn fail_each_step(store: &Store, change: impl Fn(&Steps) -> std::io::Result<()>) -> usize {
        let before = seen(&store.folder);
        for count in 0.. {
            match change(&Steps::only(count)) {
                Err(_) => assert_eq!(seen(&store.folder), before, "step {count}"),
                Ok(()) => return count,
            }
        }
        unreachable!("a change has an end")
    }

    #[test]
    fn a_change_that_fails_at_any_step_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::new(home.path().join("sources"));
        let first = files(&[("a_agent.py", "1"), ("b_agent.py", "1")]);
        assert_eq!(fail_each_step(&store, |steps| store.put(&manifest(&first), &first, steps)), 4);
        assert_eq!(store.list()[ID].as_ref().unwrap(), &manifest(&first));
        let second = files(&[("a_agent.py", "2"), ("c_agent.py", "2")]);
        assert_eq!(fail_each_step(&store, |steps| store.put(&manifest(&second), &second, steps)), 4);
        let names: Vec<String> = seen(&store.folder).into_keys().collect();
        assert_eq!(
            names,
            [ID, &format!("{ID}/a_agent.py"), &format!("{ID}/c_agent.py"), &format!("{ID}/manifest.json")]
        );
        assert_eq!(fail_each_step(&store, |steps| store.remove(ID, steps)), 1);
        assert!(seen(&store.folder).is_empty() && store.list().is_empty());
    }

    #[test]
    fn a_manifest_of_another_source_or_none_at_all_is_no_manifest() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::new(home.path().to_owned());
        let files = files(&[("a_agent.py", "1")]);
        store.put(&manifest(&files), &files, &Steps::all()).unwrap();
        fs::rename(store.path(ID), store.path("other-1")).unwrap();
        fs::create_dir(store.path("empty-1")).unwrap();
        fs::create_dir(store.path(".hidden")).unwrap();
        let listed = store.list();
        assert_eq!(listed.keys().collect::<Vec<_>>(), ["empty-1", "other-1"]);
        assert!(listed.values().all(Result::is_err));
    }
}
