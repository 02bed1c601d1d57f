//! The pool: starts workers on first use, reuses them, stops those that idle.
//!
//! Invariant: no lock is held while a worker starts or runs.

use crate::{
    agent::{Afterwards, Agent, Call, Done, LoadFailed, Loaded, Program, Usage},
    languages::Languages,
    worker::{Surroundings, Worker},
};
use futures::{FutureExt as _, future::BoxFuture};
use roost_protocol::{Digest, Failure, Performed, Reason};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
    time::Instant,
};

/// How many workers there may be and how long they stay.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Workers of one agent file: parallel calls of one agent run side by side up to this.
    pub workers_per_agent: usize,
    /// Calls of one agent file that may wait for a worker; more are refused as `busy`.
    pub waiting_per_agent: usize,
    /// All workers together; above it the longest idle ones make room.
    pub workers: usize,
    /// A worker nobody asked for this long is stopped.
    pub idle: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self { workers_per_agent: 4, waiting_per_agent: 256, workers: 400, idle: Duration::from_secs(300) }
    }
}

/// How often idle workers are looked at.
const SWEEP: Duration = Duration::from_secs(5);

/// CPU time an idle worker may use between two looks: a thread that spins uses fifty times as much.
const IDLE_CPU_MAX: Duration = Duration::from_millis(500);

/// Who a worker belongs to: other bytes, another environment or other limits are another worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    file: PathBuf,
    digest: Digest,
    working_directory: PathBuf,
    settings: Digest,
}

/// All workers of a host. Dropping it ends them.
pub(crate) struct Workers {
    languages: Languages,
    around: Surroundings,
    settings: PoolSettings,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

struct Slot {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    waiting_max: usize,
    waiting: std::sync::atomic::AtomicUsize,
}

struct Idle {
    worker: Worker,
    since: Instant,
}

impl Workers {
    pub(crate) fn new(languages: Languages, around: Surroundings, settings: PoolSettings) -> Arc<Self> {
        let workers = Arc::new(Self {
            languages,
            around,
            settings,
            slots: Mutex::default(),
            sweeper: Mutex::default(),
        });
        let sweeper = tokio::spawn(sweep_regularly(Arc::downgrade(&workers)));
        *workers.sweeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(sweeper);
        workers
    }

    /// The program as something that can be asked.
    pub(crate) fn agent(self: &Arc<Self>, program: Program) -> Arc<dyn Agent> {
        let settings = serde_json::to_vec(&(
            &program.limits,
            &program.environment,
            &program.dependencies,
            &program.confinement,
            &program.withheld,
        ));
        let key = Key {
            file: program.file.clone(),
            digest: program.digest,
            working_directory: program.working_directory.clone(),
            settings: Digest::of(&settings.unwrap_or_default()),
        };
        Arc::new(PooledAgent { workers: Arc::clone(self), key, program })
    }

    pub(crate) fn languages(&self) -> &Languages {
        &self.languages
    }

    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.around
    }

    pub(crate) fn logs(&self) -> &crate::log::Logs {
        &self.around.logs
    }

    async fn start(&self, program: &Program) -> Result<(Worker, Loaded), LoadFailed> {
        let started = self.languages.start(program, &self.around.machine).await?;
        Worker::load(started, program, &self.around).await
    }

    fn slot(&self, key: &Key) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key.clone()).or_insert_with(|| {
            Arc::new(Slot {
                permits: Arc::new(Semaphore::new(self.settings.workers_per_agent)),
                idle: Mutex::default(),
                waiting_max: self.settings.waiting_per_agent,
                waiting: std::sync::atomic::AtomicUsize::new(0),
            })
        }))
    }

    async fn lease(&self, key: &Key, program: &Program, depth: u32) -> Result<Lease, LoadFailed> {
        let slot = self.slot(key);
        let permit = slot.permit(depth).await?;
        if let Some(worker) = slot.take_idle() {
            return Ok(Lease { worker: Some(worker), slot, reused: true, _permit: permit });
        }
        self.make_room();
        let (worker, _) = self.start(program).await?;
        Ok(Lease { worker: Some(worker), slot, reused: false, _permit: permit })
    }

    /// Stops the longest idle workers while there are as many as there may be.
    fn make_room(&self) {
        let slots: Vec<Arc<Slot>> =
            self.slots.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let alive: usize = slots.iter().map(|slot| slot.alive(self.settings.workers_per_agent)).sum();
        if alive < self.settings.workers {
            return;
        }
        let oldest =
            slots.iter().filter_map(|slot| Some((slot.idle_since()?, slot))).min_by_key(|(since, _)| *since);
        if let Some((_, slot)) = oldest {
            drop(slot.lock_idle().drain(..1).collect::<Vec<_>>());
        }
    }

    fn sweep(&self) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| {
            slot.lock_idle().retain_mut(|idle| {
                let is_quiet = idle.worker.cpu_since_last_look() < IDLE_CPU_MAX;
                let is_alone = !idle.worker.has_left_processes();
                idle.worker.is_usable() && is_quiet && is_alone && idle.since.elapsed() < self.settings.idle
            });
            Arc::strong_count(slot) > 1 || !slot.lock_idle().is_empty()
        });
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner).take() {
            sweeper.abort();
        }
    }
}

async fn sweep_regularly(workers: Weak<Workers>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        let Some(workers) = workers.upgrade() else { return };
        workers.sweep();
    }
}

impl Slot {
    async fn permit(&self, depth: u32) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        use std::sync::atomic::Ordering::Relaxed;
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(Some(permit));
        }
        // Whoever holds the last worker may be waiting for this very call; the depth of chats bounds how many go beyond.
        if depth > 0 {
            return Ok(None);
        }
        if self.waiting.fetch_add(1, Relaxed) >= self.waiting_max {
            self.waiting.fetch_sub(1, Relaxed);
            return Err(Failure::plain(Reason::Busy));
        }
        let waiting = CountedDown(&self.waiting);
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        drop(waiting);
        permit.map(Some).map_err(|_| Failure::plain(Reason::Busy))
    }

    fn take_idle(&self) -> Option<Worker> {
        let mut idle = self.lock_idle();
        while let Some(last) = idle.pop() {
            if last.worker.is_usable() {
                return Some(last.worker);
            }
        }
        None
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_since(&self) -> Option<Instant> {
        self.lock_idle().first().map(|idle| idle.since)
    }

    fn alive(&self, permits: usize) -> usize {
        permits - self.permits.available_permits() + self.lock_idle().len()
    }
}

struct CountedDown<'a>(&'a std::sync::atomic::AtomicUsize);

impl Drop for CountedDown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A worker taken out of the pool. It goes back when it can be asked again; otherwise its end is here.
struct Lease {
    worker: Option<Worker>,
    slot: Arc<Slot>,
    reused: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take().filter(Worker::is_usable) {
            self.slot.lock_idle().push(Idle { worker, since: Instant::now() });
        }
    }
}

struct PooledAgent {
    workers: Arc<Workers>,
    key: Key,
    program: Program,
}

impl PooledAgent {
    async fn perform_in_worker(
        &self,
        call: Call<'_>,
    ) -> Result<(Result<Performed, Failure>, Usage), LoadFailed> {
        let mut lease = self.workers.lease(&self.key, &self.program, call.depth).await?;
        let reused = lease.reused;
        let Some(worker) = &mut lease.worker else { return Err(Failure::plain(Reason::Internal).into()) };
        let result = worker.perform(&call, &self.program).await;
        Ok((result, worker.usage(reused)))
    }
}

impl Drop for PooledAgent {
    /// Nobody will ask these bytes again: their idle workers need not wait for the sweep.
    fn drop(&mut self) {
        let slot = self.workers.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        if let Some(slot) = slot {
            slot.lock_idle().clear();
        }
    }
}

impl Agent for PooledAgent {
    fn describe(&self, afterwards: Afterwards) -> BoxFuture<'_, Result<Loaded, LoadFailed>> {
        async move {
            let (worker, loaded) = self.workers.start(&self.program).await?;
            if afterwards == Afterwards::Keep {
                self.workers.slot(&self.key).lock_idle().push(Idle { worker, since: Instant::now() });
            }
            Ok(loaded)
        }
        .boxed()
    }

    fn perform<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Done> {
        async {
            match self.perform_in_worker(call).await {
                Ok((result, usage)) => Done::Asked { result, usage: Box::new(usage) },
                Err(failed) => Done::NotStarted(failed),
            }
        }
        .boxed()
    }

    fn system_context<'a>(
        &'a self,
        agent: &'a str,
        context: &'a str,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        async move {
            let lease = self.workers.lease(&self.key, &self.program, 0).await;
            let mut lease = lease.map_err(|failed| failed.failure)?;
            let Some(worker) = &mut lease.worker else { return Err(Failure::plain(Reason::Internal)) };
            worker.system_context(agent, context, &self.program).await
        }
        .boxed()
    }
}
