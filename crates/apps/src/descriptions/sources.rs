//! Bytes of the last good versions, each in a file named by its digest.
//!
//! What is read is hashed again: these bytes will run as an agent.

use crate::{Error, agent_file::AGENT_FILE_BYTES_MAX, atomic_file};
use roost_protocol::Digest;
use std::{
    collections::HashSet,
    fs::File,
    io::Read as _,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// How old a file that nothing refers to must be before it is dropped: another process with the same home may have
/// kept it a moment ago and not yet saved what refers to it.
const UNREFERENCED_AGE_MIN: Duration = Duration::from_secs(60);

/// The folder of kept sources. It is made when something is kept.
#[derive(Debug)]
pub(super) struct Sources {
    folder: PathBuf,
}

impl Sources {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps some bytes under their digest.
    pub(super) fn keep(&self, digest: Digest, bytes: &[u8]) -> Result<(), Error> {
        if self.read(&digest).is_some() {
            return Ok(());
        }
        let path = self.path(&digest);
        atomic_file::replace(&path, bytes).map_err(|source| Error::Write { path, source })
    }

    /// The bytes with this digest.
    pub(super) fn read(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let mut bytes = Vec::new();
        let file = File::open(self.path(digest)).ok()?;
        file.take(AGENT_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
        (Digest::of(&bytes) == *digest).then(|| bytes.into())
    }

    /// Drops what is not wanted and not new. A file that cannot be removed now is one for the next time.
    pub(super) fn drop_others(&self, wanted: &HashSet<Digest>) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let kept = match Digest::parse(&name) {
                Ok(digest) => wanted.contains(&digest),
                Err(_) => !name.starts_with(atomic_file::TEMPORARY_PREFIX),
            };
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = modified.is_ok_and(|modified| {
                now.duration_since(modified).is_ok_and(|age| age >= UNREFERENCED_AGE_MIN)
            });
            if !kept
                && is_old
                && let Err(error) = std::fs::remove_file(entry.path())
            {
                tracing::debug!(path = %entry.path().display(), %error, "a source that is not needed stays");
            }
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.to_string())
    }
}
