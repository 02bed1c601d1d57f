//! What an agent's own folders hold, looked at only when the agent wrote something.

use crate::{agent::Program, process};
use roost_protocol::{Failure, Reason};
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Bytes written between two looks that are worth a look.
const WORTH_A_LOOK: u64 = 1 << 20;

/// How long nobody looks: while nothing is written, and while something is. In this time a fast disk takes a hundred, or
/// a few tens of, megabytes.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_WHILE_WRITING: Duration = Duration::from_millis(10);

/// How long nobody looks while nothing seems to be written.
const LOOK_ANYWAY_AFTER: Duration = Duration::from_secs(1);

/// A look at many files takes long; it is followed by a pause that is this much longer.
const PAUSE_PER_LOOK: u32 = 4;

/// Files that are looked at; an agent with more has used up its room whatever they hold.
const FILES_MAX: usize = 50_000;

/// The room of one agent.
#[derive(Debug)]
pub(crate) struct Disk {
    folders: Vec<PathBuf>,
    temporary: PathBuf,
    bytes_max: u64,
    written: u64,
    pause: Duration,
    looked_at: Option<Instant>,
}

impl Disk {
    pub(crate) fn of(program: &Program) -> Self {
        let confinement = &program.confinement;
        let own = confinement.writable.iter().take(confinement.own_folders);
        Self {
            folders: own.chain(confinement.scratch.folders()).cloned().collect(),
            temporary: confinement.scratch.temporary.clone(),
            bytes_max: program.limits.disk_bytes(),
            written: 0,
            pause: PAUSE,
            looked_at: None,
        }
    }

    /// True when the folders hold more than they may. Nothing is looked at while the process writes nothing.
    pub(crate) fn is_over(&mut self, pid: u32) -> bool {
        let written = process::written_bytes(pid).unwrap_or(u64::MAX);
        // What its children write is counted with it only once they have ended.
        let may_have_written =
            written.saturating_sub(self.written) >= WORTH_A_LOOK || process::has_children(pid);
        self.pause = PAUSE;
        // Files can also be filled without a write that is counted: by mapping them, or by reserving room.
        let is_due = self.looked_at.is_none_or(|then| then.elapsed() >= LOOK_ANYWAY_AFTER);
        if !may_have_written && !is_due {
            return false;
        }
        self.written = written;
        let started = Instant::now();
        self.looked_at = Some(started);
        let mut look = Look { bytes: 0, files: 0 };
        self.folders.iter().for_each(|folder| look.at_folder(folder));
        self.pause = PAUSE_WHILE_WRITING.max(started.elapsed() * PAUSE_PER_LOOK);
        let bytes = look.bytes.saturating_add(process::nameless_bytes(pid));
        bytes > self.bytes_max || look.files > FILES_MAX
    }

    /// How long to wait until the next look.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// Removes temporary files, once nobody writes any more: nobody misses them, and the next call has room again.
    pub(crate) fn make_room(&self) {
        for entry in fs::read_dir(&self.temporary).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            if let Err(error) = removed {
                tracing::debug!(%error, path = %path.display(), "remove a temporary file");
            }
        }
    }

    /// The failure of a call that wrote too much.
    pub(crate) fn failure(&self) -> Failure {
        let limit = self.bytes_max >> 20;
        Failure::new(Reason::DiskLimit, format!("{} The limit is {limit} MB.", Reason::DiskLimit.sentence()))
    }
}

struct Look {
    bytes: u64,
    files: usize,
}

impl Look {
    fn at_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.files += 1;
            if self.files > FILES_MAX {
                return;
            }
            // Of the entry itself, so that a link leads nowhere.
            let Ok(metadata) = entry.metadata() else { continue };
            self.bytes = self.bytes.saturating_add(metadata.blocks().saturating_mul(512));
            if metadata.is_dir() {
                self.at_folder(&entry.path());
            }
        }
    }
}
