//! Runs: what is written down of turns and calls, going through it again, and workflows.

mod replays; // the same again, here and elsewhere
mod secrecy; // what is never written down
mod workflows; // runs that a program starts

use roost_tests::{Answer, ModelServer, RunningHost, TestHome, python_agent};
use serde_json::{Value, json};
use std::fs;

/// A home with a model and an agent that repeats its arguments.
struct Stage {
    home: TestHome,
    _model: ModelServer,
}

impl Stage {
    fn new() -> Self {
        let model = ModelServer::new();
        let home = TestHome::new()
            .with_variable("OPENAI_BASE_URL", model.base_url())
            .with_variable("OPENAI_MODEL", "scripted");
        let echo = "kwargs.pop('user_guid', None)\nreturn json.dumps(kwargs)";
        home.write("echo_agent.py", python_agent("Echo", echo));
        Self { home, _model: model }
    }
}

/// A request with the owner's token.
#[track_caller]
fn ask(home: &TestHome, host: &RunningHost, method: &str, path: &str, body: &Value) -> Answer {
    let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let authorization = format!("Bearer {token}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
        ("Host", "127.0.0.1"),
    ];
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    host.send(method, path, &headers, &body)
}

/// Writes a file of the workspace.
#[track_caller]
fn put(home: &TestHome, host: &RunningHost, path: &str, content: &str) {
    let answer =
        ask(home, host, "PUT", &format!("/v1/host/workspace/files/{path}"), &json!({ "content": content }));
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[track_caller]
fn say(host: &RunningHost, text: &str) -> Value {
    let answer = host.post("/chat", &json!({ "user_input": text }));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The types of all events of a run.
#[track_caller]
fn kinds(home: &TestHome, host: &RunningHost, run: &str) -> Vec<String> {
    let page = ask(home, host, "GET", &format!("/v1/runs/{run}/events/poll"), &Value::Null).json();
    let events = page["events"].as_array().unwrap();
    let sequences: Vec<i64> = events.iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
    assert!((0..).zip(&sequences).all(|(index, sequence)| *sequence == index), "{sequences:?}");
    events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_turn_and_every_call_is_a_run() {
    let stage = Stage::new();
    let host = stage.home.up();
    let turn = say(&host, "call Echo {\"text\": \"hi\"}");
    let run = turn["run_id"].as_str().unwrap();
    assert_eq!(
        kinds(&stage.home, &host, run),
        ["run.started", "model.replied", "tool.called", "tool.returned", "model.replied", "run.completed"]
    );
    assert_eq!(turn["agent_calls"][0]["receipt"]["run"], run);
    let call = host.call("Echo", &json!({ "n": 1 })).json();
    let run = call["receipt"]["run"].as_str().unwrap();
    assert_eq!(kinds(&stage.home, &host, run), ["run.started", "run.completed"]);
    let explicit = say(&host, "/Echo n=1");
    let run = explicit["run_id"].as_str().unwrap();
    assert_eq!(
        kinds(&stage.home, &host, run),
        ["run.started", "tool.called", "tool.returned", "run.completed"]
    );
    let failed = host.post("/chat", &json!({ "user_input": "status 500 broken" }));
    assert_ne!(failed.status, 200);
    let listed = stage.home.json(&["runs"]);
    let statuses: Vec<&str> =
        listed["runs"].as_array().unwrap().iter().map(|run| run["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["failed", "completed", "completed", "completed"]);
}

#[test]
fn a_turn_begins_with_the_documents_of_the_workspace() {
    let stage = Stage::new();
    let host = stage.home.up();
    put(&stage.home, &host, "IDENTITY.md", "You are a heron.");
    put(&stage.home, &host, "notes.md", "not for everybody");
    let shown = say(&host, "show system");
    let system = shown["response"].as_str().unwrap();
    assert!(system.contains("## IDENTITY.md\nYou are a heron."), "{system}");
    assert!(!system.contains("not for everybody"));
    let run = shown["run_id"].as_str().unwrap();
    let document = ask(&stage.home, &host, "GET", &format!("/v1/runs/{run}"), &Value::Null).json();
    assert_eq!(
        document["workspace"],
        json!([{ "path": "IDENTITY.md", "version": 1 }, { "path": "notes.md", "version": 1 }])
    );
}

#[test]
fn a_run_of_somebody_else_looks_like_none() {
    let stage = Stage::new();
    let host = stage.home.up();
    let run = say(&host, "say hello")["run_id"].as_str().unwrap().to_owned();
    let made = stage.home.json(&[
        "keys",
        "token",
        "create",
        "--tenant",
        "other",
        "--workspace",
        "w",
        "--scope",
        "runs:read",
        "--scope",
        "runs:write",
    ]);
    let authorization = format!("Bearer {}", made["token"].as_str().unwrap());
    let headers = [("Authorization", authorization.as_str()), ("Host", "127.0.0.1")];
    let foreign = host.send("GET", &format!("/v1/runs/{run}"), &headers, b"");
    let missing = host.send("GET", "/v1/runs/run_00", &headers, b"");
    assert_eq!((foreign.status, foreign.json()), (404, missing.json()));
    assert_eq!(host.send("GET", "/v1/runs", &headers, b"").json(), json!({ "runs": [] }));
    let nobody = host.get(&format!("/v1/runs/{run}"));
    assert_eq!((nobody.status, nobody.json()["error"].clone()), (401, json!("unauthenticated")));
}
