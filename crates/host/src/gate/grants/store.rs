//! The file `grants.json`: read whole, checked strictly, replaced whole under a lock.

use super::super::disk::Disk;
use jiff::Timestamp;
use roost_apps::LockFile;
use roost_protocol::{AppId, Digest, Failure, Lasting, Reason, Right};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The form this program reads and writes.
const VERSION: u64 = 1;

/// A store above this is not one we wrote: the greatest number of entries stays below it.
const STORE_BYTES_MAX: u64 = 64 << 20;

/// How long another process may hold the lock: a write takes milliseconds, so a longer hold is a stuck process.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);

/// Within this time after a change another change may leave the same stamp: clocks of file systems tick slowly.
const STAMP_SETTLES_AFTER: Duration = Duration::from_millis(50);

/// One right that was given to one app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// To whom.
    pub app: AppId,
    /// What.
    pub right: Right,
    /// The content it was given to.
    pub digest: Digest,
    /// The digest of everything that content asked for.
    pub asks: Digest,
    /// For how long.
    pub lasting: Lasting,
    /// By whom.
    pub granted_by: String,
    /// When.
    pub granted_at: Timestamp,
    /// When a run last used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// Runs of the app since then.
    pub runs_unused: u64,
}

/// A person said no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) app: AppId,
    pub(super) digest: Digest,
    pub(super) right: Right,
    pub(super) refused_at: Timestamp,
}

/// An app tried this and was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tried {
    pub(super) app: AppId,
    pub(super) digest: Digest,
    pub(super) right: Right,
}

/// Everything in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    version: u64,
    pub(super) grants: Vec<Grant>,
    pub(super) refused: Vec<Answer>,
    pub(super) tried: Vec<Tried>,
    /// Positions in `grants`, by app; out of date while the contents are being changed.
    #[serde(skip)]
    by_app: HashMap<AppId, Vec<usize>>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            version: VERSION,
            grants: Vec::new(),
            refused: Vec::new(),
            tried: Vec::new(),
            by_app: HashMap::new(),
        }
    }
}

impl Contents {
    /// The app's grants.
    pub(super) fn of(&self, app: &AppId) -> impl Iterator<Item = &Grant> {
        self.by_app.get(app).into_iter().flatten().filter_map(|position| self.grants.get(*position))
    }

    fn index(&mut self) {
        self.by_app.clear();
        for (position, grant) in self.grants.iter().enumerate() {
            self.by_app.entry(grant.app.clone()).or_default().push(position);
        }
    }
}

/// The file, and what it held when it was last looked at.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    lock_path: PathBuf,
    disk: Disk,
    known: Contents,
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    /// True when no later change can leave the same stamp.
    is_settled: bool,
    usable: Result<(), Failure>,
}

/// What changes whenever the file is replaced: modified (seconds, nanoseconds), size and inode. Absent: no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(Option<(i64, i64, u64, u64)>);

impl Store {
    pub(super) fn new(home: &Path, disk: Disk) -> Self {
        let (path, lock_path) = (home.join("grants.json"), home.join("grants.lock"));
        Self { path, lock_path, disk, known: Contents::default(), seen: None }
    }

    /// What the file holds now. Only looks at its stamp while nobody changes it.
    pub(super) fn contents(&mut self) -> Result<&Contents, Failure> {
        let metadata = self.metadata()?;
        let stamp = Stamp::of(metadata.as_ref());
        if !self.seen.as_ref().is_some_and(|seen| seen.is_settled && seen.stamp == stamp) {
            // The stamp is older than what is read: a change in between is seen the next time.
            let is_settled = is_settled(metadata.as_ref());
            let usable = self.read().map(|contents| self.known = contents);
            if usable.is_err() {
                self.known = Contents::default();
            }
            self.seen = Some(Seen { stamp, is_settled, usable });
        }
        match self.seen.as_ref().map(|seen| &seen.usable) {
            Some(Err(failure)) => Err(failure.clone()),
            _ => Ok(&self.known),
        }
    }

    /// What was found the last time; empty when that could not be used.
    pub(super) fn known(&self) -> &Contents {
        &self.known
    }

    /// Changes the file: reads it again under the lock, so that no other process's change is lost.
    pub(super) fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Contents) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _lock = LockFile::take(&self.lock_path, LOCK_WAIT_MAX).map_err(|error| self.unusable(&error))?;
        let before = self.read()?;
        let mut after = before.clone();
        let result = change(&mut after)?;
        if after != before {
            let bytes = serde_json::to_vec_pretty(&after).map_err(|error| self.unusable(&error))?;
            self.disk.replace(&self.path, &bytes).map_err(|error| self.unusable(&error))?;
            after.index();
        }
        self.known = after;
        self.seen = None;
        Ok(result)
    }

    fn read(&self) -> Result<Contents, Failure> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(file) => {
                let mut limited = file.take(STORE_BYTES_MAX + 1);
                limited.read_to_end(&mut bytes).map_err(|error| self.unusable(&error))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
            Err(error) => return Err(self.unusable(&error)),
        }
        if bytes.len() as u64 > STORE_BYTES_MAX {
            return Err(self.unusable(&format!("is larger than {STORE_BYTES_MAX} bytes")));
        }
        self.parse(&bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Contents, Failure> {
        /// Read first: a newer form may have fields that this program does not know.
        #[derive(Deserialize)]
        struct Form {
            version: u64,
        }
        let form: Form = serde_json::from_slice(bytes).map_err(|error| self.unusable(&error))?;
        if form.version > VERSION {
            let message = format!(
                "{}: written by a newer Roost, in form {}; this one reads form {VERSION}",
                self.path.display(),
                form.version
            );
            return Err(Failure::new(Reason::GrantsUnusable, message)
                .with_next("use the newer Roost, or move `grants.json` aside and grant again"));
        }
        if form.version != VERSION {
            return Err(self.unusable(&format!("there is no form {}", form.version)));
        }
        let mut contents: Contents = serde_json::from_slice(bytes).map_err(|error| self.unusable(&error))?;
        contents.index();
        Ok(contents)
    }

    fn metadata(&self) -> Result<Option<Metadata>, Failure> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unusable(&error)),
        }
    }

    fn unusable(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::new(Reason::GrantsUnusable, format!("{}: {why}", self.path.display())).with_next(format!(
            "restore {0} from a copy, or move it aside and grant again; it was left as it is",
            self.path.display()
        ))
    }
}

impl Stamp {
    fn of(metadata: Option<&Metadata>) -> Self {
        Self(metadata.map(|file| (file.mtime(), file.mtime_nsec(), file.size(), file.ino())))
    }
}

fn is_settled(metadata: Option<&Metadata>) -> bool {
    let Some(metadata) = metadata else { return true };
    let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age >= STAMP_SETTLES_AFTER)
}
