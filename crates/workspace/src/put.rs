//! Writing and removing one file, or several at once.

use crate::{
    Condition, Etag, FileInfo, FilePath, Limits, Once, Owner, Role, WorkspaceError, Writer, answers,
    answers::Answered,
    clock,
    proposals::propose,
    rules::{PrefixRule, Rule, rule_for, rules},
    together::put_together,
    write::{Becomes, Order, length, look, write},
};
use roost_storage::{Change, StorageError, Transaction};
use serde::{Deserialize, Serialize};

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// It is made: this is the file now. A file that was removed has the version of its removal.
    Made(FileInfo),
    /// It waits for a person under this number.
    Proposed(i64),
}

/// What is to become of one file.
#[derive(Debug, Clone)]
pub struct Write {
    /// Which file.
    pub path: FilePath,
    /// What must hold for it.
    pub condition: Condition,
    /// Its content; absent to remove it.
    pub content: Option<Content>,
}

/// A content and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What they are.
    pub content_type: String,
}

impl Write {
    fn becomes(&self) -> Becomes<'_> {
        match &self.content {
            Some(Content { bytes, content_type }) => Becomes::Content { content: bytes, content_type },
            None => Becomes::Removed,
        }
    }
}

/// Writes that are made all or not at all, in order.
pub(crate) struct Put {
    pub(crate) owner: Owner,
    pub(crate) limits: Limits,
    pub(crate) writer: Writer,
    pub(crate) writes: Vec<Write>,
    /// How the request is told apart from others, with the operation it is for.
    pub(crate) once: Option<(String, Once)>,
}

/// Why a batch was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchError {
    /// The write that could not be made, counted from 0; absent when it was none of them.
    pub index: Option<usize>,
    /// Why.
    pub error: WorkspaceError,
}

impl From<WorkspaceError> for BatchError {
    fn from(error: WorkspaceError) -> Self {
        Self { index: None, error }
    }
}

impl From<StorageError> for BatchError {
    fn from(error: StorageError) -> Self {
        WorkspaceError::from(error).into()
    }
}

impl Change for Put {
    type Output = Answered<Vec<Done>>;
    type Error = BatchError;

    fn lane(&self) -> &str {
        self.owner.workspace.as_str()
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<Answered<Vec<Done>>, BatchError> {
        let now = clock::now();
        // Locks the workspace first: the same request on another node must not find that nothing was answered yet.
        if let (Some(_), Some(first)) = (&self.once, self.writes.first()) {
            look(transaction, &self.owner, &first.path).await?;
        }
        if let Some((operation, once)) = &self.once
            && let Some(outcome) =
                answers::find_answer(transaction, &self.owner, operation, once, now).await?
            && let Ok(value) = serde_json::from_str(&outcome)
        {
            return Ok(Answered { value, replayed: true });
        }
        let rules = match self.writer.role {
            Role::Agent => rules(transaction, &self.owner).await?,
            Role::Person => Vec::new(),
        };
        let mut done = Vec::with_capacity(self.writes.len());
        for (index, one) in self.writes.iter().enumerate() {
            let made = self.make_one(transaction, one, &rules, now).await;
            done.push(made.map_err(|error| BatchError { index: Some(index), error })?);
        }
        if let Some((operation, once)) = &self.once
            && let Ok(outcome) = serde_json::to_string(&done)
        {
            answers::keep_answer(transaction, &self.owner, operation, once, &outcome, now).await?;
        }
        Ok(Answered::new(done))
    }

    async fn apply_together<'a>(
        changes: &'a [&'a Self],
        transaction: &'a mut Transaction,
    ) -> Result<Vec<Option<Self::Output>>, StorageError> {
        let made = put_together(transaction, changes).await?;
        Ok(made.into_iter().map(|made| made.map(|info| Answered::new(vec![Done::Made(info)]))).collect())
    }
}

impl Put {
    /// What it writes, where nothing about it has to be looked up or decided but whether the version is still the same.
    pub(crate) fn simply(&self) -> Option<(&Write, &Content, Option<Etag>)> {
        let ([write], None, Role::Person) = (self.writes.as_slice(), &self.once, self.writer.role) else {
            return None;
        };
        let content = write.content.as_ref()?;
        let is_small = length(&content.bytes) <= self.limits.file_bytes_max;
        write.condition.simply().filter(|_| is_small).map(|seen| (write, content, seen))
    }

    async fn make_one(
        &self,
        transaction: &mut Transaction,
        one: &Write,
        rules: &[PrefixRule],
        now: i64,
    ) -> Result<Done, WorkspaceError> {
        let order = Order {
            path: &one.path,
            condition: &one.condition,
            becomes: one.becomes(),
            author: &self.writer.author,
            now,
        };
        match rule_for(rules, one.path.as_str()) {
            Rule::Write => Ok(Done::Made(write(transaction, &self.owner, &self.limits, order).await?)),
            Rule::Read => Err(WorkspaceError::ReadOnlyForAgents),
            Rule::Propose => {
                let look = look(transaction, &self.owner, &one.path).await?;
                if !one.condition.holds(look.etag()) {
                    return Err(WorkspaceError::Conflict { current_version: look.current_version() });
                }
                Ok(Done::Proposed(propose(transaction, &self.owner, &order, look.etag()).await?))
            }
        }
    }
}
