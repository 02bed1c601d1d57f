//! Native apps as people and models look after them: the tool `app`, what apps print, and apps that are built again.

use crate::{
    native_install::Store,
    native_running::{app_folder, sideload},
};
use roost_tests::{Following, ModelServer, RunningHost, TestHome, until};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

const ECHO: &str = "com.example.echo";

fn say(host: &RunningHost, text: &str) -> String {
    let answer = host.post("/chat", &json!({ "user_input": text }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["response"].as_str().unwrap().to_owned()
}

fn skill(folder: &Path) {
    fs::write(folder.join("SKILL.md"), "---\nname: echo\ndescription: Echoes.\n---\nUse it.\n").unwrap();
}

#[test]
fn a_model_lists_stops_and_starts_apps_and_a_person_decides_the_rest() {
    let model = ModelServer::new();
    let home = TestHome::new()
        .with_variable("OPENAI_BASE_URL", model.base_url())
        .with_variable("OPENAI_MODEL", "scripted");
    let folder = app_folder(&home, ECHO, "Echo", &json!({ "description": "Says it" }));
    skill(&folder);
    home.json(&["sideload", folder.to_str().unwrap()]);
    let host = home.up();
    host.until_known("echo");
    assert!(say(&host, "show tools").contains("\"app\""), "the tool is offered");
    let system = say(&host, "show system");
    let line = format!(
        "\n\n## Installed Apps\n\n- **Echo** ({ECHO}) — Says it. Provides: tool:echo. Status: running."
    );
    assert!(system.contains(&line), "{system}");
    let listed = say(&host, "call app {\"action\": \"list\"}");
    assert!(listed.contains(ECHO) && listed.contains("\"status\":\"running\""), "{listed}");
    let stopped = say(&host, &format!("call app {}", json!({ "action": "stop", "id": ECHO })));
    assert!(stopped.contains("stopped"), "{stopped}");
    until("the tool is gone", || !host.listing().iter().any(|agent| agent["name"] == "echo"));
    let launched = say(&host, &format!("call app {}", json!({ "action": "launch", "id": ECHO })));
    assert!(launched.contains("running"), "{launched}");
    host.until_known("echo");

    for (asked, words) in [
        (json!({ "action": "launch" }), "needs the id"),
        (json!({ "action": "launch", "id": "../x" }), "no native app"),
        (json!({ "action": "fly" }), "there is no"),
        (json!({ "action": "install", "id": "/etc" }), "catalogs and stores"),
        (json!({ "action": "install", "id": "https://example.com/a.napp" }), "catalogs and stores"),
        (json!({ "action": "uninstall", "id": "com.example.none" }), "com.example.none"),
    ] {
        let answer = say(&host, &format!("call app {asked}"));
        assert!(answer.contains("Error: ") && answer.contains(words), "{asked}: {answer}");
    }

    let asked = say(&host, &format!("call app {}", json!({ "action": "uninstall", "id": ECHO })));
    assert!(asked.contains("Waiting for a person"), "{asked}");
    assert_eq!(home.json(&["apps"])["apps"].as_array().unwrap().len(), 1, "nothing was done yet");
    let waiting = home.json(&["approvals"]);
    let approval = &waiting["approvals"][0];
    assert_eq!((&approval["action"], &approval["page"]), (&json!("uninstall"), &json!(ECHO)), "{waiting}");
    home.json(&["approvals", "approve", approval["id"].as_str().unwrap()]);
    assert!(home.json(&["apps"])["apps"].as_array().unwrap().is_empty());
}

#[test]
fn what_a_model_wants_to_install_waits_for_a_person_and_is_then_installed() {
    let (store, model) = (Store::new(), ModelServer::new());
    let home = TestHome::new()
        .with_variable("OPENAI_BASE_URL", model.base_url())
        .with_variable("OPENAI_MODEL", "scripted");
    store.add("1.0.0", &json!({}));
    home.json(&["keys", "store", "add", &store.url()]);
    let host = home.up();
    let installed = || home.json(&["apps"])["apps"].as_array().unwrap().clone();
    let found = say(&host, "call app {\"action\": \"browse\", \"query\": \"echo\"}");
    assert!(found.contains(ECHO), "{found}");
    let install = format!("call app {}", json!({ "action": "install", "id": ECHO }));
    let decided = |decision: &str| {
        let asked = say(&host, &install);
        assert!(asked.contains("Waiting for a person"), "{asked}");
        assert!(installed().is_empty(), "nothing was done yet");
        let waiting = home.json(&["approvals"]);
        let approval = &waiting["approvals"][0];
        assert_eq!((&approval["action"], &approval["page"]), (&json!("install"), &json!(ECHO)), "{waiting}");
        home.json(&["approvals", decision, approval["id"].as_str().unwrap()])
    };
    decided("deny");
    assert!(installed().is_empty(), "a person said no");
    decided("approve");
    assert_eq!((&installed()[0]["id"], &installed()[0]["kind"]), (&json!(ECHO), &json!("native")));
    host.until_known("echo");
    let again = say(&host, &install);
    assert!(again.contains("installed already"), "{again}");
}

#[test]
fn what_an_app_prints_is_shown_as_it_comes() {
    let home = TestHome::new();
    sideload(&home, &app_folder(&home, ECHO, "Echo", &json!({})));
    let host = home.up();
    host.until_known("echo");
    let following = Following::new(&home, &["logs", ECHO, "--stderr", "--follow"]);
    following.until("what was printed before", |line| line.contains("[Echo] listening on "));
    let print = |text: &str| host.output("echo", &json!({ "do": "print", "text": text }));
    print("tea is \u{1b}[31mready");
    following.until("what is printed now", |line| line == "tea is [31mready");
    assert_eq!(following.interrupt(), Some(0));
    let programs = Following::new(&home, &["logs", ECHO, "--stderr", "--follow", "--json"]);
    print("tea is cold");
    programs.until("a document on a line", |line| line.contains("tea is cold") && line.starts_with('"'));
}

#[test]
fn what_an_app_prints_is_kept_per_stream_for_its_owner_alone() {
    let home = TestHome::new();
    sideload(&home, &app_folder(&home, ECHO, "Echo", &json!({})));
    let host = home.up();
    host.until_known("echo");
    until("it is written", || {
        home.roost(&["logs", ECHO, "--stderr"]).stdout.contains("[Echo] listening on ")
    });
    assert_eq!(home.roost(&["logs", ECHO]).stdout, "");
    assert_eq!(home.json(&["logs", ECHO])["text"], "");
    let log = home.root().join("logs/native").join(ECHO).join("stderr.log");
    assert_eq!(fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
    let unknown = home.roost(&["logs", "com.example.none", "--json"]);
    assert_eq!(unknown.json()["error"]["reason"], "unknown_native_app");
    let outside = home.roost(&["logs", "../../x", "--json"]);
    assert_eq!(outside.json()["error"]["reason"], "unknown_native_app");
    assert_eq!(host.get(&format!("/v1/native/{ECHO}/log")).status, 403);
}

#[test]
fn an_app_that_its_author_built_again_serves_when_it_answers() {
    let home = TestHome::new();
    let folder = app_folder(&home, ECHO, "Echo", &json!({}));
    skill(&folder);
    home.json(&["sideload", folder.to_str().unwrap()]);
    let host = home.up();
    host.until_known("echo");
    let version = || -> Value { home.json(&["apps"])["apps"][0]["version"].clone() };
    let built = |version: &str, name: &str| {
        let manifest = json!({
            "id": ECHO, "name": name, "version": version, "provides": ["tool:echo"], "startup_timeout": 5,
        });
        fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    };
    built("1.3.0", "Echo");
    until("the new version serves", || version() == "1.3.0");
    host.until_known("echo");
    // One that does not answer changes nothing, and the next that does is taken.
    built("1.4.0", "ends at once");
    until("it was tried", || host.get("/diagnostics").body.contains("app_refused"));
    assert_eq!(version(), "1.3.0");
    host.until_known("echo");
    built("1.5.0", "Echo");
    until("the new version serves", || version() == "1.5.0");
}
