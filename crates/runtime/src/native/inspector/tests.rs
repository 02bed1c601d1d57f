//! The ring and its readers, without any app.

use super::{
    Direction, EVENTS_MAX, EventKind, Followed, InspectedEvent, Inspector, Kept, Payloads, WAITING_MAX,
};
use hyper::http::uri::PathAndQuery;
use std::{sync::Arc, time::SystemTime};

fn event(app: &str) -> InspectedEvent {
    InspectedEvent {
        id: 0,
        at: SystemTime::now(),
        app: app.into(),
        method: PathAndQuery::from_static("/apps.v0.ToolService/Execute"),
        kind: EventKind::Unary,
        direction: Direction::Request,
        bytes: 1,
        status: None,
        error: None,
        duration: None,
        stream_sequence: None,
        payload: Kept::Nothing,
    }
}

#[test]
fn the_record_is_bounded_and_keeps_the_newest() {
    let inspector = Inspector::new(Arc::new(|_| None));
    let (one, other) = (inspector.trace("one"), inspector.trace("other"));
    one.record([event("one")]);
    for _ in 0..EVENTS_MAX {
        other.record([event("other")]);
    }
    assert!(inspector.recent("one", 10).is_empty());
    let newest: Vec<u64> = inspector.recent("other", 2).iter().map(|event| event.id).collect();
    assert_eq!(newest, [EVENTS_MAX as u64, EVENTS_MAX as u64 + 1]);
    assert_eq!(inspector.recent("other", usize::MAX).len(), EVENTS_MAX);
}

#[tokio::test]
async fn a_reader_gets_what_was_and_what_comes_and_is_told_what_it_lost() {
    let inspector = Inspector::new(Arc::new(|_| None));
    let (trace, other) = (inspector.trace("one"), inspector.trace("other"));
    trace.record([event("one")]);
    let (before, mut following) = inspector.follow("one", 200, Payloads::LeftOut);
    assert_eq!(before.len(), 1);
    other.record([event("other")]);
    trace.record([event("one")]);
    assert!(matches!(following.next().await, Followed::Event(event) if event.id == 3));
    for _ in 0..WAITING_MAX + 5 {
        trace.record([event("one")]);
    }
    assert!(matches!(following.next().await, Followed::Lost(5)));
    assert!(matches!(following.next().await, Followed::Event(event) if event.id == 9));
}

#[test]
fn payloads_are_kept_for_as_long_as_somebody_reads_them() {
    let inspector = Inspector::new(Arc::new(|_| None));
    let trace = inspector.trace("one");
    let (_, without) = inspector.follow("one", 0, Payloads::LeftOut);
    assert!(!trace.keeps_payloads());
    let (_, with) = inspector.follow("one", 0, Payloads::Kept);
    assert!(trace.keeps_payloads() && !inspector.trace("other").keeps_payloads());
    drop((with, without));
    assert!(!trace.keeps_payloads());
}
