//! Why something was not read or written.

use crate::{EditError, FilePath, InvalidPattern};
use roost_storage::StorageError;

/// What a caller has to know to go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// There is no such file, version or proposal, or it is somebody else's.
    #[error("there is no such file")]
    NotFound,
    /// The file is not as the writer thought.
    #[error("the file was changed meanwhile")]
    Conflict {
        /// Its newest version; 0 when there is none.
        current_version: i64,
    },
    /// More than a limit allows.
    #[error("{limit} allows {max}, and this would be {provided}")]
    TooLarge {
        /// Which limit.
        limit: Limit,
        /// What it allows.
        max: i64,
        /// What it would have been.
        provided: i64,
    },
    /// A key that was used for something else.
    #[error("the idempotency key was used for another request")]
    KeyMismatch,
    /// Agents may not write this file.
    #[error("agents may only read this file")]
    ReadOnlyForAgents,
    /// The text would be kept under a name that holds a secret.
    #[error("the name of the file holds a secret")]
    SecretInPath,
    /// The edits do not fit the text.
    #[error("{0}")]
    Edit(EditError),
    /// The search cannot be done.
    #[error("{0}")]
    Pattern(InvalidPattern),
    /// The content is not text, and text was asked for.
    #[error("the file is not text")]
    NotText,
    /// What is to be brought in is not an export.
    #[error("this is not an export of a workspace: {0}")]
    NotAnExport(String),
    /// Files that were to be brought in are there already and hold something else.
    #[error("files of these names are there already and hold something else")]
    AlreadyThere {
        /// Which.
        paths: Vec<FilePath>,
        /// The newest version of the first of them.
        current_version: i64,
    },
    /// A run still needs what is to be forgotten.
    #[error("a run still needs a version of this file")]
    Pinned,
    /// The database did not do it.
    #[error("{0}")]
    Storage(StorageError),
}

/// A limit that can be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of one file.
    FileBytes,
    /// Files of a workspace.
    Files,
    /// Bytes of all files of a workspace.
    WorkspaceBytes,
    /// Bytes of all versions that are exported or imported at once.
    TransferBytes,
    /// Versions that are exported or imported at once.
    TransferVersions,
}

impl Limit {
    /// As it is called in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FileBytes => "maxFileBytes",
            Self::Files => "maxFiles",
            Self::WorkspaceBytes => "maxWorkspaceBytes",
            Self::TransferBytes => "maxTransferBytes",
            Self::TransferVersions => "maxTransferVersions",
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(self.name())
    }
}

impl From<StorageError> for WorkspaceError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<EditError> for WorkspaceError {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}

impl From<InvalidPattern> for WorkspaceError {
    fn from(error: InvalidPattern) -> Self {
        Self::Pattern(error)
    }
}
