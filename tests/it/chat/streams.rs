//! `/chat/stream`: the turn as it happens, under the names the 0.6.16 kernel uses.

use super::Stage;
use roost_tests::{RunningHost, until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};

/// Every event of one turn.
#[track_caller]
fn events(host: &RunningHost, text: &str) -> Vec<Value> {
    let answer = host.post("/chat/stream", &json!({ "user_input": text }));
    assert_eq!(answer.status, 200, "{answer:?}");
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

#[test]
fn words_come_as_they_are_written_and_the_last_event_is_the_whole_answer() {
    let stage = Stage::new();
    let host = stage.up();
    let told = events(&host, "say one two three |||VOICE||| spoken");
    assert_eq!(kinds(&told), ["delta", "done"]);
    let text: String = told.iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, "one two three ");
    let done = told.last().unwrap();
    assert_eq!((&done["response"], &done["voice_response"]), (&json!("one two three"), &json!("spoken")));
    assert_eq!((&done["streamed"], &done["assistant_response"]), (&json!(true), &done["response"]));
}

#[test]
fn tools_are_told_when_they_start_and_when_they_end() {
    let stage = Stage::new();
    let host = stage.up();
    let told = events(&host, "call Echo {\"n\": 1}\ncall Fails {}");
    assert_eq!(kinds(&told), ["tool", "agent", "delta", "done"]);
    let round = told.iter().find(|event| event["type"] == "agent").unwrap();
    assert_eq!(round["logs"], "[Echo] {\"n\": 1}\n[Fails] ERROR: no luck");
    let finished: Vec<&Value> = told.iter().filter(|event| event["state"] == "finished").collect();
    assert_eq!(finished.len(), 2);
    assert!(finished.iter().all(|event| event["receipt"]["enforcement"]["level"] == "full"));
}

#[test]
fn a_failure_in_the_middle_is_an_event_and_a_wrong_request_an_answer() {
    let stage = Stage::new();
    let host = stage.up();
    let told = events(&host, "half");
    let last = told.last().unwrap();
    assert_eq!((&last["type"], &last["reason"]), (&json!("error"), &json!("model_garbled")));
    assert_eq!(host.post("/chat/stream", &json!({})).status, 400);
}

#[test]
fn a_reader_that_leaves_ends_the_turn() {
    let stage = Stage::new();
    let host = stage.up();
    let body = json!({ "user_input": "silence" }).to_string();
    let mut stream = host.start("POST", "/chat/stream", &[], body.len()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert!(line.contains("200"), "{line}");
    until("the model is asked", || stage.model.waiting() == 1);
    drop(stream);
    until("the model's request is ended", || stage.model.waiting() == 0);
}

#[test]
fn the_terminal_shows_the_same_turn() {
    let stage = Stage::new();
    let private = stage.home.roost(&["chat", "call", "Echo", "{\"n\": 1}"]);
    assert_eq!(private.text(), "tools said: {\"n\": 1}");
    let host = stage.up();
    let running = stage.home.roost(&["chat", "--verbose", "say hello there"]);
    assert_eq!(running.text(), "hello there");
    let document = stage.home.json(&["chat", "call Echo {\"n\": 2}"]);
    assert_eq!(
        (&document["response"], &document["agent_calls"][0]["name"]),
        (&json!("tools said: {\"n\": 2}"), &json!("Echo"))
    );
    let continued = stage.home.roost(&["chat", "--continue", "show messages"]);
    assert!(continued.text().contains("call Echo {\\\"n\\\": 2}"), "{continued:?}");
    let failed = stage.home.roost(&["chat", "status 500 broken"]);
    assert_eq!(failed.status, 1);
    assert!(failed.stderr.contains("error[model_refused]"), "{failed:?}");
    drop(host);
}
