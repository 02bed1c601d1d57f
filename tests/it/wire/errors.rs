//! Every address answers in JSON, whatever is sent to it and however.

use super::{address_of, assert_failed, harmless_operations, is_coded, operations};
use roost_tests::{TestHome, python_agent};
use serde_json::json;
use std::collections::BTreeMap;

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "PATCH", "BREW"];

#[test]
fn a_method_that_an_address_does_not_take_is_answered_with_those_it_takes() {
    let home = TestHome::new();
    let host = home.up();
    let mut methods: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (method, path, _) in operations(&host) {
        methods.entry(path).or_default().push(method);
    }
    assert!(methods.len() > 20, "{methods:?}");
    for (path, taken) in methods {
        let address = address_of(&path);
        for method in METHODS.iter().filter(|method| !taken.iter().any(|taken| taken == *method)) {
            let answer = host.send(method, &address, &[], b"");
            assert_failed(&answer, 405, "method_not_allowed");
            let allowed = answer.header("allow").unwrap_or_default();
            assert!(
                taken.iter().all(|taken| allowed.contains(taken.as_str())),
                "{method} {address}: {answer:?}"
            );
        }
        let options = host.send("OPTIONS", &address, &[], b"");
        assert_eq!((options.status, options.body.as_str()), (204, ""), "{address}");
        assert!(options.header("allow").is_some() && options.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn a_head_is_an_answer_without_its_body() {
    let home = TestHome::new();
    let host = home.up();
    for path in ["/", "/health", "/version", "/agents", "/openapi.json", "/nowhere"] {
        let (get, head) = (host.get(path), host.send("HEAD", path, &[], b""));
        assert_eq!((head.status, head.body.as_str()), (get.status, ""), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}

#[test]
fn a_body_that_is_not_a_json_object_is_refused_by_every_address_that_takes_one() {
    let home = TestHome::new();
    home.write("x_agent.py", python_agent("X", "return ''"));
    let host = home.up();
    // As the owner: of nobody else some addresses read the body at all.
    let token = std::fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let owner = format!("Bearer {token}");
    let mut seen = 0;
    for (method, path, operation) in operations(&host) {
        // What is there for conformance tests only is not there, and of a run that is not there no body is read.
        let is_not_there = path.starts_with("/v1/host/sample/") || path.starts_with("/v1/runs/{");
        if is_not_there || !operation["requestBody"]["content"]["application/json"].is_object() {
            continue;
        }
        seen += 1;
        let address = address_of(&path);
        for body in [&b"{ half"[..], b"\xff\xfe", b"[]", b"null", b"7", b"\"{}\"", b"{}{}", &[b'['; 100_000]]
        {
            for content_type in ["application/json", "text/plain", "nonsense"] {
                let headers = [("Content-Type", content_type), ("Authorization", owner.as_str())];
                let answer = host.send(&method, &address, &headers, body);
                assert_failed(&answer, 400, "bad_request");
            }
        }
    }
    assert!(seen >= 6, "{seen}");
}

#[test]
fn a_body_that_is_too_large_is_refused_as_such() {
    let home = TestHome::new();
    let host = home.up();
    let large = vec![b' '; (16 << 20) + 1];
    for path in ["/v1/agents/X/call", "/voice/toggle", "/diagnostics/report"] {
        assert_failed(&host.send("POST", path, &[], &large), 413, "body_too_large");
    }
}

#[test]
fn addresses_that_cannot_be_read_are_refused() {
    let home = TestHome::new();
    let host = home.up();
    for (path, status) in [
        ("/agents/export/%ff%fe", 400),
        ("/agents/export/%c3%28_agent.py", 400),
        ("//", 404),
        ("/health/", 404),
        ("/HEALTH", 404),
        ("/%68ealth", 404),
        ("/../../etc/passwd", 404),
        ("/.env", 404),
        ("/home/.env", 404),
        ("/run/owner.token", 404),
        ("/agents/%2e%2e%2f%2e%2e", 405),
        ("/v1/agents?refresh=perhaps", 400),
        ("/diagnostics?tail=%ff", 400),
    ] {
        let answer = host.get(path);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(answer.json()["reason"].is_string(), "{path}");
    }
    let long = format!("/{}", "x".repeat(20_000));
    assert_eq!(host.get(&long).status, 404);
}

#[test]
fn no_answer_sets_a_cookie_and_only_the_page_is_html() {
    let home = TestHome::new();
    let host = home.up();
    for (method, path, _) in harmless_operations(&host) {
        let answer = host.send(&method, &address_of(&path), &[], b"");
        assert_eq!(answer.header("set-cookie"), None, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let is_html = answer.header("content-type").is_some_and(|kind| kind.contains("html"));
        assert_eq!(is_html, path == "/" || path == "/ui/plain", "{path}");
        if answer.status >= 400 {
            let is_plain = answer.json()["error"].is_string();
            assert!(is_plain || is_coded(&answer), "{method} {path}: {answer:?}");
        }
    }
    assert_eq!(host.get("/agents").json(), json!({ "files": [] }));
}
