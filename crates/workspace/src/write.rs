//! One write: look at the file, decide, record. Everything that changes files comes through here.
//!
//! The workspace is locked by the look, so what was decided still holds when it is recorded.

use crate::{
    Author, Condition, Etag, FileInfo, FilePath, Limit, Limits, Owner, WorkspaceError, events::EVENTS_KEPT,
};
use roost_storage::{Engine, Parameter, StorageError, Transaction};
use sha2::{Digest as _, Sha256};

/// What is to become of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Becomes<'a> {
    /// It holds this.
    Content { content: &'a [u8], content_type: &'a str },
    /// It is gone.
    Removed,
}

/// A write that is to be decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) path: &'a FilePath,
    pub(crate) condition: &'a Condition,
    pub(crate) becomes: Becomes<'a>,
    pub(crate) author: &'a Author,
    /// Milliseconds since 1970, as the clock of this machine has them.
    pub(crate) now: i64,
}

/// A workspace and one of its files, both locked.
pub(crate) struct Look {
    pub(crate) workspace: i64,
    pub(crate) sequence: i64,
    files: i64,
    bytes: i64,
    file: Option<Head>,
}

struct Head {
    id: i64,
    version: i64,
    etag: Etag,
    removed: bool,
    bytes: i64,
    updated_at: i64,
}

impl Look {
    /// The newest version that can be read.
    fn live(&self) -> Option<&Head> {
        self.file.as_ref().filter(|file| !file.removed)
    }

    pub(crate) fn etag(&self) -> Option<&Etag> {
        self.live().map(|file| &file.etag)
    }

    /// The file, whether it can be read or was removed.
    pub(crate) fn file_id(&self) -> Option<i64> {
        self.file.as_ref().map(|file| file.id)
    }

    pub(crate) fn current_version(&self) -> i64 {
        self.live().map_or(0, |file| file.version)
    }
}

const LOOK_SQLITE: &str = "SELECT w.id, w.sequence, w.files, w.bytes,
    f.id, f.version, f.etag, f.removed, f.bytes, f.updated_at
    FROM workspaces w LEFT JOIN files f ON f.workspace = w.id AND f.path = $3
    WHERE w.tenant = $1 AND w.name = $2";
const LOOK_POSTGRES: &str = "SELECT * FROM look($1, $2, $3)";
const MAKE_WORKSPACE: &str =
    "INSERT INTO workspaces (tenant, name, sequence, files, bytes) VALUES ($1, $2, 0, 0, 0)";

/// Locks the workspace, made where there is none, and shows one file.
pub(crate) async fn look(
    transaction: &mut Transaction,
    owner: &Owner,
    path: &FilePath,
) -> Result<Look, StorageError> {
    let parameters: [Parameter<'_>; 3] =
        [owner.tenant.as_str().into(), owner.workspace.as_str().into(), path.as_str().into()];
    let sql = transaction.engine().pick(LOOK_SQLITE, LOOK_POSTGRES);
    let found = match transaction.row(sql, &parameters).await? {
        Some(found) => found,
        None => {
            transaction.execute(MAKE_WORKSPACE, &parameters[..2]).await?;
            let made = transaction.row(sql, &parameters).await?;
            made.ok_or_else(|| StorageError::Corrupt { message: "a workspace vanished".to_owned() })?
        }
    };
    let file = match found.optional_int(4)? {
        None => None,
        Some(id) => Some(Head {
            id,
            version: found.int(5)?,
            etag: stored_etag(found.text(6)?)?,
            removed: found.flag(7)?,
            bytes: found.int(8)?,
            updated_at: found.int(9)?,
        }),
    };
    Ok(Look {
        workspace: found.int(0)?,
        sequence: found.int(1)?,
        files: found.int(2)?,
        bytes: found.int(3)?,
        file,
    })
}

/// Decides and records one write.
pub(crate) async fn write(
    transaction: &mut Transaction,
    owner: &Owner,
    limits: &Limits,
    order: Order<'_>,
) -> Result<FileInfo, WorkspaceError> {
    let look = look(transaction, owner, order.path).await?;
    if !order.condition.holds(look.etag()) {
        return Err(WorkspaceError::Conflict { current_version: look.current_version() });
    }
    let live_bytes = look.live().map_or(0, |file| file.bytes);
    let is_live = look.live().is_some();
    let (content, content_type) = match order.becomes {
        Becomes::Content { content, content_type } => {
            within(Limit::FileBytes, limits.file_bytes_max, length(content))?;
            if !is_live {
                within(Limit::Files, limits.files_max, look.files + 1)?;
            }
            let bytes = look.bytes - live_bytes + length(content);
            if bytes > look.bytes {
                within(Limit::WorkspaceBytes, limits.workspace_bytes_max, bytes)?;
            }
            (Some(content), content_type)
        }
        Becomes::Removed if !is_live => return Err(WorkspaceError::NotFound),
        Becomes::Removed => (None, ""),
    };
    let before = look.file.as_ref().map_or((0, i64::MIN), |file| (file.version, file.updated_at));
    let info = FileInfo {
        path: order.path.clone(),
        content_type: content_type.to_owned(),
        version: before.0 + 1,
        etag: Etag::random(),
        // A clock that is set back does not make a newer version older.
        updated_at: order.now.max(before.1),
        bytes: content.map_or(0, length),
    };
    let files = i64::from(content.is_some()) - i64::from(is_live);
    let record = Record {
        owner,
        author: order.author,
        info: &info,
        content,
        workspace: look.workspace,
        sequence: look.sequence + 1,
        files: look.files + files,
        bytes: look.bytes - live_bytes + info.bytes,
        purged: (look.file.as_ref()).map(|file| (file.id, info.version - limits.versions_max)),
    };
    record.store(transaction).await?;
    transaction.tell(&owner.topic());
    Ok(info)
}

pub(crate) fn within(limit: Limit, max: i64, provided: i64) -> Result<(), WorkspaceError> {
    if provided <= max { Ok(()) } else { Err(WorkspaceError::TooLarge { limit, max, provided }) }
}

pub(crate) fn length(content: &[u8]) -> i64 {
    i64::try_from(content.len()).unwrap_or(i64::MAX)
}

pub(crate) fn stored_etag(text: &str) -> Result<Etag, StorageError> {
    Etag::parse(text).map_err(|_| StorageError::Corrupt { message: "an etag is not one".to_owned() })
}

/// Everything that one write leaves behind.
struct Record<'a> {
    owner: &'a Owner,
    author: &'a Author,
    info: &'a FileInfo,
    content: Option<&'a [u8]>,
    workspace: i64,
    sequence: i64,
    files: i64,
    bytes: i64,
    /// A file that had versions before, and the one that falls out of its history now.
    purged: Option<(i64, i64)>,
}

const FILE: &str = "INSERT INTO files
    (tenant, workspace, path, version, sequence, etag, removed, bytes, content_type, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id";
const FILE_AGAIN: &str = "UPDATE files SET version = $4, sequence = $5, etag = $6, removed = $7, bytes = $8,
    content_type = $9, updated_at = $10 WHERE id = $11";
const VERSION: &str = "INSERT INTO versions
    (tenant, file, version, sequence, etag, removed, bytes, content_type, updated_at, sha256,
    principal, run, node, reason, content)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
const EVENT: &str = "INSERT INTO events (tenant, workspace, sequence, path, version, at, run)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const WORKSPACE: &str = "UPDATE workspaces SET sequence = $1, files = $2, bytes = $3 WHERE id = $4";
const OLD_EVENT: &str = "DELETE FROM events WHERE workspace = $1 AND sequence = $2";

/// The new version in the place of the one that falls out of the history: fewer pages change than by removing and adding.
/// Not where somebody's moment needs it, which was the newest one from its own write until the next.
const VERSION_AGAIN: &str =
    "UPDATE versions SET version = $3, sequence = $4, etag = $5, removed = $6, bytes = $7,
    content_type = $8, updated_at = $9, sha256 = $10, principal = $11, run = $12, node = $13, reason = $14,
    content = $15 WHERE file = $2 AND version = $16 AND NOT EXISTS (
    SELECT 1 FROM pins p WHERE p.workspace = $17 AND p.sequence >= versions.sequence AND p.sequence <
    coalesce((SELECT n.sequence FROM versions n WHERE n.file = $2 AND n.version > $16
    ORDER BY n.version LIMIT 1), $4))";

/// The same in one statement, because every statement is a way to the server and back.
const ALL_POSTGRES: &str = "WITH
    f AS (INSERT INTO files
        (tenant, workspace, path, version, sequence, etag, removed, bytes, content_type, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (workspace, path) DO UPDATE SET version = excluded.version, sequence = excluded.sequence,
        etag = excluded.etag, removed = excluded.removed, bytes = excluded.bytes,
        content_type = excluded.content_type, updated_at = excluded.updated_at
        RETURNING id),
    v AS (INSERT INTO versions
        (tenant, file, version, sequence, etag, removed, bytes, content_type, updated_at, sha256,
        principal, run, node, reason, content)
        SELECT $1, f.id, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16 FROM f),
    e AS (INSERT INTO events (tenant, workspace, sequence, path, version, at, run)
        VALUES ($1, $2, $5, $3, $4, $10, $13)),
    w AS (UPDATE workspaces SET sequence = $5, files = $17, bytes = $18 WHERE id = $2),
    o AS (DELETE FROM events WHERE workspace = $2 AND sequence = $19)
    DELETE FROM versions WHERE file = $20 AND version = $21 AND NOT EXISTS (
        SELECT 1 FROM pins p WHERE p.workspace = $2 AND p.sequence >= versions.sequence AND p.sequence <
        coalesce((SELECT n.sequence FROM versions n WHERE n.file = $20 AND n.version > $21
        ORDER BY n.version LIMIT 1), $5))";

impl Record<'_> {
    async fn store(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        let sha256: [u8; 32] = Sha256::digest(self.content.unwrap_or_default()).into();
        match transaction.engine() {
            Engine::Sqlite => self.store_in_steps(transaction, &sha256).await,
            Engine::Postgres => self.store_at_once(transaction, &sha256).await,
        }
    }

    async fn store_in_steps(&self, transaction: &mut Transaction, sha256: &[u8]) -> Result<(), StorageError> {
        let Self { info, author, .. } = self;
        let tenant = self.owner.tenant.as_str();
        let removed = i64::from(self.content.is_none());
        let file = [
            tenant.into(),
            self.workspace.into(),
            info.path.as_str().into(),
            info.version.into(),
            self.sequence.into(),
            info.etag.as_str().into(),
            removed.into(),
            info.bytes.into(),
            Parameter::from(&info.content_type),
            info.updated_at.into(),
            self.purged.map_or(0, |(id, _)| id).into(),
        ];
        let file = match self.purged {
            Some((id, _)) => {
                transaction.execute(FILE_AGAIN, &file).await?;
                id
            }
            None => {
                let made = transaction.returning(FILE, &file).await?;
                made.first().map_or(Ok(0), |row| row.int(0))?
            }
        };
        let version = [
            tenant.into(),
            file.into(),
            info.version.into(),
            self.sequence.into(),
            info.etag.as_str().into(),
            removed.into(),
            info.bytes.into(),
            Parameter::from(&info.content_type),
            info.updated_at.into(),
            sha256.into(),
            Parameter::from(&author.principal),
            author.run.as_deref().into(),
            author.node.as_deref().into(),
            author.reason.as_deref().into(),
            self.content.into(),
            self.purged.map_or(0, |(_, old)| old).into(),
            self.workspace.into(),
        ];
        let has_old = self.purged.is_some_and(|(_, old)| old > 0);
        if !has_old || transaction.execute(VERSION_AGAIN, &version).await? == 0 {
            transaction.execute(VERSION, &version).await?;
        }
        let event = [
            tenant.into(),
            self.workspace.into(),
            self.sequence.into(),
            info.path.as_str().into(),
            info.version.into(),
            Parameter::from(info.updated_at),
            author.run.as_deref().into(),
        ];
        transaction.execute(EVENT, &event).await?;
        let counts = [self.sequence, self.files, self.bytes, self.workspace].map(Parameter::from);
        transaction.execute(WORKSPACE, &counts).await?;
        if self.sequence > EVENTS_KEPT {
            let old = [self.workspace, self.sequence - EVENTS_KEPT].map(Parameter::from);
            transaction.execute(OLD_EVENT, &old).await?;
        }
        Ok(())
    }

    async fn store_at_once(&self, transaction: &mut Transaction, sha256: &[u8]) -> Result<(), StorageError> {
        let Self { info, author, .. } = self;
        let (file, version) = self.purged.unwrap_or((0, 0));
        let parameters = [
            self.owner.tenant.as_str().into(),
            self.workspace.into(),
            info.path.as_str().into(),
            info.version.into(),
            self.sequence.into(),
            info.etag.as_str().into(),
            i64::from(self.content.is_none()).into(),
            info.bytes.into(),
            Parameter::from(&info.content_type),
            info.updated_at.into(),
            sha256.into(),
            Parameter::from(&author.principal),
            author.run.as_deref().into(),
            author.node.as_deref().into(),
            author.reason.as_deref().into(),
            self.content.into(),
            self.files.into(),
            self.bytes.into(),
            (self.sequence - EVENTS_KEPT).into(),
            file.into(),
            version.into(),
        ];
        transaction.execute(ALL_POSTGRES, &parameters).await.map(drop)
    }
}
