//! Files and their versions as they are shown.

use crate::{Etag, FilePath};
use serde::{Deserialize, Serialize};

/// What a file is called unless its writer says otherwise.
pub const CONTENT_TYPE: &str = "text/markdown";

/// One version of a file, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its name.
    pub path: FilePath,
    /// What it holds, as its writer said.
    pub content_type: String,
    /// Counted from 1, without gaps.
    pub version: i64,
    /// What a writer shows to prove which version it has seen.
    pub etag: Etag,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Length of the content.
    pub bytes: i64,
}

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// All but the content.
    pub info: FileInfo,
    /// The content.
    pub content: Vec<u8>,
}

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// A token, an app or the owner, by an opaque name.
    pub principal: String,
    /// The run it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The part of that run: an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Why, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One entry of a file's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its number.
    pub version: i64,
    /// Whether the file was removed with it.
    pub removed: bool,
    /// Length of the content.
    pub bytes: i64,
    /// What it holds.
    pub content_type: String,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// Who wrote it.
    pub author: Author,
}
