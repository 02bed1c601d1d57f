//! Looking at files: the newest version, an older one, the list, the history.

use crate::{Author, File, FileInfo, FilePath, Owner, Prefix, Revision, WorkspaceError, write::stored_etag};
use roost_storage::{Change, Parameter, Row, StorageError, Transaction};

/// Greater than everything that begins with the same text: no name holds this character.
const LAST: char = '\u{10FFFF}';

fn of_owner(owner: &Owner) -> [Parameter<'_>; 2] {
    [owner.tenant.as_str().into(), owner.workspace.as_str().into()]
}

/// Whatever is stored was checked before.
pub(crate) fn stored_path(text: &str) -> Result<FilePath, StorageError> {
    FilePath::of_folder(text).map_err(|_| StorageError::Corrupt { message: "a name is not one".to_owned() })
}

/// Columns: version, etag, content type, time, bytes.
pub(crate) fn info(row: &Row, from: usize, path: FilePath) -> Result<FileInfo, StorageError> {
    Ok(FileInfo {
        path,
        version: row.int(from)?,
        etag: stored_etag(row.text(from + 1)?)?,
        content_type: row.text(from + 2)?.to_owned(),
        updated_at: row.int(from + 3)?,
        bytes: row.int(from + 4)?,
    })
}

/// One file: its newest version, or the one that is named.
pub(crate) struct Get {
    pub(crate) owner: Owner,
    pub(crate) path: FilePath,
    pub(crate) version: Option<i64>,
}

const GET_NEWEST: &str = "SELECT v.version, v.etag, v.content_type, v.updated_at, v.bytes, v.content
    FROM workspaces w JOIN files f ON f.workspace = w.id AND f.path = $3
    JOIN versions v ON v.file = f.id AND v.version = f.version
    WHERE w.tenant = $1 AND w.name = $2 AND f.removed = 0";
const GET_VERSION: &str = "SELECT v.version, v.etag, v.content_type, v.updated_at, v.bytes, v.content
    FROM workspaces w JOIN files f ON f.workspace = w.id AND f.path = $3
    JOIN versions v ON v.file = f.id AND v.version = $4
    WHERE w.tenant = $1 AND w.name = $2 AND v.removed = 0";

impl Change for Get {
    type Output = File;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<File, WorkspaceError> {
        let [tenant, workspace] = of_owner(&self.owner);
        let path = Parameter::from(self.path.as_str());
        let found = match self.version {
            None => transaction.row(GET_NEWEST, &[tenant, workspace, path]).await?,
            Some(version) => transaction.row(GET_VERSION, &[tenant, workspace, path, version.into()]).await?,
        };
        let mut row = found.ok_or(WorkspaceError::NotFound)?;
        let info = info(&row, 0, self.path.clone())?;
        Ok(File { info, content: row.take_bytes(5)? })
    }
}

/// All files whose name begins with a text, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The files.
    pub files: Vec<FileInfo>,
    /// How many writes the workspace has seen: unchanged means that nothing changed.
    pub sequence: i64,
}

pub(crate) struct List {
    pub(crate) owner: Owner,
    pub(crate) prefix: Prefix,
}

const SEQUENCE: &str = "SELECT id, sequence FROM workspaces WHERE tenant = $1 AND name = $2";
const LIST: &str = "SELECT path, version, etag, content_type, updated_at, bytes FROM files
    WHERE workspace = $1 AND path >= $2 AND path < $3 AND removed = 0 ORDER BY path";

impl Change for List {
    type Output = Listing;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Listing, WorkspaceError> {
        let Some(place) = transaction.row(SEQUENCE, &of_owner(&self.owner)).await? else {
            return Ok(Listing { files: Vec::new(), sequence: 0 });
        };
        let from = self.prefix.as_str();
        if from.contains('\0') {
            // No name has this character, and not every engine can be asked for it.
            return Ok(Listing { files: Vec::new(), sequence: place.int(1)? });
        }
        let to = format!("{from}{LAST}");
        let parameters = [place.int(0)?.into(), Parameter::from(from), Parameter::from(&to)];
        let mut files = Vec::new();
        for row in transaction.rows(LIST, &parameters).await? {
            files.push(info(&row, 1, stored_path(row.text(0)?)?)?);
        }
        Ok(Listing { files, sequence: place.int(1)? })
    }
}

/// How many writes there were.
pub(crate) struct Count {
    pub(crate) owner: Owner,
}

impl Change for Count {
    type Output = i64;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<i64, WorkspaceError> {
        let place = transaction.row(SEQUENCE, &of_owner(&self.owner)).await?;
        Ok(place.map_or(Ok(0), |place| place.int(1))?)
    }
}

/// What was written to one file, newest first.
pub(crate) struct History {
    pub(crate) owner: Owner,
    pub(crate) path: FilePath,
}

const HISTORY: &str = "SELECT v.version, v.removed, v.bytes, v.content_type, v.updated_at, v.sha256,
    v.principal, v.run, v.node, v.reason
    FROM workspaces w JOIN files f ON f.workspace = w.id AND f.path = $3
    JOIN versions v ON v.file = f.id
    WHERE w.tenant = $1 AND w.name = $2 ORDER BY v.version DESC";

impl Change for History {
    type Output = Vec<Revision>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<Revision>, WorkspaceError> {
        let [tenant, workspace] = of_owner(&self.owner);
        let parameters = [tenant, workspace, self.path.as_str().into()];
        let mut revisions = Vec::new();
        for mut row in transaction.rows(HISTORY, &parameters).await? {
            let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
            let author = Author {
                principal: row.text(6)?.to_owned(),
                run: text(7)?,
                node: text(8)?,
                reason: text(9)?,
            };
            revisions.push(Revision {
                version: row.int(0)?,
                removed: row.flag(1)?,
                bytes: row.int(2)?,
                content_type: row.text(3)?.to_owned(),
                updated_at: row.int(4)?,
                sha256: row.take_bytes(5)?.try_into().unwrap_or_default(),
                author,
            });
        }
        if revisions.is_empty() { Err(WorkspaceError::NotFound) } else { Ok(revisions) }
    }
}

/// How full a workspace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Files there are.
    pub files: i64,
    /// Their bytes.
    pub bytes: i64,
    /// Bytes of all versions that are kept, the newest included.
    pub history_bytes: i64,
    /// Versions that are kept.
    pub versions: i64,
    /// How many writes the workspace has seen.
    pub sequence: i64,
}

pub(crate) struct Measure {
    pub(crate) owner: Owner,
}

const MEASURE: &str = "SELECT w.files, w.bytes, w.sequence,
    (SELECT count(*) FROM versions v JOIN files f ON f.id = v.file WHERE f.workspace = w.id),
    CAST((SELECT coalesce(sum(v.bytes), 0) FROM versions v JOIN files f ON f.id = v.file
    WHERE f.workspace = w.id) AS BIGINT)
    FROM workspaces w WHERE w.tenant = $1 AND w.name = $2";

impl Change for Measure {
    type Output = Usage;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Usage, WorkspaceError> {
        let Some(row) = transaction.row(MEASURE, &of_owner(&self.owner)).await? else {
            return Ok(Usage { files: 0, bytes: 0, history_bytes: 0, versions: 0, sequence: 0 });
        };
        Ok(Usage {
            files: row.int(0)?,
            bytes: row.int(1)?,
            sequence: row.int(2)?,
            versions: row.int(3)?,
            history_bytes: row.int(4)?,
        })
    }
}
