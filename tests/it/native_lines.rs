//! Native apps that bring messages from elsewhere: by a channel, and between agents.

use crate::native_running::{app_folder, call, host, started};
use roost_host::{
    Host, SessionId,
    native::{CommMessage, CommRequest, NativePhase, OutgoingMessage, SettingsChange},
};
use roost_protocol::{Failure, Reason};
use roost_tests::TestHome;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

const APP: &str = "com.example.lines";
const POLICY: &str = "[local]\nallow = [\"network:*\", \"feature:channel:*\", \"feature:comm:*\"]\n";

/// An app that brings messages and is the model that answers them.
fn folder(home: &TestHome, name: &str, permissions: &[&str]) -> PathBuf {
    let permissions: Vec<&str> = permissions.iter().copied().chain(["network:outbound"]).collect();
    let provides = ["gateway", "tool:echo", "channel:test", "comm"];
    app_folder(home, APP, name, &json!({ "provides": provides, "permissions": permissions }))
}

async fn answering(home: &TestHome, name: &str, permissions: &[&str]) -> Host {
    let host = host(home, POLICY).await;
    started(&host, &folder(home, name, permissions)).await.unwrap();
    host.models().set("gateway-com.example.lines").await.unwrap();
    host
}

/// Lets the app do something; the answer is JSON.
async fn order(host: &Host, order: &str, more: Value) -> Value {
    let mut arguments = more;
    arguments["do"] = json!(order);
    let outcome = call(host, "echo", arguments).await.unwrap();
    serde_json::from_str(&outcome.output).unwrap_or_else(|_| panic!("{order}: {outcome:?}"))
}

/// Waits until the app says so.
async fn until_told(host: &Host, what: &str, asked: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let looking = async {
        loop {
            let told = order(host, asked, json!({})).await;
            if holds(&told) {
                return told;
            }
        }
    };
    let patience = roost_tests::PATIENCE;
    tokio::time::timeout(patience, looking).await.unwrap_or_else(|_| panic!("gave up waiting: {what}"))
}

async fn until_heard(host: &Host, listeners: u64) {
    until_told(host, "the host listens", "tell how many listen", |told| told.as_u64() == Some(listeners))
        .await;
}

async fn sent(host: &Host, count: usize) -> Vec<Value> {
    let is_answer = |one: &&Value| one.get("text").is_some() || one.get("content").is_some();
    let answers =
        |told: &Value| told.as_array().unwrap().iter().filter(is_answer).cloned().collect::<Vec<Value>>();
    let told =
        until_told(host, "answers are sent", "tell what was sent", |told| answers(told).len() >= count);
    answers(&told.await)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_elsewhere_is_answered_there_in_order_and_remembered() {
    let home = TestHome::new();
    let host = answering(&home, "Lines", &["channel:send"]).await;
    until_heard(&host, 1).await;
    for number in 1..=5 {
        let message = json!({
            "channel_id": "test:1", "user_id": "ada", "text": format!("hello {number}"),
            "message_id": format!("m{number}"), "platform_data": "opaque",
        });
        order(&host, "hear", message).await;
    }
    let answers = sent(&host, 5).await;
    let replies: Vec<&str> = answers.iter().map(|one| one["reply_to"].as_str().unwrap()).collect();
    assert_eq!(replies, ["m1", "m2", "m3", "m4", "m5"]);
    assert!(
        answers.iter().all(|one| one["text"] == "Hello" && one["platform_data"] == "opaque"),
        "{answers:?}"
    );
    let id = uuid_version(answers[0]["message_id"].as_str().unwrap());
    assert_eq!(id, Some('7'));
    let kept = host.conversations().list();
    assert_eq!((kept.len(), kept[0].turns), (1, 5));

    // A person elsewhere is a person of their own, and commands nothing here.
    let message = json!({ "channel_id": "test:2", "user_id": "ada", "text": "who am I" });
    order(&host, "hear", message).await;
    let told: Value = serde_json::from_str(sent(&host, 6).await[5]["text"].as_str().unwrap()).unwrap();
    let user = told["user"]["id"].as_str().unwrap();
    assert!(user.starts_with("elsewhere-") && !user.contains("ada"), "{user}");
    order(&host, "hear", json!({ "channel_id": "test:3", "text": "/echo a=b" })).await;
    assert_eq!(sent(&host, 7).await[6]["text"], "Hello");

    // It stops telling, and is listened to again.
    order(&host, "stop telling", json!({})).await;
    until_heard(&host, 1).await;
    order(&host, "hear", json!({ "channel_id": "test:1", "text": "hello again" })).await;
    assert_eq!(sent(&host, 8).await[7]["text"], "Hello");

    let message =
        OutgoingMessage { channel_id: "test:9".to_owned(), text: "news".to_owned(), ..Default::default() };
    assert_eq!(host.native_apps().say(APP, message).await.unwrap(), "its-own");
    let data = home.outside().join(APP).join("data");
    assert!(!data.join("left-channel").exists());
    host.native_apps().stop(APP).await.unwrap();
    assert!(data.join("left-channel").exists(), "it was told to leave");
}

fn uuid_version(text: &str) -> Option<char> {
    text.split('-').nth(2)?.chars().next()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_open_only_in_the_ways_that_were_granted() {
    let home = TestHome::new();
    let policy = "[local]\nallow = [\"network:*\", \"feature:channel:receive\"]\n";
    let host = host(&home, policy).await;
    let both = ["channel:send", "channel:receive"];
    let state = started(&host, &folder(&home, "Lines", &both)).await.unwrap();
    assert_eq!(state.left_out.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["comm"]);
    let failure = host.native_apps().say(APP, OutgoingMessage::default()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::RightMissing);
    host.models().set("gateway-com.example.lines").await.unwrap();
    until_heard(&host, 1).await;
    order(&host, "hear", json!({ "channel_id": "test:1", "text": "hello" })).await;
    roost_tests::until("the turn is over", || host.conversations().list().len() == 1);
    assert_eq!(order(&host, "tell what was sent", json!({})).await, json!([]));

    let state = started(&host, &folder(&home, "Lines", &[])).await.unwrap();
    assert_eq!(state.left_out.len(), 2, "{:?}", state.left_out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_connected_with_all_settings_of_its_app() {
    let home = TestHome::new();
    let host = host(&home, POLICY).await;
    let more = json!({
        "provides": ["tool:echo", "channel:test", "comm"], "permissions": ["channel:send", "comm:send"],
        "settings": [{ "key": "tone", "default": "dry" }, { "key": "key", "type": "password" }],
    });
    started(&host, &app_folder(&home, APP, "Lines", &more)).await.unwrap();
    let connected = "tell what it was connected with";
    let default = json!({ "tone": "dry" });
    assert_eq!(
        order(&host, connected, json!({})).await,
        json!({ "channel": default.clone(), "comm": default })
    );
    let settings = [("key".to_owned(), "tr0ub4dor".to_owned())].into();
    let change = SettingsChange { settings, ..SettingsChange::default() };
    host.change_native_settings(APP, change).await.unwrap();
    host.native_apps().restart(APP).await.unwrap();
    // As it was set, not as it is shown; and the same as `Configure` brought.
    let whole = json!({ "tone": "dry", "key": "tr0ub4dor" });
    let told = order(&host, connected, json!({})).await;
    assert_eq!(told, json!({ "channel": whole.clone(), "comm": whole.clone() }));
    assert_eq!(order(&host, "tell settings", json!({})).await["settings"], whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_answered_and_what_only_informs_is_not() {
    let home = TestHome::new();
    let host = answering(&home, "Lines", &["comm:send"]).await;
    until_heard(&host, 1).await;
    let told = order(&host, "tell what was sent", json!({})).await;
    assert_eq!((&told[0]["register"], told[0]["capabilities"].is_array()), (&json!("roost"), true), "{told}");
    let agent = |kind: &str, from: &str| json!({ "id": "1", "from": from, "type": kind, "content": "hello" });
    for (kind, from) in [("info", "other"), ("message", "roost"), ("task", "other")] {
        order(&host, "hear an agent", agent(kind, from)).await;
    }
    let answers = sent(&host, 1).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(
        (&answers[0]["to"], &answers[0]["from"], &answers[0]["content"]),
        (&json!("other"), &json!("roost"), &json!("Hello"))
    );
    let apps = host.native_apps();
    apps.carry(APP, CommRequest::Subscribe("weather".to_owned())).await.unwrap();
    let message = CommMessage { to: "other".to_owned(), content: "hi".to_owned(), ..CommMessage::default() };
    apps.carry(APP, CommRequest::Send(Box::new(message))).await.unwrap();
    assert_eq!(sent(&host, 2).await[1]["content"], "hi");
    let told = order(&host, "tell what was sent", json!({})).await;
    assert!(told.as_array().unwrap().contains(&json!({ "subscribe": "weather" })), "{told}");
    apps.stop(APP).await.unwrap();
    assert!(home.outside().join(APP).join("data/left-comm").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_informs_is_kept_where_people_and_the_next_turn_find_it() {
    let home = TestHome::new();
    let host = answering(&home, "Lines", &["comm:send"]).await;
    until_heard(&host, 1).await;
    let agent = |kind: &str, text: &str| json!({ "id": "1", "from": "other", "type": kind, "content": text });
    order(&host, "hear an agent", agent("info", "the tea is ready")).await;
    order(&host, "hear an agent", agent("message", "hello")).await;
    assert_eq!(sent(&host, 1).await.len(), 1, "only one of them is answered");
    roost_tests::until("the turn is kept", || {
        host.conversations().list().first().is_some_and(|one| one.turns == 2)
    });
    let session = SessionId::parse(&host.conversations().list()[0].session_id).unwrap();
    let said: Vec<Value> = host.conversations().messages(&session).unwrap();
    let said: Vec<&str> = said.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["the tea is ready", "hello", "Hello"]);
    let letters: Vec<_> = host.book().tail(100).into_iter().filter(|event| event.kind == "letter").collect();
    assert_eq!(letters[0].detail["outcome"], "wants no answer", "{letters:?}");
    assert!(!format!("{letters:?}").contains("tea"), "the book has no content: {letters:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_are_told_whenever_the_tools_change() {
    let home = TestHome::new();
    let host = answering(&home, "Lines", &["comm:send"]).await;
    let tools = |told: &Value| -> Vec<Value> {
        let all = told.as_array().unwrap().iter();
        all.filter(|one| one["register"] == "roost").map(|one| one["capabilities"].clone()).collect()
    };
    let more = json!({ "provides": ["tool:more"] });
    started(&host, &app_folder(&home, "com.example.more", "tool more", &more)).await.unwrap();
    let has_more = |told: &Value| tools(told).last() == Some(&json!(["echo", "more"]));
    until_told(&host, "the new tool is told", "tell what was sent", has_more).await;
    host.native_apps().stop("com.example.more").await.unwrap();
    let without = |told: &Value| tools(told).last() == Some(&json!(["echo"]));
    let told = until_told(&host, "it is told that it is gone", "tell what was sent", without).await;
    assert_eq!(tools(&told).len(), 3, "only what changed is told: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_misbehaves_in_a_line_harms_nothing() {
    for name in ["hangs in receive", "tells without end", "hangs in send", "hangs in disconnect"] {
        let home = TestHome::new();
        let host = answering(&home, name, &["channel:send"]).await;
        order(&host, "hear", json!({ "channel_id": "test:1", "text": "hello" })).await;
        assert_eq!(call(&host, "echo", json!({ "x": 1 })).await.unwrap().output, r#"{"x":1}"#, "{name}");
        assert_eq!(host.native_apps().state(APP).unwrap().phase, NativePhase::Running, "{name}");
        let stopped = tokio::time::timeout(Duration::from_secs(20), host.native_apps().stop(APP)).await;
        assert!(stopped.is_ok(), "{name}");
    }
    let home = TestHome::new();
    let host = host(&home, POLICY).await;
    let state =
        started(&host, &folder(&home, "fails in connect", &["channel:send", "comm:send"])).await.unwrap();
    assert_eq!(state.left_out.len(), 2, "{:?}", state.left_out);
    assert!(state.left_out.iter().all(|one| one.why.contains("on purpose")), "{:?}", state.left_out);
    let failure: Failure = host.native_apps().say(APP, OutgoingMessage::default()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::NativeNotRunning);
}
