//! Lets native apps change an answer while it is streamed: pieces are gathered for a moment and changed together.

use crate::native::{Filtered, Hooks, Point};
use roost_chat::{OnEvent, TurnEvent};
use serde_json::json;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::sleep};

/// How long pieces are gathered: shorter than a person notices, long enough for many pieces.
const GATHER: Duration = Duration::from_millis(30);

/// Gathered text that is passed on at once.
const GATHERED_BYTES_MAX: usize = 2 << 10;

/// Runs a turn whose events pass the apps, in their order. All of them were passed on when it returns.
pub(super) async fn streamed<T, F: Future<Output = T>>(
    hooks: &Hooks,
    on_event: OnEvent<'_>,
    turn: impl FnOnce(Gathered) -> F,
) -> T {
    let gathered = Gathered::default();
    let done = Notify::new();
    let turning = async {
        let out = turn(gathered.clone()).await;
        done.notify_one();
        out
    };
    let passing = async {
        let mut is_done = false;
        while !is_done {
            tokio::select! {
                () = gathered.arrived() => {}
                () = done.notified() => is_done = true,
            }
            if !is_done && !gathered.is_enough() {
                tokio::select! {
                    () = sleep(GATHER) => {}
                    () = gathered.enough() => {}
                    () = done.notified() => is_done = true,
                }
            }
            for event in gathered.take() {
                on_event(changed(hooks, event).await);
            }
        }
    };
    let (out, ()) = tokio::join!(turning, passing);
    out
}

async fn changed(hooks: &Hooks, event: TurnEvent) -> TurnEvent {
    let TurnEvent::Piece(text) = event else { return event };
    let payload = json!({ "event": { "type": "text", "content": text } });
    let (Filtered::Payload(said) | Filtered::Handled(said)) =
        hooks.filter(Point::ResponseStream, payload).await;
    match said["event"]["content"].as_str() {
        Some(said) => TurnEvent::Piece(said.to_owned()),
        None => TurnEvent::Piece(text),
    }
}

/// Events that were not passed on yet. Pieces that follow each other become one, so few of them ever wait.
#[derive(Clone, Default)]
pub(super) struct Gathered(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    events: Mutex<Vec<TurnEvent>>,
    arrived: Notify,
    enough: Notify,
}

impl Gathered {
    pub(super) fn push(&self, event: TurnEvent) {
        {
            let mut events = self.lock();
            match (events.last_mut(), event) {
                (Some(TurnEvent::Piece(before)), TurnEvent::Piece(more)) => before.push_str(&more),
                (_, event) => events.push(event),
            }
        }
        self.0.arrived.notify_one();
        if self.is_enough() {
            self.0.enough.notify_one();
        }
    }

    /// True when nothing is gained by waiting: there is much text, or something that is no text.
    fn is_enough(&self) -> bool {
        self.lock().iter().any(|event| match event {
            TurnEvent::Piece(text) => text.len() >= GATHERED_BYTES_MAX,
            _ => true,
        })
    }

    fn take(&self) -> Vec<TurnEvent> {
        std::mem::take(&mut *self.lock())
    }

    async fn arrived(&self) {
        self.0.arrived.notified().await;
    }

    async fn enough(&self) {
        self.0.enough.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TurnEvent>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
