//! Several files and folders, changed as one.
//!
//! Everything new is written beside the store first. The journal then names what is to be moved where: from that moment
//! on the change counts, and whoever opens the store next finishes it. Stopped before, nothing happened.
//! Invariant: moving is the only thing that is done afterwards, and doing it twice is doing it once.

use super::ground::{Ground, PRIVATE};
use crate::{atomic_file, catalog::is_inner_path, container::Files, lock_file::LockFile};
use roost_protocol::{Failure, Reason};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::Arc,
};

const JOURNAL: &str = ".store/journal.json";
const WORK: &str = ".store/work";

/// A journal above this is not one we wrote.
const JOURNAL_BYTES_MAX: usize = 16 << 20;

/// The parts of a store that a journal may change.
const CHANGED: [&str; 5] = ["index.json", "apps/", "api/v1/", "staging/", "native/"];

/// Called after every step; an error stops there, as a power cut would.
pub(super) type AfterStep = Arc<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

/// One move. `from` is a name in the folder of unfinished work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Move {
    /// A new file.
    File { from: String, to: String },
    /// A new folder, in place of what was there. Its number tells it from what it replaces.
    Folder { from: String, to: String, inode: u64 },
    /// What the folder of the move `from` replaced had inside, put back inside the new one.
    Carry { from: String, to: String },
    /// A file or folder that goes.
    Remove { from: String, to: String },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    moves: Vec<Move>,
}

/// A change that is being prepared, while nobody else can change the store.
pub(super) struct Draft<'a> {
    ground: &'a Ground,
    after: &'a AfterStep,
    moves: Vec<Move>,
    _lock: LockFile,
}

impl<'a> Draft<'a> {
    /// Takes the lock and finishes what was stopped before.
    pub(super) fn begin(ground: &'a Ground, after: &'a AfterStep) -> Result<Self, Failure> {
        let lock = ground.lock()?;
        finish(ground, after)?;
        let draft = Self { ground, after, moves: Vec::new(), _lock: lock };
        draft.told(|| {
            remove_all(&ground.place(WORK)?)?;
            ground.make_folders(WORK)
        })?;
        Ok(draft)
    }

    /// Puts a file there. Nothing is done where it is the same already.
    pub(super) fn file(&mut self, to: &str, bytes: &[u8]) -> Result<(), Failure> {
        if self.ground.read(to, bytes.len()).is_ok_and(|known| known.as_deref() == Some(bytes)) {
            return Ok(());
        }
        let from = self.next_name();
        self.told(|| {
            let mut file = File::create_new(self.ground.place(&format!("{WORK}/{from}"))?)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            (self.after)("file written")
        })?;
        self.moves.push(Move::File { from, to: to.to_owned() });
        Ok(())
    }

    /// Puts a folder with these files there, in place of what was there.
    pub(super) fn folder(&mut self, to: &str, files: &Files) -> Result<(), Failure> {
        let from = self.next_name();
        let inode = self.told(|| {
            let place = self.ground.place(&format!("{WORK}/{from}"))?;
            files.write_beneath(&place)?;
            (self.after)("folder written")?;
            Ok(place.symlink_metadata()?.ino())
        })?;
        self.moves.push(Move::Folder { from, to: to.to_owned(), inode });
        Ok(())
    }

    /// Keeps a part of the folder that the last call replaces: it is the same in the new one.
    pub(super) fn carry(&mut self, path: &str) {
        let from = self.moves.len().saturating_sub(1).to_string();
        self.moves.push(Move::Carry { from, to: path.to_owned() });
    }

    /// Takes a file or folder away.
    pub(super) fn remove(&mut self, path: &str) {
        let from = self.next_name();
        self.moves.push(Move::Remove { from, to: path.to_owned() });
    }

    /// Makes all of it so.
    pub(super) fn commit(self) -> Result<(), Failure> {
        if self.moves.is_empty() {
            return self.told(|| remove_all(&self.ground.place(WORK)?));
        }
        let written = Written { moves: self.moves.clone() };
        let bytes = serde_json::to_vec(&written)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        // Whatever stops a move later must be seen now, while nothing counts yet.
        for one in &self.moves {
            let path = one.target();
            self.ground.place(path).map_err(|error| self.ground.failed(path, &error))?;
        }
        self.told(|| {
            File::open(self.ground.place(WORK)?)?.sync_all()?;
            (self.after)("work synced")?;
            atomic_file::replace(&self.ground.place(JOURNAL)?, &bytes)?;
            (self.after)("journal written")
        })?;
        finish(self.ground, self.after)
    }

    fn next_name(&self) -> String {
        self.moves.len().to_string()
    }

    fn told<T>(&self, work: impl FnOnce() -> io::Result<T>) -> Result<T, Failure> {
        work().map_err(|error| self.ground.failed(PRIVATE, &error))
    }
}

/// True when a change was stopped and is not finished.
pub(super) fn is_unfinished(ground: &Ground) -> Result<bool, Failure> {
    Ok(ground.read(JOURNAL, JOURNAL_BYTES_MAX)?.is_some())
}

/// Does what the journal says, if there is one. The lock is held by whoever calls.
pub(super) fn finish(ground: &Ground, after: &AfterStep) -> Result<(), Failure> {
    let Some(bytes) = ground.read(JOURNAL, JOURNAL_BYTES_MAX)? else { return Ok(()) };
    let damaged = |why: String| Failure::new(Reason::StoreUnusable, format!("{JOURNAL}: {why}"));
    let written: Written = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    // A journal may have come with a checkout: it moves nothing but what a store changes.
    if let Some(foreign) = written.moves.iter().find(|one| !one.is_ours()) {
        return Err(damaged(format!("it was not made by a store: {foreign:?}")));
    }
    let work = || {
        for one in &written.moves {
            one.make(ground)?;
            after("moved")?;
        }
        fs::remove_file(ground.place(JOURNAL)?)?;
        File::open(ground.place(PRIVATE)?)?.sync_all()?;
        after("journal removed")?;
        remove_all(&ground.place(WORK)?)
    };
    work().map_err(|error| ground.failed(PRIVATE, &error))
}

impl Move {
    fn target(&self) -> &str {
        match self {
            Self::File { to, .. }
            | Self::Folder { to, .. }
            | Self::Carry { to, .. }
            | Self::Remove { to, .. } => to,
        }
    }

    fn is_ours(&self) -> bool {
        let (Self::File { from, .. }
        | Self::Folder { from, .. }
        | Self::Carry { from, .. }
        | Self::Remove { from, .. }) = self;
        let to = self.target();
        let is_number = !from.is_empty() && from.bytes().all(|byte| byte.is_ascii_digit());
        let is_below =
            CHANGED.iter().any(|part| if part.ends_with('/') { to.starts_with(part) } else { to == *part });
        is_number && is_below && is_inner_path(to)
    }

    fn make(&self, ground: &Ground) -> io::Result<()> {
        match self {
            Self::File { from, to } => {
                let from = ground.place(&format!("{WORK}/{from}"))?;
                if !exists(&from)? {
                    return Ok(());
                }
                let to = prepared(ground, to)?;
                fs::rename(from, &to)?;
                synced(&to)
            }
            Self::Folder { from, to, inode } => {
                let from = ground.place(&format!("{WORK}/{from}"))?;
                let to = prepared(ground, to)?;
                match to.symlink_metadata() {
                    Ok(known) if known.ino() == *inode => return Ok(()),
                    Ok(_) => exchange(&from, &to)?,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(&from, &to)?,
                    Err(error) => return Err(error),
                }
                synced(&to)
            }
            Self::Carry { from, to } => {
                let name = to.rsplit('/').next().unwrap_or_default();
                let to = prepared(ground, to)?;
                // The folder that was replaced is where the new one came from, or beside that.
                for replaced in [format!("{WORK}/{from}/{name}"), format!("{WORK}/{from}.old/{name}")] {
                    let replaced = ground.place(&replaced)?;
                    if exists(&replaced)? && !exists(&to)? {
                        fs::rename(replaced, &to)?;
                        synced(&to)?;
                    }
                }
                Ok(())
            }
            Self::Remove { from, to } => {
                let to = prepared(ground, to)?;
                if exists(&to)? {
                    fs::rename(&to, ground.place(&format!("{WORK}/{from}"))?)?;
                    synced(&to)?;
                }
                Ok(())
            }
        }
    }
}

/// Where something goes, with the folders above it.
fn prepared(ground: &Ground, to: &str) -> io::Result<std::path::PathBuf> {
    if let Some((above, _)) = to.rsplit_once('/') {
        ground.make_folders(above)?;
    }
    ground.place(to)
}

/// Puts the new folder where the old one was, in one step where the file system can.
fn exchange(from: &Path, to: &Path) -> io::Result<()> {
    if renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let mut aside = from.as_os_str().to_owned();
    aside.push(".old");
    fs::rename(to, &aside)?;
    fs::rename(from, to)
}

fn exists(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn synced(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
}

/// Removes a folder with all that is in it; a link is removed itself.
fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{AfterStep, Draft, Files, Ground, finish};
    use std::{fs, sync::Arc};

    fn uninterrupted() -> AfterStep {
        Arc::new(|_| Ok(()))
    }

    #[test]
    fn a_journal_that_came_with_a_checkout_moves_nothing_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        fs::create_dir_all(root.join(".store/work")).unwrap();
        fs::write(root.join(".store/work/0"), "evil").unwrap();
        let ground = Ground::new(root.clone());
        for to in ["../outside", "/etc/x", "store.json", ".store/tokens.json", "apps/../../x", "apps/.git/x"]
        {
            let journal = serde_json::json!({ "moves": [{ "kind": "file", "from": "0", "to": to }] });
            fs::write(root.join(".store/journal.json"), journal.to_string()).unwrap();
            assert!(finish(&ground, &uninterrupted()).is_err(), "{to}");
        }
        let journal =
            serde_json::json!({ "moves": [{ "kind": "file", "from": "../../x", "to": "index.json" }] });
        fs::write(root.join(".store/journal.json"), journal.to_string()).unwrap();
        assert!(finish(&ground, &uninterrupted()).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_replaced_whole_and_nothing_is_written_for_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let ground = Ground::new(folder.path().to_owned());
        let after = uninterrupted();
        for content in ["one", "two"] {
            let name = format!("{content}.txt");
            let files = Files::from_contents([(name, content.as_bytes().to_vec())]).unwrap();
            let mut draft = Draft::begin(&ground, &after).unwrap();
            draft.folder("apps/a", &files).unwrap();
            draft.file("index.json", b"{}").unwrap();
            draft.commit().unwrap();
        }
        let names: Vec<_> = fs::read_dir(folder.path().join("apps/a"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, ["two.txt"]);
        let mut draft = Draft::begin(&ground, &after).unwrap();
        draft.file("index.json", b"{}").unwrap();
        assert!(draft.moves.is_empty());
        draft.commit().unwrap();
        assert!(!folder.path().join(".store/work").exists());
    }
}
