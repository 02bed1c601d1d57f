//! From an export that was checked to versions: decided and written in one transaction, or rehearsed in one that is
//! taken back.

use super::{
    Existing, ImportPlan, Parcel,
    archive::{ParcelFile, ParcelVersion},
};
use crate::{
    Author, Condition, FilePath, Limits, Owner, Role, WorkspaceError, Writer, clock,
    write::{Becomes, Order, look, write},
};
use roost_storage::{Change, StorageError, Transaction};
use std::collections::HashMap;

/// How an import that changed nothing ended.
#[derive(Debug)]
pub(crate) enum ImportEnd {
    /// It was a rehearsal, and this is what it would have done.
    Rehearsed(ImportPlan),
    /// It cannot be done.
    Failed(WorkspaceError),
}

impl From<StorageError> for ImportEnd {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<WorkspaceError> for ImportEnd {
    fn from(error: WorkspaceError) -> Self {
        Self::Failed(error)
    }
}

/// Writes what an export holds.
pub(crate) struct Import {
    pub(crate) owner: Owner,
    pub(crate) limits: Limits,
    pub(crate) writer: Writer,
    pub(crate) parcel: Parcel,
    pub(crate) existing: Existing,
    /// Everything is done and taken back, so that the plan is true to the last limit.
    pub(crate) is_rehearsal: bool,
}

/// A file as it is there.
struct Head {
    version: i64,
    removed: bool,
    content_type: String,
    sha256: Vec<u8>,
}

/// What becomes of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Create,
    Replace,
    Same,
    Conflict,
}

impl Change for Import {
    type Output = ImportPlan;
    type Error = ImportEnd;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<ImportPlan, ImportEnd> {
        if self.writer.role == Role::Agent {
            return Err(WorkspaceError::ReadOnlyForAgents.into());
        }
        let any = FilePath::parse("any").map_err(|_| WorkspaceError::NotFound)?;
        // Locks the workspace: what is planned still holds when it is written.
        look(transaction, &self.owner, &any).await?;
        let heads = heads(transaction, &self.owner).await?;
        let fates =
            self.parcel.files.iter().map(|file| (file, self.fate(file, heads.get(file.path.as_str()))));
        let fates: Vec<(&ParcelFile, Fate)> = fates.collect();
        let plan = plan_of(&fates);
        if let (Existing::Fail, false, Some(first)) =
            (self.existing, self.is_rehearsal, plan.conflict.first())
        {
            let current_version = heads.get(first.as_str()).map_or(0, |head| head.version);
            return Err(WorkspaceError::AlreadyThere { paths: plan.conflict, current_version }.into());
        }
        for (file, fate) in fates {
            let versions = match fate {
                Fate::Create => &file.versions[..],
                Fate::Replace => &file.versions[file.versions.len() - 1..],
                Fate::Same | Fate::Conflict => continue,
            };
            self.write(transaction, file, versions).await?;
        }
        if self.is_rehearsal { Err(ImportEnd::Rehearsed(plan)) } else { Ok(plan) }
    }
}

fn plan_of(fates: &[(&ParcelFile, Fate)]) -> ImportPlan {
    let list = |wanted: Fate| {
        let files = fates.iter().filter(|(_, fate)| *fate == wanted);
        files.map(|(file, _)| file.path.clone()).collect()
    };
    ImportPlan {
        create: list(Fate::Create),
        replace: list(Fate::Replace),
        same: list(Fate::Same),
        conflict: list(Fate::Conflict),
    }
}

impl Import {
    fn fate(&self, file: &ParcelFile, head: Option<&Head>) -> Fate {
        let Some(newest) = file.versions.last() else { return Fate::Same };
        match head {
            None => Fate::Create,
            Some(head) if head.removed && newest.content.is_none() => Fate::Same,
            Some(head) if head.removed => Fate::Create,
            Some(head)
                if newest.content.is_some()
                    && head.sha256 == newest.sha256
                    && head.content_type == newest.content_type =>
            {
                Fate::Same
            }
            Some(_) if self.existing == Existing::Replace => Fate::Replace,
            Some(_) => Fate::Conflict,
        }
    }

    async fn write(
        &self,
        transaction: &mut Transaction,
        file: &ParcelFile,
        versions: &[ParcelVersion],
    ) -> Result<(), WorkspaceError> {
        let now = clock::now();
        for version in versions {
            let author = Author { reason: Some(version.reason.clone()), ..self.writer.author.clone() };
            let becomes = match &version.content {
                Some(content) => Becomes::Content { content, content_type: &version.content_type },
                None => Becomes::Removed,
            };
            let condition = Condition::none();
            let order = Order { path: &file.path, condition: &condition, becomes, author: &author, now };
            write(transaction, &self.owner, &self.limits, order).await?;
        }
        Ok(())
    }
}

const HEADS: &str = "SELECT f.path, f.version, f.removed, f.content_type, v.sha256
    FROM workspaces w JOIN files f ON f.workspace = w.id
    JOIN versions v ON v.file = f.id AND v.version = f.version
    WHERE w.tenant = $1 AND w.name = $2";

async fn heads(transaction: &mut Transaction, owner: &Owner) -> Result<HashMap<String, Head>, StorageError> {
    let parameters = [owner.tenant.as_str().into(), owner.workspace.as_str().into()];
    let mut heads = HashMap::new();
    for mut row in transaction.rows(HEADS, &parameters).await? {
        let sha256 = row.take_bytes(4)?;
        let head = Head {
            version: row.int(1)?,
            removed: row.flag(2)?,
            content_type: row.text(3)?.to_owned(),
            sha256,
        };
        heads.insert(row.text(0)?.to_owned(), head);
    }
    Ok(heads)
}
