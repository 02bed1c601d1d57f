//! Services: files that answer below `/api/`, in the sandbox of agents, fresh on every request.

use roost_tests::{Answer, RunningHost, TestHome, WebServer};
use serde_json::{Value, json};
use std::fs;

const NOTES: &str = r#""""Keeps notes."""
name = "notes"

def handle(method, path, body):
    return {"method": method, "path": path, "body": body}, 200
"#;

/// A service whose `handle` has this body.
fn service(body: &str) -> String {
    format!(
        "import json, os, time\n\ndef handle(method, path, body):\n    {}\n",
        body.replace('\n', "\n    ")
    )
}

fn up(home: &TestHome, name: &str, body: &str) -> RunningHost {
    home.write_service(&format!("{name}_service.py"), service(body));
    home.up()
}

#[track_caller]
fn failed(answer: &Answer, status: u16, reason: &str) -> String {
    let body = answer.json();
    assert_eq!((answer.status, &body["reason"]), (status, &json!(reason)), "{answer:?}");
    body["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_dropped_in_file_answers_at_its_name_with_every_method() {
    let home = TestHome::new();
    let host = home.up();
    home.write_service("notes_service.py", NOTES);
    for (method, address, path) in [
        ("GET", "/api/notes", ""),
        ("GET", "/api/notes/", ""),
        ("POST", "/api/notes/a/b", "a/b"),
        ("PUT", "/api/notes/with%20space/x/", "with space/x/"),
        ("DELETE", "/api/notes/7?query=is+not+passed", "7"),
    ] {
        let body: &[u8] = if method == "GET" { b"" } else { br#"{"text": "tea"}"# };
        let answer = host.send(method, address, &[], body);
        let expected = if method == "GET" { json!({}) } else { json!({ "text": "tea" }) };
        assert_eq!(answer.json(), json!({ "method": method, "path": path, "body": expected }), "{address}");
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        assert!(answer.header("x-roost-call").is_some(), "{answer:?}");
    }
    let head = host.send("HEAD", "/api/notes", &[], b"");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn what_is_not_there_or_not_allowed_says_so() {
    let home = TestHome::new();
    home.write_service("notes_service.py", NOTES);
    home.write_service("ignored.py", NOTES);
    home.write("Wrong_agent.py", "x = 1");
    let host = home.up();
    assert_eq!(failed(&host.get("/api/nothing/x"), 404, "unknown_service"), "service 'nothing' not found");
    failed(&host.get("/api/..%2F..%2Fetc"), 404, "unknown_service");
    for method in ["PATCH", "TRACE"] {
        let answer = host.send(method, "/api/notes", &[], b"");
        failed(&answer, 405, "method_not_allowed");
        let allowed = answer.header("allow").unwrap_or_default();
        assert!(["GET", "POST", "PUT", "DELETE"].iter().all(|one| allowed.contains(one)), "{answer:?}");
    }
    for body in [&b"{"[..], b"[1]", b"\"text\"", b"\xff"] {
        failed(&host.send("POST", "/api/notes", &[], body), 400, "bad_request");
    }
    failed(
        &host.send("GET", "/api/notes", &[("Origin", "https://evil.example")], b""),
        403,
        "foreign_origin",
    );
    let listed = host.get("/v1/services").json();
    let names: Vec<&Value> = listed["services"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["notes"]);
    assert!(host.listing().iter().all(|agent| agent["name"] != "notes"));
}

#[test]
fn every_form_of_an_answer_is_understood() {
    let home = TestHome::new();
    let host = up(
        &home,
        "forms",
        r#"async def later():
    return {"late": True}, 202
return {
    "pair": ([1, {"a": None}], 201),
    "bare": {"n": 1},
    "text": ("plain", 200),
    "page": (b"<script>1</script>", 200, {"Content-Type": "text/html"}),
    "bytes": (b"\x00\x01", 200, {}),
    "raw": ("words", 203, [("X-Own", "1")]),
    "empty": (b"", 204, None),
    "moved": ({}, 302, {"Location": "/api/forms/bare"}),
    "away": ({"error": "no such note"}, 404),
    "date": ({"at": __import__("datetime").date(2026, 1, 2)}, 200),
    "later": later(),
}[path]"#,
    );
    let get = |path: &str| host.get(&format!("/api/forms/{path}"));
    for (path, status, body) in [
        ("pair", 201, r#"[1, {"a": null}]"#),
        ("bare", 200, r#"{"n": 1}"#),
        ("text", 200, r#""plain""#),
        ("page", 200, "<script>1</script>"),
        ("bytes", 200, "\0\u{1}"),
        ("raw", 203, "words"),
        ("empty", 204, ""),
        ("moved", 302, "{}"),
        ("away", 404, r#"{"error": "no such note"}"#),
        ("date", 200, r#"{"at": "2026-01-02"}"#),
        ("later", 202, r#"{"late": true}"#),
    ] {
        let answer = get(path);
        assert_eq!((answer.status, answer.body.as_str()), (status, body), "{path}: {answer:?}");
        assert_eq!(answer.header("content-security-policy"), Some("sandbox"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    assert_eq!(get("page").header("content-type"), Some("text/html"));
    assert_eq!(get("bytes").header("content-type"), Some("application/octet-stream"));
    assert_eq!(get("raw").header("x-own"), Some("1"));
    assert_eq!(get("moved").header("location"), Some("/api/forms/bare"));
}

#[test]
fn headers_that_belong_to_the_host_are_left_out_and_named() {
    let home = TestHome::new();
    let headers = r#"{"Set-Cookie": "a=b", "Access-Control-Allow-Origin": "*", "X-Roost-Call": "mine", "ETag": "1",
    "Content-Security-Policy": "none", "Content-Length": "1"}"#;
    let host = up(&home, "sets", &format!("return b'body', 200, {headers}"));
    let answer = host.get("/api/sets");
    assert_eq!((answer.status, answer.body.as_str(), answer.header("etag")), (200, "body", Some("1")));
    assert!(answer.header("set-cookie").is_none() && answer.header("access-control-allow-origin").is_none());
    assert_ne!(answer.header("x-roost-call"), Some("mine"));
    assert_eq!(answer.header("content-security-policy"), Some("sandbox"));
    let left_out = answer.header("x-roost-left-out").unwrap();
    assert!(
        left_out.contains("set-cookie") && left_out.contains("access-control-allow-origin"),
        "{left_out}"
    );
}

#[test]
fn a_service_that_raises_or_answers_nonsense_is_a_500_and_goes_on() {
    let home = TestHome::new();
    home.settings("[limits]\nresult_mb = 1\nwall_seconds = 2\n");
    let host = up(
        &home,
        "bad",
        r#"if path == "raise": raise ValueError("no notes today")
if path == "exit": raise SystemExit(3)
if path == "hang": time.sleep(60)
return {
    "none": None, "four": (1, 2, 3, 4), "one": (1,), "word": ({}, "200"), "true": ({}, True), "low": ({}, 99),
    "inform": ({}, 101), "high": ({}, 600), "nan": ({"x": float("nan")}, 200),
    "inject": (b"", 200, {"X-A": "b\r\nSet-Cookie: c=d"}), "name": (b"", 200, {"X A": "b"}),
    "headers": (b"", 200, 7), "large": (b"x" * (1 << 20), 200, {}), "good": ({"ok": True}, 200),
}[path]"#,
    );
    let get = |path: &str| host.get(&format!("/api/bad/{path}"));
    assert_eq!(failed(&get("raise"), 500, "service_failed"), "no notes today");
    assert_eq!(get("raise").json()["line"], 4);
    for path in [
        "exit", "hang", "none", "four", "one", "word", "true", "low", "inform", "high", "nan", "inject",
        "name", "headers", "large", "missing",
    ] {
        let answer = get(path);
        failed(&answer, 500, "service_failed");
        assert!(
            answer.header("x-roost-call").is_some() && answer.header("set-cookie").is_none(),
            "{answer:?}"
        );
        assert_eq!(get("good").status, 200, "after {path}");
    }
    let call = get("raise").header("x-roost-call").unwrap().to_owned();
    let why = home.json(&["why", &call]);
    assert_eq!(why["cause"], "no notes today", "{why}");
}

#[test]
fn a_changed_file_answers_with_its_new_content_and_a_broken_one_with_its_last_good() {
    let home = TestHome::new();
    let host = up(&home, "live", "return {'version': 1}, 200");
    let version = || host.get("/api/live").json()["version"].clone();
    assert_eq!(version(), 1);
    for number in 2..6 {
        home.write_service("live_service.py", service(&format!("return {{'version': {number}}}, 200")));
        assert_eq!(version(), number);
    }
    home.write_service("live_service.py", "def handle(:\n");
    assert_eq!(version(), 5);
    let listed = host.get("/v1/services").json()["services"][0].clone();
    assert_eq!((&listed["state"], &listed["serving"]), (&json!("failed"), &json!("last_good")), "{listed}");
    assert_eq!(listed["reason"]["reason"], "syntax_error");
    home.write_service("live_service.py", service("return {'version': 6}, 200"));
    assert_eq!(version(), 6);
    fs::remove_file(home.root().join("services/live_service.py")).unwrap();
    failed(&host.get("/api/live"), 404, "unknown_service");
}

#[test]
fn files_that_are_no_services_and_names_that_are_taken_are_listed_with_their_reason() {
    let home = TestHome::new();
    home.write_service("a_service.py", "name = 'same'\ndef handle(m, p, b): return 'first', 200\n");
    home.write_service("b_service.py", "name = 'same'\ndef handle(m, p, b): return 'second', 200\n");
    home.write_service("binder_service.py", "def handle(m, p, b): return {}, 200\n");
    home.write_service("empty_service.py", "x = 1\n");
    home.write_service("odd_service.py", "name = 'two words'\ndef handle(m, p, b): return {}, 200\n");
    let check = |listed: &Value| {
        let state = |file: &str| -> String {
            let all = listed["services"].as_array().unwrap();
            let one =
                all.iter().find(|one| one["file"] == file).unwrap_or_else(|| panic!("{file}: {listed}"));
            format!("{} {}", one["state"].as_str().unwrap(), one["reason"]["reason"].as_str().unwrap_or("-"))
        };
        assert_eq!(state("a_service.py"), "ready -");
        assert_eq!(state("b_service.py"), "shadowed shadowed");
        assert_eq!(state("binder_service.py"), "failed shadowed");
        assert_eq!(state("empty_service.py"), "failed no_agent");
        assert_eq!(state("odd_service.py"), "failed invalid_name");
    };
    check(&home.json(&["services"]));
    let host = home.up();
    check(&home.json(&["services"]));
    check(&host.get("/v1/services").json());
    assert_eq!(host.get("/api/same").body, "\"first\"");
    assert_eq!(host.get("/api/binder").json()["installed"], json!([]), "the host's own answers");
    assert!(home.roost(&["services"]).text().contains("/api/same"));
}

#[test]
fn a_service_is_confined_and_granted_like_an_agent() {
    let (home, server) = (TestHome::new(), WebServer::new());
    let url = server.url("localhost", "/x");
    let reach = format!(
        "import urllib.request\nreturn {{'got': urllib.request.urlopen('{url}', timeout=5).read().decode()}}, 200"
    );
    home.write_service("reach_service.py", service(&reach));
    home.write_service(
        "look_service.py",
        service("return {'env': sorted(os.environ), 'own': open('own.txt', 'w').name}, 200"),
    );
    let host = home.up();
    let refused = host.get("/api/reach");
    let message = failed(&refused, 500, "service_failed");
    assert!(message.contains("not allowed"), "{message}");
    let next = refused.json()["next"].as_str().unwrap().to_owned();
    assert!(next.starts_with("roost grant reach_service.py"), "{next}");
    let asked = home.json(&["rights", "reach_service.py"]);
    assert_eq!(asked["app"], "reach_service.py");
    let granted = home.roost(&["grant", "reach", "--asked"]);
    assert_eq!(granted.status, 0, "{granted:?}");
    assert_eq!(host.get("/api/reach").body, r#"{"got": "served /x"}"#);
    failed(&host.get("/api/look"), 500, "service_failed");
}

#[test]
fn services_can_lie_elsewhere() {
    let home = TestHome::new().with_variable("SERVICES_PATH", "elsewhere");
    fs::create_dir_all(home.root().join("elsewhere")).unwrap();
    fs::write(home.root().join("elsewhere/notes_service.py"), NOTES).unwrap();
    let host = home.up();
    assert_eq!(host.get("/api/notes").status, 200);
    assert_eq!(home.json(&["services"])["services"][0]["description"], "Keeps notes.");
}
