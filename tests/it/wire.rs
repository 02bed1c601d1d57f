//! The wire of the RAPP kernels beside the chat: files, modes, diagnostics, errors, and who may use any of it.

mod agent_files;
mod attacks;
mod description;
mod diagnostics;
mod errors;
mod health;
mod modes;

use roost_tests::{Answer, RunningHost, TestHome};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// Every operation of the running host: method in capitals, and path as it is described.
fn operations(host: &RunningHost) -> Vec<(String, String, Value)> {
    let document = host.get("/openapi.json").json();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    operations
}

/// Those that reach no other computer and no model, whatever is sent to them.
fn harmless_operations(host: &RunningHost) -> Vec<(String, String, Value)> {
    let outward = ["/login", "/debug", "/models", "/repos", "/chat"];
    let mut operations = operations(host);
    operations.retain(|(_, path, _)| !outward.iter().any(|start| path.starts_with(start)));
    operations
}

/// An address for a described path.
fn address_of(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect::<Vec<_>>().join("/")
}

/// Fails unless the answer is the one shape of all failures, or of those of the contract.
#[track_caller]
fn assert_failed(answer: &Answer, status: u16, reason: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let body = answer.json();
    if is_coded(answer) {
        assert_eq!(answer.header("roost-reason"), Some(reason), "{answer:?}");
        assert_eq!(body["code"], status, "{body}");
        return;
    }
    assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
    if body.get("message").is_some() {
        // Routes of the workspace contract have the shape of that.
        let code = if reason == "bad_request" { &body["error"] } else { &body["details"]["reason"] };
        assert_eq!(code, if reason == "bad_request" { "validation_error" } else { reason }, "{body}");
        return;
    }
    assert_eq!(body["reason"], reason, "{body}");
    assert!(body["error"].is_string() && body["next"].is_string(), "{body}");
}

/// True for a failure in the form that clients of native apps were promised: a number and a message, and no more.
fn is_coded(answer: &Answer) -> bool {
    let body = answer.json();
    let is_complete = body.as_object().is_some_and(|fields| fields.len() == 2) && body["message"].is_string();
    let is_their_type = answer.header("content-type") == Some("application/json; charset=utf-8");
    is_complete && body["code"].is_number() && is_their_type
}

/// Every file below a folder with its content.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

/// What an import could change: the agents folder and the trash.
fn files_of(home: &TestHome) -> BTreeMap<String, Vec<u8>> {
    let mut files = contents(&home.agents());
    files.extend(contents(&home.root().join("trash")));
    files
}
