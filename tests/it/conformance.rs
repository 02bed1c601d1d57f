//! Conformance: every case of `conformance/cases/` behaves the same on every runtime.
//!
//! A case is a folder: `agent.py`, `agent.ts` with the same behaviour, and `calls.json`, a list of calls in order. What
//! is not stated of a call is not compared; `output_of` is for what the languages themselves write differently.

use roost_tests::{Engine, RunningHost, TestHome};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn cases() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), entry.path())
        })
        .collect();
    cases.sort();
    cases
}

fn check_call(host: &RunningHost, engine: Engine, case: &str, call: &Value) {
    let agent = call["agent"].as_str().unwrap();
    let arguments = call.get("arguments").cloned().unwrap_or(json!({}));
    let mut body = json!({ "arguments": arguments });
    if let Some(slush) = call.get("slush_in") {
        body["slush"] = slush.clone();
    }
    if let Some(user) = call.get("user_guid") {
        body["user_guid"] = user.clone();
    }
    let outcome = host.post(&format!("/v1/agents/{agent}/call"), &body).json();
    let place = format!("{case} on {}: {call} gave {outcome:.2000}", engine.label());
    let language = if engine == Engine::Python { "python" } else { "typescript" };
    let output = &outcome["output"];
    let parsed =
        || -> Value { serde_json::from_str(output.as_str().unwrap_or_default()).unwrap_or(Value::Null) };
    for (key, expected) in call.as_object().unwrap() {
        match key.as_str() {
            "agent" | "arguments" | "slush_in" | "user_guid" => {}
            "output" => assert_eq!(output, expected, "{place}"),
            "output_of" => assert_eq!(output, &expected[language], "{place}"),
            "output_json" => assert_eq!(&parsed(), expected, "{place}"),
            "output_bytes" => {
                assert_eq!(output.as_str().unwrap().len() as u64, expected.as_u64().unwrap(), "{place}")
            }
            "slush" => assert_eq!(&outcome["slush"], expected, "{place}"),
            "reason" => assert_eq!(&outcome["error"]["reason"], expected, "{place}"),
            "message" => assert_eq!(&outcome["error"]["message"], expected, "{place}"),
            "line_of" => assert_eq!(&outcome["error"]["line"], &expected[language], "{place}"),
            other => panic!("{case}: calls.json has an unknown key {other}"),
        }
    }
    assert_eq!(outcome["error"].is_null(), !call.as_object().unwrap().contains_key("reason"), "{place}");
    let runtime = outcome["receipt"]["worker"]["runtime"].as_str().unwrap();
    assert!(runtime.starts_with(engine.label()), "{place}");
}

fn check(engine: Engine) {
    let Some(search_path) = engine.search_path() else { return };
    let home =
        TestHome::new().with_variable("PATH", search_path).with_variable("HOST_SECRET", "not for agents");
    home.settings("[limits]\nresult_mb = 2\n");
    let extension = if engine == Engine::Python { "py" } else { "ts" };
    for (case, folder) in cases() {
        let source = fs::read(folder.join(format!("agent.{extension}"))).unwrap();
        home.write(&format!("{case}_agent.{extension}"), source);
    }
    let host = home.up();
    let failed: Vec<Value> = host.listing().into_iter().filter(|agent| agent["state"] != "ready").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let mut calls_made = 0;
    for (case, folder) in cases() {
        let calls: Vec<Value> =
            serde_json::from_slice(&fs::read(folder.join("calls.json")).unwrap()).unwrap();
        for call in &calls {
            check_call(&host, engine, &case, call);
        }
        calls_made += calls.len();
    }
    eprintln!("conformance: {} cases with {calls_made} calls hold on {}", cases().len(), engine.label());
}

#[test]
fn every_case_holds_on_python() {
    check(Engine::Python);
}

#[test]
fn every_case_holds_on_node() {
    check(Engine::Node);
}

#[test]
fn every_case_holds_on_deno() {
    check(Engine::Deno);
}
