//! An app as it arrived: raw bytes in memory, each checked against its digest where there is one. Nothing is on disk yet.

use super::{entry::Entry, file_name::FileName, part::PartKind, sense::Sense};
use roost_protocol::{Digest, Failure};
use serde::Serialize;
use std::{fmt, sync::Arc};

/// Where an app came from. Holds no credential, and can be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FetchOrigin {
    /// Files that the catalog keeps itself.
    Catalog {
        /// Name of the source here.
        source: String,
    },
    /// Another repository that the catalog names, at one commit.
    Federation {
        /// Name of the source here.
        source: String,
        /// `owner/repository`.
        repo: String,
        /// The commit the files are of.
        commit: String,
    },
    /// A private repository that the catalog names.
    Gated {
        /// Name of the source here.
        source: String,
        /// `owner/repository`.
        repo: String,
    },
    /// A repository that a person named, at one commit.
    Repository {
        /// `owner/repository`.
        repo: String,
        /// The branch, tag or commit that was asked for.
        #[serde(rename = "ref")]
        reference: String,
        /// Folder in it.
        path: String,
        /// The commit the files are of.
        commit: String,
    },
    /// One file at an address.
    File {
        /// The address.
        url: String,
    },
}

/// One file of an app.
#[derive(Clone, PartialEq, Eq)]
pub struct FetchedFile {
    /// What it is.
    pub kind: PartKind,
    /// What it is called.
    pub file_name: FileName,
    /// Where it was.
    pub url: String,
    /// Its bytes, as they arrived.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: Digest,
    /// True when a catalog named this digest; false when it named none.
    pub is_verified: bool,
}

/// The bytes are another's, and may be many.
impl fmt::Debug for FetchedFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("FetchedFile")
            .field("kind", &self.kind)
            .field("file_name", &self.file_name.as_str())
            .field("bytes", &self.bytes.len())
            .field("digest", &self.digest)
            .field("is_verified", &self.is_verified)
            .finish_non_exhaustive()
    }
}

/// A sense as it arrived.
#[derive(Debug, Clone)]
pub struct FetchedSense {
    /// What its catalog says of it.
    pub sense: Arc<Sense>,
    /// Its bytes, as they arrived; they have the digest that its catalog names, where it names one.
    pub bytes: Vec<u8>,
}

/// A file that the app can do without, and why it is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What it is.
    pub kind: PartKind,
    /// Why it is not here.
    pub reason: Failure,
}

/// An app with all of its files.
#[derive(Debug, Clone)]
pub struct FetchedApp {
    /// Its id; of a file, its name without the ending.
    pub id: String,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// Which version was asked for, where it has versions.
    pub version: Option<String>,
    /// Where it came from.
    pub origin: FetchOrigin,
    /// What its catalog says of it.
    pub entry: Option<Arc<Entry>>,
    /// Its files, at most one of each kind.
    pub files: Vec<FetchedFile>,
    /// Files that it does without.
    pub left_out: Vec<LeftOut>,
}

impl FetchedApp {
    /// The file of this kind.
    #[must_use]
    pub fn file(&self, kind: PartKind) -> Option<&FetchedFile> {
        self.files.iter().find(|file| file.kind == kind)
    }
}
