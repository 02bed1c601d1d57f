//! The contract from outside: an app in Python, with another implementation of gRPC than ours, in every part it offers.

use roost_tests::{RunningHost, TestHome, until_some};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

const ID: &str = "com.example.python";

/// The model that the app is.
const MODEL: &str = "gateway-com.example.python";

/// A copy of the example with its packages, as an author has it.
fn project(home: &TestHome) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let packages = root.join(".tools/native-python").canonicalize();
    let packages = packages.expect("scripts/setup.sh test installs the packages of the example");
    let project = home.outside().join("native-python");
    for name in ["build.py", "launcher.c", "start.py", "Makefile", "manifest.json", "SKILL.md", "app", "ui"] {
        copy(&root.join("examples/native-python").join(name), &project.join(name));
    }
    copy(&root.join("proto"), &project.join("proto"));
    fs::create_dir(project.join("target")).unwrap();
    symlink(packages, project.join("target/packages")).unwrap();
    project
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn a_python_app_is_built_sideloaded_and_answers_everything_that_it_offers() {
    let home = TestHome::new();
    let project = project(&home);
    let done = home.json(&["sideload", project.to_str().unwrap(), "--asked"]);
    assert_eq!((&done["app"]["id"], &done["app"]["state"]), (&json!(ID), &json!("enabled")), "{done}");

    let report = home.json(&["test", project.to_str().unwrap()]);
    assert_eq!(report["ok"], true, "{report:#}");

    let host = home.up();
    host.until_known("count_words");
    let answer = host.call("count_words", &json!({ "text": "one two three" })).json();
    assert_eq!(answer["output"], "3 words", "{answer}");
    assert_eq!(answer["receipt"]["enforcement"]["level"], "full", "{answer}");
    let wrong = host.call("count_words", &json!({})).json();
    assert!(wrong["error"]["message"].as_str().unwrap().contains("no text to count"), "{wrong}");

    // A model, whose words pass the app's own filter; it asks for the app's own tool when it is told to.
    home.json(&["models", "set", MODEL]);
    let say = |text: &str| {
        let answer = host.post("/chat", &json!({ "user_input": text, "conversation_history": [] })).json();
        answer["response"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(say("good morning"), "good morning\n(2 words)");
    assert_eq!(say(r#"use count_words {"text": "a b c"}"#), "3 words\n(2 words)");
    assert_eq!(host.terminate(), 0);
}

/// The lines that the app wrote into a file of its data folder, once there are so many.
#[track_caller]
fn written(home: &TestHome, file: &str, count: usize) -> Vec<Value> {
    let path = home.root().join("native").join(ID).join("data").join(file);
    until_some(&format!("{count} lines of {file}"), || {
        let text = fs::read_to_string(&path).ok()?;
        let lines: Option<Vec<Value>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
        lines.filter(|lines| lines.len() >= count)
    })
}

fn owner(home: &TestHome, host: &RunningHost, method: &str, path: &str) -> Value {
    let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let authorization = format!("Bearer {}", token.trim());
    host.send(method, path, &[("Authorization", &authorization)], b"").json()
}

#[test]
fn a_python_app_brings_messages_answers_its_page_and_keeps_schedules_for_the_host() {
    let home = TestHome::new();
    home.json(&["sideload", project(&home).to_str().unwrap(), "--asked"]);
    let host = home.up();
    host.until_known("count_words");
    home.json(&["models", "set", MODEL]);

    // Both lines are connected with its settings, where it finds what is said to the host.
    home.json(&["settings", ID, "incoming=good morning", "incoming_agent=good evening"]);
    let state = owner(&home, &host, "POST", &format!("/v1/native-apps/{ID}/restart"));
    assert_eq!((&state["phase"], state.get("left_out")), (&json!("running"), None), "{state}");
    let said = &written(&home, "outbox.jsonl", 1)[0];
    assert_eq!((&said["channel_id"], &said["text"]), (&json!("file:1"), &json!("good morning\n(2 words)")));
    assert_ne!(said["reply_to"], "", "{said}");
    let carried = &written(&home, "carried.jsonl", 1)[0];
    assert_eq!(
        (&carried["to"], &carried["content"]),
        (&json!("somebody"), &json!("good evening\n(2 words)"))
    );

    let page = format!("/api/v1/apps/{ID}/api");
    assert_eq!(host.get(&format!("{page}/")).json()["ask"], "POST /count with a text");
    let counted = host.send("POST", &format!("{page}/count"), &[], b"one two three").json();
    assert_eq!(counted, json!({ "words": 3 }));
    assert_eq!(host.get(&format!("{page}/nothing")).status, 404);

    // What it fires is answered, and the answer goes out by its own channel.
    let name = format!("{ID}/tea");
    let deliver = json!({ "channel": "file", "to": "file:2" }).to_string();
    home.json(&["schedules", "add", &name, "0 0 16 * * *", "Tea?", "--deliver", &deliver]);
    let listed = home.json(&["schedules"]);
    assert_eq!(listed["schedules"][0]["name"], name, "{listed}");
    home.json(&["schedules", "run", &name]);
    let said = &written(&home, "outbox.jsonl", 2)[1];
    assert_eq!(said["channel_id"], "file:2");
    assert!(
        said["text"].as_str().unwrap().starts_with(&format!("Scheduled by the app {name}: Tea?")),
        "{said}"
    );
    let runs = home.json(&["runs"]);
    assert!(runs["runs"].as_array().unwrap().len() >= 3, "each of them is a run: {runs}");
    assert_eq!(home.json(&["schedules", "history", &name])["total"], 1);
    home.json(&["schedules", "remove", &name]);
    assert_eq!(home.json(&["schedules"])["schedules"], json!([]));
    assert_eq!(host.terminate(), 0);
}
