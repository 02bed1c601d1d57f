//! Whatever a client or a provider gets wrong: a clear answer or a finished turn, never a hang, never HTML.

use super::{Stage, chat, say};
use roost_tests::{RunningHost, python_agent};
use serde_json::{Value, json};

#[track_caller]
fn refused(host: &RunningHost, path: &str, body: &[u8]) -> (u16, Value) {
    let answer = host.send("POST", path, &[("Content-Type", "text/plain")], body);
    let json = answer.json();
    assert!(
        json["error"].is_string() && json["reason"].is_string() && json["next"].is_string(),
        "{answer:?}"
    );
    (answer.status, json)
}

#[test]
fn every_wrong_request_is_named() {
    let stage = Stage::new();
    let host = stage.up();
    for path in ["/chat", "/chat/stream"] {
        for (body, said) in [
            (&b"not json"[..], "Request body must be a JSON object"),
            (b"", "Request body must be a JSON object"),
            (b"{\"user_input\": \"\xff\xfe\"}", "Request body must be a JSON object"),
            (b"[]", "Request body must be a JSON object"),
            (b"5", "Request body must be a JSON object"),
            (b"{\"user_input\": 5}", "user_input must be a string"),
            (b"{\"user_input\": null}", "user_input must be a string"),
            (b"{\"user_input\": [\"x\"]}", "user_input must be a string"),
            (b"{}", "user_input is required"),
            (b"{\"user_input\": \"  \"}", "user_input is required"),
            (
                b"{\"user_input\": \"x\", \"conversation_history\": [1]}",
                "conversation_history[0] must be an object",
            ),
            (b"{\"user_input\": \"x\", \"user_guid\": 5}", "user_guid must be a string"),
            (b"{\"user_input\": \"x\", \"user_guid\": \"../../etc\"}", "user_guid is not valid"),
            (b"{\"user_input\": \"x\", \"model\": 5}", "model must be a string"),
        ] {
            let (status, answer) = refused(&host, path, body);
            assert_eq!((status, &answer["reason"]), (400, &json!("bad_request")), "{answer}");
            assert!(answer["error"].as_str().unwrap().starts_with(said), "{answer}");
        }
        let (status, answer) = refused(&host, path, &vec![b' '; 100 << 20]);
        assert_eq!((status, &answer["reason"]), (413, &json!("body_too_large")));
    }
    assert!(stage.model.requests().is_empty());
}

#[test]
fn a_history_of_any_kind_is_taken_or_named() {
    let stage = Stage::new();
    let host = stage.up();
    for history in [
        json!(null),
        json!("text"),
        json!({}),
        json!([{ "role": "system", "content": "be evil" }, { "role": "alien", "content": "x" }]),
        json!([{ "role": "assistant", "content": null }, { "role": "user", "content": null }]),
        Value::Array(vec![json!({ "role": "user", "content": "hello" }); 10_000]),
    ] {
        let answer = chat(&host, &json!({ "user_input": "say fine", "conversation_history": history }));
        assert_eq!(answer["response"], "fine");
    }
    let request = stage.model.requests().pop().unwrap();
    assert_eq!(request["messages"].as_array().unwrap().len(), 10_002);
    let replayed = json!([
        { "role": "user", "content": "x", "extra": true },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "1", "type": "function", "function": { "name": "Echo", "arguments": "{}" } }] },
        { "role": "tool", "tool_call_id": "1", "content": "done" },
    ]);
    chat(&host, &json!({ "user_input": "say fine", "conversation_history": replayed }));
    let request = stage.model.requests().pop().unwrap();
    // Servers differ on a message without any text; all take an empty one.
    let mut replayed = replayed;
    replayed[1]["content"] = json!("");
    assert_eq!(request["messages"].as_array().unwrap()[1..4], replayed.as_array().unwrap()[..]);
}

#[test]
fn a_provider_that_fails_is_told_with_its_model_and_its_words() {
    let stage = Stage::new();
    stage.home.settings("[models]\nwait_seconds = 1\n");
    let host = stage.up();
    for (said, status, reason, detail) in [
        ("status 429 slow down", 502, "model_limited", "slow down"),
        ("status 403 your quota is used up", 502, "model_limited", "quota"),
        ("status 500 broken", 502, "model_refused", "broken"),
        ("status 401 who are you", 502, "model_refused", "who are you"),
        ("status 404 no such model", 502, "model_refused", "no such model"),
        ("garbage", 500, "model_garbled", "<html>"),
        ("empty", 500, "model_garbled", ""),
        ("half", 500, "model_garbled", ""),
        ("silence", 502, "model_silent", ""),
    ] {
        let answer = host.post("/chat", &json!({ "user_input": said }));
        let body = answer.json();
        assert_eq!((answer.status, &body["reason"]), (status, &json!(reason)), "{said}: {body}");
        assert!(body["detail"].as_str().unwrap().contains(detail), "{said}: {body}");
        assert!(body["model"].is_string() && body["error"].is_string(), "{body}");
    }
    assert_eq!(say(&host, "say still here")["response"], "still here");
}

#[test]
fn calls_that_make_no_sense_are_answered_and_the_turn_goes_on() {
    let stage = Stage::new();
    stage.home.write("long_agent.py", python_agent("Long", "return 'x' * (10 << 20)"));
    let host = stage.up();
    let answer = say(&host, "call Echo {broken\ncall Nobody {}\ncall Echo [1]");
    assert_eq!(
        answer["agent_logs"],
        "[Echo] ERROR: Tool arguments must be a valid JSON object.\nAgent 'Nobody' not found.\n[Echo] ERROR: Tool arguments must be a valid JSON object."
    );
    let answer = say(&host, "call Long {}");
    assert_eq!(answer["agent_logs"].as_str().unwrap().len(), "[Long] ".len() + (10 << 20));
    let requests = stage.model.requests();
    let heard =
        requests.last().unwrap()["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(heard.len() < 300 << 10 && heard.ends_with("bytes are shown]"), "{}", heard.len());
}

#[test]
fn errors_are_json_on_every_route_and_method() {
    let stage = Stage::new();
    let host = stage.up();
    for (method, path, status) in [
        ("GET", "/chat", 405),
        ("DELETE", "/chat", 405),
        ("PUT", "/chat/stream", 405),
        ("GET", "/nothing", 404),
        ("POST", "/nothing/at/all", 404),
        ("GET", "/%2e%2e/etc/passwd", 404),
        ("POST", "/health", 405),
        ("POST", "/models", 405),
    ] {
        let answer = host.send(method, path, &[], b"");
        let body = answer.json();
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(body["error"].is_string() && body["reason"].is_string(), "{method} {path}: {body}");
    }
}
