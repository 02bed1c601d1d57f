//! A workspace as it was at one moment.
//!
//! A moment is the number of the newest write then, so that taking one costs the same however many files there are. What
//! was the newest version at a pinned moment is kept, whatever happens later.

use crate::{File, FilePath, Owner, WorkspaceError, read, write};
use roost_storage::{Change, Parameter, StorageError, Transaction};

/// A file at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// Its name.
    pub path: FilePath,
    /// The newest version then.
    pub version: i64,
    /// What it holds.
    pub content_type: String,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// Length of the content.
    pub bytes: i64,
}

const SEQUENCE: &str = "SELECT w.sequence, (SELECT count(*) FROM pins p WHERE p.workspace = w.id AND
    p.sequence = w.sequence) FROM workspaces w WHERE w.tenant = $1 AND w.name = $2";

/// The current moment, if it is pinned already; taking it costs nothing then.
pub(crate) struct PinnedNow {
    pub(crate) owner: Owner,
}

impl Change for PinnedNow {
    type Output = Option<i64>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<i64>, WorkspaceError> {
        let owner = [self.owner.tenant.as_str().into(), self.owner.workspace.as_str().into()];
        let Some(row) = transaction.row(SEQUENCE, &owner).await? else {
            // A workspace that nobody wrote to has nothing to keep.
            return Ok(Some(0));
        };
        let sequence = row.int(0)?;
        Ok((sequence == 0 || row.int(1)? > 0).then_some(sequence))
    }
}

/// Pins the current moment.
pub(crate) struct Pin {
    pub(crate) owner: Owner,
}

const PIN: &str = "INSERT INTO pins (tenant, workspace, sequence) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

impl Change for Pin {
    type Output = i64;
    type Error = WorkspaceError;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<i64, WorkspaceError> {
        let any = FilePath::parse("any").map_err(|_| WorkspaceError::NotFound)?;
        let look = write::look(transaction, &self.owner, &any).await?;
        let tenant = Parameter::from(self.owner.tenant.as_str());
        transaction.execute(PIN, &[tenant, look.workspace.into(), look.sequence.into()]).await?;
        Ok(look.sequence)
    }
}

/// Lets go of a moment, and of the versions that only it kept.
pub(crate) struct Unpin {
    pub(crate) owner: Owner,
    pub(crate) sequence: i64,
    pub(crate) versions_max: i64,
}

const UNPIN: &str = "DELETE FROM pins WHERE workspace = $1 AND sequence = $2";
const SWEEP: &str = "DELETE FROM versions WHERE EXISTS (SELECT 1 FROM files f
    WHERE f.id = versions.file AND f.workspace = $1 AND versions.version <= f.version - $2)
    AND versions.sequence <= $3
    AND NOT EXISTS (SELECT 1 FROM pins p WHERE p.workspace = $1 AND p.sequence >= versions.sequence
    AND p.sequence < (SELECT min(n.sequence) FROM versions n WHERE n.file = versions.file
    AND n.version > versions.version))";

impl Change for Unpin {
    type Output = ();
    type Error = WorkspaceError;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), WorkspaceError> {
        let any = FilePath::parse("any").map_err(|_| WorkspaceError::NotFound)?;
        let look = write::look(transaction, &self.owner, &any).await?;
        transaction.execute(UNPIN, &[look.workspace.into(), self.sequence.into()]).await?;
        let sweep = [look.workspace, self.versions_max, self.sequence].map(Parameter::from);
        transaction.execute(SWEEP, &sweep).await?;
        Ok(())
    }
}

/// All pinned moments that were over before a point in time.
pub(crate) struct Pinned {
    pub(crate) owner: Owner,
    pub(crate) over_before: i64,
}

/// A moment is over with the next write, whose event says when that was; the oldest events are gone.
const PINNED: &str = "SELECT p.sequence FROM workspaces w JOIN pins p ON p.workspace = w.id
    LEFT JOIN events e ON e.workspace = w.id AND e.sequence = p.sequence + 1
    WHERE w.tenant = $1 AND w.name = $2 AND p.sequence < w.sequence AND (e.at IS NULL OR e.at < $3)
    ORDER BY p.sequence";

impl Change for Pinned {
    type Output = Vec<i64>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<i64>, WorkspaceError> {
        let parameters = [
            self.owner.tenant.as_str().into(),
            self.owner.workspace.as_str().into(),
            Parameter::from(self.over_before),
        ];
        let rows = transaction.rows(PINNED, &parameters).await?;
        Ok(rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?)
    }
}

/// What there was at a moment, in the order of names.
pub(crate) struct ListThen {
    pub(crate) owner: Owner,
    pub(crate) sequence: i64,
}

const THEN: &str = "SELECT f.path, v.version, v.content_type, v.sha256, v.bytes
    FROM workspaces w JOIN files f ON f.workspace = w.id JOIN versions v ON v.file = f.id
    WHERE w.tenant = $1 AND w.name = $2 AND v.removed = 0 AND v.version =
    (SELECT max(n.version) FROM versions n WHERE n.file = f.id AND n.sequence <= $3) ORDER BY f.path";

impl Change for ListThen {
    type Output = Vec<SnapshotEntry>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<SnapshotEntry>, WorkspaceError> {
        let owner = [self.owner.tenant.as_str().into(), self.owner.workspace.as_str().into()];
        let mut entries = Vec::new();
        for mut row in transaction.rows(THEN, &[owner[0], owner[1], self.sequence.into()]).await? {
            entries.push(SnapshotEntry {
                path: read::stored_path(row.text(0)?)?,
                version: row.int(1)?,
                content_type: row.text(2)?.to_owned(),
                bytes: row.int(4)?,
                sha256: row.take_bytes(3)?.try_into().map_err(|_| no_digest())?,
            });
        }
        Ok(entries)
    }
}

fn no_digest() -> StorageError {
    StorageError::Corrupt { message: "a digest is not one".to_owned() }
}

/// One file as it was at a moment.
pub(crate) struct GetThen {
    pub(crate) owner: Owner,
    pub(crate) sequence: i64,
    pub(crate) path: FilePath,
}

const FILE_THEN: &str = "SELECT v.version, v.etag, v.content_type, v.updated_at, v.bytes, v.content
    FROM workspaces w JOIN files f ON f.workspace = w.id AND f.path = $3 JOIN versions v ON v.file = f.id
    WHERE w.tenant = $1 AND w.name = $2 AND v.removed = 0 AND v.version =
    (SELECT max(n.version) FROM versions n WHERE n.file = f.id AND n.sequence <= $4)";

impl Change for GetThen {
    type Output = File;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<File, WorkspaceError> {
        let parameters = [
            self.owner.tenant.as_str().into(),
            self.owner.workspace.as_str().into(),
            Parameter::from(self.path.as_str()),
            self.sequence.into(),
        ];
        let found = transaction.row(FILE_THEN, &parameters).await?;
        let mut row = found.ok_or(WorkspaceError::NotFound)?;
        let info = read::info(&row, 0, self.path.clone())?;
        Ok(File { info, content: row.take_bytes(5)? })
    }
}
