//! Forgetting a file that was removed: its versions go, and a new file of its name counts from 1 again.
//!
//! What is told of it as events stays. What a pinned moment needs is not forgotten.

use crate::{
    FilePath, Owner, WorkspaceError,
    write::{Look, look},
};
use roost_storage::{Change, Parameter, Transaction};

/// Forgets one removed file. Gives the number of versions that went.
pub(crate) struct Purge {
    pub(crate) owner: Owner,
    pub(crate) path: FilePath,
}

/// Versions that were the newest at a pinned moment, and could be read then.
const PINNED: &str =
    "SELECT count(*) FROM versions v JOIN pins p ON p.workspace = $2 AND p.sequence >= v.sequence
    WHERE v.file = $1 AND v.removed = 0 AND p.sequence <
    (SELECT min(n.sequence) FROM versions n WHERE n.file = $1 AND n.version > v.version)";
const VERSIONS: &str = "DELETE FROM versions WHERE file = $1";
const FILE: &str = "DELETE FROM files WHERE id = $1";

impl Change for Purge {
    type Output = u64;
    type Error = WorkspaceError;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<u64, WorkspaceError> {
        let look: Look = look(transaction, &self.owner, &self.path).await?;
        if look.etag().is_some() {
            return Err(WorkspaceError::Conflict { current_version: look.current_version() });
        }
        let file = look.file_id().ok_or(WorkspaceError::NotFound)?;
        let pinned = transaction.row(PINNED, &[file.into(), look.workspace.into()]).await?;
        if pinned.map_or(Ok(0), |row| row.int(0))? > 0 {
            return Err(WorkspaceError::Pinned);
        }
        let purged = transaction.execute(VERSIONS, &[Parameter::from(file)]).await?;
        transaction.execute(FILE, &[Parameter::from(file)]).await?;
        Ok(purged)
    }
}
