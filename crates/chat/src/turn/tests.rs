//! The loop against a scripted model: every line of the published behaviour.

use super::{APOLOGY, ROUNDS_MAX, Turn, TurnEvent, TurnOutcome, run_turn};
use crate::{
    ModelFailure, ModelProblem, ToolAnswer, ToolCall, ToolList, Tools, UnknownLine, log_lines,
    scripted::ScriptedModel,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Barrier;

/// `Echo` returns its arguments, `Fails` fails, `Meet` waits until two of them run.
struct Fakes {
    barrier: Barrier,
    runs: AtomicUsize,
}

impl Default for Fakes {
    fn default() -> Self {
        Self { barrier: Barrier::new(2), runs: AtomicUsize::new(0) }
    }
}

impl Tools for Fakes {
    fn has(&self, name: &str) -> bool {
        matches!(name, "Echo" | "Fails" | "Meet" | "Long")
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            self.runs.fetch_add(1, Ordering::Relaxed);
            let result = match call.name.as_str() {
                "Fails" => Err("no luck".to_owned()),
                "Long" => Ok("é".repeat(1 << 20)),
                "Meet" => {
                    self.barrier.wait().await;
                    Ok(call.arguments["n"].to_string())
                }
                _ => Ok(Value::Object(call.arguments.clone()).to_string()),
            };
            ToolAnswer { result, record: json!({ "duration_us": 1 }) }
        })
    }
}

fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

fn calls(calls: Vec<Value>) -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn says(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

async fn run(script: Vec<Value>) -> (Result<TurnOutcome, ModelFailure>, ScriptedModel, Fakes) {
    let model = ScriptedModel::new(script);
    let tools = Fakes::default();
    let definitions = ToolList::from(vec![json!({ "type": "function", "function": { "name": "Echo" } })]);
    let messages =
        vec![json!({ "role": "system", "content": "s" }), json!({ "role": "user", "content": "u" })];
    let turn = Turn {
        model: &model,
        tools: &tools,
        definitions: &definitions,
        messages,
        wanted_model: None,
        user: None,
    };
    let outcome = run_turn(turn, None).await;
    (outcome, model, tools)
}

fn lines(outcome: &TurnOutcome) -> String {
    log_lines(&outcome.logs, UnknownLine::Bare)
}

#[tokio::test]
async fn words_without_calls_end_the_turn() {
    let (outcome, model, _) = run(vec![says("hello")]).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.text.as_str(), lines(&outcome).as_str()), ("hello", ""));
    assert_eq!(model.asked().len(), 1);
    assert_eq!(outcome.usage.completions, 1);
}

#[tokio::test]
async fn a_call_is_run_and_answered_before_the_model_is_asked_again() {
    let wanted = calls(vec![call("c1", "Echo", json!("{\"a\": 1}"))]);
    let (outcome, model, _) = run(vec![wanted.clone(), says("done")]).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.text.as_str(), lines(&outcome).as_str()), ("done", "[Echo] {\"a\":1}"));
    let asked = model.asked();
    assert_eq!(asked[1].messages[2], wanted);
    let answer = json!({ "tool_call_id": "c1", "role": "tool", "name": "Echo", "content": "{\"a\":1}" });
    assert_eq!(asked[1].messages[3], answer);
    assert_eq!(outcome.said, [wanted, answer, says("done")]);
}

#[tokio::test]
async fn calls_of_one_message_run_at_the_same_time_and_are_answered_in_order() {
    let both = vec![call("1", "Meet", json!("{\"n\":1}")), call("2", "Meet", json!({ "n": 2 }))];
    let (outcome, model, _) = run(vec![calls(both), says("met")]).await;
    assert_eq!(lines(&outcome.unwrap()), "[Meet] 1\n[Meet] 2");
    let asked = model.asked();
    let ids: Vec<&Value> = asked[1].messages[3..].iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(ids, ["1", "2"]);
}

#[tokio::test]
async fn each_way_a_call_can_go_has_its_line_and_its_answer() {
    let wanted = calls(vec![
        call("1", "Fails", json!("")),
        call("2", "Nobody", json!("{}")),
        call("3", "Echo", json!("{ half")),
        call("4", "Echo", json!("[1]")),
        json!({ "id": "5", "function": {} }),
        json!({ "function": { "name": "Echo", "arguments": "{}" } }),
        json!("what"),
    ]);
    let (outcome, model, tools) = run(vec![wanted, says("so it is")]).await;
    let outcome = outcome.unwrap();
    insta::assert_snapshot!(lines(&outcome), @r#"
    [Fails] ERROR: no luck
    Agent 'Nobody' not found.
    [Echo] ERROR: Tool arguments must be a valid JSON object.
    [Echo] ERROR: Tool arguments must be a valid JSON object.
    [?] Skipped malformed tool call: {"id":"5","function":{}}
    [?] Skipped malformed tool call: {"function":{"name":"Echo","arguments":"{}"}}
    [?] Skipped malformed tool call: "what"
    "#);
    assert_eq!(tools.runs.load(Ordering::Relaxed), 1);
    let asked = model.asked();
    let sent = &asked[1].messages;
    assert_eq!(sent[2]["tool_calls"].as_array().unwrap().len(), 4, "only what can be answered is repeated");
    let contents: Vec<&str> = sent[3..].iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(
        contents,
        [
            "Error: no luck",
            "Agent 'Nobody' not found.",
            "Error: Tool arguments must be a valid JSON object.",
            "Error: Tool arguments must be a valid JSON object."
        ]
    );
    assert_eq!(log_lines(&outcome.logs[1..2], UnknownLine::Named), "[Nobody] Agent 'Nobody' not found.");
}

#[tokio::test]
async fn after_three_rounds_one_completion_without_tools_is_the_answer() {
    let again = || calls(vec![call("c", "Echo", json!("{}"))]);
    let (outcome, model, tools) = run(vec![again(), again(), again(), says("at last")]).await;
    assert_eq!(outcome.unwrap().text, "at last");
    assert_eq!(tools.runs.load(Ordering::Relaxed), ROUNDS_MAX);
    let tools_sent: Vec<usize> = model.asked().iter().map(|asked| asked.tools.len()).collect();
    assert_eq!(tools_sent, [1, 1, 1, 0]);
}

#[tokio::test]
async fn a_turn_without_words_says_its_last_ones_or_apologises() {
    let with_words = json!({ "role": "assistant", "content": "let me see", "tool_calls": [call("c", "Echo", json!("{}"))] });
    let (outcome, ..) = run(vec![with_words, says("")]).await;
    assert_eq!(outcome.unwrap().text, "let me see");
    let (outcome, ..) = run(vec![calls(vec![call("c", "Echo", json!("{}"))]), says(" ")]).await;
    assert_eq!(outcome.unwrap().text, APOLOGY);
    let (outcome, ..) = run(vec![says("")]).await;
    assert_eq!(outcome.unwrap().text, "", "a model that says nothing at all is not put words into its mouth");
}

#[tokio::test]
async fn a_message_whose_calls_are_all_malformed_does_not_end_the_turn() {
    let (outcome, model, _) = run(vec![calls(vec![json!({})]), says("fine")]).await;
    assert_eq!(outcome.unwrap().text, "fine");
    assert_eq!(model.asked()[1].messages.len(), 2, "an empty message is not sent back");
}

#[tokio::test]
async fn a_long_output_is_shortened_for_the_model_and_whole_in_the_log() {
    let (outcome, model, _) = run(vec![calls(vec![call("c", "Long", json!({}))]), says("read")]).await;
    assert_eq!(lines(&outcome.unwrap()).len(), "[Long] ".len() + (2 << 20));
    let asked = model.asked();
    let content = asked[1].messages[3]["content"].as_str().unwrap();
    assert!(
        content.ends_with("[the output goes on: 262144 of 2097152 bytes are shown]"),
        "{}",
        content.len()
    );
}

#[tokio::test]
async fn a_model_that_fails_ends_the_turn_with_its_failure() {
    let (outcome, ..) = run(Vec::new()).await;
    assert_eq!(outcome.unwrap_err().problem, ModelProblem::Garbled);
}

#[tokio::test]
async fn a_watched_turn_tells_its_main_part_and_its_tools() {
    let model = ScriptedModel::new(vec![
        calls(vec![call("c", "Echo", json!("{}"))]),
        says("Hello there |||VOICE||| spoken"),
    ]);
    let tools = Fakes::default();
    let events = Mutex::new(Vec::new());
    let on_event = |event: TurnEvent| {
        let text = match event {
            TurnEvent::Piece(text) => text,
            TurnEvent::ToolStarted(call) => format!("<{}", call.name),
            TurnEvent::ToolFinished(log) => format!("{}>", log.line(UnknownLine::Bare)),
            TurnEvent::RoundFinished(logs) => format!("={}", logs.len()),
        };
        events.lock().unwrap().push(text);
    };
    let messages = vec![json!({ "role": "user", "content": "u" })];
    let turn = Turn {
        model: &model,
        tools: &tools,
        definitions: &ToolList::none(),
        messages,
        wanted_model: Some("m"),
        user: None,
    };
    let outcome = run_turn(turn, Some(&on_event)).await.unwrap();
    assert_eq!(outcome.text, "Hello there |||VOICE||| spoken");
    let events = events.into_inner().unwrap();
    assert_eq!(events[..3], ["<Echo", "[Echo] {}>", "=1"]);
    assert_eq!(events[3..].concat(), "Hello there ");
    assert_eq!(model.asked()[0].model.as_deref(), Some("m"));
}
