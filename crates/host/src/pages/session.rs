//! One mounted page: what was hashed when it was mounted, who it is to the gate, and how much it may ask for.

use super::{
    PageContent, StrictPage,
    outbox::{Outbox, PageEvent},
    page_named,
};
use crate::{
    gate::{Decision, Gate, Use, Uses},
    runs::ActiveRun,
    standing::Standing,
};
use roost_protocol::{Pattern, Right};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{Notify, Semaphore};

/// Calls at once that a page may have unanswered.
pub(super) const IN_FLIGHT_MAX: usize = 64;

/// Calls that a page may make in a burst, and in every second after it: a page that reads everything reads some
/// hundred files one by one.
const BURST: f64 = 1000.0;
const PER_SECOND: f64 = 250.0;

/// Subscriptions of one page.
const SUBSCRIPTIONS_MAX: usize = 64;

/// Equal reads within this time are one row of the audit log, with their number.
const REPEATS_WITHIN: Duration = Duration::from_secs(5);

/// Different reads whose repeats are counted; others are recorded one by one.
const REPEATS_KEPT: usize = 1024;

/// How a frame is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PageMode {
    /// By a host name of its own.
    Origin,
    /// By an origin that is none.
    Opaque,
}

/// A mounted page.
pub struct PageSession {
    pub(super) id: String,
    /// The first part of its host name, or of its paths.
    pub(super) place: String,
    pub(super) mode: PageMode,
    pub(super) page: Arc<PageContent>,
    pub(super) standing: Standing,
    /// Rights that its headers were made from.
    pub(super) in_headers: Vec<Right>,
    /// Its entry with nothing but scripts that have a name, where they allow that.
    pub(super) strict: Option<StrictPage>,
    pub(super) run: Option<ActiveRun>,
    pub(super) in_flight: Semaphore,
    /// The last change of the workspace it was told about.
    pub(super) seen: AtomicI64,
    pub(super) calls: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) wake: Notify,
    bucket: Mutex<Bucket>,
    subscriptions: Mutex<BTreeMap<String, Pattern>>,
    outbox: Mutex<Outbox>,
    /// Its own conversation, where it speaks the cartridge protocol.
    pub(super) said: Mutex<Vec<Value>>,
    repeats: Mutex<HashMap<(String, bool), Repeat>>,
    used: Mutex<Instant>,
    ended: OnceLock<EndOfPage>,
}

/// Why a page is no longer mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndOfPage {
    /// The host page said so.
    Unmounted,
    /// Its files were changed or removed.
    Changed,
    /// A right that its headers were made from was taken back.
    RightsChanged,
    /// Nobody listened any more.
    Left,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

struct Repeat {
    since: Instant,
    right: Option<Right>,
    detail: String,
    count: u64,
}

/// Everything that is new with a session.
pub(super) struct NewSession {
    pub(super) id: String,
    pub(super) place: String,
    pub(super) mode: PageMode,
    pub(super) page: Arc<PageContent>,
    pub(super) standing: Standing,
    pub(super) in_headers: Vec<Right>,
    pub(super) strict: Option<StrictPage>,
    pub(super) run: Option<ActiveRun>,
    pub(super) seen: i64,
}

impl PageSession {
    pub(super) fn new(new: NewSession) -> Self {
        Self {
            id: new.id,
            place: new.place,
            mode: new.mode,
            page: new.page,
            standing: new.standing,
            in_headers: new.in_headers,
            strict: new.strict,
            run: new.run,
            in_flight: Semaphore::new(IN_FLIGHT_MAX),
            seen: AtomicI64::new(new.seen),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            wake: Notify::new(),
            bucket: Mutex::new(Bucket { tokens: BURST, filled: Instant::now() }),
            subscriptions: Mutex::default(),
            outbox: Mutex::default(),
            said: Mutex::default(),
            repeats: Mutex::default(),
            used: Mutex::new(Instant::now()),
            ended: OnceLock::new(),
        }
    }

    /// Its name, which nobody guesses.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The first part of its host name, or of its paths.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// How its frame is kept apart.
    #[must_use]
    pub fn mode(&self) -> PageMode {
        self.mode
    }

    /// What is mounted.
    #[must_use]
    pub fn page(&self) -> &PageContent {
        &self.page
    }

    /// Its entry in the network-proof form, where it runs in that tier.
    #[must_use]
    pub fn strict(&self) -> Option<&StrictPage> {
        self.strict.as_ref()
    }

    /// The run that its writes belong to.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.id.as_str())
    }

    /// Rights in force that a browser enforces by headers.
    #[must_use]
    pub fn header_rights(&self) -> &[Right] {
        &self.in_headers
    }

    /// Why it ended, once it has.
    #[must_use]
    pub fn ended(&self) -> Option<EndOfPage> {
        self.ended.get().copied()
    }

    pub(super) fn end(&self, why: EndOfPage) -> bool {
        let is_first = self.ended.set(why).is_ok();
        self.wake.notify_waiters();
        self.wake.notify_one();
        is_first
    }

    /// Counts one call; false when there were too many.
    pub(super) fn may_call(&self) -> bool {
        *lock(&self.used) = Instant::now();
        let mut bucket = lock(&self.bucket);
        let now = Instant::now();
        let filled = now.duration_since(bucket.filled).as_secs_f64() * PER_SECOND;
        bucket.tokens = (bucket.tokens + filled).min(BURST);
        bucket.filled = now;
        let is_enough = bucket.tokens >= 1.0;
        if is_enough {
            bucket.tokens -= 1.0;
        }
        is_enough
    }

    /// Somebody listens or looks, so it is in use.
    pub fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    pub(super) fn idle_for(&self) -> Duration {
        lock(&self.used).elapsed()
    }

    /// Decides one use and records it. An equal read soon after is decided anew and counted instead of recorded.
    pub(super) fn decide(&self, gate: &Gate, using: Use<'_>, repeatable: bool) -> bool {
        let detail = using.detail.unwrap_or_default();
        let Standing { caller, asks } = &self.standing;
        let key = format!("{detail} {}", using.right);
        if repeatable {
            let is_allowed = matches!(gate.consider(caller, asks, using.right), Decision::Allowed { .. });
            let mut repeats = lock(&self.repeats);
            if let Some(repeat) = repeats.get_mut(&(key.clone(), is_allowed)) {
                if repeat.since.elapsed() < REPEATS_WITHIN {
                    repeat.count += 1;
                    return is_allowed;
                }
                let told = repeats.remove(&(key.clone(), is_allowed));
                drop(repeats);
                told.into_iter().for_each(|repeat| self.tell(gate, &repeat, is_allowed));
            }
        }
        let is_allowed = matches!(gate.decide_use(caller, asks, using), Decision::Allowed { .. });
        let mut repeats = lock(&self.repeats);
        if repeatable && repeats.len() < REPEATS_KEPT {
            let (since, right) = (Instant::now(), Some(using.right.clone()));
            let repeat = Repeat { since, right, detail: detail.to_owned(), count: 0 };
            repeats.insert((key, is_allowed), repeat);
        }
        is_allowed
    }

    /// Records a use that needs no right, or that nobody could have a right for.
    pub(super) fn note(&self, gate: &Gate, detail: &str, allowed: bool) -> bool {
        let uses = Uses { right: None, detail, allowed, count: 1 };
        let noted = gate.note_uses(&self.standing.caller, uses);
        if let Err(failure) = &noted {
            tracing::error!(%failure, "record what a page did");
        }
        noted.is_ok() && allowed
    }

    /// The same for what a page does again and again: equal ones soon after are counted.
    pub(super) fn note_repeatable(&self, gate: &Gate, detail: &str) -> bool {
        let key = (detail.to_owned(), true);
        self.settle_old(gate);
        if let Some(repeat) = lock(&self.repeats).get_mut(&key) {
            repeat.count += 1;
            return true;
        }
        let is_noted = self.note(gate, detail, true);
        let mut repeats = lock(&self.repeats);
        if is_noted && repeats.len() < REPEATS_KEPT {
            let repeat = Repeat { since: Instant::now(), right: None, detail: detail.to_owned(), count: 0 };
            repeats.insert(key, repeat);
        }
        is_noted
    }

    /// Records what was counted, where it was long enough ago.
    pub(super) fn settle_old(&self, gate: &Gate) {
        let is_old = |_: &(String, bool), repeat: &mut Repeat| repeat.since.elapsed() >= REPEATS_WITHIN;
        let old: Vec<_> = lock(&self.repeats).extract_if(is_old).collect();
        for ((_, is_allowed), repeat) in old {
            self.tell(gate, &repeat, is_allowed);
        }
    }

    /// Records what was only counted so far.
    pub(super) fn settle(&self, gate: &Gate) {
        let repeats = std::mem::take(&mut *lock(&self.repeats));
        for ((_, is_allowed), repeat) in repeats {
            self.tell(gate, &repeat, is_allowed);
        }
    }

    fn tell(&self, gate: &Gate, repeat: &Repeat, allowed: bool) {
        if repeat.count == 0 {
            return;
        }
        let Repeat { right, detail, count, .. } = repeat;
        let uses = Uses { right: right.as_ref(), detail, allowed, count: *count };
        if let Err(failure) = gate.note_uses(&self.standing.caller, uses) {
            tracing::error!(%failure, "record what a page did");
        }
    }

    /// Notes a subscription under a name of its own; nothing when there are too many.
    pub(super) fn subscribe(&self, pattern: Pattern) -> Option<String> {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return None;
        }
        let id = format!("sub_{}", uuid::Uuid::new_v4().simple());
        subscriptions.insert(id.clone(), pattern);
        Some(id)
    }

    /// Forgets a subscription of this page; false when it has none of this name.
    pub(super) fn unsubscribe(&self, id: &str) -> bool {
        lock(&self.subscriptions).remove(id).is_some()
    }

    /// What it subscribed with, each once.
    pub(super) fn subscribed(&self) -> Vec<Pattern> {
        let mut patterns: Vec<Pattern> = lock(&self.subscriptions).values().cloned().collect();
        patterns.sort();
        patterns.dedup();
        patterns
    }

    /// Hands over what happened, once for every name it subscribed with that fits.
    pub(super) fn deliver(&self, name: &str, data: &Value) {
        let fitting: Vec<Pattern> =
            self.subscribed().into_iter().filter(|pattern| hears(pattern, name, self.own_id())).collect();
        if fitting.is_empty() {
            return;
        }
        let mut outbox = lock(&self.outbox);
        for pattern in fitting {
            outbox.push(pattern.as_str(), name, data);
        }
        drop(outbox);
        self.wake.notify_one();
    }

    pub(super) fn take_events(&self) -> Vec<PageEvent> {
        lock(&self.outbox).take()
    }

    /// What it is called among pages: its id, with a mark before it where it came with an installed app.
    pub(super) fn own_id(&self) -> &str {
        page_named(self.standing.caller.app.as_str()).unwrap_or_default()
    }

    pub(super) fn count(&self, is_error: bool) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.errors.fetch_add(u64::from(is_error), Ordering::Relaxed);
    }
}

/// What other pages say to themselves is heard only by who named them.
fn hears(pattern: &Pattern, name: &str, own_id: &str) -> bool {
    if !pattern.matches(name) {
        return false;
    }
    let speaker = name.strip_prefix("app:").and_then(|rest| rest.split_once(':')).map(|(id, _)| id);
    match speaker {
        Some(id) if id != own_id => pattern.as_str().starts_with(&format!("app:{id}:")),
        _ => true,
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::hears;
    use roost_protocol::Pattern;

    #[test]
    fn another_page_is_heard_only_by_name() {
        let hears = |pattern: &str, name: &str| hears(&Pattern::parse(pattern).unwrap(), name, "me");
        assert!(hears("artifact:*", "artifact:created") && hears("*", "artifact:created"));
        assert!(
            hears("app:*", "app:mounted") && hears("app:me:*", "app:me:x") && hears("app:you:*", "app:you:x")
        );
        assert!(
            !hears("app:*", "app:you:x") && !hears("*", "app:you:x") && !hears("artifact:*", "agent:status")
        );
    }
}
