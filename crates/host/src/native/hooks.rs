//! Hooks: points of the host at which native apps are told something, or change it.
//!
//! Nobody waits for an action. A filter that fails, is late or says something that cannot be read leaves things as they
//! are; an app that keeps failing is left out for a while.

mod breaker; // who is left out
mod point; // where apps take part

pub(crate) use self::point::Point;

use self::breaker::Breaker;
use super::{launch::LiveApp, state::LeftOut};
use roost_protocol::Right;
use roost_runtime::HookSubscription;
use serde_json::Value;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};
use tokio::sync::Semaphore;

/// What an app that does not care gets.
const PRIORITY_USUAL: i32 = 10;

/// Actions that may be on their way at the same time; more are left out.
const ACTIONS_MAX: usize = 64;

/// Subscriptions of one app that are read; there are ten points.
const SUBSCRIPTIONS_MAX: usize = 100;

/// Everybody who takes part somewhere.
pub(crate) struct Hooks {
    /// A bit for each point that has somebody, so that a point without anybody costs nothing.
    taken: AtomicU32,
    subscribers: Mutex<Arc<Vec<Subscriber>>>,
    actions: Arc<Semaphore>,
}

/// One app at one point.
#[derive(Clone)]
struct Subscriber {
    point: Point,
    kind: Kind,
    priority: i32,
    /// Whether it may answer in place of the host.
    may_override: bool,
    live: Arc<LiveApp>,
    /// One for all points of an app.
    breaker: Arc<Breaker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Filter,
    Action,
}

/// What came out at a point.
#[derive(Debug, PartialEq)]
pub(crate) enum Filtered {
    /// This is to be used.
    Payload(Value),
    /// An app did it; this is its answer.
    Handled(Value),
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            taken: AtomicU32::new(0),
            subscribers: Mutex::default(),
            actions: Arc::new(Semaphore::new(ACTIONS_MAX)),
        }
    }
}

impl Hooks {
    /// True when somebody takes part there. Asked before a payload is made.
    pub(crate) fn has(&self, point: Point) -> bool {
        self.taken.load(Ordering::Acquire) & point.bit() != 0
    }

    /// Lets everybody at the point change the payload, one after the other.
    pub(crate) async fn filter(&self, point: Point, payload: Value) -> Filtered {
        let mut payload = payload;
        for subscriber in self.at(point, Kind::Filter) {
            let Some(pass) = subscriber.breaker.pass(Instant::now()) else { continue };
            let app = &subscriber.live.app;
            let answered = app.apply_filter(point.name(), payload.to_string().into_bytes()).await;
            let answer = match answered {
                Ok(answer) => answer,
                Err(failure) => {
                    tracing::warn!(app = subscriber.live.folder.id(), hook = point.name(), %failure, "a hook");
                    pass.failed(Instant::now());
                    continue;
                }
            };
            let said = (!answer.payload.is_empty()).then(|| serde_json::from_slice(&answer.payload));
            let said: Option<Value> = match said.transpose() {
                Ok(said) => said,
                Err(_) if answer.handled && subscriber.may_override => {
                    // Whoever answers in place of the host may answer in plain text.
                    Some(Value::String(String::from_utf8_lossy(&answer.payload).into_owned()))
                }
                Err(error) => {
                    tracing::warn!(app = subscriber.live.folder.id(), hook = point.name(), %error, "a hook");
                    pass.failed(Instant::now());
                    continue;
                }
            };
            pass.succeeded();
            if answer.handled && subscriber.may_override {
                return Filtered::Handled(said.unwrap_or(payload));
            }
            payload = said.unwrap_or(payload);
        }
        Filtered::Payload(payload)
    }

    /// Tells everybody at the point, without waiting for them.
    pub(crate) fn act(&self, point: Point, payload: &Value) {
        let subscribers = self.at(point, Kind::Action);
        if subscribers.is_empty() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.actions).try_acquire_owned() else {
            tracing::warn!(hook = point.name(), "too many actions are on their way; this one is left out");
            return;
        };
        let payload = payload.to_string().into_bytes();
        // Ends by itself: each app has half a second.
        drop(tokio::spawn(async move {
            for subscriber in subscribers {
                let Some(pass) = subscriber.breaker.pass(Instant::now()) else { continue };
                match subscriber.live.app.do_action(point.name(), payload.clone()).await {
                    Ok(()) => pass.succeeded(),
                    Err(failure) => {
                        let app = subscriber.live.folder.id();
                        tracing::warn!(app, hook = point.name(), %failure, "a hook");
                        pass.failed(Instant::now());
                    }
                }
            }
            drop(permit);
        }));
    }

    /// Lets an app take part where it wants to and may; what it may not is told.
    pub(super) fn take_in(&self, live: &Arc<LiveApp>, wanted: Vec<HookSubscription>) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        let breaker = Arc::<Breaker>::default();
        let mut taken: Vec<Subscriber> = Vec::new();
        for wanted in wanted.into_iter().take(SUBSCRIPTIONS_MAX) {
            match subscriber(live, &wanted, &breaker) {
                Ok(subscriber) => {
                    taken.retain(|one| (one.point, one.kind) != (subscriber.point, subscriber.kind));
                    taken.push(subscriber);
                }
                Err(why) => left_out.push(LeftOut { what: format!("hook {}", shown(&wanted.hook)), why }),
            }
        }
        self.change(|others| {
            // Another process of the same app may still be there: it is replaced, never doubled.
            others.retain(|one| one.live.folder.id() != live.folder.id());
            others.extend(taken);
            others.sort_by(|one, other| {
                let key = |one: &Subscriber| (one.priority, one.live.folder.id().to_owned());
                key(one).cmp(&key(other))
            });
        });
        left_out
    }

    /// Nobody asks the app any more when this returns, but whoever does so now.
    pub(super) fn take_out(&self, live: &Arc<LiveApp>) {
        self.change(|all| all.retain(|one| !Arc::ptr_eq(&one.live, live)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Subscriber>)) {
        let mut subscribers = self.lock();
        let mut all = (**subscribers).clone();
        change(&mut all);
        let taken = all.iter().fold(0, |taken, one| taken | one.point.bit());
        *subscribers = Arc::new(all);
        self.taken.store(taken, Ordering::Release);
    }

    fn at(&self, point: Point, kind: Kind) -> Vec<Subscriber> {
        if !self.has(point) {
            return Vec::new();
        }
        let all = Arc::clone(&self.lock());
        all.iter().filter(|one| one.point == point && one.kind == kind).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Vec<Subscriber>>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an app wants at one point, if it may have it.
fn subscriber(
    live: &Arc<LiveApp>,
    wanted: &HookSubscription,
    breaker: &Arc<Breaker>,
) -> Result<Subscriber, String> {
    let point = Point::named(&wanted.hook).ok_or("there is no such hook")?;
    let kind = match wanted.kind.as_str() {
        "filter" => Kind::Filter,
        "action" => Kind::Action,
        _ => return Err("a hook is a filter or an action".to_owned()),
    };
    let right: Right = format!("hooks:{}", point.name()).parse().map_err(|_| "there is no such hook")?;
    if !live.rights.iter().any(|held| held.covers(&right)) {
        let app = live.standing.caller.app.as_str();
        return Err(format!("it is not granted: `roost grant {app} {right}`, then start it again"));
    }
    let priority = if wanted.priority == 0 { PRIORITY_USUAL } else { wanted.priority };
    let may_override = live.folder.manifest.overrides.iter().any(|name| name == point.name());
    Ok(Subscriber {
        point,
        kind,
        priority,
        may_override,
        live: Arc::clone(live),
        breaker: Arc::clone(breaker),
    })
}

/// A name of an app's own, short and on one line.
fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}
