//! Doing what is due: each schedule once at a time, whichever node takes it.

use super::{
    HistoryEntry, MESSAGE_BYTES_MAX, Place, Schedules, TASK_AGENT,
    claims::{Claim, Claimed, Finish, LEASE_MS, NextDue, Renew},
    delivery::{Delivery, Wisher},
    records::{Get, now},
};
use crate::{
    converse::ChatRequest,
    host::Host,
    native::{FiredTriggers, Trigger},
};
use roost_chat::split_slots;
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::{
    collections::HashSet,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{task::JoinSet, time::sleep};

/// What other nodes change is seen after this long.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A clock that is a little early would look again and again.
const WAIT_AT_LEAST: Duration = Duration::from_millis(5);

/// Schedules that are run at the same time; others wait for their turn.
const RUNS_AT_ONCE_MAX: usize = 16;

/// So much of an answer stands in the history; the run has all of it.
const OUTPUT_CHARACTERS_MAX: usize = 4000;

impl Host {
    /// Does what is due, here and in native schedulers, for as long as this is waited for. Dropped, it ends what it began.
    pub async fn keep_schedules(&self) -> Infallible {
        let mut fired = self.inner.native.schedulers().fired();
        let busy = Arc::<Mutex<HashSet<String>>>::default();
        let mut runs = JoinSet::new();
        loop {
            let wait = self.begin_due(&mut runs).await;
            tokio::select! {
                () = sleep(wait) => {}
                () = self.inner.schedules.changed.notified() => {}
                Some(_) = runs.join_next() => {}
                trigger = FiredTriggers::next(&mut fired) => {
                    if runs.len() < RUNS_AT_ONCE_MAX {
                        runs.spawn(self.clone().answer_trigger(trigger, Arc::clone(&busy)));
                    } else {
                        self.note_refused(&trigger, "too many schedules are run already");
                    }
                }
            }
        }
    }

    /// Begins everything that is due now, and says when to look again.
    async fn begin_due(&self, runs: &mut JoinSet<()>) -> Duration {
        let schedules = self.schedules();
        if schedules.is_empty() {
            return LOOK_EVERY;
        }
        while runs.len() < RUNS_AT_ONCE_MAX {
            match schedules.write(Claim(None)).await {
                Ok(Some(claimed)) => {
                    let host = self.clone();
                    runs.spawn(async move { host.schedules().carry_out(claimed).await });
                }
                Ok(None) => break,
                Err(failure) => {
                    tracing::warn!(%failure, "look which schedules are due");
                    return LOOK_EVERY;
                }
            }
        }
        let due = schedules.read(NextDue).await.unwrap_or_default();
        let wait = due
            .map_or(LOOK_EVERY, |due| Duration::from_millis(u64::try_from(due - now()).unwrap_or_default()));
        wait.clamp(WAIT_AT_LEAST, LOOK_EVERY)
    }

    /// Answers what a native scheduler fired, unless the same is being answered.
    async fn answer_trigger(self, trigger: Trigger, busy: Arc<Mutex<HashSet<String>>>) {
        let name = format!("{}/{}", trigger.app, trigger.fired.name);
        if trigger.fired.task_type != TASK_AGENT && !trigger.fired.task_type.is_empty() {
            return self.note_refused(&trigger, "programs are not run");
        }
        let message = trigger.fired.message.trim();
        if message.is_empty() || message.len() > MESSAGE_BYTES_MAX {
            return self.note_refused(&trigger, "it has no message, or one that is too long");
        }
        if !busy.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
            return self.note_refused(&trigger, "it is being run already");
        }
        let _busy = Busy { names: busy, name: name.clone() };
        // Said by an app: what stands before it keeps a line with a slash from being a person's command.
        let message = format!("Scheduled by the app {name}: {message}");
        let delivery = Delivery { deliver: &trigger.fired.deliver, wisher: Wisher::App(&trigger.app) };
        let Said { error, run, .. } = self.say(message, delivery).await;
        self.book().note("schedule", json!({ "schedule": name, "run": run, "error": error }));
    }

    fn note_refused(&self, trigger: &Trigger, why: &str) {
        let name = format!("{}/{}", trigger.app, trigger.fired.name);
        tracing::warn!(schedule = name, why, "a schedule of an app is not run");
        self.book().note("schedule", json!({ "schedule": name, "refused": why }));
    }

    /// One turn, whose answer goes where it is to go.
    async fn say(&self, message: String, delivery: Delivery<'_>) -> Said {
        let request = ChatRequest { input: message, ..ChatRequest::default() };
        let answer = match self.converse(request, None).await {
            Ok(answer) => answer,
            Err(failure) => {
                let error = Some(Failure::from(failure).message);
                return Said { output: String::new(), error, run: None };
            }
        };
        if answer.offer.is_some() {
            let error = Some("there is no model to answer; see `roost models`".to_owned());
            return Said { output: String::new(), error, run: answer.run };
        }
        let delivered = self.deliver(&delivery, &split_slots(&answer.text).main).await;
        let error = delivered.err().map(|failure| format!("the answer is not delivered: {failure}"));
        Said { output: answer.text.chars().take(OUTPUT_CHARACTERS_MAX).collect(), error, run: answer.run }
    }
}

/// What became of one turn. One whose answer could not be delivered has both, an answer and an error.
pub(super) struct Said {
    pub(super) output: String,
    pub(super) error: Option<String>,
    /// The run it was.
    pub(super) run: Option<String>,
}

/// Free again when this goes, however its run ended.
struct Busy {
    names: Arc<Mutex<HashSet<String>>>,
    name: String,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl Schedules<'_> {
    /// Runs one now, also when it is switched off, and returns what became of it. It goes on when nobody waits any more.
    pub async fn run(self, name: &str) -> Result<HistoryEntry, Failure> {
        let name = match Place::parse(name)? {
            Place::BuiltIn(name) => name.to_owned(),
            Place::App(app, name) => {
                let began = jiff::Timestamp::now();
                let output = self.native().find(app)?.app.trigger_schedule(name).await?;
                return Ok(HistoryEntry {
                    id: String::new(),
                    schedule_name: format!("{app}/{name}"),
                    started_at: Some(began),
                    finished_at: Some(jiff::Timestamp::now()),
                    success: true,
                    missed: 0,
                    output,
                    error: String::new(),
                    run: None,
                });
            }
        };
        self.read(Get(name.clone())).await?;
        let claimed = self.write(Claim(Some(name.clone()))).await?;
        let claimed =
            claimed.ok_or_else(|| Failure::new(Reason::Busy, format!("{name} is being run already")))?;
        let entry = claimed.entry.clone();
        let host = self.host.clone();
        let running = tokio::spawn(async move { host.schedules().carry_out(claimed).await });
        running.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let (entries, _) = self.history(&name, super::HISTORY_PAGE_MAX, 0).await?;
        let gone = || Failure::new(Reason::UnknownSchedule, "it was removed while it was run");
        entries.into_iter().find(|one| one.id == entry).ok_or_else(gone)
    }

    /// Says what a schedule says, and writes down what became of it.
    async fn carry_out(self, claimed: Claimed) {
        let Claimed { schedule, entry } = claimed;
        let name = schedule.name;
        let delivery = Delivery { deliver: &schedule.deliver, wisher: Wisher::Owner };
        let said = tokio::select! {
            said = self.host.say(schedule.message, delivery) => said,
            () = self.lost(&name, &entry) => {
                tracing::warn!(schedule = name, "it was removed, or another node runs it; it is not run on here");
                return;
            }
        };
        self.host.book().note("schedule", json!({ "schedule": name, "run": said.run, "error": said.error }));
        if let Err(failure) = self.write(Finish { name: name.clone(), entry, said }).await {
            tracing::error!(schedule = name, %failure, "write down what became of a schedule");
        }
    }

    /// Says again and again that the schedule is being run; returns when somebody else has it.
    async fn lost(self, name: &str, entry: &str) {
        let every = Duration::from_millis(LEASE_MS.unsigned_abs() / 3);
        loop {
            sleep(every).await;
            match self.write(Renew { name: name.to_owned(), entry: entry.to_owned() }).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(failure) => tracing::warn!(schedule = name, %failure, "say that a schedule is being run"),
            }
        }
    }
}
