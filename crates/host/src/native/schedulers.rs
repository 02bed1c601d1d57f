//! Native apps that are schedulers, side by side: which there are, and what they fire.

use super::launch::LiveApp;
use crate::schedules::{NewSchedule, Schedule};
use roost_protocol::{Failure, Reason, Right};
use roost_runtime::{KeptSchedule, ScheduleDraft, ScheduleFired};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};

/// What waits to be answered; more is left out.
const WAITING_MAX: usize = 64;

/// What one app may fire within a minute: each starts a turn.
const FIRED_PER_MINUTE_MAX: usize = 30;

/// How long until a stream that ended is opened again: longer each time, until it held for a while.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_LAST: Duration = Duration::from_secs(60);

/// Something that an app says is due.
pub(crate) struct Trigger {
    pub(crate) app: String,
    pub(crate) fired: ScheduleFired,
}

/// The apps that are schedulers now.
pub(crate) struct Schedulers {
    apps: Mutex<BTreeMap<String, Scheduler>>,
    sender: mpsc::Sender<Trigger>,
    fired: Mutex<Option<mpsc::Receiver<Trigger>>>,
}

struct Scheduler {
    live: Arc<LiveApp>,
    listening: JoinHandle<()>,
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Default for Schedulers {
    fn default() -> Self {
        let (sender, fired) = mpsc::channel(WAITING_MAX);
        Self { apps: Mutex::default(), sender, fired: Mutex::new(Some(fired)) }
    }
}

/// What apps fire, for the one who answers it.
pub(crate) struct FiredTriggers(mpsc::Receiver<Trigger>);

impl FiredTriggers {
    /// The next; never, where somebody else answers.
    pub(crate) async fn next(fired: &mut Option<Self>) -> Trigger {
        if let Some(Self(receiver)) = fired
            && let Some(trigger) = receiver.recv().await
        {
            return trigger;
        }
        std::future::pending().await
    }
}

impl Schedulers {
    /// Lets an app keep schedules and fire them, if it may.
    pub(super) fn take_in(&self, live: &Arc<LiveApp>) -> Result<(), Failure> {
        if !live.rights.contains(&Right::Schedule) {
            let message = "an app that keeps schedules needs the right `schedule`";
            return Err(Failure::new(Reason::RightMissing, message));
        }
        let listening = tokio::spawn(listen(Arc::clone(live), self.sender.clone()));
        let scheduler = Scheduler { live: Arc::clone(live), listening };
        lock(&self.apps).insert(live.folder.id().to_owned(), scheduler);
        Ok(())
    }

    /// The app is no scheduler any more when this returns.
    pub(super) fn take_out(&self, live: &Arc<LiveApp>) {
        lock(&self.apps).retain(|_, scheduler| !Arc::ptr_eq(&scheduler.live, live));
    }

    /// All of them, by id.
    pub(crate) fn all(&self) -> Vec<Arc<LiveApp>> {
        lock(&self.apps).values().map(|scheduler| Arc::clone(&scheduler.live)).collect()
    }

    /// One of them.
    pub(crate) fn find(&self, app: &str) -> Result<Arc<LiveApp>, Failure> {
        let found = lock(&self.apps).get(app).map(|scheduler| Arc::clone(&scheduler.live));
        found.ok_or_else(|| {
            let shown: String = app.escape_debug().take(100).collect();
            Failure::new(Reason::UnknownSchedule, format!("no app `{shown}` that keeps schedules runs"))
        })
    }

    /// What they fire from now on; nothing for anybody but the first who asks.
    pub(crate) fn fired(&self) -> Option<FiredTriggers> {
        lock(&self.fired).take().map(FiredTriggers)
    }
}

/// Hands on what an app fires, for as long as it runs. A stream that ends is opened again.
async fn listen(live: Arc<LiveApp>, sender: mpsc::Sender<Trigger>) {
    let app = live.folder.id();
    let mut again = AGAIN_FIRST;
    let mut lately: Vec<Instant> = Vec::new();
    loop {
        let opened = Instant::now();
        match hand_on(&live, &sender, &mut lately).await {
            Ok(()) => tracing::info!(app, "a native scheduler ended its stream"),
            Err(failure) => tracing::warn!(app, %failure, "hear what a native scheduler fires"),
        }
        if opened.elapsed() > AGAIN_LAST {
            again = AGAIN_FIRST;
        }
        sleep(again).await;
        again = (again * 2).min(AGAIN_LAST);
    }
}

async fn hand_on(
    live: &LiveApp,
    sender: &mpsc::Sender<Trigger>,
    lately: &mut Vec<Instant>,
) -> Result<(), Failure> {
    let app = live.folder.id();
    let mut triggers = live.app.schedule_triggers().await?;
    while let Some(fired) = triggers.next().await? {
        let now = Instant::now();
        lately.retain(|at| now.duration_since(*at) < Duration::from_secs(60));
        if lately.len() >= FIRED_PER_MINUTE_MAX {
            tracing::warn!(app, "a native scheduler fires too often; this one is left out");
            continue;
        }
        lately.push(now);
        if sender.try_send(Trigger { app: app.to_owned(), fired }).is_err() {
            tracing::warn!(app, "too much waits to be done at its time; this one is left out");
        }
    }
    Ok(())
}

/// A schedule of an app as every surface shows it.
pub(crate) fn of_app(app: &str, kept: KeptSchedule) -> Schedule {
    Schedule {
        id: kept.id,
        name: format!("{app}/{}", kept.name),
        scheduler: app.to_owned(),
        expression: kept.expression,
        task_type: kept.task_type,
        command: kept.command,
        message: kept.message,
        deliver: kept.deliver,
        enabled: kept.enabled,
        last_run: kept.last_run.parse().ok(),
        next_run: kept.next_run.parse().ok(),
        run_count: kept.run_count,
        last_error: kept.last_error,
        created_at: kept.created_at.parse().ok(),
        metadata: kept.metadata,
        running: false,
    }
}

/// A schedule as it is given to an app.
pub(crate) fn new_schedule(name: String, new: NewSchedule) -> ScheduleDraft {
    ScheduleDraft {
        name,
        expression: new.expression,
        task_type: "agent".to_owned(),
        command: String::new(),
        message: new.message,
        deliver: new.deliver,
        metadata: new.metadata,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
