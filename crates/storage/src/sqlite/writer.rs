//! Who writes: one at a time, and everybody who waits at the same time together.
//!
//! A thread takes whatever waits, does it inside one transaction and answers everybody after a single flush to disk, so
//! that many small changes cost little more than one. Each of several has a savepoint of its own: one that is refused
//! takes nobody else with it. Whoever comes while nobody waits writes on its own thread, because on a quiet machine two
//! threads that wake each other take longer than the write.

use super::{checkpoints::Checkpoints, lost, run};
use crate::{
    change::{Ended, Waiting},
    error::StorageError,
    faults::Faults,
    notice::Notices,
    transaction::{Connection as AnyConnection, Transaction},
};
use futures::FutureExt as _;
use rusqlite::Connection;
use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::mpsc,
};

/// Changes that share one flush: enough to make it cheap, few enough that nobody waits long.
const BATCH_MAX: usize = 64;

/// Changes that may wait; who comes later waits before the queue.
const QUEUE_MAX: usize = 1024;

/// The way to the one writer.
pub(super) struct Writers {
    shared: Arc<Shared>,
    /// Absent only while the engine is ended.
    queue: Option<mpsc::Sender<Box<dyn Waiting>>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    writer: Mutex<Writer>,
    /// Changes that were handed in and are not stored. Invariant: nobody overtakes them.
    waiting: AtomicUsize,
}

impl Writers {
    pub(super) fn start(
        path: &Path,
        connection: Connection,
        faults: Faults,
        notices: Notices,
    ) -> Result<Self, StorageError> {
        let (queue, incoming) = mpsc::channel(QUEUE_MAX);
        let checkpoints = Checkpoints::start(path)?;
        let writer = Writer { connection: Some(connection), checkpoints, faults, notices };
        let shared = Arc::new(Shared { writer: Mutex::new(writer), waiting: AtomicUsize::new(0) });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("database".to_owned())
            .spawn(move || of_thread.work(incoming))
            .map_err(|error| StorageError::Unavailable { message: error.to_string() })?;
        Ok(Self { shared, queue: Some(queue), thread: Some(thread) })
    }

    /// Returns when the change is stored or has its place in the queue.
    pub(super) async fn write(&self, change: Box<dyn Waiting>) -> Result<(), StorageError> {
        match self.shared.write_here(change) {
            None => Ok(()),
            Some(change) => self.hand_in(change).await,
        }
    }

    /// Returns when the change has its place in the queue.
    pub(super) async fn hand_in(&self, change: Box<dyn Waiting>) -> Result<(), StorageError> {
        let place = self.queue.as_ref().ok_or_else(ended)?.reserve().await.map_err(|_| ended())?;
        self.shared.waiting.fetch_add(1, Ordering::SeqCst);
        place.send(change);
        Ok(())
    }

    pub(super) fn hand_in_now(&self, change: Box<dyn Waiting>) -> Result<(), StorageError> {
        let place = self.queue.as_ref().ok_or_else(ended)?.try_reserve();
        let place = place.map_err(|_| StorageError::too_much())?;
        self.shared.waiting.fetch_add(1, Ordering::SeqCst);
        place.send(change);
        Ok(())
    }
}

impl Drop for Writers {
    /// What was handed in is stored before the engine is gone.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes on this thread when nobody else writes or waits, or gives the change back.
    fn write_here(&self, change: Box<dyn Waiting>) -> Option<Box<dyn Waiting>> {
        // Only where others take over what this thread would have done meanwhile.
        let may_block =
            Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        match self.writer.try_lock() {
            Ok(mut writer) if may_block && self.waiting.load(Ordering::SeqCst) == 0 => {
                tokio::task::block_in_place(|| writer.store(&mut vec![change]));
                None
            }
            _ => Some(change),
        }
    }

    fn work(&self, mut incoming: mpsc::Receiver<Box<dyn Waiting>>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            let changes = incoming.blocking_recv_many(&mut batch, BATCH_MAX);
            if changes == 0 {
                return;
            }
            self.writer().store(&mut batch);
            self.waiting.fetch_sub(changes, Ordering::SeqCst);
        }
    }
}

struct Writer {
    /// Absent only while a transaction has it.
    connection: Option<Connection>,
    checkpoints: Checkpoints,
    faults: Faults,
    notices: Notices,
}

/// Why a batch did not work as a whole.
enum Lost {
    /// The engine took everything back because of one of them: each is to be tried alone.
    Together,
    /// Nobody's change can be stored.
    Entirely(StorageError),
}

impl Writer {
    fn store(&mut self, batch: &mut Vec<Box<dyn Waiting>>) {
        let changes = batch.len();
        self.store_and_answer(batch);
        if let Some(connection) = &self.connection {
            self.checkpoints.after(changes, connection);
        }
    }

    fn store_and_answer(&mut self, batch: &mut Vec<Box<dyn Waiting>>) {
        match self.attempt(batch) {
            Ok(()) => batch.drain(..).for_each(|change| change.finish(Ok(()))),
            Err(Lost::Entirely(error)) => {
                batch.drain(..).for_each(|change| change.finish(Err(error.clone())));
            }
            Err(Lost::Together) => {
                for mut change in batch.drain(..) {
                    let stored = match self.attempt(std::slice::from_mut(&mut change)) {
                        Ok(()) => Ok(()),
                        Err(Lost::Entirely(error)) => Err(error),
                        Err(Lost::Together) => Err(lost()),
                    };
                    change.finish(stored);
                }
            }
        }
    }

    /// Does all of them inside one transaction.
    fn attempt(&mut self, batch: &mut [Box<dyn Waiting>]) -> Result<(), Lost> {
        let Some(first) = batch.first() else { return Ok(()) };
        let Some(connection) = self.connection.take() else { return Err(Lost::Entirely(lost())) };
        let mut transaction =
            Transaction::new(AnyConnection::Sqlite(connection), first.tenant().clone(), self.faults.clone());
        let done = attempt_within(&mut transaction, batch);
        let notices = std::mem::take(&mut transaction.notices);
        if let AnyConnection::Sqlite(connection) = transaction.connection {
            if done.is_err() && !connection.is_autocommit() {
                run(&connection, "ROLLBACK").ok();
            }
            self.connection = Some(connection);
        }
        done?;
        notices.into_iter().for_each(|notice| self.notices.pass_on(notice));
        Ok(())
    }
}

fn attempt_within(transaction: &mut Transaction, batch: &mut [Box<dyn Waiting>]) -> Result<(), Lost> {
    let statement = |transaction: &Transaction, sql: &'static str| match &transaction.connection {
        AnyConnection::Sqlite(connection) => run(connection, sql),
        AnyConnection::Postgres(_) => Err(lost()),
    };
    let is_open = |transaction: &Transaction| matches!(&transaction.connection, AnyConnection::Sqlite(connection) if !connection.is_autocommit());
    statement(transaction, "BEGIN IMMEDIATE").map_err(Lost::Entirely)?;
    let several = batch.len() > 1;
    for change in batch {
        transaction.tenant = change.tenant().clone();
        let told_before = transaction.notices.len();
        if several {
            statement(transaction, "SAVEPOINT one").map_err(Lost::Entirely)?;
        }
        let ended = change.run(transaction).now_or_never().unwrap_or(Ended::Badly);
        if ended == Ended::Badly {
            transaction.notices.truncate(told_before);
            // A full disk makes the engine take back the whole transaction by itself.
            if !is_open(transaction) {
                return if several { Err(Lost::Together) } else { Ok(()) };
            }
            if !several {
                return statement(transaction, "ROLLBACK").map_err(Lost::Entirely);
            }
            statement(transaction, "ROLLBACK TO one").map_err(Lost::Entirely)?;
        }
        if several {
            statement(transaction, "RELEASE one").map_err(Lost::Entirely)?;
        }
    }
    transaction.faults.step().map_err(Lost::Entirely)?;
    statement(transaction, "COMMIT").map_err(Lost::Entirely)
}

fn ended() -> StorageError {
    StorageError::Unavailable { message: "it was closed".to_owned() }
}
