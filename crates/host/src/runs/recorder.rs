//! A run while it goes on: what happens is handed to the database at once, and nobody waits for its disk.

use super::{
    Moment, Run, RunEvent, RunKind, RunStatus,
    records::{Append, Begin},
    resolved::Resolved,
};
use crate::host::Inner;
use roost_protocol::Failure;
use roost_storage::Database;
use roost_workspace::Owner;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Longest title; the rest is in the first event.
const TITLE_CHARACTERS: usize = 100;

/// Runs between two looks at those that are too many.
const PRUNE_EVERY: u64 = 50;

/// What is known when a run begins.
pub(crate) struct Beginning<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) kind: RunKind,
    pub(crate) workflow: &'a str,
    pub(crate) title: &'a str,
    pub(crate) principal: &'a str,
    /// The moment of an earlier run that this one belongs to; the current one when absent.
    pub(crate) moment: Option<Moment>,
}

/// A run that goes on. Dropped without an end, it was cancelled.
pub(crate) struct ActiveRun {
    pub(crate) id: String,
    owner: Owner,
    database: Database,
    resolved: Arc<Resolved>,
    /// The number of the next event. Held until an event has its place, so that they come in order.
    next: tokio::sync::Mutex<i64>,
    ended: AtomicBool,
}

impl Inner {
    /// Begins to write down a run. Without a database there is no record, and the run goes on all the same.
    pub(crate) async fn begin_run(&self, beginning: Beginning<'_>, payload: Value) -> Option<ActiveRun> {
        match self.try_to_begin(beginning, payload).await {
            Ok(run) => Some(run),
            Err(failure) => {
                tracing::warn!(%failure, "this run is not recorded");
                None
            }
        }
    }

    async fn try_to_begin(&self, beginning: Beginning<'_>, payload: Value) -> Result<ActiveRun, Failure> {
        let database = self.store.database().await?.clone();
        let moment = match beginning.moment {
            Some(moment) => moment,
            None => self.current_moment(beginning.owner).await?,
        };
        let title: String = beginning.title.chars().take(TITLE_CHARACTERS).collect();
        let run = Run {
            id: new_id(),
            owner: beginning.owner.clone(),
            kind: beginning.kind,
            workflow: beginning.workflow.to_owned(),
            title: self.resolved.redactions().redact(&title).into_owned(),
            status: RunStatus::Running,
            principal: beginning.principal.to_owned(),
            moment,
            files: None,
            started_at: now(),
            ended_at: None,
            origin: None,
            inputs: Value::Null,
        };
        let active = ActiveRun {
            id: run.id.clone(),
            owner: run.owner.clone(),
            database,
            resolved: Arc::clone(&self.resolved),
            next: tokio::sync::Mutex::new(1),
            ended: AtomicBool::new(false),
        };
        let events = vec![active.event(0, "run.started", None, payload)];
        active.database.hand_in(&active.owner.tenant, Begin { run, events }).await?;
        if self.runs.begun.fetch_add(1, Ordering::Relaxed) % PRUNE_EVERY == PRUNE_EVERY - 1
            && let Err(failure) = self.prune_runs(beginning.owner).await
        {
            tracing::warn!(%failure, "remove old runs");
        }
        Ok(active)
    }

    pub(crate) async fn current_moment(&self, owner: &Owner) -> Result<Moment, Failure> {
        let sequence = match self.store.workspaces().await {
            Ok(workspaces) => workspaces.take_snapshot(owner).await.map_err(super::in_words)?,
            // Without workspaces there is nothing to see.
            Err(_) => 0,
        };
        Ok(Moment { owner: owner.clone(), sequence })
    }
}

impl ActiveRun {
    /// Writes down that something happened.
    pub(crate) async fn note(&self, kind: &str, node: Option<&str>, payload: Value) {
        self.hand_in(kind, node, payload).await;
    }

    /// Takes out of something what must not be kept.
    pub(crate) fn clear(&self, kept: &mut Value) {
        self.resolved.redactions().redact_json(kept);
    }

    /// Writes down how it ended, and returns when that is on disk: whoever gets the answer can look at the run.
    pub(crate) async fn end(&self, status: RunStatus, payload: Value) {
        self.ended.store(true, Ordering::Relaxed);
        let next = self.next.lock().await;
        let events = vec![self.event(*next, ending(status), None, payload)];
        let append = Append { run: self.id.clone(), events, status: Some(status), now: now() };
        if let Err(error) = self.database.write(&self.owner.tenant, append).await {
            tracing::warn!(%error, run = self.id, "write down how a run ended");
        }
    }

    async fn hand_in(&self, kind: &str, node: Option<&str>, payload: Value) {
        let mut next = self.next.lock().await;
        let events = vec![self.event(*next, kind, node, payload)];
        let append = Append { run: self.id.clone(), events, status: None, now: now() };
        match self.database.hand_in(&self.owner.tenant, append).await {
            Ok(()) => *next += 1,
            Err(error) => tracing::warn!(%error, run = self.id, "write down what happened in a run"),
        }
    }

    fn event(&self, sequence: i64, kind: &str, node: Option<&str>, mut payload: Value) -> RunEvent {
        self.clear(&mut payload);
        new_event(sequence, kind, node, payload)
    }
}

/// How the last event of a run is called.
pub(super) fn ending(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "run.completed",
        RunStatus::Cancelled => "run.cancelled",
        _ => "run.failed",
    }
}

pub(super) fn new_event(sequence: i64, kind: &str, node: Option<&str>, payload: Value) -> RunEvent {
    RunEvent {
        sequence,
        id: format!("evt_{}", uuid::Uuid::now_v7().simple()),
        kind: kind.to_owned(),
        node: node.map(str::to_owned),
        causation: None,
        at: now(),
        payload,
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        if self.ended.load(Ordering::Relaxed) {
            return;
        }
        // Whoever asked left. The task is short and ends by itself.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let sequence = *self.next.get_mut();
        let event = self.event(sequence, ending(RunStatus::Cancelled), None, json!({}));
        let append = Append {
            run: std::mem::take(&mut self.id),
            events: vec![event],
            status: Some(RunStatus::Cancelled),
            now: now(),
        };
        let (database, tenant) = (self.database.clone(), self.owner.tenant.clone());
        drop(runtime.spawn(async move { database.hand_in(&tenant, append).await }));
    }
}

pub(super) fn new_id() -> String {
    format!("run_{}", uuid::Uuid::now_v7().simple())
}

pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
