//! Runs that a program starts: they wait in a queue, and whichever node is free takes them.
//!
//! A node that dies leaves its claim to run out; what it did is stored at the end, all or nothing, so the next one begins
//! from the same place.

use super::{
    Origin, Run, RunEvent, RunKind, RunStatus,
    recorder::{ending, new_event, new_id, now},
    records::{self, append_and_tell, begin},
};
use crate::{
    host::{Host, Inner},
    store::{local_owner, of_host},
};
use roost_protocol::{Failure, Reason, Tenant};
use roost_storage::{Change, Parameter, StorageError, Transaction};
use roost_workspace::{Answered, Once, Owner, WorkspaceError, find_answer, keep_answer};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a node has for a run before another takes it.
const CLAIM_MS: i64 = 60_000;

/// How often a node looks for runs that others left, and for runs that are too old every so many times.
const TAKE_EVERY: Duration = Duration::from_secs(5);
const PRUNE_EVERY: u64 = 12;

/// Something that can be run by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workflow {
    /// Its name.
    pub id: &'static str,
    /// Its only step.
    pub node: &'static str,
    /// The kind of that step.
    pub node_type: &'static str,
}

/// All workflows. The conformance tests start this one.
const WORKFLOWS: [Workflow; 1] = [Workflow { id: "conformance-noop", node: "noop", node_type: "core.noop" }];

/// The workflow of this name.
#[must_use]
pub fn workflow_named(id: &str) -> Option<Workflow> {
    WORKFLOWS.into_iter().find(|workflow| workflow.id == id)
}

/// How a run is forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkMode {
    /// The same again, on the same files.
    Replay,
    /// The same up to a point, and from there on anew.
    Branch,
}

impl ForkMode {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Branch => "branch",
        }
    }

    /// Reads the written form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Replay, Self::Branch].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// A run that is to be started.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Whose.
    pub owner: Owner,
    /// Who asks for it.
    pub principal: String,
    /// What is to be run.
    pub workflow: Workflow,
    /// `inputs`, `configurable`, `tags` and `metadata` as they were sent.
    pub inputs: Value,
    /// How the request is told apart from others.
    pub once: Option<Once>,
}

/// A fork that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewFork<'a> {
    /// How.
    pub mode: ForkMode,
    /// The first event that is not taken over by a branch.
    pub from_sequence: i64,
    /// Who asks for it.
    pub principal: &'a str,
}

impl Host {
    /// Starts a run. It is picked up at once by this node, or by another one.
    pub async fn start_run(&self, new: NewRun) -> Result<Answered<Run>, WorkspaceError> {
        let unavailable = |failure: Failure| {
            WorkspaceError::Storage(StorageError::Unavailable { message: failure.message })
        };
        let moment = self.inner.current_moment(&new.owner).await.map_err(unavailable)?;
        let run = Run {
            id: new_id(),
            owner: new.owner.clone(),
            kind: RunKind::Workflow,
            workflow: new.workflow.id.to_owned(),
            title: new.workflow.id.to_owned(),
            status: RunStatus::Pending,
            principal: new.principal,
            moment,
            files: None,
            started_at: now(),
            ended_at: None,
            origin: None,
            inputs: new.inputs,
        };
        let database = self.inner.store.database().await.map_err(unavailable)?;
        let start = Start { run, events: Vec::new(), once: new.once };
        let started = database.write(&new.owner.tenant, start).await?;
        self.work_soon();
        Ok(started)
    }

    /// Makes a run out of another one.
    pub async fn fork_run(&self, source: &Run, fork: NewFork<'_>) -> Result<Run, Failure> {
        let events = self.run_events(source, -1, i64::from(i32::MAX)).await?;
        let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
        if fork.from_sequence > count {
            return Err(Failure::new(Reason::BadArguments, "the run has no such event"));
        }
        if fork.mode == ForkMode::Branch && source.kind != RunKind::Workflow {
            let message = "only a workflow can go on from the middle; a turn or a call can be replayed";
            return Err(Failure::new(Reason::BadArguments, message));
        }
        let taken = match fork.mode {
            ForkMode::Replay => events,
            ForkMode::Branch => {
                events.into_iter().filter(|event| event.sequence < fork.from_sequence).collect()
            }
        };
        let status = match fork.mode {
            ForkMode::Replay => source.status,
            ForkMode::Branch => RunStatus::Pending,
        };
        let run = Run {
            id: new_id(),
            status,
            principal: fork.principal.to_owned(),
            started_at: now(),
            ended_at: status.is_final().then(now),
            origin: Some(Origin {
                run: source.id.clone(),
                from_sequence: fork.from_sequence,
                mode: fork.mode,
            }),
            ..source.clone()
        };
        let database = self.inner.store.database().await?;
        let start = Start { run: run.clone(), events: taken, once: None };
        database.write(&source.owner.tenant, start).await.map_err(super::in_words)?;
        self.work_soon();
        Ok(run)
    }

    /// Ends a run. False when it had ended already.
    pub async fn cancel_run(&self, run: &Run) -> Result<bool, Failure> {
        let changed = self.move_run(run, RunStatus::Cancelled).await?;
        self.inner.runs.cancels.cancel(&run.id);
        Ok(changed)
    }

    /// Stops a workflow for a while. False when it had ended already.
    pub async fn pause_run(&self, run: &Run) -> Result<bool, Failure> {
        self.only_workflows(run)?;
        self.move_run(run, RunStatus::Paused).await
    }

    /// Lets a paused workflow go on. False when it had ended already.
    pub async fn resume_run(&self, run: &Run) -> Result<bool, Failure> {
        self.only_workflows(run)?;
        let changed = self.move_run(run, RunStatus::Pending).await?;
        self.work_soon();
        Ok(changed)
    }

    fn only_workflows(&self, run: &Run) -> Result<(), Failure> {
        if run.kind == RunKind::Workflow {
            return Ok(());
        }
        Err(Failure::new(Reason::BadArguments, "a turn or a call can be ended, not paused"))
    }

    async fn move_run(&self, run: &Run, to: RunStatus) -> Result<bool, Failure> {
        let database = self.inner.store.database().await?;
        Ok(database.write(&run.owner.tenant, Move { run: run.clone(), to }).await?)
    }

    /// Takes what waits, on this node.
    fn work_soon(&self) {
        let inner = std::sync::Arc::clone(&self.inner);
        drop(tokio::spawn(async move {
            if let Err(failure) = inner.work().await {
                tracing::warn!(%failure, "take runs that wait");
            }
        }));
    }

    /// Takes what other nodes left and looks after old runs, as long as the host lives. To be raced with its end.
    pub async fn take_what_waits(&self) -> std::convert::Infallible {
        let mut tick = tokio::time::interval(TAKE_EVERY);
        for round in 0_u64.. {
            tick.tick().await;
            // A host whose database nobody needed yet has nothing to take.
            if self.inner.store.opened().is_none() {
                continue;
            }
            let mut done = self.inner.work().await;
            if done.is_ok() && round % PRUNE_EVERY == 0 {
                done = self.inner.prune_runs(&local_owner()).await;
            }
            if let Err(failure) = done {
                tracing::warn!(%failure, "take runs that wait");
            }
        }
        std::future::pending().await
    }
}

impl Inner {
    async fn work(&self) -> Result<(), Failure> {
        let database = self.store.database().await?;
        while let Some((run, tenant)) = database.write(&of_host(), Claim).await? {
            let tenant = Tenant::parse(&tenant)
                .map_err(|_| Failure::new(Reason::Internal, "a run that waits belongs to nobody"))?;
            database.write(&tenant, Carry { run }).await?;
        }
        Ok(())
    }
}

/// Writes down a run that waits.
struct Start {
    run: Run,
    events: Vec<RunEvent>,
    once: Option<Once>,
}

const QUEUE: &str = "INSERT INTO shared_claims (run, tenant, claimed_until, queued_at)
    VALUES ($1, $2, 0, $3) ON CONFLICT (run) DO NOTHING";
const UNQUEUE: &str = "DELETE FROM shared_claims WHERE run = $1";

impl Change for Start {
    type Output = Answered<Run>;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Answered<Run>, WorkspaceError> {
        let Run { owner, id, .. } = &self.run;
        let at = now();
        if let Some(once) = &self.once
            && let Some(earlier) = find_answer(transaction, owner, "runs", once, at).await?
            && let Some(run) = records::get(transaction, owner, &earlier).await?
        {
            return Ok(Answered { value: run, replayed: true });
        }
        begin(transaction, &self.run).await?;
        append_and_tell(transaction, id, &self.events).await?;
        if !self.run.status.is_final() {
            let queue = [Parameter::from(id), owner.tenant.as_str().into(), at.into()];
            transaction.execute(QUEUE, &queue).await?;
        }
        if let Some(once) = &self.once {
            keep_answer(transaction, owner, "runs", once, id, at).await?;
        }
        Ok(Answered::new(self.run.clone()))
    }
}

/// Takes the run that waits longest.
struct Claim;

const CLAIM_SQLITE: &str = "UPDATE shared_claims SET claimed_until = $1 WHERE run =
    (SELECT run FROM shared_claims WHERE claimed_until < $2 ORDER BY queued_at LIMIT 1)
    RETURNING run, tenant";
const CLAIM_POSTGRES: &str = "UPDATE shared_claims SET claimed_until = $1 WHERE run =
    (SELECT run FROM shared_claims WHERE claimed_until < $2 ORDER BY queued_at LIMIT 1
    FOR UPDATE SKIP LOCKED) RETURNING run, tenant";

impl Change for Claim {
    type Output = Option<(String, String)>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Self::Output, StorageError> {
        let at = now();
        let sql = transaction.engine().pick(CLAIM_SQLITE, CLAIM_POSTGRES);
        let taken = transaction.returning(sql, &[(at + CLAIM_MS).into(), at.into()]).await?;
        let taken = taken.first().map(|row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned())));
        taken.transpose()
    }
}

/// Carries a run out: all of it, or nothing when somebody stopped it meanwhile.
struct Carry {
    run: String,
}

const STATE: &str =
    "SELECT status, workflow, inputs, (SELECT count(*) FROM run_events e WHERE e.run = runs.id)
    FROM runs WHERE id = $1";
const COMPLETE: &str = "UPDATE runs SET status = 'completed', ended_at = $2 WHERE id = $1";

impl Change for Carry {
    type Output = ();
    type Error = StorageError;

    fn lane(&self) -> &str {
        &self.run
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        let id = Parameter::from(&self.run);
        transaction.execute(UNQUEUE, &[id]).await?;
        let Some(state) = transaction.row(STATE, &[id]).await? else { return Ok(()) };
        if state.text(0)? != RunStatus::Pending.as_str() {
            return Ok(());
        }
        let Some(workflow) = workflow_named(state.text(1)?) else { return Ok(()) };
        let events = steps(&workflow, state.int(3)?);
        append_and_tell(transaction, &self.run, &events).await?;
        transaction.execute(COMPLETE, &[id, now().into()]).await?;
        Ok(())
    }
}

/// What happens in a workflow whose only step does nothing, from one event on.
fn steps(workflow: &Workflow, from: i64) -> Vec<RunEvent> {
    let node = json!({ "nodeType": workflow.node_type });
    let all = [
        ("run.started", None, json!({ "workflowId": workflow.id })),
        ("node.started", Some(workflow.node), node.clone()),
        ("node.completed", Some(workflow.node), node),
        (ending(RunStatus::Completed), None, json!({})),
    ];
    (0..)
        .zip(all)
        .filter(|(sequence, _)| *sequence >= from)
        .map(|(sequence, (kind, node, payload))| new_event(sequence, kind, node, payload))
        .collect()
}

/// Cancels, pauses or resumes a run.
struct Move {
    run: Run,
    to: RunStatus,
}

const COUNT: &str = "SELECT count(*) FROM run_events WHERE run = $1";

impl Change for Move {
    type Output = bool;
    type Error = StorageError;

    fn lane(&self) -> &str {
        &self.run.id
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<bool, StorageError> {
        let id = Parameter::from(&self.run.id);
        let at = now();
        let ended = self.to.is_final().then_some(at);
        if transaction.execute(records::STATUS, &[id, self.to.as_str().into(), ended.into()]).await? == 0 {
            return Ok(false);
        }
        if self.to == RunStatus::Pending {
            let queue = [id, self.run.owner.tenant.as_str().into(), at.into()];
            transaction.execute(QUEUE, &queue).await?;
        } else {
            transaction.execute(UNQUEUE, &[id]).await?;
        }
        // The events of a turn or call that goes on are numbered by whoever runs it.
        if self.run.kind == RunKind::Workflow {
            let count = transaction.row(COUNT, &[id]).await?.map_or(Ok(0), |row| row.int(0))?;
            let kind = match self.to {
                RunStatus::Paused => "run.paused",
                RunStatus::Pending => "run.resumed",
                other => ending(other),
            };
            append_and_tell(transaction, &self.run.id, &[new_event(count, kind, None, json!({}))]).await?;
        }
        Ok(true)
    }
}
