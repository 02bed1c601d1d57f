//! Runs: every turn, direct call and workflow, as it happened, and what it saw of the files.
//!
//! What happens in a run is written down while it happens; nobody waits for the disk. A database that cannot be used
//! costs the record, never the answer.

mod records; // runs in the database
mod recorder; // a run while it goes on
mod cancels; // runs that somebody may end
mod resolved; // secrets that must not be kept
mod turns; // what is written down of a turn
mod calls; // what is written down of a call
mod workflow; // runs that a program starts
mod replay; // going through a run again
mod transfer; // runs that travel

use crate::host::{Host, Inner};
use calls::Gathered;
pub(crate) use cancels::Cancels;
pub(crate) use recorder::{ActiveRun, Beginning};
use records::{Get, IsNeeded, List, Prune, ReadEvents, Remove};
pub use replay::{Difference, Replayed};
pub(crate) use resolved::Resolved;
use roost_protocol::{Failure, Reason};
pub use roost_storage::Notice;
use roost_workspace::{Owner, WorkspaceError, WorkspaceName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{sync::atomic::AtomicU64, time::Duration};
pub use transfer::ImportedRun;
pub(crate) use turns::{RecordedModel, RecordedTools};
pub use workflow::{ForkMode, NewFork, NewRun, Workflow, workflow_named};

/// Turns and workflows of one workspace that are kept; older ones go, with what only they needed.
const RUNS_KEPT: i64 = 1000;

/// How long a moment is kept after it was over, whether a run needs it or not: a call is written down when it ends.
const MOMENT_KEPT: Duration = Duration::from_secs(30 * 60);

/// Direct calls that are kept besides.
const CALLS_KEPT: usize = 1000;

/// What this node knows of runs besides the database.
#[derive(Default)]
pub(crate) struct RunState {
    pub(crate) cancels: Cancels,
    gathered: Gathered,
    /// Runs since the start, to look after old ones now and then.
    begun: AtomicU64,
}

/// What a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// One turn of a conversation.
    Chat,
    /// One call of an agent.
    Call,
    /// Steps that a program asked for.
    Workflow,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// It waits for a node.
    Pending,
    /// It goes on.
    Running,
    /// Somebody stopped it for a while.
    Paused,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
    /// Whoever asked for it left, or ended it.
    Cancelled,
}

impl RunStatus {
    const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled];

    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// True when nothing more will happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The files a run sees: a workspace as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// Whose files.
    pub owner: Owner,
    /// The newest write then.
    pub sequence: i64,
}

/// A file that a run saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Its name.
    pub path: String,
    /// Its version then.
    pub version: i64,
}

/// Where a run was forked from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The other run.
    pub run: String,
    /// Events before this one were taken over.
    pub from_sequence: i64,
    /// How.
    pub mode: ForkMode,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name; later runs have greater ones.
    pub id: String,
    /// Whose.
    pub owner: Owner,
    /// What it is.
    pub kind: RunKind,
    /// `chat`, the agent of a call, or the workflow.
    pub workflow: String,
    /// A few words for people.
    pub title: String,
    /// How far it is.
    pub status: RunStatus,
    /// Who asked for it.
    pub principal: String,
    /// What it sees of the files.
    pub moment: Moment,
    /// What it saw, when it happened elsewhere.
    pub files: Option<Vec<SeenFile>>,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// Where it was forked from.
    pub origin: Option<Origin>,
    /// What a program gave a workflow.
    pub inputs: Value,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Counted from 0, without gaps.
    pub sequence: i64,
    /// Its name.
    pub id: String,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent or step it is about.
    pub node: Option<String>,
    /// The event that led to it.
    pub causation: Option<String>,
    /// Milliseconds since 1970.
    pub at: i64,
    /// What is known of it.
    pub payload: Value,
}

impl Host {
    /// The newest runs of an owner, newest first; those before a run when one is named.
    pub async fn runs(
        &self,
        owner: &Owner,
        before: Option<&str>,
        runs_max: i64,
    ) -> Result<Vec<Run>, Failure> {
        self.settle_runs().await?;
        let list = List { owner: owner.clone(), before: before.map(str::to_owned), runs_max };
        Ok(self.inner.store.database().await?.read(&owner.tenant, list).await?)
    }

    /// One run of an owner.
    pub async fn run(&self, owner: &Owner, id: &str) -> Result<Run, Failure> {
        let get = || Get { owner: owner.clone(), id: id.to_owned() };
        let database = self.inner.store.database().await?;
        let mut found = database.read(&owner.tenant, get()).await?;
        if found.is_none() {
            self.settle_runs().await?;
            found = database.read(&owner.tenant, get()).await?;
        }
        found.ok_or_else(|| Failure::plain(Reason::UnknownRun))
    }

    /// What happened in a run, after one of its events; all of it after -1.
    pub async fn run_events(&self, run: &Run, after: i64, events_max: i64) -> Result<Vec<RunEvent>, Failure> {
        let read = ReadEvents { run: run.id.clone(), after, events_max };
        Ok(self.inner.store.database().await?.read(&run.owner.tenant, read).await?)
    }

    /// What a run sees of the files.
    pub async fn run_files(&self, run: &Run) -> Result<Vec<SeenFile>, Failure> {
        if let Some(files) = &run.files {
            return Ok(files.clone());
        }
        let Ok(workspaces) = self.workspaces().await else { return Ok(Vec::new()) };
        let then = workspaces.list_then(&run.moment.owner, run.moment.sequence).await;
        let seen = |entry: roost_workspace::SnapshotEntry| SeenFile {
            path: entry.path.as_str().to_owned(),
            version: entry.version,
        };
        Ok(then.map_err(in_words)?.into_iter().map(seen).collect())
    }

    /// Hears when something happens in a run, on whichever node.
    pub async fn listen_to_runs(&self) -> Result<tokio::sync::broadcast::Receiver<Notice>, Failure> {
        Ok(self.inner.store.database().await?.listen())
    }

    /// Removes a run that ended, and lets go of what only it needed.
    pub async fn remove_run(&self, run: &Run) -> Result<(), Failure> {
        let database = self.inner.store.database().await?;
        database.write(&run.owner.tenant, Remove { id: run.id.clone() }).await?;
        self.inner.prune_runs(&run.moment.owner).await
    }
}

impl Inner {
    /// Removes runs that are too many, marks those whose node is gone, and lets go of moments that nobody needs.
    pub(crate) async fn prune_runs(&self, owner: &Owner) -> Result<(), Failure> {
        let database = self.store.database().await?;
        database.write(&owner.tenant, Prune { owner: owner.clone(), runs_kept: RUNS_KEPT }).await?;
        let Ok(workspaces) = self.store.workspaces().await else { return Ok(()) };
        for sequence in workspaces.snapshots(owner, MOMENT_KEPT).await.map_err(in_words)? {
            let moment = Moment { owner: owner.clone(), sequence };
            if !database.read(&owner.tenant, IsNeeded(moment)).await? {
                workspaces.drop_snapshot(owner, sequence).await.map_err(in_words)?;
            }
        }
        Ok(())
    }
}

/// The topic of notices about one run.
#[must_use]
pub fn run_topic(id: &str) -> String {
    format!("run/{id}")
}

/// Why files could not be used, where only a sentence is needed.
pub(crate) fn in_words(error: WorkspaceError) -> Failure {
    match error {
        WorkspaceError::Storage(error) => error.into(),
        other => Failure::new(Reason::BadRequest, other.to_string()),
    }
}

fn workspace_name(text: &str) -> Result<WorkspaceName, roost_storage::StorageError> {
    WorkspaceName::parse(text).map_err(|_| damaged("the name of a workspace is not one"))
}

fn damaged(message: &str) -> roost_storage::StorageError {
    roost_storage::StorageError::Corrupt { message: message.to_owned() }
}
