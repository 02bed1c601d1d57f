//! Things that are done at set times: by the host, on both engines, and by native apps.

use crate::native_running::{app_folder, call, host, sideload};
use roost_host::{
    Host,
    native::NativeFolder,
    schedules::{NewSchedule, Schedule},
};
use roost_protocol::Reason;
use roost_tests::{Postgres, TestHome, until};
use serde_json::{Value, json};
use std::time::Duration;

const CLOCK: &str = "com.example.clock";
const LINES: &str = "com.example.lines";

/// Never within a test.
const FAR_AWAY: &str = "0 0 0 1 1 *";

fn new(name: &str, expression: &str, message: &str) -> NewSchedule {
    NewSchedule {
        name: name.to_owned(),
        expression: expression.to_owned(),
        message: message.to_owned(),
        ..NewSchedule::default()
    }
}

/// A host with a tool that repeats its input.
async fn host_with_tool(home: &TestHome) -> Host {
    let folder = app_folder(home, "com.example.echo", "Echo", &json!({}));
    let host = host(home, "").await;
    host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    host
}

const SAY: &str = r#"
from agents.basic_agent import BasicAgent

class SayAgent(BasicAgent):
    def __init__(self):
        self.name = "Say"
        self.metadata = {"name": "Say", "description": "Says it.",
                         "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
        super().__init__(self.name, self.metadata)

    def perform(self, **arguments):
        return "said " + arguments.get("text", "")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_run_when_it_is_due_and_the_run_is_recorded() {
    let home = TestHome::new();
    let host = host_with_tool(&home).await;
    let kept = host.schedules().add(new("tea", "* * * * * *", "/echo")).await.unwrap();
    assert!(kept.enabled && kept.next_run.is_some() && kept.scheduler == "built-in", "{kept:?}");
    let done = async {
        loop {
            let (entries, _) = host.schedules().history("tea", 10, 0).await.unwrap();
            if let Some(entry) = entries.into_iter().find(|entry| entry.finished_at.is_some()) {
                break entry;
            }
            // tidy: sleep because what is waited for happens in the database
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let entry = tokio::select! {
        entry = done => entry,
        never = host.keep_schedules() => match never {},
    };
    assert!(entry.success && entry.output.contains("{}"), "{entry:?}");
    assert!(entry.run.is_some(), "{entry:?}");
    let after = host.schedules().get("tea").await.unwrap();
    assert!(after.run_count >= 1 && after.last_run.is_some() && after.last_error.is_empty(), "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_can_be_changed_switched_run_by_hand_and_removed() {
    let home = TestHome::new();
    let host = host_with_tool(&home).await;
    let schedules = host.schedules();
    assert!(schedules.list().await.unwrap().schedules.is_empty());
    assert!(!home.root().join("roost.db").exists(), "nothing was kept yet");
    schedules.add(new("tea", FAR_AWAY, "one")).await.unwrap();
    let again = schedules.add(new("tea", FAR_AWAY, "x")).await.unwrap_err();
    assert_eq!(again.reason, Reason::AlreadyExists);
    schedules.update(new("tea", FAR_AWAY, "/echo")).await.unwrap();
    let off = schedules.disable("built-in/tea").await.unwrap();
    assert!(!off.enabled && off.next_run.is_none());
    let ran = schedules.run("tea").await.unwrap();
    assert!(ran.success && ran.output.contains("{}"), "{ran:?}");
    let still: Schedule = schedules.get("tea").await.unwrap();
    assert!(!still.enabled && still.run_count == 1 && !still.running, "{still:?}");
    assert!(schedules.enable("tea").await.unwrap().next_run.is_some());
    for _ in 0..2 {
        schedules.run("tea").await.unwrap();
    }
    let (newest, total) = schedules.history("tea", 2, 0).await.unwrap();
    let (oldest, _) = schedules.history("tea", 2, 2).await.unwrap();
    assert_eq!((newest.len(), oldest.len(), total), (2, 1, 3));
    schedules.remove("tea").await.unwrap();
    assert_eq!(schedules.get("tea").await.unwrap_err().reason, Reason::UnknownSchedule);
    assert_eq!(schedules.run("tea").await.unwrap_err().reason, Reason::UnknownSchedule);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_not_kept() {
    let home = TestHome::new();
    let host = host(&home, "").await;
    let program =
        NewSchedule { task_type: "bash".to_owned(), command: "ls".to_owned(), ..new("a", FAR_AWAY, "x") };
    let wrong = [
        (program, Reason::TaskRefused),
        (NewSchedule { task_type: "other".to_owned(), ..new("a", FAR_AWAY, "x") }, Reason::BadArguments),
        (new("a", "* * * * *", "x"), Reason::BadArguments),
        (new("a", FAR_AWAY, " "), Reason::BadArguments),
        (new("../a", FAR_AWAY, "x"), Reason::UnknownSchedule),
        (new("a b", FAR_AWAY, "x"), Reason::BadArguments),
        (new("", FAR_AWAY, "x"), Reason::BadArguments),
        (new("com.example.none/a", FAR_AWAY, "x"), Reason::UnknownSchedule),
    ];
    for (new, reason) in wrong {
        let shown = format!("{new:?}");
        assert_eq!(host.schedules().add(new).await.unwrap_err().reason, reason, "{shown}");
    }
}

#[test]
fn what_was_missed_while_no_host_was_there_is_run_once_and_says_so() {
    let home = TestHome::new();
    home.write("say_agent.py", SAY);
    let added = home.roost(&["schedules", "add", "tea", "* * * * * *", "/Say text=late", "--json"]).json();
    assert_eq!(added["name"], "tea", "{added}");
    // tidy: sleep because passing time is what is missed
    std::thread::sleep(Duration::from_millis(3100));
    let running = home.up();
    let history = || -> Vec<Value> {
        let shown = home.roost(&["schedules", "history", "tea", "--limit", "100", "--json"]).json();
        shown["entries"].as_array().unwrap().iter().rev().cloned().collect()
    };
    until("it is run", || history().first().is_some_and(|first| first["success"] == true));
    let first = history().remove(0);
    assert!(first["missed"].as_i64().unwrap() >= 2, "{first}");
    let runs = home.roost(&["runs", "--json"]).json();
    assert!(runs["runs"].as_array().unwrap().iter().any(|run| run["runId"] == first["run"]), "{runs}");
    assert_eq!(home.roost(&["schedules", "disable", "tea"]).status, 0);
    assert_eq!(running.terminate(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn native_schedulers_keep_theirs_beside_the_host_s_own() {
    let home = TestHome::new();
    let more = json!({ "provides": ["schedule"], "permissions": ["schedule:*"] });
    let folder = app_folder(&home, CLOCK, "Clock", &more);
    let other = TestHome::new();
    let refused = host(&other, "").await;
    let state = refused.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    assert_eq!(state.left_out[0].what, "schedule", "{state:?}");
    assert_eq!(refused.schedules().choose(CLOCK).await.unwrap_err().reason, Reason::UnknownSchedule);
    refused.native_apps().stop_all().await;

    let host = host(&home, "allow = [\"schedule\"]").await;
    let state = host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    assert!(state.left_out.is_empty(), "{state:?}");
    let schedules = host.schedules();
    schedules.add(new("own", FAR_AWAY, "x")).await.unwrap();
    let chosen = schedules.choose(CLOCK).await.unwrap();
    assert_eq!(
        (chosen.schedulers, chosen.default),
        (vec!["built-in".to_owned(), CLOCK.to_owned()], CLOCK.to_owned())
    );
    let added = schedules.add(new("tea", FAR_AWAY, "hello")).await.unwrap();
    let name = format!("{CLOCK}/tea");
    assert_eq!((added.name.as_str(), added.scheduler.as_str()), (name.as_str(), CLOCK));
    // What is no time counts as none.
    assert!(added.next_run.is_none() && added.created_at.is_some());
    schedules.add(new("built-in/second", FAR_AWAY, "x")).await.unwrap();
    let names: Vec<String> =
        schedules.list().await.unwrap().schedules.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["own".to_owned(), "second".to_owned(), name.clone()]);
    let changed = schedules.update(new(&name, "1 0 0 1 1 *", "hello again")).await.unwrap();
    assert_eq!((changed.expression.as_str(), changed.message.as_str()), ("1 0 0 1 1 *", "hello again"));
    assert!(!schedules.disable(&name).await.unwrap().enabled);
    assert!(schedules.enable(&name).await.unwrap().enabled);
    assert_eq!(schedules.get(&format!("{CLOCK}/none")).await.unwrap_err().reason, Reason::AgentRaised);
    schedules.remove(&name).await.unwrap();
    assert!(schedules.remove(&name).await.is_err());
    host.native_apps().stop(CLOCK).await.unwrap();
    assert_eq!(schedules.get(&name).await.unwrap_err().reason, Reason::UnknownSchedule);
    assert_eq!(schedules.list().await.unwrap().schedules.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_native_scheduler_fires_starts_a_turn_and_never_a_command() {
    let home = TestHome::new();
    let more = json!({ "provides": ["schedule"], "permissions": ["schedule:*"] });
    // After each one its stream ends, and is opened again.
    let folder = app_folder(&home, CLOCK, "ends its stream", &more);
    let host = host(&home, "allow = [\"schedule\"]").await;
    host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    for name in ["tea", "program"] {
        host.schedules().add(new(&format!("{CLOCK}/{name}"), FAR_AWAY, "/Say text=tea")).await.unwrap();
    }
    let noted = |what: &str| {
        let events = host.book().tail(usize::MAX);
        let notes = events.iter().filter(|event| event.kind == "schedule");
        notes.filter(|event| event.detail.to_string().contains(what)).count()
    };
    let fire = async {
        for (name, what, count) in
            [("tea", "clock/tea", 1), ("tea", "clock/tea", 2), ("program", "not run", 1)]
        {
            let name = format!("{CLOCK}/{name}");
            // Nobody listens for a moment after each.
            while host.schedules().run(&name).await.is_err() || noted(what) < count {
                // tidy: sleep because what is waited for is another process
                tokio::time::sleep(Duration::from_millis(20)).await;
                if noted(what) >= count {
                    break;
                }
            }
        }
    };
    tokio::select! {
        () = fire => {}
        never = host.keep_schedules() => match never {},
    }
    // Without a model there is no answer, and a line with a slash from an app calls nobody.
    let runs = host.book().tail(usize::MAX);
    assert!(!runs.iter().any(|event| event.kind == "call"), "{runs:?}");
}

/// An app that has a channel and is the model that answers.
async fn host_with_channel(home: &TestHome) -> Host {
    let more = json!({
        "provides": ["gateway", "tool:echo", "channel:telegram"],
        "permissions": ["network:outbound", "channel:send"],
    });
    let folder = app_folder(home, LINES, "Lines", &more);
    let host = host(home, "allow = [\"network:*\", \"feature:channel:*\", \"schedule\"]").await;
    host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
    host.models().set(&format!("gateway-{LINES}")).await.unwrap();
    host
}

/// What was said in which conversation, as the app tells.
async fn delivered(host: &Host) -> Vec<(String, String)> {
    let told = call(host, "echo", json!({ "do": "tell what was sent" })).await.unwrap().output;
    let told: Vec<Value> = serde_json::from_str(&told).unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    told.iter().map(|one| (text(one, "channel_id"), text(one, "text"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_to_the_channel_that_its_schedule_names_and_stays_when_it_cannot() {
    let home = TestHome::new();
    let host = host_with_channel(&home).await;
    let schedules = host.schedules();
    let run = async |name: &str, deliver: &str| {
        let new = NewSchedule { deliver: deliver.to_owned(), ..new(name, FAR_AWAY, "hello") };
        schedules.add(new).await.unwrap();
        schedules.run(name).await.unwrap()
    };
    // By the app's id, by its manifest, and by what the channel calls itself.
    for channel in [LINES, "telegram", "test"] {
        let ran = run(channel, &json!({ "channel": channel, "to": channel }).to_string()).await;
        assert!(ran.success && ran.error.is_empty() && ran.output == "Hello", "{ran:?}");
    }
    let hello = |to: &str| (to.to_owned(), "Hello".to_owned());
    let expected = vec![hello(LINES), hello("telegram"), hello("test")];
    assert_eq!(delivered(&host).await, expected);
    for (name, deliver, why) in [
        ("unreadable", "telegram", "deliver: "),
        ("without", r#"{"channel": "telegram"}"#, "`to`"),
        ("unknown", r#"{"channel": "none", "to": "1"}"#, "`none`"),
    ] {
        let ran = run(name, deliver).await;
        assert!(!ran.success && ran.error.contains(why), "{ran:?}");
        assert!(ran.output == "Hello" && ran.run.is_some(), "the run is not lost: {ran:?}");
        assert_eq!(schedules.get(name).await.unwrap().last_error, ran.error);
    }
    host.native_apps().stop(LINES).await.unwrap();
    assert!(!schedules.run("test").await.unwrap().success);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_native_scheduler_delivers_only_with_the_right_to_send() {
    let home = TestHome::new();
    let host = host_with_channel(&home).await;
    let noted = || {
        let events = host.book().tail(usize::MAX);
        let notes = events.iter().filter(|event| event.kind == "schedule");
        notes.map(|event| event.detail["error"].clone()).collect::<Vec<Value>>()
    };
    let fire = async {
        for (count, permissions) in [(1, json!(["schedule:*"])), (2, json!(["schedule:*", "channel:send"]))] {
            let more = json!({ "provides": ["schedule"], "permissions": permissions });
            let folder = app_folder(&home, CLOCK, "Clock", &more);
            host.native_apps().start(NativeFolder::sideloaded(&folder).unwrap()).await.unwrap();
            let deliver = json!({ "channel": "telegram", "to": "123" }).to_string();
            let name = format!("{CLOCK}/tea");
            host.schedules().add(NewSchedule { deliver, ..new(&name, FAR_AWAY, "hello") }).await.unwrap();
            while host.schedules().run(&name).await.is_err() {
                // tidy: sleep because what is waited for is another process
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            while noted().len() < count {
                // tidy: sleep because a turn ends in its own time
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    tokio::select! {
        () = fire => {}
        never = host.keep_schedules() => match never {},
    }
    let errors = noted();
    assert!(errors[0].as_str().is_some_and(|error| error.contains("channel:send")), "{errors:?}");
    assert!(errors[1].is_null(), "{errors:?}");
    assert_eq!(delivered(&host).await, [("123".to_owned(), "Hello".to_owned())]);
}

#[test]
fn schedules_are_kept_and_shown_at_the_command_line() {
    let home = TestHome::new();
    home.write("say_agent.py", SAY);
    sideload(&home, &app_folder(&home, "com.example.echo", "Echo", &json!({})));
    let running = home.up();
    assert_eq!(home.roost(&["schedules", "add", "tea", FAR_AWAY, "/Say text=hi"]).status, 0);
    let listed = home.roost(&["schedules", "--json"]).json();
    assert_eq!(listed["schedules"][0]["message"], "/Say text=hi", "{listed}");
    let ran = home.roost(&["schedules", "run", "tea"]);
    assert!(ran.status == 0 && ran.stdout.contains("said hi"), "{} {}", ran.stdout, ran.stderr);
    let shown = home.roost(&["schedules", "history", "tea", "--json"]).json();
    assert_eq!((&shown["total"], &shown["entries"][0]["success"]), (&json!(1), &json!(true)), "{shown}");
    let known = home.roost(&["schedules", "scheduler", "--json"]).json();
    assert_eq!(known, json!({ "schedulers": ["built-in"], "default": "built-in" }));
    let unknown = home.roost(&["schedules", "remove", "none", "--json"]);
    assert_eq!((unknown.status, &unknown.json()["error"]["reason"]), (1, &json!("unknown_schedule")));
    assert_eq!(running.get("/v1/schedules").status, 403);
    assert_eq!(home.roost(&["schedules", "remove", "tea"]).status, 0);
}

#[test]
fn on_several_nodes_each_time_is_taken_once() {
    let database = Postgres::database();
    let nodes: Vec<TestHome> = (0..2)
        .map(|_| {
            let home = TestHome::new().with_variable("ROOST_DATABASE_URL", database.url());
            home.write("say_agent.py", SAY);
            home
        })
        .collect();
    let added = nodes[0].roost(&["schedules", "add", "tea", "* * * * * *", "/Say text=tea"]);
    assert_eq!(added.status, 0, "{}", added.stderr);
    let _running: Vec<_> = nodes.iter().map(TestHome::up).collect();
    let history = || -> Vec<Value> {
        let shown = nodes[1].json(&["schedules", "history", "tea", "--limit", "100"]);
        shown["entries"].as_array().unwrap().clone()
    };
    until("it is run some times", || history().iter().filter(|entry| entry["success"] == true).count() >= 4);
    nodes[0].json(&["schedules", "disable", "tea"]);
    let entries = history();
    let mut seconds: Vec<&str> =
        entries.iter().map(|entry| entry["started_at"].as_str().unwrap().get(..19).unwrap()).collect();
    let count = seconds.len();
    seconds.sort_unstable();
    seconds.dedup();
    assert_eq!(seconds.len(), count, "{entries:?}");
}
