//! A run while it goes on. A short one is written down whole at its end; a longer one can be followed while it goes on.

use super::{Moment, Run, RunEvent, RunKind, RunStatus, records::WriteRun, resolved::Resolved};
use crate::host::Inner;
use roost_protocol::{Failure, Tenant};
use roost_storage::Database;
use roost_workspace::Owner;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

/// Longest title; the rest is in the first event.
const TITLE_CHARACTERS: usize = 100;

/// Runs between two looks at those that are too many.
const PRUNE_EVERY: u64 = 200;

/// A run that takes longer than this can be seen before it ends.
const SEEN_AFTER: Duration = Duration::from_millis(250);

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
    resolved: Arc<Resolved>,
    pages: Arc<Mutex<Pages>>,
}

/// What is written down, and what is not yet.
struct Pages {
    database: Database,
    tenant: Tenant,
    id: String,
    /// The run itself, until it is written down.
    run: Option<Run>,
    /// Events that are not written down yet.
    events: Vec<RunEvent>,
    next: i64,
    /// Whether events are written down as they come.
    is_seen: bool,
    is_over: bool,
}

impl Pages {
    fn add(&mut self, kind: &str, node: Option<&str>, payload: Value) {
        self.events.push(new_event(self.next, kind, node, payload));
        self.next += 1;
    }

    /// What is to be written down now, with a new status.
    fn take(&mut self, status: Option<RunStatus>) -> WriteRun {
        let run = self.run.take().map(|run| match status {
            Some(status) => Run { status, ended_at: Some(now()), ..run },
            None => run,
        });
        let events = std::mem::take(&mut self.events);
        WriteRun { id: self.id.clone(), run, events, status, now: now() }
    }

    /// Hands over what there is; the database says when it cannot take it.
    fn hand_in(&mut self, status: Option<RunStatus>) {
        let write = self.take(status);
        if let Err(error) = self.database.hand_in_now(&self.tenant, write) {
            tracing::warn!(%error, run = self.id, "write down what happened in a run");
        }
    }
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
        let mut pages = Pages {
            database,
            tenant: run.owner.tenant.clone(),
            id: run.id.clone(),
            run: Some(run),
            events: Vec::new(),
            next: 0,
            is_seen: false,
            is_over: false,
        };
        let mut payload = payload;
        self.resolved.redactions().redact_json(&mut payload);
        pages.add("run.started", None, payload);
        let id = pages.id.clone();
        let pages = Arc::new(Mutex::new(pages));
        drop(tokio::spawn(show_soon(Arc::downgrade(&pages))));
        let active = ActiveRun { id, resolved: Arc::clone(&self.resolved), pages };
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

/// Lets a run be seen that takes longer.
async fn show_soon(pages: Weak<Mutex<Pages>>) {
    tokio::time::sleep(SEEN_AFTER).await;
    if let Some(pages) = pages.upgrade() {
        let mut pages = lock(&pages);
        if !pages.is_over {
            pages.is_seen = true;
            pages.hand_in(None);
        }
    }
}

impl ActiveRun {
    /// Writes down that something happened.
    pub(crate) fn note(&self, kind: &str, node: Option<&str>, mut payload: Value) {
        self.clear(&mut payload);
        let mut pages = lock(&self.pages);
        pages.add(kind, node, payload);
        if pages.is_seen {
            pages.hand_in(None);
        }
    }

    /// Takes out of something what must not be kept.
    pub(crate) fn clear(&self, kept: &mut Value) {
        self.resolved.redactions().redact_json(kept);
    }

    /// Writes down how it ended, and returns when that is on disk: whoever gets the answer can look at the run.
    pub(crate) async fn end(&self, status: RunStatus, mut payload: Value) {
        self.clear(&mut payload);
        let (database, tenant, write) = {
            let mut pages = lock(&self.pages);
            pages.add(ending(status), None, payload);
            pages.is_over = true;
            (pages.database.clone(), pages.tenant.clone(), pages.take(Some(status)))
        };
        if let Err(error) = database.write(&tenant, write).await {
            tracing::warn!(%error, run = self.id, "write down how a run ended");
        }
    }
}

fn lock(pages: &Mutex<Pages>) -> MutexGuard<'_, Pages> {
    pages.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Whoever asked left.
    fn drop(&mut self) {
        let mut pages = lock(&self.pages);
        if !pages.is_over {
            pages.is_over = true;
            pages.add(ending(RunStatus::Cancelled), None, json!({}));
            pages.hand_in(Some(RunStatus::Cancelled));
        }
    }
}

pub(super) fn new_id() -> String {
    format!("run_{}", uuid::Uuid::now_v7().simple())
}

pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
