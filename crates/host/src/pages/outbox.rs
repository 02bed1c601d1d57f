//! What waits to be told to a page: bounded, with bursts of the same brought together and the oldest given up first.

use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;

/// Events that wait for one page; a page that is slower than this misses some and is told how many.
const WAITING_MAX: usize = 256;

/// Bytes of what an event carries; more is left out.
const DATA_BYTES_MAX: usize = 64 << 10;

/// One event on its way to a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageEvent {
    /// What the page subscribed with, pattern included: it knows its listeners by that.
    pub event_name: String,
    /// What really happened.
    pub name: String,
    /// Plain data.
    pub data: Value,
    /// How often the same happened since the last one.
    #[serde(skip_serializing_if = "is_once")]
    pub count: u64,
    /// Events before this one that the page was too slow for.
    #[serde(skip_serializing_if = "is_none")]
    pub dropped: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_once(count: &u64) -> bool {
    *count <= 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_none(dropped: &u64) -> bool {
    *dropped == 0
}

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<PageEvent>,
    dropped: u64,
}

impl Outbox {
    pub(super) fn push(&mut self, event_name: &str, name: &str, data: &Value) {
        let is_same = |old: &&mut PageEvent| {
            old.event_name == event_name && old.name == name && subject(&old.data) == subject(data)
        };
        // The newest of a burst says all; that it was a burst is counted.
        if subject(data).is_some()
            && let Some(old) = self.waiting.iter_mut().find(is_same)
        {
            old.data = data.clone();
            old.count += 1;
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            self.dropped += self.waiting.pop_front().map_or(0, |event| event.count);
        }
        let data = if data.to_string().len() > DATA_BYTES_MAX { Value::Null } else { data.clone() };
        let (event_name, name) = (event_name.to_owned(), name.to_owned());
        self.waiting.push_back(PageEvent { event_name, name, data, count: 1, dropped: 0 });
    }

    pub(super) fn take(&mut self) -> Vec<PageEvent> {
        let dropped = std::mem::take(&mut self.dropped);
        let mut events: Vec<PageEvent> = self.waiting.drain(..).collect();
        if let Some(first) = events.first_mut() {
            first.dropped = dropped;
        }
        events
    }
}

/// What an event is about, where it is about a file.
fn subject(data: &Value) -> Option<&str> {
    data["path"].as_str()
}

#[cfg(test)]
mod tests {
    use super::Outbox;
    use serde_json::json;

    #[test]
    fn bursts_come_together_and_the_oldest_give_way() {
        let mut outbox = Outbox::default();
        for size in 0..10 {
            outbox.push("artifact:*", "artifact:updated", &json!({"path": "/a", "size": size}));
        }
        outbox.push("artifact:*", "artifact:updated", &json!({"path": "/b"}));
        let events = outbox.take();
        assert_eq!((events.len(), events[0].count, &events[0].data["size"]), (2, 10, &json!(9)));
        for number in 0..300 {
            outbox.push("app:x:*", "app:x:tick", &json!({"number": number}));
        }
        let events = outbox.take();
        assert_eq!((events.len(), events[0].dropped, &events[0].data["number"]), (256, 44, &json!(44)));
        assert!(outbox.take().is_empty());
    }
}
