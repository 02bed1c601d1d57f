//! What a catalog was when it was last fetched, so that it can be searched offline: one file for each source.
//!
//! A file is a line of JSON and then the catalog, byte for byte, so that one rename replaces both. What does not fit
//! its digest counts as nothing.

use super::{CATALOG_BYTES_MAX, source_list::CatalogSource};
use crate::atomic_file;
use roost_protocol::{Digest, Failure};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::PathBuf,
    time::Duration,
};

/// Longest first line.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// The folder of kept catalogs.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    folder: PathBuf,
}

/// A catalog as it was.
#[derive(Debug)]
pub(super) struct KeptCatalog {
    pub(super) head: Head,
    pub(super) bytes: Vec<u8>,
}

/// What is known of it besides its content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Head {
    /// Seconds since 1970.
    pub(super) fetched_at: u64,
    pub(super) etag: Option<String>,
    pub(super) digest: Digest,
}

impl Kept {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where it is, for whoever wants to know whether it changed.
    pub(super) fn path(&self, source: &CatalogSource) -> PathBuf {
        self.folder.join(format!("{}.{}.catalog", source.id, source.address.mark()))
    }

    fn failure_path(&self, source: &CatalogSource) -> PathBuf {
        self.folder.join(format!("{}.{}.failure", source.id, source.address.mark()))
    }

    /// What was kept, if it is whole.
    pub(super) fn read(&self, source: &CatalogSource) -> Option<KeptCatalog> {
        let mut bytes = Vec::new();
        let limit = (CATALOG_BYTES_MAX + HEAD_BYTES_MAX) as u64;
        File::open(self.path(source)).ok()?.take(limit + 1).read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().take(HEAD_BYTES_MAX).position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
        bytes.drain(..=end);
        (Digest::of(&bytes) == head.digest).then_some(KeptCatalog { head, bytes })
    }

    /// Keeps a catalog, and forgets that it could not be fetched before.
    pub(super) fn write(&self, source: &CatalogSource, kept: &KeptCatalog) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(&kept.head)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&kept.bytes);
        atomic_file::replace(&self.path(source), &bytes)?;
        self.clear_failure(source)
    }

    /// Why it could not be fetched the last time, if so.
    pub(super) fn failure(&self, source: &CatalogSource) -> Option<Failure> {
        let file = File::open(self.failure_path(source)).ok()?;
        serde_json::from_reader(file.take(HEAD_BYTES_MAX as u64)).ok()
    }

    /// True when the last attempt failed within this time.
    pub(super) fn failed_within(&self, source: &CatalogSource, time: Duration) -> bool {
        let failed_at = fs::metadata(self.failure_path(source)).and_then(|found| found.modified());
        failed_at.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < time))
    }

    pub(super) fn write_failure(&self, source: &CatalogSource, failure: &Failure) -> io::Result<()> {
        atomic_file::replace(&self.failure_path(source), &serde_json::to_vec(failure)?)
    }

    pub(super) fn clear_failure(&self, source: &CatalogSource) -> io::Result<()> {
        match fs::remove_file(self.failure_path(source)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Forgets everything of a source, whatever its address was.
    pub(super) fn forget(&self, id: &str) {
        let beginning = format!("{id}.");
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_kept = name.ends_with(".catalog") || name.ends_with(".failure");
            if is_kept && name.starts_with(&beginning) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}
