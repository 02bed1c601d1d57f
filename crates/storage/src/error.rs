//! What can go wrong with a database, as far as a caller acts on it.

use roost_protocol::{Failure, Reason};

/// Why nothing was stored or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// There is no room for more.
    #[error("the disk of the database is full")]
    Full,
    /// The file or its file system cannot be written.
    #[error("the database cannot be written: {message}")]
    ReadOnly {
        /// What the engine said.
        message: String,
    },
    /// What is there is not a sound database.
    #[error("the database is damaged: {message}")]
    Corrupt {
        /// What the engine said.
        message: String,
    },
    /// A newer program made these tables.
    #[error("the database was made by a newer version of this program: {owner} {found}, known up to {known}")]
    Newer {
        /// Whose tables.
        owner: String,
        /// The number of its newest migration.
        found: i64,
        /// The newest one that is known here.
        known: i64,
    },
    /// It cannot be reached, or is held by somebody else for too long.
    #[error("the database cannot be used now: {message}")]
    Unavailable {
        /// What was seen.
        message: String,
    },
    /// Another node changed the same rows at the same time.
    #[error("other nodes change the same rows")]
    Clash,
    /// A statement does not fit the tables, which is an error of this program.
    #[error("a statement did not work: {message}")]
    Statement {
        /// What the engine said.
        message: String,
    },
    /// The change gave up in a way that is an error of this program.
    #[error("a change to the database broke off")]
    Panicked,
}

impl StorageError {
    /// Nobody takes what waits fast enough.
    pub(crate) fn too_much() -> Self {
        Self::Unavailable { message: "too much waits to be stored".to_owned() }
    }

    /// The reason in the closed list.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Full => Reason::StorageFull,
            Self::Corrupt { .. } => Reason::StorageDamaged,
            Self::Newer { .. } => Reason::StorageNewer,
            Self::ReadOnly { .. } | Self::Unavailable { .. } | Self::Clash => Reason::StorageUnavailable,
            Self::Statement { .. } | Self::Panicked => Reason::Internal,
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::new(error.reason(), error.to_string())
    }
}
