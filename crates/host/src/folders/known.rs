//! What a folder and its workspace held when they were last the same.
//!
//! Kept on disk so that the next host knows on which side a difference came to be. Without it nothing is lost: what
//! differs is then kept twice.

use super::tree::Stamp;
use roost_workspace::{Etag, FileInfo, FilePath};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, io, path::Path};

/// Both sides at the last moment they agreed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    /// How many writes the workspace had seen.
    pub(super) sequence: i64,
    pub(super) files: BTreeMap<FilePath, KnownFile>,
}

/// One file on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownFile {
    pub(super) etag: Etag,
    pub(super) version: i64,
    /// Length in the workspace.
    pub(super) bytes: i64,
    /// Absent when the file could not be put into the folder.
    pub(super) on_disk: Option<OnDisk>,
}

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OnDisk {
    pub(super) stamp: Stamp,
    /// False when a change may leave the same stamp, so that only the content tells.
    settled: bool,
    sha256: String,
}

impl OnDisk {
    pub(super) fn new(stamp: Stamp, content: &[u8]) -> Self {
        Self { stamp, settled: stamp.is_settled(), sha256: sha256(content) }
    }

    /// True when the stamp alone shows that the content is the same.
    pub(super) fn is_surely(&self, stamp: &Stamp) -> bool {
        self.settled && self.stamp == *stamp
    }

    pub(super) fn holds(&self, content: &[u8]) -> bool {
        self.sha256 == sha256(content)
    }
}

fn sha256(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

impl KnownFile {
    pub(super) fn new(info: &FileInfo, on_disk: Option<OnDisk>) -> Self {
        Self { etag: info.etag.clone(), version: info.version, bytes: info.bytes, on_disk }
    }
}

impl Known {
    /// What was kept; nothing when that cannot be read.
    pub(super) fn read(path: &Path) -> Self {
        let text = std::fs::read(path).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    pub(super) fn keep(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let staged = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&staged, self)?;
        staged.persist(path)?;
        Ok(())
    }

    pub(super) fn bytes(&self) -> i64 {
        self.files.values().map(|file| file.bytes).sum()
    }
}
