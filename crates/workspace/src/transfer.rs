//! Carrying a workspace elsewhere: a zip with a list of files and their versions, and each content once by its hash.
//!
//! What comes back is not believed: nothing of it is written before all of it was checked, and then all or nothing.

mod archive; // from bytes to what can be believed
mod export; // from a workspace to bytes
mod import; // from what was checked to versions

pub(crate) use self::{
    archive::{Parcel, open},
    export::{Gather, pack},
    import::{Import, ImportEnd},
};

use crate::{Author, FilePath, Limits};
use serde::{Deserialize, Serialize};

/// What the list calls its own form.
const FORMAT: &str = "roost-workspace/1";

/// The list in the zip, and the folder of the contents.
const MANIFEST: &str = "manifest.json";
const BODIES: &str = "bodies/";

/// Most bytes of all versions that travel at once, unless a workspace may be larger than this: they are held in memory.
const BYTES_MAX: i64 = 256 << 20;

/// Most versions that travel at once: each is a row, and all are written in one transaction.
const VERSIONS_MAX: usize = 100_000;

/// How much may travel at once.
pub(crate) fn bytes_max(limits: &Limits) -> i64 {
    limits.workspace_bytes_max.max(BYTES_MAX)
}

/// How much of a workspace is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every version that is kept, and files that were removed.
    History,
    /// The files as they are.
    Newest,
}

/// What becomes of files that are there already and differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Nothing is imported.
    #[default]
    Fail,
    /// They stay as they are.
    Skip,
    /// They get one new version.
    Replace,
}

/// What an import does to each file, in the order of names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ImportPlan {
    /// Files that are not there: they come with their history.
    pub create: Vec<FilePath>,
    /// Files that get one new version.
    pub replace: Vec<FilePath>,
    /// Files that are there and hold the same.
    pub same: Vec<FilePath>,
    /// Files that are there, differ and stay as they are.
    pub conflict: Vec<FilePath>,
}

/// The list of everything in the zip.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Manifest {
    format: String,
    exported_at: jiff::Timestamp,
    files: Vec<ListedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListedFile {
    path: FilePath,
    /// Oldest first.
    versions: Vec<ListedVersion>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListedVersion {
    version: i64,
    /// True where the file was removed; then there is no content.
    removed: bool,
    content_type: String,
    updated_at: jiff::Timestamp,
    sha256: String,
    bytes: i64,
    author: Author,
}

#[cfg(test)]
mod tests;
