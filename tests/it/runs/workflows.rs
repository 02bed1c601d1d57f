//! Runs that a program starts: the workflow of the conformance tests, its events, forks and stops.

use super::{Stage, ask, put};
use roost_tests::{RunningHost, TestHome, until};
use serde_json::{Value, json};

fn start(home: &TestHome, host: &RunningHost) -> String {
    let started = ask(home, host, "POST", "/v1/runs", &json!({ "workflowId": "conformance-noop" }));
    assert_eq!(started.status, 201, "{started:?}");
    let body = started.json();
    let run = body["runId"].as_str().unwrap().to_owned();
    assert_eq!(body["eventsUrl"], format!("/v1/runs/{run}/events"));
    run
}

fn shown(home: &TestHome, host: &RunningHost, run: &str) -> Value {
    ask(home, host, "GET", &format!("/v1/runs/{run}"), &Value::Null).json()
}

#[test]
fn a_workflow_runs_to_its_end_on_the_files_of_its_beginning() {
    let stage = Stage::new();
    let (home, host) = (&stage.home, stage.home.up());
    put(home, &host, "behavior/SNAPSHOT.md", "one");
    let run = start(home, &host);
    put(home, &host, "behavior/SNAPSHOT.md", "two");
    until("the run ended", || shown(home, &host, &run)["status"] == "completed");
    let document = shown(home, &host, &run);
    assert_eq!(document["workspace"], json!([{ "path": "behavior/SNAPSHOT.md", "version": 1 }]));
    assert_eq!(document["owner"]["tenant"], "local");
    let page = ask(home, &host, "GET", &format!("/v1/runs/{run}/events/poll?timeout=1"), &Value::Null).json();
    assert_eq!(page["isComplete"], true);
    assert_eq!(page["events"].as_array().unwrap().len(), 4);
    let stream = ask(home, &host, "GET", &format!("/v1/runs/{run}/events"), &Value::Null);
    let text = stream.body;
    assert!(text.contains("event: run.started") && text.contains("event: run.completed"), "{text}");
    let bad = ask(home, &host, "GET", &format!("/v1/runs/{run}/events?streamMode=all"), &Value::Null);
    assert_eq!((bad.status, bad.json()["error"].clone()), (400, json!("unsupported_stream_mode")));
    assert_eq!(bad.json()["details"]["supported"], json!(["values", "updates", "messages", "debug"]));
    // A list would otherwise be read as the fields in their order.
    assert_eq!(ask(home, &host, "POST", "/v1/runs", &json!(["conformance-noop"])).status, 400);
    let unknown = ask(home, &host, "POST", "/v1/runs", &json!({ "workflowId": "none" }));
    assert_eq!(unknown.status, 404);
}

#[test]
fn forks_keep_the_moment_and_refuse_what_makes_no_sense() {
    let stage = Stage::new();
    let (home, host) = (&stage.home, stage.home.up());
    put(home, &host, "a.md", "one");
    let run = start(home, &host);
    until("the run ended", || shown(home, &host, &run)["status"] == "completed");
    for round in 0..30 {
        put(home, &host, "a.md", &format!("later {round}"));
    }
    let fork = |body: Value| ask(home, &host, "POST", &format!("/v1/runs/{run}:fork"), &body);
    for mode in ["replay", "branch"] {
        let forked = fork(json!({ "mode": mode, "fromSeq": 0 }));
        assert_eq!(forked.status, 201, "{forked:?}");
        let forked = forked.json();
        assert_eq!((&forked["sourceRunId"], &forked["mode"]), (&json!(run), &json!(mode)));
        let id = forked["runId"].as_str().unwrap();
        until("the fork ended", || shown(home, &host, id)["status"] == "completed");
        assert_eq!(shown(home, &host, id)["workspace"], json!([{ "path": "a.md", "version": 1 }]));
    }
    for (body, status) in [
        (json!({ "mode": "replay", "fromSeq": -1 }), 400),
        (json!({ "mode": "replay", "fromSeq": 99 }), 422),
        (json!({ "mode": "other" }), 400),
        (json!({ "mode": "replay", "runOptionsOverlay": { "a": 1 } }), 400),
        (json!(null), 400),
    ] {
        assert_eq!(fork(body.clone()).status, status, "{body}");
    }
    assert_eq!(ask(home, &host, "POST", "/v1/runs/run_00:fork", &json!({ "mode": "replay" })).status, 404);
    let removed = ask(home, &host, "DELETE", &format!("/v1/runs/{run}"), &Value::Null);
    assert_eq!(removed.status, 204);
    assert_eq!(ask(home, &host, "GET", &format!("/v1/runs/{run}"), &Value::Null).status, 404);
}

#[test]
fn a_key_starts_one_run_however_often_it_is_sent() {
    let stage = Stage::new();
    let (home, host) = (&stage.home, stage.home.up());
    let token = std::fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let authorization = format!("Bearer {token}");
    let send = |key: &str, body: &Value| {
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Idempotency-Key", key),
            ("Content-Type", "application/json"),
            ("Host", "127.0.0.1"),
        ];
        host.send("POST", "/v1/runs", &headers, body.to_string().as_bytes())
    };
    let body = json!({ "workflowId": "conformance-noop" });
    let first = send("k", &body);
    let second = send("k", &body);
    assert_eq!(first.json()["runId"], second.json()["runId"]);
    assert_eq!(second.header("openwop-idempotent-replay"), Some("true"));
    let other = send("k", &json!({ "workflowId": "conformance-noop", "tags": ["x"] }));
    assert_eq!((other.status, other.json()["error"].clone()), (409, json!("idempotency_key_mismatch")));
}

#[test]
fn a_run_that_ended_cannot_be_stopped_again() {
    let stage = Stage::new();
    let (home, host) = (&stage.home, stage.home.up());
    let run = start(home, &host);
    until("the run ended", || shown(home, &host, &run)["status"] == "completed");
    let at = |rest: &str| ask(home, &host, "POST", &format!("/v1/runs/{run}{rest}"), &Value::Null);
    assert_eq!((at("/cancel").status, at(":pause").status, at(":resume").status), (200, 422, 422));
    assert_eq!(shown(home, &host, &run)["status"], "completed");
    assert_eq!(at(":dance").status, 404);
}

#[test]
fn a_turn_can_be_ended_while_the_model_thinks() {
    let stage = Stage::new();
    let (home, host) = (&stage.home, stage.home.up());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| host.post("/chat", &json!({ "user_input": "silence" })));
        let running = || {
            let runs = ask(home, &host, "GET", "/v1/runs", &Value::Null).json();
            runs["runs"][0].get("runId").and_then(|id| id.as_str().map(str::to_owned))
        };
        let run = roost_tests::until_some("a run", running);
        let ended = ask(home, &host, "POST", &format!("/v1/runs/{run}/cancel"), &Value::Null);
        assert_eq!(ended.json()["status"], "cancelled");
        let answer = waiting.join().unwrap();
        assert_eq!(answer.json()["reason"], "run_cancelled");
    });
}
