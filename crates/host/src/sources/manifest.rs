//! What a source brought, written beside it: the address, the commit, and the digest of every file.

use super::address::{NewSource, SourceKind, is_id};
use roost_protocol::Digest;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, io, path::Path};

/// Its name in the folder of a source.
pub(crate) const FILE_NAME: &str = "manifest.json";

/// Largest manifest that is read: a hundred times the largest that is written.
const BYTES_MAX: u64 = 16 << 20;

const FORMAT: u32 = 1;

/// One connected source at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    pub(crate) id: String,
    pub(crate) kind: SourceKind,
    pub(crate) asked: NewSource,
    /// The commit the files are of; a folder has none.
    pub(crate) commit: Option<String>,
    /// When they were brought, UTC.
    pub(crate) synced_at: String,
    /// Digest of each file by its name.
    pub(crate) files: BTreeMap<String, Digest>,
}

impl Manifest {
    pub(crate) fn new(
        (id, kind, asked): (String, SourceKind, NewSource),
        commit: Option<String>,
        synced_at: String,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Self {
        let files = files.iter().map(|(name, bytes)| (name.clone(), Digest::of(bytes))).collect();
        Self { format: FORMAT, id, kind, asked, commit, synced_at, files }
    }

    /// Reads the manifest of the source that lies in this folder.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE_NAME);
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_file() || metadata.len() > BYTES_MAX {
            return Err(io::Error::other("the manifest is not a file of a manifest's size"));
        }
        let manifest: Self = serde_json::from_slice(&fs::read(&path)?)?;
        let is_its_own = folder.file_name().and_then(|name| name.to_str()) == Some(&manifest.id);
        if manifest.format != FORMAT || !is_id(&manifest.id) || !is_its_own {
            return Err(io::Error::other("the manifest is not of this source"));
        }
        Ok(manifest)
    }

    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(self)?)
    }
}
