//! What was decided: an append-only, hash-chained log that every process of a home shares.
//!
//! Rows are handed over in memory and written by one thread in batches, on disk within a tenth of a second. While the
//! log cannot be written nothing is taken, so that the gate denies. Never holds arguments, contents or secrets.

mod row; // one line
mod pending; // what waits for the next batch
mod segments; // the files and their lines
mod tail; // where the log ends, also after a crash
mod log; // appending
mod reading; // checking and listing

pub use self::{
    reading::{Filter, Listing, Verified},
    row::{Outcome, Row, What},
    segments::Broken,
};
pub(crate) use self::{
    reading::{rows, verify},
    row::Subject,
};

use self::{
    log::Log,
    pending::{Pending, Waiting},
};
use super::disk::Disk;
use jiff::Timestamp;
use roost_protocol::{Failure, Reason};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long rows are gathered before they are written: equal ones become one row, and a slow disk still has most of
/// the tenth of a second in which a row must be durable.
const GATHER: Duration = Duration::from_millis(20);

/// Different rows that may wait. Whoever brings more waits for the disk, so that a flood slows its source.
const WAITING_ROWS_MAX: usize = 4096;

/// At half of that a batch begins early, so that callers rarely wait.
const WAITING_ROWS_EARLY: usize = WAITING_ROWS_MAX / 2;

/// How long a caller waits for the disk before the log counts as unusable.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How often a failed batch is tried again: soon enough after somebody made room on the disk.
const RETRY: Duration = Duration::from_millis(250);

/// The log of one home.
#[derive(Debug)]
pub(crate) struct Audit {
    folder: PathBuf,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Rows came, or somebody wants them written.
    wanted: Condvar,
    /// A batch ended, well or not.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    /// Set while the log cannot be written.
    failure: Option<Failure>,
    /// Rows that were refused meanwhile.
    unrecorded: u64,
    batches_begun: u64,
    batches_ended: u64,
    is_flush_wanted: bool,
    is_closing: bool,
}

impl Audit {
    /// Opens the log in this folder, makes it where it is missing, and repairs what a crash left half done.
    pub(crate) fn open(folder: &Path) -> Result<Self, Failure> {
        Self::with_log(Log::open(folder, Disk::default())?)
    }

    fn with_log(log: Log) -> Result<Self, Failure> {
        let folder = log.folder().to_owned();
        let shared = Arc::new(Shared::default());
        let for_writer = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || for_writer.write_batches(log))
            .map_err(|error| {
                Failure::new(Reason::AuditUnusable, format!("no thread for the log: {error}"))
            })?;
        Ok(Self { folder, shared, writer: Some(writer) })
    }

    /// Where the log is.
    #[must_use]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes a row that stands for `count` equal events. An error means that it is not and will not be recorded.
    pub(crate) fn push(&self, subject: Subject, count: u64) -> Result<(), Failure> {
        let time = Timestamp::now();
        let mut state = self.shared.state();
        while state.failure.is_none() && state.pending.len() >= WAITING_ROWS_MAX {
            state = self.shared.wait_for_batch(state)?;
        }
        if let Some(failure) = state.failure.clone() {
            state.unrecorded = state.unrecorded.saturating_add(count);
            return Err(failure);
        }
        let was_empty = state.pending.is_empty();
        state.pending.add(subject, time, count);
        if was_empty || state.pending.len() == WAITING_ROWS_EARLY {
            self.shared.wanted.notify_one();
        }
        Ok(())
    }

    /// Returns once everything taken so far is on disk. After a failure this tries again at once.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        let mut state = self.shared.state();
        // What is being written now may not hold the newest rows: then the batch after it does.
        let needs_another = state.failure.is_some() || !state.pending.is_empty();
        let last = state.batches_begun + u64::from(needs_another);
        while state.batches_ended < last {
            state.is_flush_wanted = true;
            state = self.shared.wait_for_batch(state)?;
        }
        state.failure.clone().map_or(Ok(()), Err)
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.shared.state().is_closing = true;
        self.shared.wanted.notify_one();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the audit log's writer panicked; its last rows may be lost");
        }
    }
}

impl State {
    /// Rows that were refused while the log could not be written are told as a number: their callers were denied.
    fn tell_unrecorded(&mut self) {
        let unrecorded = std::mem::take(&mut self.unrecorded);
        if unrecorded > 0 {
            self.pending.add(Subject::unrecorded(), Timestamp::now(), unrecorded);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done under this lock, so that a panic elsewhere does not spoil the state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_batch<'a>(&self, state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>, Failure> {
        let ended = state.batches_ended;
        self.wanted.notify_one();
        let waiting = |state: &mut State| state.batches_ended == ended;
        let (state, timeout) =
            self.ended.wait_timeout_while(state, WAIT_MAX, waiting).unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            let message = format!("the disk took no row for {} seconds", WAIT_MAX.as_secs());
            return Err(Failure::new(Reason::AuditUnusable, message));
        }
        Ok(state)
    }

    /// The writer's whole life: ends when the log is closed and nothing waits, or nothing more can be written.
    fn write_batches(&self, mut log: Log) {
        let mut batch = Vec::new();
        loop {
            let Some(is_closing) = self.next_batch(&mut batch) else { return };
            let result = log.append(&batch);
            let mut state = self.state();
            state.batches_ended = state.batches_begun;
            match result {
                Ok(()) => {
                    batch.clear();
                    if state.failure.take().is_some() {
                        tracing::info!("the audit log can be written again");
                        state.tell_unrecorded();
                    }
                }
                Err(error) => {
                    if error.rows_are_kept {
                        batch.clear();
                    }
                    if state.failure.is_none() {
                        tracing::error!(failure = %error.failure, "the audit log cannot be written; every right is denied");
                    }
                    state.failure = Some(error.failure);
                }
            }
            let is_lost = is_closing && state.failure.is_some();
            drop(state);
            self.ended.notify_all();
            if is_lost {
                tracing::error!(rows = batch.len(), "rows of the audit log are lost");
                return;
            }
        }
    }

    /// Waits for rows and adds them to what an earlier failure left. Tells whether the log is being closed; nothing
    /// when it is closed and there is nothing to write.
    fn next_batch(&self, batch: &mut Vec<Waiting>) -> Option<bool> {
        let mut state = self.state();
        if state.failure.is_some() {
            let waits = |state: &mut State| !state.is_closing && !state.is_flush_wanted;
            state = self.wait(state, RETRY, waits);
        } else {
            let waits = |state: &mut State| !state.is_closing && state.pending.is_empty();
            state = self.wanted.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
            let waits = |state: &mut State| {
                !state.is_closing && !state.is_flush_wanted && state.pending.len() < WAITING_ROWS_EARLY
            };
            state = self.wait(state, GATHER, waits);
        }
        let has_failed = state.failure.is_some();
        state.is_flush_wanted = false;
        batch.append(&mut state.pending.take());
        if batch.is_empty() && state.is_closing && !has_failed {
            return None;
        }
        state.batches_begun += 1;
        Some(state.is_closing)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        longest: Duration,
        waits: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.wanted.wait_timeout_while(state, longest, waits).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests;
