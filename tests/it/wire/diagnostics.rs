//! The book of what happened lately.

use super::assert_failed;
use roost_tests::{RunningHost, TestHome, python_agent};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

fn events(host: &RunningHost, path: &str) -> Vec<Value> {
    host.get(path).json()["events"].as_array().unwrap().clone()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

#[test]
fn what_happened_is_in_the_book_and_what_went_in_or_came_out_is_not() {
    let home = TestHome::new();
    home.write("echo_agent.py", python_agent("Echo", "return kwargs['secret']"));
    let host = home.up();
    assert_eq!(host.output("Echo", &json!({ "secret": "hush-hush" })), "hush-hush");
    assert_eq!(host.get("/nowhere?password=hush-hush").status, 404);
    let answer = host.get("/diagnostics").json();
    assert_eq!(answer["version"], host.get("/version").json()["version"]);
    assert!(answer["uptime_events"].as_u64().unwrap() >= 3 && answer.get("model").is_some(), "{answer}");
    let all = events(&host, "/diagnostics?tail=1000");
    assert_eq!(kinds(&all), ["agent_loaded", "call", "http_error"]);
    let error = &all[2];
    assert!(error["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        error["detail"],
        json!({ "method": "GET", "path": "/nowhere", "status": 404, "reason": "unknown_route" })
    );
    assert!(!host.get("/diagnostics").body.contains("hush-hush"));
    assert_eq!(kinds(&events(&host, "/diagnostics?tail=1")), ["http_error"]);
    assert!(events(&host, "/diagnostics?tail=0").is_empty());
    for query in ["tail=x", "tail=-1", "tail=1.5", "tail="] {
        assert_failed(&host.get(&format!("/diagnostics?{query}")), 400, "bad_request");
    }
}

#[test]
fn the_book_outlives_the_host_until_it_is_cleared() {
    let home = TestHome::new();
    let path = home.root().join(".brainstem_book.json");
    fs::write(&path, "{ damaged").unwrap();
    let host = home.up();
    assert_eq!(host.get("/first").status, 404);
    assert_eq!(host.terminate(), 0);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let host = home.up();
    assert_eq!(host.get("/second").status, 404);
    let answer = host.get("/diagnostics/book.json");
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"book.json\""));
    assert!(answer.body.contains("\n  \"events\""), "{}", answer.body);
    let book = answer.json();
    let paths: Vec<&Value> =
        book["events"].as_array().unwrap().iter().map(|event| &event["detail"]["path"]).collect();
    assert_eq!(paths, ["/first", "/second"]);
    assert_eq!(host.get("/diagnostics").json()["uptime_events"], 1);
    let answer = host.send("POST", "/diagnostics/clear", &[], b"").json();
    assert!(answer["status"] == "ok" && answer["message"].is_string(), "{answer}");
    assert!(events(&host, "/diagnostics").is_empty());
    assert_eq!(fs::read_to_string(&path).unwrap(), r#"{"events":[]}"#);
}

#[test]
fn a_report_is_an_address_to_open_and_sends_nothing() {
    let silent = TestHome::new();
    let nowhere = silent.up().post("/diagnostics/report", &json!({ "description": "x" })).json();
    assert_eq!(nowhere, json!({ "status": "ok", "issue_url": null }), "no tracker is made up");
    let home = TestHome::new().with_variable("GITHUB_TOKEN", "ghp_hush");
    home.settings("[diagnostics]\ntracker = \"https://git.example/me/roost/\"\n");
    let host = home.up();
    let body =
        json!({ "description": "it broke & burned\nsecond line", "client_events": [{ "token": "hush" }] });
    let answer = host.post("/diagnostics/report", &body).json();
    assert_eq!(answer["status"], "ok");
    let address = answer["issue_url"].as_str().unwrap();
    assert!(
        address.starts_with("https://git.example/me/roost/issues/new?title=it%20broke%20%26%20burned&body="),
        "{address}"
    );
    assert!(!address.contains("hush") && !address.contains(&home.root().display().to_string()), "{address}");
    let long = host.post("/diagnostics/report", &json!({ "description": "ü".repeat(100_000) })).json();
    assert!(long["issue_url"].as_str().unwrap().len() < 32 << 10);
    for body in [json!({}), json!({ "description": " " }), json!({ "description": 7 })] {
        assert_failed(&host.post("/diagnostics/report", &body), 400, "bad_request");
    }
}
