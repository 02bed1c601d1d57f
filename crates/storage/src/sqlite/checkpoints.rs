//! Carrying the log over into the file, beside the thread that writes.
//!
//! The log can be used again from its beginning only when all of it was carried over, and while somebody writes there is
//! always a rest. So a thread of its own carries most of it, and the writer the little that came meanwhile.

use super::{connect, rows};
use crate::error::StorageError;
use rusqlite::{Connection, OpenFlags};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

/// Changes between two: rarely enough to be cheap, often enough that the log stays short.
const CHANGES: usize = 400;

const CARRY_OVER: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// How far the thread is.
const RESTING: u8 = 0;
const CARRYING: u8 = 1;
const DONE: u8 = 2;

/// The writer's side. The thread ends with it.
pub(super) struct Checkpoints {
    begin: SyncSender<()>,
    state: Arc<AtomicU8>,
    changes: usize,
}

impl Checkpoints {
    pub(super) fn start(path: &Path) -> Result<Self, StorageError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (begin, wanted) = sync_channel(1);
        let state = Arc::new(AtomicU8::new(RESTING));
        let of_thread = Arc::clone(&state);
        thread::Builder::new()
            .name("checkpoints".to_owned())
            .spawn(move || carry_over(&connection, &wanted, &of_thread))
            .map_err(|error| StorageError::Unavailable { message: error.to_string() })?;
        Ok(Self { begin, state, changes: 0 })
    }

    /// To be called between two transactions.
    pub(super) fn after(&mut self, changes: usize, connection: &Connection) {
        self.changes += changes;
        match self.state.load(Ordering::Acquire) {
            DONE => {
                note(rows(connection, CARRY_OVER, &[]).map(drop));
                self.changes = 0;
                self.state.store(RESTING, Ordering::Release);
            }
            RESTING if self.changes > CHANGES => {
                self.state.store(CARRYING, Ordering::Release);
                self.begin.try_send(()).ok();
            }
            _ => {}
        }
    }
}

fn carry_over(connection: &Connection, wanted: &Receiver<()>, state: &AtomicU8) {
    while wanted.recv().is_ok() {
        note(rows(connection, CARRY_OVER, &[]).map(drop));
        state.store(DONE, Ordering::Release);
    }
}

/// A log that stays long is slow, not wrong.
fn note(done: Result<(), StorageError>) {
    if let Err(error) = done {
        tracing::warn!(%error, "carry the log over into the database");
    }
}
