//! What native apps were asked and answered, as people look at it.

use crate::native_running::{app_folder, host, sideload};
use roost_host::{
    Host, Request,
    native::{Direction, EventKind, InspectedEvent, NativeFolder, Payloads},
};
use roost_tests::{Following, TestHome};
use serde_json::{Value, json};

const ECHO: &str = "com.example.echo";

/// The newest calls of the tool: how the app is, is asked all the time.
fn calls(host: &Host, most: usize) -> Vec<InspectedEvent> {
    let mut events = host.inspector().recent(ECHO, 200);
    events.retain(|event| event.method() == "/apps.v0.ToolService/Execute");
    events.split_off(events.len() - most)
}

fn request(arguments: &Value) -> Request {
    Request { arguments: arguments.as_object().unwrap().clone(), ..Request::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_recorded_with_its_size_and_end_and_no_payload() {
    let home = TestHome::new();
    let folder = app_folder(&home, ECHO, "Echo", &json!({}));
    let host = host(&home, "").await;
    host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    host.call("echo", &request(&json!({ "text": "hello" }))).await.unwrap();
    let events = calls(&host, 2);
    let [asked, answered] = &events[..] else { panic!("{events:?}") };
    assert_eq!((asked.method(), asked.direction), ("/apps.v0.ToolService/Execute", Direction::Request));
    assert_eq!((asked.kind, asked.status), (EventKind::Unary, None));
    // `{"text":"hello"}` and the two bytes before it, either way.
    assert_eq!((asked.bytes, answered.bytes), (18, 18));
    assert_eq!((answered.direction, answered.status), (Direction::Response, Some(0)));
    assert!(answered.duration.is_some() && answered.id > asked.id);
    assert!(events.iter().all(|event| host.inspector().payload(event).is_none()));
    let methods = host.inspector().recent(ECHO, 200);
    assert!(methods.iter().any(|event| event.method() == "/apps.v0.ToolService/HealthCheck"));

    let (_, reader) = host.inspector().follow(ECHO, 0, Payloads::Kept);
    host.call("echo", &request(&json!({ "text": "hello" }))).await.unwrap();
    let shown = calls(&host, 1);
    assert_eq!(host.inspector().payload(&shown[0]).unwrap(), json!({ "content": "{\"text\":\"hello\"}" }));
    drop(reader);
    host.call("echo", &request(&json!({ "text": "hello" }))).await.unwrap();
    assert!(host.inspector().payload(&calls(&host, 1)[0]).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_is_recorded_with_its_status() {
    let home = TestHome::new();
    let folder = app_folder(&home, ECHO, "answers with a status", &json!({}));
    let host = host(&home, "").await;
    host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    host.call("echo", &request(&json!({}))).await.unwrap();
    let last = calls(&host, 1).remove(0);
    assert_eq!(last.status, Some(13), "{last:?}");
    assert!(host.inspector().error(&last).unwrap().contains("on"), "{last:?}");
}

#[test]
fn the_owner_sees_calls_at_the_command_line_and_others_see_nothing() {
    let home = TestHome::new();
    sideload(&home, &app_folder(&home, ECHO, "Echo", &json!({})));
    let nobody = home.roost(&["inspect", ECHO, "--json"]);
    assert_eq!(nobody.json()["error"]["reason"], "host_unreachable");
    let running = home.up();
    running.until_known("echo");
    assert_eq!(running.output("echo", &json!({ "text": "hi" })), r#"{"text":"hi"}"#);
    let inspected = home.roost(&["inspect", ECHO, "--json"]).json();
    let last = inspected["events"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["appId"], &last["type"], &last["direction"], &last["status"]),
        (&json!(ECHO), &json!("unary"), &json!("response"), &json!(0)),
        "{last}"
    );
    assert!(last["durationMs"].is_f64() && last.get("payload").is_none(), "{last}");
    let shown = home.roost(&["inspect", ECHO]);
    assert!(shown.stdout.contains("← ToolService/Execute 15 B status 0"), "{}", shown.stdout);
    // And as they come, here with what was said.
    let following = Following::new(&home, &["inspect", ECHO, "--follow", "--payloads"]);
    following.until("what was before", |line| line.contains("← ToolService/Execute 15 B status 0"));
    assert_eq!(running.output("echo", &json!({ "text": "hello" })), r#"{"text":"hello"}"#);
    following.until("what comes", |line| line.contains("→ ToolService/Execute 18 B"));
    following.until("its payload", |line| line.contains("hello"));
    assert_eq!(following.interrupt(), Some(0));
    let unknown = home.roost(&["inspect", "com.example.other", "--json"]);
    assert_eq!(unknown.json()["error"]["reason"], "unknown_native_app");
    let refused = running.get(&format!("/api/v1/dev/apps/{ECHO}/grpc"));
    assert_eq!(refused.status, 403, "{}", refused.body);
}
