//! The same again: after files changed, on another host, and when something is not the same.

use super::{Stage, ask, put, say};
use roost_tests::TestHome;
use serde_json::{Value, json};
use std::fs;

/// A turn with a document and a tool, whose files change afterwards.
fn turn_then_changes(stage: &Stage) -> String {
    let host = stage.home.up();
    put(&stage.home, &host, "IDENTITY.md", "You are a heron.");
    put(&stage.home, &host, "DIRECTIVES.md", "Speak softly — ünïcode too.");
    let run = say(&host, "call Echo {\"text\": \"hi\"}")["run_id"].as_str().unwrap().to_owned();
    for round in 0..25 {
        put(&stage.home, &host, "IDENTITY.md", &format!("You are somebody else, {round}."));
    }
    let gone = ask(&stage.home, &host, "DELETE", "/v1/host/workspace/files/DIRECTIVES.md", &Value::Null);
    assert_eq!(gone.status, 204);
    fs::write(stage.home.root().join("soul.md"), "A different soul.").unwrap();
    stage.home.replace("echo_agent.py", "raise SystemExit");
    let other = say(&host, "show system");
    assert!(other["response"].as_str().unwrap().contains("You are somebody else, 24."));
    run
}

#[test]
fn a_turn_with_a_tool_is_the_same_again_after_everything_changed() {
    let stage = Stage::new();
    let run = turn_then_changes(&stage);
    let replayed = stage.home.json(&["runs", "replay", &run]);
    assert_eq!(replayed, json!({ "run": run, "same": true, "steps": 3 }));
}

#[test]
fn a_turn_is_the_same_again_on_another_host() {
    let stage = Stage::new();
    let run = turn_then_changes(&stage);
    let file = stage.home.outside().join("run.json");
    let path = file.display().to_string();
    let exported = stage.home.json(&["runs", "export", &run, &path]);
    assert_eq!(exported["files"], 2);
    let elsewhere = TestHome::new();
    let imported = elsewhere.json(&["runs", "import", &path]);
    let here = imported["run"].as_str().unwrap();
    assert_eq!(elsewhere.json(&["runs", "replay", here])["same"], true);
    let shown = elsewhere.json(&["runs", "show", here]);
    assert_eq!(
        shown["workspace"],
        json!([{ "path": "DIRECTIVES.md", "version": 1 }, { "path": "IDENTITY.md", "version": 1 }])
    );
    let again = elsewhere.outside().join("again.json");
    elsewhere.json(&["runs", "export", here, &again.display().to_string()]);
    let read =
        |path: &std::path::Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let (first, second) = (read(&file), read(&again));
    assert_eq!((&first["events"], &first["files"]), (&second["events"], &second["files"]));
}

#[test]
fn the_first_difference_is_told() {
    let stage = Stage::new();
    let run = turn_then_changes(&stage);
    let file = stage.home.outside().join("run.json");
    stage.home.json(&["runs", "export", &run, &file.display().to_string()]);
    let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let differs = |change: &dyn Fn(&mut Value)| {
        let mut changed = document.clone();
        change(&mut changed);
        let path = stage.home.outside().join("changed.json");
        fs::write(&path, changed.to_string()).unwrap();
        let imported = stage.home.json(&["runs", "import", &path.display().to_string()]);
        let ran = stage.home.roost(&["runs", "replay", imported["run"].as_str().unwrap(), "--json"]);
        assert_eq!(ran.status, 1, "{ran:?}");
        ran.json()["difference"]["what"].as_str().unwrap().to_owned()
    };
    let event = |document: &mut Value, kind: &str| -> usize {
        document["events"].as_array().unwrap().iter().position(|event| event["type"] == kind).unwrap()
    };
    let answer = differs(&|document| {
        let last = document["events"].as_array_mut().unwrap().last_mut().unwrap();
        last["payload"]["text"] = json!("something else");
    });
    assert_eq!(answer, "the answer");
    let soul = differs(&|document| document["events"][0]["payload"]["inputs"]["soul"] = json!("other"));
    assert_eq!(soul, "message 0 to the model (system)");
    let tool = differs(&|document| {
        let index = event(document, "tool.returned");
        document["events"][index]["payload"]["output"] = json!("other");
    });
    assert_eq!(tool, "message 3 to the model (tool)");
    let call = differs(&|document| {
        let index = event(document, "tool.called");
        document["events"][index]["payload"]["arguments"] = json!({ "text": "ho" });
    });
    assert_eq!(call, "the call of Echo");
}

#[test]
fn a_turn_whose_model_failed_fails_in_the_same_way_again() {
    let stage = Stage::new();
    let host = stage.home.up();
    assert_ne!(host.post("/chat", &json!({ "user_input": "status 500 broken" })).status, 200);
    let listed = stage.home.json(&["runs"]);
    let run = listed["runs"][0]["runId"].as_str().unwrap();
    let replayed = stage.home.json(&["runs", "replay", run]);
    assert_eq!((&replayed["same"], &replayed["steps"]), (&json!(true), &json!(1)), "{replayed}");
    let file = stage.home.outside().join("run.json");
    stage.home.json(&["runs", "export", run, &file.display().to_string()]);
    let mut document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    document["events"].as_array_mut().unwrap().last_mut().unwrap()["payload"]["error"] = json!("other");
    fs::write(&file, document.to_string()).unwrap();
    let imported = stage.home.json(&["runs", "import", &file.display().to_string()]);
    let replayed = stage.home.roost(&["runs", "replay", imported["run"].as_str().unwrap(), "--json"]);
    assert_eq!(replayed.json()["difference"]["what"], "how the turn failed", "{replayed:?}");
}

#[test]
fn what_is_not_an_exported_run_is_refused_and_leaves_nothing() {
    let stage = Stage::new();
    let run = turn_then_changes(&stage);
    let file = stage.home.outside().join("run.json");
    stage.home.json(&["runs", "export", &run, &file.display().to_string()]);
    let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let elsewhere = TestHome::new();
    let changes: [&dyn Fn(&mut Value); 6] = [
        &|document| document["format"] = json!("roost-run/2"),
        &|document| document["files"][0]["content"] = json!("bm90IHRoYXQ="),
        &|document| document["files"][0]["path"] = json!("../outside"),
        &|document| document["events"][1]["sequence"] = json!(7),
        &|document| document["more"] = json!(1),
        &|document| document["run"]["status"] = json!("running"),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut changed = document.clone();
        change(&mut changed);
        let path = elsewhere.outside().join("changed.json");
        fs::write(&path, changed.to_string()).unwrap();
        let ran = elsewhere.roost(&["runs", "import", &path.display().to_string(), "--json"]);
        assert_eq!(ran.status, 1, "{index} {ran:?}");
        assert!(ran.json()["error"]["message"].is_string());
    }
    assert_eq!(elsewhere.json(&["runs"]), json!({ "runs": [] }));
}
