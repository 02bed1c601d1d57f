//! Keeps one app running: sees its end at once, asks how it is, starts it again after a while, and gives up in time.

use super::{
    folder::NativeFolder,
    launch::LiveApp,
    letters::leave,
    pace::Restarts,
    running::Shared,
    state::{NativePhase, NativeState},
};
use jiff::Timestamp;
use roost_protocol::{Failure, Reason};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
    time::{MissedTickBehavior, interval_at, sleep_until},
};

/// One app that is kept running. Dropping it ends the app at once.
pub(super) struct Kept {
    folder: NativeFolder,
    state: Arc<Mutex<NativeState>>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Kept {
    /// Begins to keep an app; the receiver is told whether it came to answer.
    pub(super) fn begin(
        shared: &Arc<Shared>,
        folder: NativeFolder,
    ) -> (Self, oneshot::Receiver<Result<(), Failure>>) {
        let state = Arc::new(Mutex::new(NativeState::of(&folder)));
        let (stop, stopping) = watch::channel(false);
        let (first, told) = oneshot::channel();
        let keeping = Keeping {
            shared: Arc::clone(shared),
            folder: folder.clone(),
            state: Arc::clone(&state),
            restarts: Restarts::default(),
        };
        let task = tokio::spawn(keeping.keep(stopping, first));
        (Self { folder, state, stop, task: Mutex::new(Some(task)) }, told)
    }

    pub(super) fn state(&self) -> NativeState {
        lock(&self.state).clone()
    }

    pub(super) fn folder(&self) -> &NativeFolder {
        &self.folder
    }

    /// Ends the app and returns when it is gone.
    pub(super) async fn stop(&self) {
        self.stop.send_replace(true);
        let task = lock(&self.task).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(app = self.folder.id(), %error, "keep an app running");
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

struct Keeping {
    shared: Arc<Shared>,
    folder: NativeFolder,
    state: Arc<Mutex<NativeState>>,
    restarts: Restarts,
}

/// Why an app is not watched any more.
enum Over {
    Asked,
    Failed { why: Failure, at: Instant },
}

impl Keeping {
    async fn keep(mut self, mut stop: watch::Receiver<bool>, first: oneshot::Sender<Result<(), Failure>>) {
        let mut first = Some(first);
        loop {
            self.show(NativePhase::Starting, None);
            let launched = tokio::select! {
                launched = self.shared.launch(&self.folder) => launched,
                () = asked(&mut stop) => break,
            };
            let (over, at) = match launched {
                Ok(live) => {
                    let over = self.run(Arc::new(live), &mut stop, &mut first).await;
                    match over {
                        Over::Asked => break,
                        Over::Failed { why, at } => (why, at),
                    }
                }
                // Nobody ever saw it answer: to try again is for whoever started it.
                Err(failure) if first.is_some() => {
                    self.show(NativePhase::Failed, Some(failure.clone()));
                    tell(&mut first, Err(failure));
                    return;
                }
                Err(failure) => (failure, Instant::now()),
            };
            let Some(wait) = self.restarts.next(&self.shared.pace, Instant::now()) else {
                return self.give_up(&over);
            };
            self.show(NativePhase::Waiting, Some(over));
            tokio::select! {
                // Counted from its end: to clear up behind it takes time, too.
                () = sleep_until((at + wait).into()) => {}
                () = asked(&mut stop) => break,
            }
        }
        self.show(NativePhase::Stopped, None);
        tell(&mut first, Err(Failure::new(Reason::NativeNotRunning, "it was stopped while it started")));
    }

    /// Lets an app that answers take part until it is over, and ends it.
    async fn run(
        &self,
        live: Arc<LiveApp>,
        stop: &mut watch::Receiver<bool>,
        first: &mut Option<oneshot::Sender<Result<(), Failure>>>,
    ) -> Over {
        let left_out = self.shared.take_in(&live).await;
        {
            let mut state = lock(&self.state);
            state.pid = Some(live.app.pid());
            state.left_out = left_out;
        }
        self.show(NativePhase::Running, None);
        tell(first, Ok(()));
        let over = tokio::select! {
            why = live.app.ended() => Over::Failed { why, at: Instant::now() },
            why = self.unwell(&live) => Over::Failed { why, at: Instant::now() },
            () = asked(stop) => Over::Asked,
        };
        // Before its process is gone: nobody should be offered what cannot answer.
        let lines = self.shared.lines.take_out(&live);
        self.shared.take_out(&live);
        lock(&self.state).pid = None;
        if !lines.is_empty() {
            leave(&live, lines).await;
        }
        live.app.stop().await;
        over
    }

    /// Returns when the app says that it is not well, or says nothing.
    async fn unwell(&self, live: &LiveApp) -> Failure {
        let every = self.shared.pace.health_every;
        let mut ticks = interval_at((Instant::now() + every).into(), every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for part in self.folder.parts() {
                match live.app.health(part).await {
                    Ok(health) if health.healthy => {}
                    Ok(_) => {
                        let message = format!("{} says that it is not healthy", part.wire_name());
                        return Failure::new(Reason::NativeNotRunning, message);
                    }
                    Err(failure) => return failure,
                }
            }
        }
    }

    fn give_up(&self, last: &Failure) {
        let count = self.restarts.count();
        let message = format!("it was started again {count} times; at last: {}", last.message);
        self.show(NativePhase::Failed, Some(Failure::new(Reason::NativeGivenUp, message)));
    }

    fn show(&self, phase: NativePhase, reason: Option<Failure>) {
        {
            let mut state = lock(&self.state);
            state.phase = phase;
            state.since = Timestamp::now();
            state.restarts = self.restarts.count();
            // Why it was started again stays known while it runs.
            if reason.is_some() || phase == NativePhase::Stopped {
                state.reason.clone_from(&reason);
            }
        }
        self.shared.note(&self.folder, phase, reason.as_ref());
    }
}

fn tell(first: &mut Option<oneshot::Sender<Result<(), Failure>>>, outcome: Result<(), Failure>) {
    if let Some(first) = first.take() {
        // Whoever started it may have left.
        first.send(outcome).ok();
    }
}

/// Returns when the app is to be stopped.
async fn asked(stop: &mut watch::Receiver<bool>) {
    // Without a sender nobody can ask any more, and the task is about to be ended.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
