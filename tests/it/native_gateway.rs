//! Native apps as models: chosen like any other, asked in a turn, and gone with their process.

use crate::native_running::{app_folder, call, host, kill, sideload, started};
use roost_host::{ChatAnswer, ChatFailure, ChatRequest, Host, chat::TurnEvent, native::NativePhase};
use roost_protocol::{Reason, UserGuid};
use roost_tests::{PATIENCE, TestHome, status_kb, until};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

const APP: &str = "com.example.gateway";
const MODEL: &str = "gateway-com.example.gateway";

/// Everything that these apps ask for.
const POLICY: &str = "[local]\nallow = [\"network:*\", \"feature:user:*\"]\n";

fn gateway(home: &TestHome, name: &str, permissions: &Value) -> PathBuf {
    app_folder(home, APP, name, &json!({ "provides": ["gateway", "tool:echo"], "permissions": permissions }))
}

async fn running(home: &TestHome) -> Host {
    let host = host(home, POLICY).await;
    started(&host, &gateway(home, "A gateway", &json!(["network:outbound"]))).await.unwrap();
    host
}

async fn ask(host: &Host, input: &str) -> Result<ChatAnswer, ChatFailure> {
    let model = Some(MODEL.to_owned());
    host.converse(ChatRequest { input: input.to_owned(), model, ..ChatRequest::default() }, None).await
}

/// Why there is no answer.
async fn refusal(host: &Host, input: &str) -> (Reason, String) {
    let failure =
        roost_protocol::Failure::from(ask(host, input).await.map(|answer| answer.text).unwrap_err());
    (failure.reason, failure.message)
}

async fn listed(host: &Host) -> Vec<String> {
    let list = host.models().list().await;
    list.models.into_iter().filter(|model| model.id.starts_with("gateway-")).map(|model| model.id).collect()
}

#[test]
fn a_gateway_is_listed_chosen_and_asked_like_any_model() {
    let home = TestHome::new();
    home.settings(&POLICY.replace("[local]", "[policy.local]"));
    sideload(&home, &gateway(&home, "A gateway", &json!(["network:outbound"])));
    let running = home.up();
    running.until_known("echo");
    let models = running.get("/models").json();
    let found = models["models"].as_array().unwrap().iter().find(|model| model["id"] == MODEL).unwrap();
    assert_eq!((&found["provider"], &found["name"]), (&json!("gateway"), &json!("A gateway")));
    home.json(&["models", "set", MODEL]);
    let answer = running.post("/chat", &json!({ "user_input": "hello", "conversation_history": [] })).json();
    assert_eq!(answer["response"], "Hello", "{answer}");
}

#[test]
fn an_app_that_sends_a_gibibyte_is_refused_at_the_limit_and_fills_no_memory() {
    let home = TestHome::new();
    home.settings(&POLICY.replace("[local]", "[policy.local]"));
    sideload(&home, &gateway(&home, "sends a gibibyte", &json!(["network:outbound"])));
    let running = home.up();
    running.until_known("echo");
    home.json(&["models", "set", MODEL]);
    let most_kb = || status_kb(running.pid(), "VmHWM:").unwrap();
    let before = most_kb();
    // As one message, and as pieces without end.
    let called = running.call("echo", &json!({})).json();
    assert_eq!(called["error"]["reason"], "result_too_large", "{called}");
    let said = running.post("/chat", &json!({ "user_input": "endless", "conversation_history": [] }));
    assert!(said.status >= 400 && said.body.contains("that is no answer"), "{said:?}");
    let taken = most_kb() - before;
    assert!(taken < 64 << 10, "the host took {taken} kB");
    running.until_known("echo");
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_calls_and_results_pass_and_the_end_needs_no_word() {
    let home = TestHome::new();
    let host = running(&home).await;
    let pieces = Mutex::new(Vec::new());
    let on_event = |event: TurnEvent| {
        if let TurnEvent::Piece(text) = event {
            pieces.lock().unwrap().push(text);
        }
    };
    let request =
        ChatRequest { input: "hello".to_owned(), model: Some(MODEL.to_owned()), ..ChatRequest::default() };
    let answer = host.converse(request, Some(&on_event)).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_deref()), ("Hello", Some(MODEL)));
    assert_eq!(pieces.into_inner().unwrap().concat(), "Hello");
    assert_eq!(ask(&host, "no done").await.unwrap().text, "all of it");
    let answer = ask(&host, "use tools").await.unwrap();
    assert!(
        answer.text.starts_with(r#"one={"call":"one"} two={"call":"two"} after [{"id":"one""#),
        "{}",
        answer.text
    );
    assert_eq!(answer.logs.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_the_user_goes_only_to_whom_it_was_granted() {
    let home = TestHome::new();
    home.roost_with_input(&["secrets", "set", "USER_TOKEN"], b"secret-token\n");
    for (permissions, token) in [
        (json!(["network:outbound"]), ""),
        (json!(["network:outbound", "user:id"]), ""),
        (json!(["network:outbound", "user:token"]), "secret-token"),
        (json!(["network:outbound", "user:*"]), "secret-token"),
    ] {
        let host = host(&home, POLICY).await;
        started(&host, &gateway(&home, "A gateway", &permissions)).await.unwrap();
        let told = |answer: ChatAnswer| serde_json::from_str::<Value>(&answer.text).unwrap();
        let nobody = told(ask(&host, "who am I").await.unwrap());
        assert_eq!(nobody, json!({ "user": null, "named": true }), "{permissions}");
        let request = ChatRequest {
            input: "who am I".to_owned(),
            user: Some(UserGuid::parse("ada").unwrap()),
            model: Some(MODEL.to_owned()),
            ..ChatRequest::default()
        };
        let somebody = told(host.converse(request, None).await.unwrap());
        assert_eq!(somebody["user"], json!({ "id": "ada", "token": token }), "{permissions}");
        host.native_apps().stop_all().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_fails_in_any_way_is_told_and_harms_nothing() {
    let home = TestHome::new();
    let host = running(&home).await;
    for (input, reason, words) in [
        ("error", Reason::ModelRefused, "on purpose"),
        ("status", Reason::ModelRefused, "on purpose"),
        ("bad call", Reason::ModelGarbled, "no answer"),
        ("much", Reason::ModelGarbled, "no answer"),
        ("endless", Reason::ModelGarbled, "no answer"),
    ] {
        let (told, message) = refusal(&host, input).await;
        assert_eq!(told, reason, "{input}: {message}");
        assert!(message.contains(words), "{input}: {message}");
        assert_eq!(ask(&host, "hello").await.unwrap().text, "Hello", "after `{input}`");
    }
    let pid = host.native_apps().state(APP).unwrap().pid;
    let (told, _) = refusal(&host, "die in the middle").await;
    assert_eq!(told, Reason::ModelUnreachable);
    until("it runs again", || {
        let state = host.native_apps().state(APP).unwrap();
        state.phase == NativePhase::Running && state.pid != pid
    });
    assert_eq!(ask(&host, "hello").await.unwrap().text, "Hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_takes_the_question_back() {
    let home = TestHome::new();
    let host = running(&home).await;
    let begun = Notify::new();
    let on_event = |_| begun.notify_one();
    let request = ChatRequest {
        input: "hang in the middle".to_owned(),
        model: Some(MODEL.to_owned()),
        ..ChatRequest::default()
    };
    tokio::select! {
        answer = host.converse(request, Some(&on_event)) => panic!("{answer:?}"),
        () = begun.notified() => {}
    }
    let taken_back = async {
        loop {
            let outcome = call(&host, "echo", json!({ "do": "tell what was cancelled" })).await.unwrap();
            let cancelled: Vec<String> = serde_json::from_str(&outcome.output).unwrap();
            if let [request_id] = &cancelled[..] {
                assert!(!request_id.is_empty());
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, taken_back).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_pauses_keeps_its_connection() {
    let home = TestHome::new();
    let host = running(&home).await;
    let heard = AtomicUsize::new(0);
    let on_event = |event: TurnEvent| {
        if let TurnEvent::Piece(text) = event
            && heard.fetch_add(text.len(), Ordering::Relaxed) == 0
        {
            // tidy: sleep because a reader that pauses is what is tested
            std::thread::sleep(Duration::from_millis(1500));
        }
    };
    let request =
        ChatRequest { input: "many".to_owned(), model: Some(MODEL.to_owned()), ..ChatRequest::default() };
    let pid = host.native_apps().state(APP).unwrap().pid;
    let answer = host.converse(request, Some(&on_event)).await.unwrap();
    assert_eq!((answer.text.len(), heard.into_inner()), (200_000, 200_000));
    assert_eq!(call(&host, "echo", json!({})).await.unwrap().output, "{}");
    assert_eq!(host.native_apps().state(APP).unwrap().pid, pid, "it is still the same process");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_gone_with_its_process_and_none_without_a_network() {
    let home = TestHome::new();
    let host = running(&home).await;
    assert_eq!(listed(&host).await, [MODEL]);
    kill(host.native_apps().state(APP).unwrap().pid.unwrap());
    let was_gone = async {
        while !listed(&host).await.is_empty() && host.native_apps().state(APP).unwrap().restarts == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, was_gone).await.unwrap();
    host.native_apps().stop(APP).await.unwrap();
    assert_eq!(listed(&host).await, Vec::<String>::new());
    let (reason, message) = refusal(&host, "hello").await;
    assert_eq!(reason, Reason::ModelUnavailable, "{message}");
    drop(host);

    let home = TestHome::new();
    let host = crate::native_running::host(&home, "").await;
    let state = started(&host, &gateway(&home, "A gateway", &json!(["network:outbound"]))).await.unwrap();
    assert_eq!(state.left_out[0].what, "gateway");
    assert_eq!(listed(&host).await, Vec::<String>::new());
}
