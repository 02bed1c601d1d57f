//! Hooks of native apps: who is asked, in which order, what counts of an answer, and where they take part in a turn.

use crate::native_running::{app_folder, host, sideload};
use roost_host::{
    Host,
    native::{NativeFolder, NativeState},
};
use roost_tests::{ModelServer, TestHome, until};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// A person who lets apps of this machine take part everywhere.
const ALLOWED: &str = "[local]\nallow = [\"hooks:*\"]\n";

const POINT: &str = "message.post_receive";

fn hooks_folder(home: &TestHome, id: &str, name: &str, overrides: &[&str]) -> PathBuf {
    let more = json!({ "provides": ["hooks"], "permissions": ["hook:*"], "overrides": overrides });
    app_folder(home, &format!("com.example.{id}"), name, &more)
}

async fn start(host: &Host, home: &TestHome, id: &str, name: &str, overrides: &[&str]) -> NativeState {
    let folder = NativeFolder::sideloaded(&hooks_folder(home, id, name, overrides)).unwrap();
    host.native_apps().start(folder).await.unwrap()
}

/// What everybody at the point makes of a text; nothing when nobody is there.
async fn made(host: &Host) -> Option<Value> {
    let made = host.native_apps().at_hook(POINT, || json!({ "response_text": "x" })).await?;
    Some(made.get("response_text").cloned().unwrap_or(made))
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_are_asked_in_their_order_each_with_what_the_one_before_made() {
    let home = TestHome::new();
    let host = host(&home, ALLOWED).await;
    assert_eq!(made(&host).await, None);
    let state = start(&host, &home, "b", "second", &[]).await;
    let left_out: Vec<&str> = state.left_out.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(left_out, ["hook no.such_hook", "hook tool.pre_execute"], "{:?}", state.left_out);
    start(&host, &home, "a", "first", &[]).await;
    start(&host, &home, "z", "early", &[]).await;
    // No priority is 10; where two are alike, their ids decide.
    assert_eq!(made(&host).await, Some(json!("x +early +first +second")));
    // An action is none of the filters.
    let acted = host.native_apps().at_hook("session.message_append", || json!({ "role": "user" })).await;
    assert_eq!(acted, Some(json!({ "role": "user" })));
    assert_eq!(host.native_apps().at_hook("no.such_hook", || json!({})).await, None);
    // Started again it is asked once, not twice; stopped not at all.
    host.native_apps().restart("com.example.a").await.unwrap();
    assert_eq!(made(&host).await, Some(json!("x +early +first +second")));
    host.native_apps().stop("com.example.a").await.unwrap();
    assert_eq!(made(&host).await, Some(json!("x +early +second")));
    host.native_apps().stop_all().await;
    assert_eq!(made(&host).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_a_person_granted_is_a_hook() {
    let home = TestHome::new();
    let host = host(&home, "[local]\nallow = [\"hooks:memory.pre_store\"]\n").await;
    let more = json!({ "provides": ["hooks"], "permissions": ["hook:memory.pre_store", "hook:message.post_receive"] });
    let folder = NativeFolder::sideloaded(&app_folder(&home, "com.example.a", "first", &more)).unwrap();
    let state = host.native_apps().start(folder).await.unwrap();
    assert_eq!(made(&host).await, None);
    let stored = host.native_apps().at_hook("memory.pre_store", || json!({ "value": "x" })).await;
    assert_eq!(stored, Some(json!({ "value": "x +first" })));
    let told = state.left_out.iter().find(|one| one.what == format!("hook {POINT}")).unwrap();
    assert!(told.why.contains("roost grant native:com.example.a hooks:message.post_receive"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_keeps_the_payload_and_handled_counts_only_with_an_override() {
    let home = TestHome::new();
    let host = host(&home, ALLOWED).await;
    start(&host, &home, "z", "last", &[]).await;
    for name in ["hook fails", "hook errs", "hook garbles", "hook keeps", "hook dies"] {
        start(&host, &home, "a", name, &[]).await;
        assert_eq!(made(&host).await, Some(json!("x +last")), "{name}");
    }
    // An answer in place of the host, from one who may not give it, is a payload like any other.
    start(&host, &home, "a", "hook handles", &[]).await;
    let answer = made(&host).await.unwrap();
    assert_eq!(answer, json!(" +last"), "the next was asked");
    start(&host, &home, "a", "hook handles", &[POINT]).await;
    let answer = made(&host).await.unwrap();
    assert_eq!(answer["content"], "handled", "nobody else was asked: {answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_late_three_times_is_not_asked_for_a_while() {
    let home = TestHome::new();
    let host = host(&home, ALLOWED).await;
    start(&host, &home, "a", "hook hangs", &[]).await;
    start(&host, &home, "z", "last", &[]).await;
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(made(&host).await, Some(json!("x +last")));
        assert!(begun.elapsed() >= Duration::from_millis(500));
    }
    let begun = Instant::now();
    for _ in 0..10 {
        assert_eq!(made(&host).await, Some(json!("x +last")));
    }
    assert!(begun.elapsed() < Duration::from_millis(10 * 500), "it was asked each time");
    // A new process begins anew.
    start(&host, &home, "a", "first", &[]).await;
    assert_eq!(made(&host).await, Some(json!("x +first +last")));
}

#[test]
fn an_app_recalls_in_place_of_the_host_where_its_manifest_says_so() {
    for (overrides, expected) in [(json!(["memory.pre_recall"]), "[\"handled\"]"), (json!([]), "no memories")]
    {
        let model = ModelServer::new();
        let home = TestHome::new()
            .with_variable("OPENAI_BASE_URL", model.base_url())
            .with_variable("OPENAI_MODEL", "scripted");
        home.settings("[policy.local]\nallow = [\"hooks:*\"]\n");
        let agent = "context_memory_agent.py";
        fs::copy(roost_tests::repository_root().join("agents").join(agent), home.agents().join(agent))
            .unwrap();
        let permissions = ["hook:memory.pre_recall"];
        let more = json!({
            "provides": ["hooks", "tool:echo"], "permissions": permissions, "overrides": overrides,
        });
        sideload(&home, &app_folder(&home, "com.example.recalls", "hook handles", &more));
        let host = home.up();
        host.until_known("echo");
        host.until_known("ContextMemory");
        let asked = r#"call ContextMemory {"keywords": ["tea"]}"#;
        let answer = host.post("/chat", &json!({ "user_input": asked })).json();
        assert!(answer["response"].as_str().unwrap().contains(expected), "{overrides}: {answer}");
    }
}

#[test]
fn an_app_takes_part_in_a_turn_wherever_it_asked_to() {
    let model = ModelServer::new();
    let home = TestHome::new()
        .with_variable("OPENAI_BASE_URL", model.base_url())
        .with_variable("OPENAI_MODEL", "scripted");
    home.settings("[policy.local]\nallow = [\"hooks:*\", \"memory:write\"]\n");
    for agent in ["manage_memory_agent.py", "context_memory_agent.py"] {
        fs::copy(roost_tests::repository_root().join("agents").join(agent), home.agents().join(agent))
            .unwrap();
    }
    let more = json!({ "provides": ["hooks", "tool:echo"], "permissions": ["hook:*"] });
    sideload(&home, &app_folder(&home, "com.example.marks", "Marks", &more));
    let host = home.up();
    host.until_known("echo");
    let ask = |text: &str| {
        // In this profile the host keeps what was said, and tells that it did.
        let body = json!({ "user_input": text }).to_string();
        let headers = [("content-type", "application/json"), ("x-roost-profile", "rev5")];
        let answer = host.send("POST", "/chat", &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let answer = ask("call echo {\"a\": 1}");
    let text = answer["response"].as_str().unwrap();
    assert!(text.contains(r#""marked":"Marks""#), "before the tool: {answer}");
    assert!(text.contains("} +Marks"), "after the tool: {answer}");
    assert!(text.trim_end().ends_with("+Marks"), "after the model: {answer}");
    let sent = model.requests().remove(0);
    let system = sent["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("section of Marks"), "sections: {system}");
    assert!(system.ends_with("+Marks"), "before the model: {system}");
    assert!(sent.to_string().contains("steered by Marks"), "{sent}");
    let log = home.root().join("logs/native/com.example.marks/stderr.log");
    until("the action was told", || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        said.contains("action session.message_append") && said.contains("\"role\":\"assistant\"")
    });
    let stored = ask(r#"call ManageMemory {"memory_type": "fact", "content": "tea at four"}"#);
    assert!(stored["response"].as_str().unwrap().contains("tea at four +Marks"), "{stored}");
    let recalled = ask(r#"call ContextMemory {"full_recall": true}"#);
    assert!(recalled["response"].as_str().unwrap().contains("tea at four +Marks"), "{recalled}");
    let streamed = host.post("/chat/stream", &json!({ "user_input": "say one" }));
    let is_marked_piece = |line: &str| {
        let event: Option<Value> =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
        event.is_some_and(|event| event["type"] == "delta" && event.to_string().contains("+Marks"))
    };
    assert!(streamed.body.lines().any(is_marked_piece), "{}", streamed.body);
}
