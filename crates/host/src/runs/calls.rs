//! Direct calls as runs: what went in, what came out, and the receipt.
//!
//! A call may take less time than one write, so calls are gathered and written down together a second later. Of more
//! than a certain number in that second, the others are not written down, and their receipts name no run.

use super::{
    CALLS_KEPT, Moment, Run, RunKind, RunStatus,
    recorder::{ending, new_event, new_id, now},
    records::WriteCalls,
    resolved::Resolved,
};
use crate::{
    host::{Host, Inner},
    perform::Request,
    store::local_owner,
};
use roost_protocol::{CallOutcome, Failure, UserGuid};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// How long calls are gathered, and how many: more would cost those who call more than a look back is worth.
const GATHERED_FOR: Duration = Duration::from_secs(1);
const GATHERED_MAX: usize = 250;

/// How long the moment of the files is believed without a look, because another node may write too.
const MOMENT_FOR: Duration = Duration::from_millis(250);

/// Calls that ended and are not written down yet.
#[derive(Default)]
pub(crate) struct Gathered {
    calls: Mutex<Vec<EndedCall>>,
    /// Places that were taken since calls were last written down.
    taken: AtomicUsize,
    moment: Mutex<Option<KnownMoment>>,
}

struct KnownMoment {
    moment: Moment,
    at: Instant,
    /// What the database said then.
    stored: i64,
}

/// A call with everything that is written down of it.
struct EndedCall {
    id: String,
    name: String,
    arguments: Map<String, Value>,
    user: Option<UserGuid>,
    moment: Moment,
    started_at: i64,
    ended_at: i64,
    /// Nothing when whoever called left.
    outcome: Option<Result<CallOutcome, Failure>>,
}

impl Inner {
    /// Makes a call and writes it down.
    pub(crate) async fn as_run<F: Future<Output = Result<CallOutcome, Failure>>>(
        self: &Arc<Self>,
        name: &str,
        request: &Request,
        call: impl FnOnce(Request) -> F,
    ) -> Result<CallOutcome, Failure> {
        if self.runs.gathered.taken.fetch_add(1, Ordering::Relaxed) >= GATHERED_MAX {
            return call(request.clone()).await;
        }
        let moment = match self.moment_of_calls().await {
            Ok(moment) => moment,
            Err(failure) => {
                // The place is free again, for when the database is back.
                self.runs.gathered.taken.fetch_sub(1, Ordering::Relaxed);
                tracing::warn!(%failure, "this call is not recorded");
                return call(request.clone()).await;
            }
        };
        let mut going_on = GoingOn {
            inner: self,
            call: Some(EndedCall {
                id: new_id(),
                name: name.to_owned(),
                arguments: request.arguments.clone(),
                user: request.user.clone(),
                moment,
                started_at: now(),
                ended_at: 0,
                outcome: None,
            }),
        };
        let run = going_on.call.as_ref().map(|call| call.id.clone());
        let called = call(Request { run, ..request.clone() }).await;
        if let Some(ended) = &mut going_on.call {
            ended.outcome = Some(called.clone());
        }
        called
    }

    /// The moment of the files, looked up only when something may have changed it.
    async fn moment_of_calls(&self) -> Result<Moment, Failure> {
        let database = self.store.database().await?;
        let stored = database.stored()?;
        if let Some(known) = self.runs.gathered.known_moment(stored) {
            return Ok(known);
        }
        let moment = self.current_moment(&local_owner()).await?;
        let known = KnownMoment { moment: moment.clone(), at: Instant::now(), stored };
        *lock(&self.runs.gathered.moment) = Some(known);
        Ok(moment)
    }

    /// Hands everything gathered to the database.
    pub(crate) fn write_down_calls(&self) {
        let calls = std::mem::take(&mut *lock(&self.runs.gathered.calls));
        self.runs.gathered.taken.store(0, Ordering::Relaxed);
        if calls.is_empty() {
            return;
        }
        let Some(database) = self.store.opened() else { return };
        let owner = local_owner();
        let runs = calls.into_iter().map(|call| call.written(&self.resolved)).collect();
        let write = WriteCalls { owner: owner.clone(), runs, calls_kept: CALLS_KEPT };
        if let Err(error) = database.hand_in_now(&owner.tenant, write) {
            tracing::warn!(%error, "write down calls");
        }
    }
}

impl Gathered {
    fn known_moment(&self, stored: i64) -> Option<Moment> {
        let known = lock(&self.moment);
        let known =
            known.as_ref().filter(|known| known.stored == stored && known.at.elapsed() < MOMENT_FOR)?;
        Some(known.moment.clone())
    }
}

/// A call that goes on. However it ends, it is gathered.
struct GoingOn<'a> {
    inner: &'a Arc<Inner>,
    call: Option<EndedCall>,
}

impl Drop for GoingOn<'_> {
    fn drop(&mut self) {
        let Some(mut call) = self.call.take() else { return };
        call.ended_at = now();
        let mut calls = lock(&self.inner.runs.gathered.calls);
        let is_first = calls.is_empty();
        calls.push(call);
        drop(calls);
        if is_first && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(write_down_soon(Arc::downgrade(self.inner))));
        }
    }
}

async fn write_down_soon(inner: Weak<Inner>) {
    tokio::time::sleep(GATHERED_FOR).await;
    if let Some(inner) = inner.upgrade() {
        // A thousand receipts take some milliseconds, which others need not wait for.
        drop(tokio::task::spawn_blocking(move || inner.write_down_calls()));
    }
}

impl EndedCall {
    /// As it is kept.
    fn written(self, resolved: &Resolved) -> (Run, Vec<super::RunEvent>) {
        let owner = local_owner();
        let started = json!({
            "workflowId": self.name,
            "owner": { "tenant": owner.tenant.as_str(), "workspace": owner.workspace.as_str() },
            "inputs": { "agent": self.name, "arguments": self.arguments, "user": self.user },
        });
        let (status, ended) = match &self.outcome {
            None => (RunStatus::Cancelled, json!({})),
            Some(Ok(CallOutcome { output, error: None, receipt, .. })) => {
                (RunStatus::Completed, json!({ "output": output, "receipt": receipt }))
            }
            Some(Ok(CallOutcome { error: Some(failure), receipt, .. })) => (
                RunStatus::Failed,
                json!({ "error": failure.message, "reason": failure.reason, "receipt": receipt }),
            ),
            Some(Err(failure)) => {
                (RunStatus::Failed, json!({ "error": failure.message, "reason": failure.reason }))
            }
        };
        let redactions = resolved.redactions();
        let event = |sequence, kind: &str, mut payload: Value, at| {
            redactions.redact_json(&mut payload);
            super::RunEvent { at, ..new_event(sequence, kind, None, payload) }
        };
        let events = vec![
            event(0, "run.started", started, self.started_at),
            event(1, ending(status), ended, self.ended_at),
        ];
        let run = Run {
            id: self.id,
            owner,
            kind: RunKind::Call,
            workflow: self.name.clone(),
            title: self.name,
            status,
            principal: "local".to_owned(),
            moment: self.moment,
            files: None,
            started_at: self.started_at,
            ended_at: Some(self.ended_at),
            origin: None,
            inputs: Value::Null,
        };
        (run, events)
    }
}

impl Host {
    /// Writes down what was gathered, so that whoever asks for runs now sees every call that ended.
    pub async fn settle_runs(&self) -> Result<(), Failure> {
        self.inner.write_down_calls();
        let Some(database) = self.inner.store.opened() else { return Ok(()) };
        // Stored after everything that was handed in before it.
        Ok(database.write(&local_owner().tenant, super::records::Nothing).await?)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
