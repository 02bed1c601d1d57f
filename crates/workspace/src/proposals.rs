//! Changes that agents propose and a person decides about.

use crate::{
    Author, Condition, Etag, FileInfo, FilePath, Limits, Owner, WorkspaceError,
    read::stored_path,
    write::{Becomes, Order, stored_etag, write},
};
use roost_storage::{Change, Parameter, Row, StorageError, Transaction};

/// Proposals that may wait in one workspace; an agent that makes more is told so.
const PROPOSALS_MAX: i64 = 100;

/// One change that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its number.
    pub id: i64,
    /// The file.
    pub path: FilePath,
    /// The version it was made for; absent for a new file.
    pub etag: Option<Etag>,
    /// What the file is to hold; absent when it is to be removed.
    pub content: Option<Vec<u8>>,
    /// What that is.
    pub content_type: String,
    /// Who proposes it.
    pub author: Author,
    /// Milliseconds since 1970.
    pub at: i64,
}

const COUNT: &str = "SELECT count(*) FROM proposals WHERE tenant = $1 AND workspace = $2";
const INSERT: &str = "INSERT INTO proposals
    (tenant, workspace, path, etag, content_type, removes, principal, run, node, reason, at, content)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id";

/// Keeps a change for a person to decide about.
pub(crate) async fn propose(
    transaction: &mut Transaction,
    owner: &Owner,
    order: &Order<'_>,
    etag: Option<&Etag>,
) -> Result<i64, WorkspaceError> {
    let (tenant, workspace) = (owner.tenant.as_str(), owner.workspace.as_str());
    let count = transaction.row(COUNT, &[tenant.into(), workspace.into()]).await?;
    let count = count.map_or(Ok(0), |row| row.int(0))?;
    crate::write::within(crate::Limit::Files, PROPOSALS_MAX, count + 1)?;
    let (content, content_type, removes) = match order.becomes {
        Becomes::Content { content, content_type } => (content, content_type, 0),
        Becomes::Removed => (&[][..], "", 1),
    };
    let author = order.author;
    let parameters = [
        tenant.into(),
        workspace.into(),
        order.path.as_str().into(),
        etag.map(Etag::as_str).into(),
        content_type.into(),
        Parameter::from(removes),
        Parameter::from(&author.principal),
        author.run.as_deref().into(),
        author.node.as_deref().into(),
        author.reason.as_deref().into(),
        order.now.into(),
        content.into(),
    ];
    let made = transaction.returning(INSERT, &parameters).await?;
    Ok(made.first().map_or(Ok(0), |row| row.int(0))?)
}

const COLUMNS: &str =
    "SELECT id, path, etag, content_type, removes, principal, run, node, reason, at, content
    FROM proposals WHERE tenant = $1 AND workspace = $2 ORDER BY id";
const ONE: &str = "SELECT id, path, etag, content_type, removes, principal, run, node, reason, at, content
    FROM proposals WHERE tenant = $1 AND workspace = $2 AND id = $3";
const REMOVE: &str = "DELETE FROM proposals WHERE tenant = $1 AND workspace = $2 AND id = $3";

fn proposal(mut row: Row) -> Result<Proposal, StorageError> {
    let content = row.take_bytes(10)?;
    let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
    Ok(Proposal {
        id: row.int(0)?,
        path: stored_path(row.text(1)?)?,
        etag: row.optional_text(2)?.map(stored_etag).transpose()?,
        content_type: row.text(3)?.to_owned(),
        content: (!row.flag(4)?).then_some(content),
        author: Author {
            principal: row.text(5)?.to_owned(),
            run: text(6)?,
            node: text(7)?,
            reason: text(8)?,
        },
        at: row.int(9)?,
    })
}

pub(crate) struct ReadProposals {
    pub(crate) owner: Owner,
}

impl Change for ReadProposals {
    type Output = Vec<Proposal>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<Proposal>, WorkspaceError> {
        let parameters = [self.owner.tenant.as_str(), self.owner.workspace.as_str()].map(Parameter::from);
        let rows = transaction.rows(COLUMNS, &parameters).await?;
        Ok(rows.into_iter().map(proposal).collect::<Result<_, _>>()?)
    }
}

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The change is made.
    Approve,
    /// It is not.
    Reject,
}

/// Makes a proposed change, or drops it. It is made only to the version that it was proposed for.
pub(crate) struct Decide {
    pub(crate) owner: Owner,
    pub(crate) limits: Limits,
    pub(crate) id: i64,
    pub(crate) verdict: Verdict,
    pub(crate) approver: String,
}

impl Change for Decide {
    type Output = Option<FileInfo>;
    type Error = WorkspaceError;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<FileInfo>, WorkspaceError> {
        let parameters = [
            self.owner.tenant.as_str().into(),
            self.owner.workspace.as_str().into(),
            Parameter::from(self.id),
        ];
        let row = transaction.row(ONE, &parameters).await?.ok_or(WorkspaceError::NotFound)?;
        let proposal = proposal(row)?;
        transaction.execute(REMOVE, &parameters).await?;
        if self.verdict == Verdict::Reject {
            return Ok(None);
        }
        let condition = match &proposal.etag {
            Some(etag) => Condition::unchanged(etag),
            None => Condition::create_only(),
        };
        let becomes = match &proposal.content {
            Some(content) => Becomes::Content { content, content_type: &proposal.content_type },
            None => Becomes::Removed,
        };
        let reason = format!("approved by {}", self.approver);
        let author = Author { reason: Some(reason), ..proposal.author.clone() };
        let now = crate::clock::now();
        let order = Order { path: &proposal.path, condition: &condition, becomes, author: &author, now };
        write(transaction, &self.owner, &self.limits, order).await.map(Some)
    }
}
