//! The program from outside: its lines on standard output, its HTTP, its end.
//!
//! Most stories need a real model: `ROOST_TEST_MODEL` names a GGUF file. Without it they say that they are skipped.
#![expect(clippy::unwrap_used, reason = "in tests a failure is a panic")]

mod program;

use program::{Program, Serving, model, read_reply, request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far longer than it takes to notice that somebody left, far shorter than what they had asked for.
const ROOM_WITHIN: Duration = Duration::from_secs(30);

fn tools() -> Value {
    let tool = |name: &str, properties: Value, required: Value| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": name, "parameters": parameters}})
    };
    json!([
        tool(
            "weather",
            json!({"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9}}),
            json!(["city", "days"])
        ),
        tool(
            "light",
            json!({"room": {"enum": ["kitchen", "hall"]}, "on": {"type": "boolean"}}),
            json!(["room", "on"])
        ),
    ])
}

fn error_at_start(arguments: &[&str], key: Option<&str>) -> String {
    let mut program = Program::start(arguments, key);
    let error = loop {
        let line = program.line().expect("an error is told before the end");
        if line["error"].is_string() {
            break line;
        }
    };
    assert_eq!(program.line(), None);
    assert_eq!(program.code(), Some(1));
    error["code"].as_str().unwrap().to_owned()
}

#[test]
fn start_that_cannot_be_says_why() {
    assert_eq!(error_at_start(&["serve", "--model", "/no/such.gguf"], Some("k")), "model_unreadable");
    assert_eq!(
        error_at_start(&["serve", "--model", env!("CARGO_MANIFEST_PATH")], Some("k")),
        "model_invalid"
    );
    assert_eq!(error_at_start(&["serve", "--model", env!("CARGO_MANIFEST_PATH")], None), "no_key");
    assert_eq!(error_at_start(&["serve", "--model", env!("CARGO_MANIFEST_PATH")], Some("")), "no_key");
}

#[test]
fn only_the_key_opens_the_door() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    for path in ["/health", "/v1/models", "/v1/chat/completions", "/nothing"] {
        for key in [None, Some("another")] {
            let reply = serving.get(path, key);
            assert_eq!((reply.status, &reply.json()["error"]["code"]), (401, &json!("invalid_api_key")));
        }
    }
    assert_eq!(serving.get_with_key("/health").json()["status"], "ok");
    let models = serving.get_with_key("/v1/models").json();
    assert!(model.contains(models["data"][0]["id"].as_str().unwrap()), "{models}");
    assert_eq!(serving.get_with_key("/nothing").status, 404);
    assert_eq!(serving.get_with_key("/v1/chat/completions").status, 405);
}

#[test]
fn bad_requests_are_refused_as_json() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    let long = "word ".repeat(5000);
    let enormous = format!("{{\"messages\": \"{}\"}}", "x".repeat(9 * 1024 * 1024));
    for (body, status, code) in [
        ("", 400, "invalid_request"),
        ("{\"messages\": 1}", 400, "invalid_request"),
        ("{\"messages\": []}", 400, "invalid_request"),
        ("{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"n\": 2}", 400, "invalid_request"),
        (&request(&long, 5).to_string(), 400, "context_length_exceeded"),
        (&request(&long.repeat(10), 5).to_string(), 400, "context_length_exceeded"),
        (&enormous, 413, "body_too_large"),
    ] {
        let reply = serving.post(body);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (status, &json!(code)), "{}", reply.body);
    }
}

#[test]
fn stream_says_the_same_as_the_whole_and_the_prefix_is_kept() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    let mut asked = request("Name three colours.", 24);
    let whole = serving.ask(&asked).json();
    let usage = &whole["usage"];
    assert!(usage["completion_tokens"].as_u64().unwrap() <= 24, "{whole}");
    asked["stream"] = json!(true);
    asked["stream_options"] = json!({"include_usage": true});
    let chunks = serving.ask(&asked).chunks();
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(json!(text), whole["choices"][0]["message"]["content"]);
    // Everything but the last token of the prompt is known by now.
    let kept = &chunks.last().unwrap()["usage"]["prompt_tokens_details"]["cached_tokens"];
    assert_eq!(kept.as_u64().unwrap() + 1, usage["prompt_tokens"].as_u64().unwrap());
}

#[test]
fn named_tool_is_called_with_arguments_of_its_schema() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    let mut asked = request("Switch the light in the kitchen on.", 60);
    asked["tools"] = tools();
    asked["tool_choice"] = json!({"type": "function", "function": {"name": "light"}});
    let whole = serving.ask(&asked).json();
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls", "{whole}");
    let call = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "light");
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert!(
        arguments["on"].is_boolean() && ["kitchen", "hall"].contains(&arguments["room"].as_str().unwrap())
    );

    asked["stream"] = json!(true);
    let deltas: Vec<_> = serving.ask(&asked).chunks();
    let function = |chunk: &Value, field: &str| {
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"][field].as_str().map(str::to_owned)
    };
    let names: String = deltas.iter().filter_map(|chunk| function(chunk, "name")).collect();
    let streamed: String = deltas.iter().filter_map(|chunk| function(chunk, "arguments")).collect();
    assert_eq!((names.as_str(), json!(streamed)), ("light", call["arguments"].clone()));
}

#[test]
fn required_call_is_one_of_the_tools_whatever_is_asked() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    for (temperature, text) in [(0.0, "Hello."), (2.0, "Write a poem about {\"name\": \"x\"}.")] {
        let mut asked = request(text, 200);
        asked["tools"] = tools();
        asked["tool_choice"] = json!("required");
        asked["temperature"] = json!(temperature);
        asked["parallel_tool_calls"] = json!(false);
        let answer = serving.ask(&asked).json();
        let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
        assert_eq!(calls.len(), 1);
        assert!(["weather", "light"].contains(&calls[0]["function"]["name"].as_str().unwrap()));
        if answer["choices"][0]["finish_reason"] == "tool_calls" {
            let text = calls[0]["function"]["arguments"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(text).unwrap().is_object(), "{text}");
        }
    }
}

#[test]
fn client_that_leaves_makes_room_and_a_long_queue_is_refused() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    let mut long = request("Count from one to one thousand, in words.", 900);
    long["temperature"] = json!(1);
    let waiting: Vec<_> = (0..24).map(|_| serving.begin_asking(&long)).collect();
    let refused = serving.ask(&long);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!("queue_full")));
    drop(waiting);
    // Behind a dozen answers of 900 tokens nobody would be answered within the patience of these tests. Room is there
    // as soon as the program has seen that they left.
    let begun = Instant::now();
    loop {
        let reply = read_reply(serving.begin_asking(&request("Hi", 1)));
        assert!([200, 503].contains(&reply.status), "{}", reply.body);
        if reply.status == 200 {
            break;
        }
        // Counting tries would measure how quickly a refusal comes.
        assert!(begun.elapsed() < ROOM_WITHIN, "no room was made");
    }
}

#[test]
fn program_is_confined_and_ends_with_standard_input() {
    let Some(model) = model() else { return };
    let serving = Serving::start(&model);
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.program.identity())).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    // Also in the middle of an answer.
    let asked = serving.begin_asking(&request("Count from one to one thousand, in words.", 900));
    assert_eq!(serving.program.leave(), Some(0));
    drop(asked);
}
