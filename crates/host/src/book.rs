//! The book: what happened lately on this host, for a person who wants to know what went wrong.
//!
//! A ring in memory that is written to the home now and then. Holds names, reasons and times; never arguments, outputs
//! or secrets. Losing it loses nothing that anybody depends on.

use crate::host::Host;
use jiff::Timestamp;
use roost_apps::replace_file;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::VecDeque,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::task::JoinHandle;

/// As many events as other kernels keep: hours of an ordinary day.
const EVENTS_MAX: usize = 2000;

/// How long an event may be only in memory.
const FLUSH_EVERY: Duration = Duration::from_secs(30);

/// Longest text in an event; an error message need not be whole to be recognised.
const TEXT_BYTES_MAX: usize = 500;

/// Most entries of a list or an object in an event, and deepest nesting.
const ENTRIES_MAX: usize = 20;
const DEPTH_MAX: usize = 3;

/// Largest book that is read back: all events at their largest are far below.
const BOOK_BYTES_MAX: u64 = 32 << 20;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BookEvent {
    /// When, UTC.
    pub time: Timestamp,
    /// What kind of thing, for example `http_error`.
    pub kind: Cow<'static, str>,
    /// What else is known.
    #[serde(default)]
    pub detail: Value,
}

/// The events of one host, newest last.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    ring: Mutex<Ring>,
    /// Held while the file is written: an older state must not replace a newer one.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<BookEvent>,
    /// How many were noted since the host started.
    noted: u64,
    is_changed: bool,
}

impl Book {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, ring: Mutex::default(), writing: Mutex::default() }
    }

    /// Notes an event. Costs less than a microsecond and never waits for a disk.
    pub fn note(&self, kind: &'static str, mut detail: Value) {
        shorten(&mut detail, DEPTH_MAX);
        let now = Timestamp::now();
        let time = Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now);
        let mut ring = self.ring();
        if ring.events.len() == EVENTS_MAX {
            ring.events.pop_front();
        }
        ring.events.push_back(BookEvent { time, kind: Cow::Borrowed(kind), detail });
        ring.noted += 1;
        ring.is_changed = true;
    }

    /// The newest events, at most so many, oldest first.
    #[must_use]
    pub fn tail(&self, count: usize) -> Vec<BookEvent> {
        let ring = self.ring();
        let skipped = ring.events.len().saturating_sub(count);
        ring.events.iter().skip(skipped).cloned().collect()
    }

    /// How many events were noted since the host started.
    #[must_use]
    pub fn noted(&self) -> u64 {
        self.ring().noted
    }

    /// Forgets everything, on disk too.
    pub fn clear(&self) -> Result<(), Failure> {
        let mut ring = self.ring();
        ring.events.clear();
        ring.is_changed = true;
        drop(ring);
        self.flush()
    }

    /// Writes what is not on disk yet.
    pub fn flush(&self) -> Result<(), Failure> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let events: Vec<BookEvent> = {
            let mut ring = self.ring();
            if !std::mem::take(&mut ring.is_changed) {
                return Ok(());
            }
            ring.events.iter().cloned().collect()
        };
        let written = serde_json::to_vec(&json!({ "events": events }))
            .map_err(io::Error::from)
            .and_then(|bytes| replace_file(&self.path, &bytes));
        written.map_err(|error| {
            self.ring().is_changed = true;
            Failure::new(Reason::HomeUnusable, format!("write {}: {error}", self.path.display()))
        })
    }

    /// Puts what an earlier host wrote before what was noted since.
    fn recall(&self) {
        let earlier = match read(&self.path) {
            Ok(earlier) => earlier,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the book cannot be read; a new one begins");
                return;
            }
        };
        let mut ring = self.ring();
        let room = EVENTS_MAX - ring.events.len();
        for event in earlier.into_iter().rev().take(room) {
            ring.events.push_front(event);
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A book that is written now and then, as long as this value; once more when it goes.
pub struct BookKeeping {
    host: Host,
    task: JoinHandle<()>,
}

/// Takes up the book of an earlier host and keeps it on disk. For the one host of a home that stays.
#[must_use]
pub fn keep_book(host: &Host) -> BookKeeping {
    host.book().recall();
    let host = host.clone();
    let writer = host.clone();
    let task = tokio::spawn(async move {
        loop {
            tokio::time::sleep(FLUSH_EVERY).await;
            flush_or_warn(writer.book());
        }
    });
    BookKeeping { host, task }
}

impl Drop for BookKeeping {
    fn drop(&mut self) {
        self.task.abort();
        flush_or_warn(self.host.book());
    }
}

fn flush_or_warn(book: &Book) {
    if let Err(failure) = book.flush() {
        tracing::warn!(%failure, "write the book");
    }
}

/// What a book on disk has; events that are not ours are left out.
fn read(path: &Path) -> io::Result<Vec<BookEvent>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BOOK_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BOOK_BYTES_MAX {
        return Err(io::Error::other("the file is too large"));
    }
    let mut book: Value = serde_json::from_slice(&bytes)?;
    let Some(Value::Array(events)) = book.get_mut("events").map(Value::take) else {
        return Err(io::Error::other("there are no events in it"));
    };
    Ok(events.into_iter().filter_map(|event| serde_json::from_value(event).ok()).collect())
}

/// Cuts off what would let one event crowd out all others.
fn shorten(value: &mut Value, depth: usize) {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
            text.push('…');
        }
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = Value::Null,
        Value::Array(entries) => {
            entries.truncate(ENTRIES_MAX);
            entries.iter_mut().for_each(|entry| shorten(entry, depth - 1));
        }
        Value::Object(entries) => {
            if entries.len() > ENTRIES_MAX {
                *entries = std::mem::take(entries).into_iter().take(ENTRIES_MAX).collect();
            }
            entries.values_mut().for_each(|entry| shorten(entry, depth - 1));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
