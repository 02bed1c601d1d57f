//! What apps were asked and what they answered: sizes, status and duration of every call, kept for a while and told live.
//!
//! Always on, so nothing is formatted here and nothing of a message is kept. Only while somebody asks for the payloads of
//! an app are its messages kept too; they are read, cleared of secrets and cut when they are shown.

mod recording; // what passes by, on its way
mod payload; // a message as JSON

pub(super) use recording::Recorded;

use crate::log::Clear;
use bytes::Bytes;
use hyper::http::uri::PathAndQuery;
use serde_json::Value;
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};
use tokio::sync::broadcast;

/// Events that are kept, of all apps together.
const EVENTS_MAX: usize = 1024;

/// Events that wait for one reader; a slower one loses some and is told how many.
const WAITING_MAX: usize = 128;

/// Largest message that is kept for its payload: all kept ones together stay below 32 MiB.
const PAYLOAD_BYTES_MAX: usize = 32 << 10;

/// One message on its way, or the end of a stream.
#[derive(Debug, Clone)]
pub struct InspectedEvent {
    /// Counts from 1, over all apps.
    pub id: u64,
    /// When it passed by.
    pub at: SystemTime,
    /// Whose it was.
    pub app: Arc<str>,
    method: PathAndQuery,
    /// What it belongs to.
    pub kind: EventKind,
    /// Which way it went.
    pub direction: Direction,
    /// Its size, without its frame.
    pub bytes: u64,
    /// How the call ended, as a status of gRPC; nothing before its end.
    pub status: Option<i32>,
    error: Option<String>,
    /// Since the call began; nothing before its end.
    pub duration: Option<Duration>,
    /// Which message of a stream it is, from 1.
    pub stream_sequence: Option<u64>,
    payload: Kept,
}

/// What an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// One question with one answer.
    Unary,
    /// The question that a stream answers.
    StreamOpen,
    /// A message of a stream, or its end.
    StreamReceive,
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the app.
    Request,
    /// From the app.
    Response,
}

/// What is kept of a message.
#[derive(Debug, Clone, Default)]
enum Kept {
    #[default]
    Nothing,
    Whole(Bytes),
    TooLarge,
}

impl InspectedEvent {
    /// The call: `/apps.v0.Service/Call`.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.path()
    }
}

/// The record of one host. Clones are the same.
#[derive(Clone)]
pub struct Inspector {
    shared: Arc<Shared>,
    apps: Arc<Mutex<HashMap<Arc<str>, Arc<Trace>>>>,
}

struct Shared {
    ring: Mutex<Ring>,
    clear: Clear,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<InspectedEvent>,
    last: u64,
}

/// What is recorded of one app.
pub(super) struct Trace {
    app: Arc<str>,
    shared: Arc<Shared>,
    followers: OnceLock<broadcast::Sender<InspectedEvent>>,
    /// Who wants to see payloads now.
    payload_readers: AtomicUsize,
}

impl Inspector {
    pub(crate) fn new(clear: Clear) -> Self {
        Self { shared: Arc::new(Shared { ring: Mutex::default(), clear }), apps: Arc::default() }
    }

    /// Where the calls of an app are recorded.
    pub(super) fn trace(&self, app: &str) -> Arc<Trace> {
        let mut apps = lock(&self.apps);
        if let Some(trace) = apps.get(app) {
            return Arc::clone(trace);
        }
        let app: Arc<str> = app.into();
        let trace = Trace {
            app: Arc::clone(&app),
            shared: Arc::clone(&self.shared),
            followers: OnceLock::new(),
            payload_readers: AtomicUsize::new(0),
        };
        Arc::clone(apps.entry(app).or_insert(Arc::new(trace)))
    }

    /// The newest events of an app, oldest first.
    #[must_use]
    pub fn recent(&self, app: &str, most: usize) -> Vec<InspectedEvent> {
        recent(&lock(&self.shared.ring), app, most)
    }

    /// The newest events of an app, and all that come from now on. None comes twice or is left out in between.
    #[must_use]
    pub fn follow(&self, app: &str, most: usize, payloads: Payloads) -> (Vec<InspectedEvent>, Following) {
        let trace = self.trace(app);
        if payloads == Payloads::Kept {
            trace.payload_readers.fetch_add(1, Ordering::Relaxed);
        }
        let ring = lock(&self.shared.ring);
        let events = trace.followers.get_or_init(|| broadcast::channel(WAITING_MAX).0).subscribe();
        (recent(&ring, app, most), Following { events, trace: Arc::clone(&trace), payloads })
    }

    /// What the app said of a failure, without secrets.
    #[must_use]
    pub fn error(&self, event: &InspectedEvent) -> Option<String> {
        let error = event.error.as_ref()?;
        let cleared = (self.shared.clear)(error.as_bytes());
        Some(cleared.map_or_else(|| error.clone(), |bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The message of an event as JSON, without secrets; nothing where none was kept.
    #[must_use]
    pub fn payload(&self, event: &InspectedEvent) -> Option<Value> {
        match &event.payload {
            Kept::Nothing => None,
            Kept::TooLarge => Some(Value::String(format!("[{} bytes, too large to be kept]", event.bytes))),
            Kept::Whole(message) => {
                Some(payload::shown(event.method(), event.direction, message, &self.shared.clear))
            }
        }
    }
}

fn recent(ring: &Ring, app: &str, most: usize) -> Vec<InspectedEvent> {
    let newest_first = ring.events.iter().rev().filter(|event| &*event.app == app);
    let mut events: Vec<InspectedEvent> = newest_first.take(most).cloned().collect();
    events.reverse();
    events
}

impl Trace {
    /// True when messages are to be kept.
    fn keeps_payloads(&self) -> bool {
        self.payload_readers.load(Ordering::Relaxed) > 0
    }

    /// Keeps events of this app in their order, and tells them.
    fn record(&self, events: impl IntoIterator<Item = InspectedEvent>) {
        let mut ring = lock(&self.shared.ring);
        for mut event in events {
            ring.last += 1;
            event.id = ring.last;
            if ring.events.len() == EVENTS_MAX {
                ring.events.pop_front();
            }
            if let Some(followers) = self.followers.get()
                && followers.receiver_count() > 0
            {
                // Whoever left meanwhile needs no event.
                followers.send(event.clone()).ok();
            }
            ring.events.push_back(event);
        }
    }
}

/// Whether messages are kept for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payloads {
    /// They are, for as long as the reader stays.
    Kept,
    /// Sizes are enough.
    LeftOut,
}

/// The events of one app as they happen.
pub struct Following {
    events: broadcast::Receiver<InspectedEvent>,
    trace: Arc<Trace>,
    payloads: Payloads,
}

/// What comes next.
#[derive(Debug)]
pub enum Followed {
    /// An event.
    Event(Box<InspectedEvent>),
    /// So many were lost, because they were not read in time.
    Lost(u64),
}

impl Following {
    /// The next event, as soon as there is one.
    pub async fn next(&mut self) -> Followed {
        match self.events.recv().await {
            Ok(event) => Followed::Event(Box::new(event)),
            Err(broadcast::error::RecvError::Lagged(count)) => Followed::Lost(count),
            // The trace that is held here holds the sender.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if self.payloads == Payloads::Kept {
            self.trace.payload_readers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Inspector").finish_non_exhaustive()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Trace").field("app", &self.app).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
