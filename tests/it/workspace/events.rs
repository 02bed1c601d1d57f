//! What happened to files, as it happens.

use super::asking::{Asking, check, token};
use roost_tests::{ENGINES, RunningHost, home_on, until};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Lines},
    net::TcpStream,
};

const EVENTS: &str = "/v1/host/workspace/events";

/// An open stream of events.
struct Stream {
    lines: Lines<BufReader<TcpStream>>,
}

#[derive(Debug, Default, PartialEq)]
struct Event {
    id: Option<String>,
    name: String,
    data: Value,
}

impl Stream {
    fn open(host: &RunningHost, token: &str, query: &str, headers: &[(&str, &str)]) -> Self {
        let bearer = format!("Bearer {token}");
        let all = [&[("Authorization", bearer.as_str())], headers].concat();
        let stream = host.start("GET", &format!("{EVENTS}{query}"), &all, 0).unwrap();
        let mut lines = BufReader::new(stream).lines();
        let mut head = String::new();
        loop {
            let line = lines.next().unwrap().unwrap();
            if line.is_empty() {
                break;
            }
            head.push_str(&line.to_lowercase());
        }
        assert!(head.contains(" 200 ") && head.contains("text/event-stream"), "{head}");
        Self { lines }
    }

    /// The next event; nothing when the stream ended.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let line = self.lines.next()?.ok()?;
            let (field, value) = line.split_once(": ").unwrap_or((line.as_str(), ""));
            match field {
                "id" => event.id = Some(value.to_owned()),
                "event" => event.name = value.to_owned(),
                "data" => event.data = serde_json::from_str(value).unwrap(),
                "" if !event.name.is_empty() => return Some(event),
                // Comments, and the lengths of pieces.
                _ => {}
            }
        }
    }
}

fn updated(sequence: i64, path: &str, version: i64) -> Event {
    let data = json!({ "path": path, "version": version });
    Event { id: Some(sequence.to_string()), name: "workspace.updated".to_owned(), data }
}

#[test]
fn every_write_is_told_in_order_and_a_reader_who_was_away_misses_nothing() {
    for engine in ENGINES {
        let (home, server) = home_on(engine);
        let host = home.up();
        let made = token(&home, &["--rate", "0"]);
        let shown = made["token"].as_str().unwrap();
        let asking = Asking::with(&host, shown);
        let stranger = Asking::new(&home, &host, &["--tenant", "other"]);
        asking.put("before.md", "x", &[]);
        let mut live = Stream::open(&host, shown, "", &[]);
        stranger.put("hidden.md", "x", &[]);
        asking.put("a.md", "secret content", &[]);
        assert_eq!(live.next(), Some(updated(2, "a.md", 1)), "{engine:?}: from now on");
        check(&asking.put("a.md", "x", &[("If-Match", "\"stale\"")]), 409, "workspace_conflict");
        check(&asking.put("..", "x", &[]), 400, "validation_error");
        asking.delete("a.md", &[]);
        assert_eq!(live.next(), Some(updated(3, "a.md", 2)), "refused writes are no events");
        drop(live);
        asking.put("b.md", "x", &[]);
        let mut back = Stream::open(&host, shown, "?after=0", &[("Last-Event-ID", "2")]);
        assert_eq!(back.next(), Some(updated(3, "a.md", 2)), "the header wins");
        assert_eq!(back.next(), Some(updated(4, "b.md", 1)));
        let mut all = Stream::open(&host, shown, "?after=0", &[]);
        assert_eq!(all.next(), Some(updated(1, "before.md", 1)));

        let reset = || Some(Event { id: None, name: "reset".to_owned(), data: json!({ "revision": 4 }) });
        let mut ahead = Stream::open(&host, shown, "?after=9223372036854775807", &[]);
        assert_eq!(ahead.next(), reset(), "what never happened cannot have been seen");
        if let Some(server) = &server {
            server.sql("DELETE FROM roost.events WHERE sequence < 3");
            let mut late = Stream::open(&host, shown, "?after=1", &[]);
            assert_eq!(late.next(), reset());
            assert_eq!(late.next(), Some(updated(3, "a.md", 2)));
            let page = asking.send("GET", &format!("{EVENTS}/poll?after=0"), &[], b"").json();
            assert_eq!((&page["reset"], &page["events"][0]["sequence"]), (&json!(true), &json!(3)));
        }
        for bad in ["?after=-1", "?after=x", "?after=1&after=2", "?after=9223372036854775808"] {
            check(&asking.send("GET", &format!("{EVENTS}{bad}"), &[], b""), 400, "validation_error");
        }
        check(&asking.send("GET", EVENTS, &[("Last-Event-ID", "x")], b""), 400, "validation_error");
        // Open streams do not keep the host from stopping.
        assert_eq!(host.terminate(), 0);
        assert_eq!(ahead.next(), None);
    }
}

#[test]
fn a_page_waits_until_something_happens() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let poll = |query: &str| asking.send("GET", &format!("{EVENTS}/poll{query}"), &[], b"");
        assert_eq!(poll("").json(), json!({ "events": [], "revision": 0 }));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| poll("?after=0&timeout=60").json());
            asking.put("a.md", "x", &[]);
            let page = waiting.join().unwrap();
            assert_eq!(page["revision"], 1, "{engine:?}");
            let event = &page["events"][0];
            let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
            assert_eq!(keys.len(), 4, "{event}");
            assert_eq!(
                (&event["sequence"], &event["path"], &event["version"]),
                (&json!(1), &json!("a.md"), &json!(1))
            );
            assert!(event["timestamp"].as_str().unwrap().ends_with('Z'));
        });
        assert_eq!(poll("?after=1").json(), json!({ "events": [], "revision": 1 }));
        assert_eq!(poll("?after=1&timeout=1").json(), json!({ "events": [], "revision": 1 }));
        for bad in ["?timeout=61", "?timeout=-1", "?timeout=", "?after=x"] {
            check(&poll(bad), 400, "validation_error");
        }
    }
}

#[test]
fn a_write_on_one_node_is_told_on_another() {
    let (home, server) = home_on(roost_storage::Engine::Postgres);
    let url = server.as_ref().unwrap().url();
    let other_home = roost_tests::TestHome::new().with_variable("ROOST_DATABASE_URL", url);
    let (one, two) = (home.up(), other_home.up());
    let made = token(&home, &[]);
    let shown = made["token"].as_str().unwrap();
    let mut stream = Stream::open(&two, shown, "?after=0", &[]);
    let asking = Asking::with(&one, shown);
    for version in 1..=20 {
        asking.put("a.md", "x", &[]);
        assert_eq!(stream.next(), Some(updated(version, "a.md", version)));
    }
    home.roost(&["keys", "token", "revoke", made["id"].as_str().unwrap()]);
    until("the other node knows that the token was taken back", || {
        Asking::with(&two, shown).list("").status == 401
    });
}
