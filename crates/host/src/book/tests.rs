//! What the book keeps, forgets and survives.

use super::{Book, EVENTS_MAX, TEXT_BYTES_MAX};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Instant};

fn book_at(folder: &Path) -> Book {
    Book::new(folder.join(".brainstem_book.json"))
}

#[test]
fn the_oldest_event_makes_room_for_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let book = book_at(folder.path());
    for number in 0..EVENTS_MAX + 5 {
        book.note("call", json!({ "number": number }));
    }
    let all = book.tail(usize::MAX);
    assert_eq!((all.len(), &all[0].detail["number"]), (EVENTS_MAX, &json!(5)));
    assert_eq!(book.noted(), EVENTS_MAX as u64 + 5);
    let last = book.tail(2);
    assert_eq!((last.len(), &last[1].detail["number"]), (2, &json!(EVENTS_MAX + 4)));
}

#[test]
fn a_book_is_taken_up_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let first = book_at(folder.path());
    first.note("call", json!({ "agent": "A" }));
    first.flush().unwrap();
    let path = folder.path().join(".brainstem_book.json");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let second = book_at(folder.path());
    second.note("started", json!({}));
    second.recall();
    let kinds: Vec<String> = second.tail(10).into_iter().map(|event| event.kind.into_owned()).collect();
    assert_eq!(kinds, ["call", "started"]);
    assert_eq!(second.noted(), 1);
    second.clear().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), r#"{"events":[]}"#);
}

#[test]
fn nothing_new_is_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let book = book_at(folder.path());
    book.flush().unwrap();
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn a_damaged_book_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".brainstem_book.json");
    for text in ["", "{", "[]", "null", r#"{"events": 1}"#, "\u{0}\u{1}"] {
        fs::write(&path, text).unwrap();
        let book = book_at(folder.path());
        book.recall();
        assert!(book.tail(10).is_empty(), "{text}");
    }
    let mixed = r#"{"events": [{"ts": 1}, {"time": "2026-01-01T00:00:00Z", "kind": "x"}, 7]}"#;
    fs::write(&path, mixed).unwrap();
    let book = book_at(folder.path());
    book.recall();
    assert_eq!(book.tail(10).len(), 1);
}

#[test]
fn one_event_cannot_crowd_out_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let book = book_at(folder.path());
    let many: Vec<u32> = (0..1000).collect();
    let deep = json!([[[[["x"]]]]]);
    book.note("call", json!({ "error": "ü".repeat(5000), "many": many, "deep": deep }));
    let event = &book.tail(1)[0];
    assert!(event.detail["error"].as_str().unwrap().len() <= TEXT_BYTES_MAX + 3);
    assert_eq!(event.detail["many"].as_array().unwrap().len(), 20);
    assert!(serde_json::to_string(event).unwrap().len() < 1000);
}

#[test]
fn noting_is_cheap() {
    let folder = tempfile::tempdir().unwrap();
    let book = book_at(folder.path());
    let started = Instant::now();
    for _ in 0..10_000 {
        book.note("call", json!(null));
    }
    // Fifty times what is promised: this must not fail on a busy machine, and a disk would take far longer.
    assert!(started.elapsed().as_micros() < 500_000, "{:?}", started.elapsed());
}
