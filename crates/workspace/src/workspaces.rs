//! Every workspace of a host: what can be done with files.

mod transfer; // as a whole

use crate::{
    Answered, BatchError, Condition, Content, Diff, Done, Edit, EventPage, File, FileInfo, FilePath, Limits,
    Listing, Match, Once, Owner, Pattern, Prefix, PrefixRule, Proposal, Revision, Rule, Side, SnapshotEntry,
    Usage, Verdict, WorkspaceError, Write, Writer, apply,
    events::ReadEvents,
    proposals::{Decide, ReadProposals},
    put::Put,
    read::{Count, Get, History, List, Measure},
    rules::{ReadRules, SetRule},
    snapshot::{GetThen, ListThen, Pin, Pinned, PinnedNow, Unpin},
    unified_diff,
};
use roost_storage::{Database, Notice};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// How long a search may take before it answers with what it has.
const SEARCH_WITHIN: Duration = Duration::from_secs(2);

/// Lines around a difference.
const CONTEXT_LINES: usize = 3;

/// How often an edit is tried again when others write the same file.
const EDIT_TRIES: usize = 16;

/// Files of all owners. Clones are handles of the same ones.
#[derive(Debug, Clone)]
pub struct Workspaces {
    database: Database,
    limits: Limits,
}

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: FilePath,
    /// Its version then.
    pub version: i64,
    /// The places.
    pub matches: Vec<Match>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// By file, in the order of names.
    pub files: Vec<Found>,
    /// True when there may be more.
    pub is_cut: bool,
}

impl Workspaces {
    /// Workspaces in this database, whose tables are up to date.
    #[must_use]
    pub fn new(database: Database, limits: Limits) -> Self {
        Self { database, limits }
    }

    /// How much each holds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Hears when something was written, on whichever node. The topic is [`Owner::topic`].
    #[must_use]
    pub fn listen(&self) -> broadcast::Receiver<Notice> {
        self.database.listen()
    }

    /// Makes several writes, all or none of them.
    pub async fn write(
        &self,
        owner: &Owner,
        writer: &Writer,
        writes: Vec<Write>,
        once: Option<(String, Once)>,
    ) -> Result<Answered<Vec<Done>>, WorkspaceError> {
        self.write_batch(owner, writer, writes, once).await.map_err(|refused| refused.error)
    }

    /// The same, and where one of them cannot be made, it says which.
    pub async fn write_batch(
        &self,
        owner: &Owner,
        writer: &Writer,
        mut writes: Vec<Write>,
        once: Option<(String, Once)>,
    ) -> Result<Answered<Vec<Done>>, BatchError> {
        for (index, one) in writes.iter_mut().enumerate() {
            let Some(content) = &mut one.content else { continue };
            let kept = writer.redact(&one.path, &content.bytes);
            let kept = kept.map_err(|error| BatchError { index: Some(index), error })?;
            if let std::borrow::Cow::Owned(kept) = kept {
                content.bytes = kept;
            }
        }
        let put = Put { owner: owner.clone(), limits: self.limits, writer: writer.clone(), writes, once };
        self.database.write(&owner.tenant, put).await
    }

    /// Makes one write.
    pub async fn write_one(
        &self,
        owner: &Owner,
        writer: &Writer,
        write: Write,
        once: Option<(String, Once)>,
    ) -> Result<Answered<Done>, WorkspaceError> {
        let Answered { value, replayed } = self.write(owner, writer, vec![write], once).await?;
        let value = value.into_iter().next().ok_or(WorkspaceError::NotFound)?;
        Ok(Answered { value, replayed })
    }

    /// The newest version of a file, or the one that is named.
    pub async fn get(
        &self,
        owner: &Owner,
        path: &FilePath,
        version: Option<i64>,
    ) -> Result<File, WorkspaceError> {
        let get = Get { owner: owner.clone(), path: path.clone(), version };
        self.database.read(&owner.tenant, get).await
    }

    /// Files whose name begins with a text.
    pub async fn list(&self, owner: &Owner, prefix: &Prefix) -> Result<Listing, WorkspaceError> {
        let list = List { owner: owner.clone(), prefix: prefix.clone() };
        self.database.read(&owner.tenant, list).await
    }

    /// How many writes a workspace has seen: unchanged means that nothing changed.
    pub async fn sequence(&self, owner: &Owner) -> Result<i64, WorkspaceError> {
        self.database.read(&owner.tenant, Count { owner: owner.clone() }).await
    }

    /// What was written to a file, newest first.
    pub async fn history(&self, owner: &Owner, path: &FilePath) -> Result<Vec<Revision>, WorkspaceError> {
        self.database.read(&owner.tenant, History { owner: owner.clone(), path: path.clone() }).await
    }

    /// How full a workspace is.
    pub async fn usage(&self, owner: &Owner) -> Result<Usage, WorkspaceError> {
        self.database.scan(&owner.tenant, Measure { owner: owner.clone() }).await
    }

    /// What changed between two versions; the newest one where none is named.
    pub async fn diff(
        &self,
        owner: &Owner,
        path: &FilePath,
        from: i64,
        to: Option<i64>,
    ) -> Result<Diff, WorkspaceError> {
        let old = self.get(owner, path, Some(from)).await?;
        let new = self.get(owner, path, to).await?;
        let name = |file: &File| format!("{} (version {})", path.as_str(), file.info.version);
        let (old_name, new_name) = (name(&old), name(&new));
        let side = |name: &'_ str, file: &'_ File| (name.to_owned(), file.content.clone());
        let (old, new) = (side(&old_name, &old), side(&new_name, &new));
        let compare = move || {
            let old = Side { name: &old.0, content: &old.1 };
            unified_diff(old, Side { name: &new.0, content: &new.1 }, CONTEXT_LINES)
        };
        Ok(tokio::task::spawn_blocking(compare).await.unwrap_or(Diff::TooLarge))
    }

    /// Writes an older version again, as a new one. Brings back a file that was removed.
    pub async fn restore(
        &self,
        owner: &Owner,
        writer: &Writer,
        path: &FilePath,
        version: i64,
        condition: Condition,
    ) -> Result<Done, WorkspaceError> {
        let File { info, content } = self.get(owner, path, Some(version)).await?;
        let content = Content { bytes: content, content_type: info.content_type };
        let write = Write { path: path.clone(), condition, content: Some(content) };
        let writer = writer.because(&format!("restored version {version}"));
        Ok(self.write_one(owner, &writer, write, None).await?.value)
    }

    /// Brings back a file that was removed, as it was before.
    pub async fn undelete(
        &self,
        owner: &Owner,
        writer: &Writer,
        path: &FilePath,
    ) -> Result<Done, WorkspaceError> {
        let history = self.history(owner, path).await?;
        let newest = history.first().ok_or(WorkspaceError::NotFound)?;
        if !newest.removed {
            return Err(WorkspaceError::Conflict { current_version: newest.version });
        }
        let last = history.iter().find(|revision| !revision.removed).ok_or(WorkspaceError::NotFound)?;
        self.restore(owner, writer, path, last.version, Condition::create_only()).await
    }

    /// Gives a file another name, in one step.
    pub async fn rename(
        &self,
        owner: &Owner,
        writer: &Writer,
        from: &FilePath,
        to: &FilePath,
        condition: &Condition,
    ) -> Result<Done, WorkspaceError> {
        let File { info, content } = self.get(owner, from, None).await?;
        if !condition.holds(Some(&info.etag)) {
            return Err(WorkspaceError::Conflict { current_version: info.version });
        }
        let content = Content { bytes: content, content_type: info.content_type };
        let writes = vec![
            Write { path: from.clone(), condition: Condition::unchanged(&info.etag), content: None },
            Write { path: to.clone(), condition: Condition::create_only(), content: Some(content) },
        ];
        let writer = writer.because(&format!("moved from {}", from.as_str()));
        let mut done = self.write(owner, &writer, writes, None).await?.value;
        done.pop().ok_or(WorkspaceError::NotFound)
    }

    /// Changes some lines of the version that the condition names.
    pub async fn edit(
        &self,
        owner: &Owner,
        writer: &Writer,
        path: &FilePath,
        edits: &[Edit],
        condition: &Condition,
    ) -> Result<Done, WorkspaceError> {
        let mut last = WorkspaceError::NotFound;
        for _ in 0..EDIT_TRIES {
            let File { info, content } = self.get(owner, path, None).await?;
            if !condition.holds(Some(&info.etag)) {
                return Err(WorkspaceError::Conflict { current_version: info.version });
            }
            let text = std::str::from_utf8(&content).map_err(|_| WorkspaceError::NotText)?;
            let content =
                Content { bytes: apply(text, edits)?.into_bytes(), content_type: info.content_type };
            let condition = Condition::unchanged(&info.etag);
            let write = Write { path: path.clone(), condition, content: Some(content) };
            match self.write_one(owner, writer, write, None).await {
                Err(conflict @ WorkspaceError::Conflict { .. }) => last = conflict,
                done => return done.map(|answered| answered.value),
            }
        }
        Err(last)
    }

    /// Looks for something in the newest versions.
    pub async fn search(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        pattern: &Pattern,
        matches_max: usize,
    ) -> Result<Findings, WorkspaceError> {
        let deadline = Instant::now() + SEARCH_WITHIN;
        let mut findings = Findings::default();
        let mut left = matches_max;
        for FileInfo { path, .. } in self.list(owner, prefix).await?.files {
            if left == 0 || Instant::now() > deadline {
                findings.is_cut = true;
                break;
            }
            let File { info, content } = match self.get(owner, &path, None).await {
                // It went meanwhile.
                Err(WorkspaceError::NotFound) => continue,
                file => file?,
            };
            let Ok(text) = String::from_utf8(content) else { continue };
            let pattern = pattern.clone();
            let look = move || pattern.matches(&text, left, deadline);
            let Ok(Ok(matches)) = tokio::task::spawn_blocking(look).await else {
                findings.is_cut = true;
                break;
            };
            if !matches.is_empty() {
                left -= matches.len();
                findings.files.push(Found { path, version: info.version, matches });
            }
        }
        Ok(findings)
    }

    /// What happened after an event.
    pub async fn events(
        &self,
        owner: &Owner,
        after: i64,
        events_max: i64,
    ) -> Result<EventPage, WorkspaceError> {
        self.database.read(&owner.tenant, ReadEvents { owner: owner.clone(), after, events_max }).await
    }

    /// What agents may do.
    pub async fn rules(&self, owner: &Owner) -> Result<Vec<PrefixRule>, WorkspaceError> {
        self.database.read(&owner.tenant, ReadRules { owner: owner.clone() }).await
    }

    /// Sets a rule for agents, or takes one back.
    pub async fn set_rule(
        &self,
        owner: &Owner,
        prefix: &Prefix,
        rule: Option<Rule>,
    ) -> Result<(), WorkspaceError> {
        let set = SetRule { owner: owner.clone(), prefix: prefix.clone(), rule };
        self.database.write(&owner.tenant, set).await
    }

    /// What agents propose.
    pub async fn proposals(&self, owner: &Owner) -> Result<Vec<Proposal>, WorkspaceError> {
        self.database.read(&owner.tenant, ReadProposals { owner: owner.clone() }).await
    }

    /// Approves or rejects what an agent proposed.
    pub async fn decide(
        &self,
        owner: &Owner,
        id: i64,
        verdict: Verdict,
        approver: &str,
    ) -> Result<Option<FileInfo>, WorkspaceError> {
        let decide =
            Decide { owner: owner.clone(), limits: self.limits, id, verdict, approver: approver.to_owned() };
        self.database.write(&owner.tenant, decide).await
    }

    /// Pins the current moment and returns it. Costs a write only when something was written since it was last pinned.
    pub async fn take_snapshot(&self, owner: &Owner) -> Result<i64, WorkspaceError> {
        match self.database.read(&owner.tenant, PinnedNow { owner: owner.clone() }).await? {
            Some(sequence) => Ok(sequence),
            None => self.database.write(&owner.tenant, Pin { owner: owner.clone() }).await,
        }
    }

    /// Lets go of a moment that nobody needs any more.
    pub async fn drop_snapshot(&self, owner: &Owner, sequence: i64) -> Result<(), WorkspaceError> {
        let unpin = Unpin { owner: owner.clone(), sequence, versions_max: self.limits.versions_max };
        self.database.write(&owner.tenant, unpin).await
    }

    /// Every pinned moment that was over at least so long ago: nobody who took it can still be unknown.
    pub async fn snapshots(&self, owner: &Owner, ago: Duration) -> Result<Vec<i64>, WorkspaceError> {
        let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
        let over_before = crate::clock::now().saturating_sub(ago);
        self.database.read(&owner.tenant, Pinned { owner: owner.clone(), over_before }).await
    }

    /// What there was at a pinned moment.
    pub async fn list_then(
        &self,
        owner: &Owner,
        sequence: i64,
    ) -> Result<Vec<SnapshotEntry>, WorkspaceError> {
        self.database.read(&owner.tenant, ListThen { owner: owner.clone(), sequence }).await
    }

    /// One file as it was at a pinned moment.
    pub async fn get_then(
        &self,
        owner: &Owner,
        sequence: i64,
        path: &FilePath,
    ) -> Result<File, WorkspaceError> {
        let get = GetThen { owner: owner.clone(), sequence, path: path.clone() };
        self.database.read(&owner.tenant, get).await
    }
}
