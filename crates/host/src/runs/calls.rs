//! Direct calls as runs: what went in, what came out, and the receipt.
//!
//! A call may take less time than one write, so calls are gathered and written down together a moment later. Only the
//! newest are kept anyway; of more than that many within one moment, the older ones are never written at all.

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
use roost_storage::Notice;
use serde_json::{Map, Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::broadcast;

/// How long calls are gathered.
const GATHERED_FOR: Duration = Duration::from_millis(200);

/// How long the moment of the files is believed without a look, because another process may write too.
const MOMENT_FOR: Duration = Duration::from_millis(250);

/// Calls that ended and are not written down yet.
#[derive(Default)]
pub(crate) struct Gathered {
    calls: Mutex<VecDeque<EndedCall>>,
    moment: Mutex<Option<KnownMoment>>,
}

struct KnownMoment {
    moment: Moment,
    at: Instant,
    changes: broadcast::Receiver<Notice>,
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
        let moment = match self.moment_of_calls().await {
            Ok(moment) => moment,
            Err(failure) => {
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
        let owner = local_owner();
        if let Some(known) = self.runs.gathered.known_moment(&owner.topic()) {
            return Ok(known);
        }
        let changes = self.store.database().await?.listen();
        let moment = self.current_moment(&owner).await?;
        let known = KnownMoment { moment: moment.clone(), at: Instant::now(), changes };
        *lock(&self.runs.gathered.moment) = Some(known);
        Ok(moment)
    }

    /// Hands everything gathered to the database.
    pub(crate) fn write_down_calls(&self) {
        let calls = std::mem::take(&mut *lock(&self.runs.gathered.calls));
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
    fn known_moment(&self, topic: &str) -> Option<Moment> {
        let mut known = lock(&self.moment);
        let current = known.as_mut()?;
        let is_changed = loop {
            match current.changes.try_recv() {
                Ok(notice) if *notice.topic == *topic => break true,
                Ok(_) => {}
                Err(broadcast::error::TryRecvError::Empty) => break false,
                Err(_) => break true,
            }
        };
        if is_changed || current.at.elapsed() > MOMENT_FOR {
            *known = None;
            return None;
        }
        Some(current.moment.clone())
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
        if calls.len() >= CALLS_KEPT {
            calls.pop_front();
        }
        calls.push_back(call);
        drop(calls);
        if is_first && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(write_down_soon(Arc::downgrade(self.inner))));
        }
    }
}

async fn write_down_soon(inner: Weak<Inner>) {
    tokio::time::sleep(GATHERED_FOR).await;
    if let Some(inner) = inner.upgrade() {
        inner.write_down_calls();
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
