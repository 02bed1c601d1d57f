//! The web UI as the host serves it: who is let in, what only the owner may do there, and what nobody may.

use roost_tests::{Answer, RunningHost, TestHome, python_agent};
use serde_json::{Value, json};
use std::fs;

/// Every route that is the owner's alone, with a body that would be right.
fn routes_of_the_owner() -> Vec<(&'static str, &'static str, Value)> {
    let session = "/conversations/00000000-0000-4000-8000-000000000000";
    let message = json!({ "messages": [{ "role": "user", "content": "x" }] });
    let grant = json!({ "app": "asks_agent.py", "rights": ["env:DEMO_KEY"], "lasting": "always" });
    vec![
        ("POST", "/owner/tickets", json!({})),
        ("POST", "/owner/sessions", json!({})),
        ("DELETE", "/owner/sessions", json!({})),
        ("GET", "/rights?app=asks_agent.py", Value::Null),
        ("GET", "/rights/waiting", Value::Null),
        ("POST", "/rights/grant", grant),
        ("POST", "/rights/revoke", json!({ "app": "asks_agent.py" })),
        ("POST", "/rights/refuse", json!({ "app": "asks_agent.py", "right": "env:DEMO_KEY" })),
        ("GET", "/rights/unused", Value::Null),
        ("GET", "/audit", Value::Null),
        ("GET", "/audit/verify", Value::Null),
        ("GET", "/why?subject=Asks", Value::Null),
        ("GET", "/doctor", Value::Null),
        ("GET", "/catalogs", Value::Null),
        ("POST", "/catalogs", json!({ "address": "/nowhere" })),
        ("DELETE", "/catalogs/official", Value::Null),
        ("POST", "/catalogs/refresh", json!({})),
        ("GET", "/catalogs/search?q=x&offline=true", Value::Null),
        ("GET", "/catalogs/show?app=x&offline=true", Value::Null),
        ("GET", "/conversations", Value::Null),
        ("GET", session, Value::Null),
        ("POST", session, message),
        ("DELETE", session, Value::Null),
    ]
}

fn home_with_agent() -> TestHome {
    let home = TestHome::new();
    home.write("asks_agent.py", python_agent("Asks", "return os.environ.get('DEMO_KEY', 'nothing')"));
    home
}

/// Asks as somebody who shows this.
fn ask(host: &RunningHost, shown: &str, method: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {shown}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    host.send(method, path, &[("Authorization", &bearer)], body.as_bytes())
}

fn owner_token(home: &TestHome) -> String {
    fs::read_to_string(home.root().join("run/owner.token")).unwrap().trim().to_owned()
}

/// A session as a browser gets it: from the address that `roost open` prints.
#[track_caller]
fn session(home: &TestHome, host: &RunningHost) -> String {
    let url = home.json(&["open"])["url"].as_str().unwrap().to_owned();
    let (address, ticket) = url.split_once("/#ticket=").unwrap();
    assert_eq!(address, format!("http://127.0.0.1:{}", host.port()));
    let opened = host.post("/owner/sessions", &json!({ "ticket": ticket }));
    assert_eq!(opened.header("cache-control"), Some("no-store"));
    opened.json()["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_ticket_opens_one_session_that_counts_as_the_owner_until_it_is_closed() {
    let home = home_with_agent();
    let host = home.up();
    let ticket = home.json(&["open"])["url"].as_str().unwrap().split_once('=').unwrap().1.to_owned();
    let opened = host.post("/owner/sessions", &json!({ "ticket": ticket }));
    assert_eq!(opened.status, 200, "{opened:?}");
    let again = host.post("/owner/sessions", &json!({ "ticket": ticket }));
    assert_eq!((again.status, &again.json()["reason"]), (403, &json!("ticket_invalid")));
    let session = opened.json()["session"].as_str().unwrap().to_owned();
    assert_ne!(session, owner_token(&home));
    for path in ["/secrets", "/rights/waiting", "/v1/host/workspace/files", "/v1/runs"] {
        assert_eq!(ask(&host, &session, "GET", path, &Value::Null).status, 200, "{path}");
    }
    assert_eq!(ask(&host, &session, "GET", "/owner", &Value::Null).json(), json!({ "owner": true }));
    assert_eq!(ask(&host, &session, "DELETE", "/owner/sessions", &Value::Null).status, 200);
    assert_eq!(ask(&host, &session, "GET", "/secrets", &Value::Null).status, 403);
    assert_eq!(host.get("/owner").json(), json!({ "owner": false }));
}

#[test]
fn a_session_is_still_good_after_the_host_was_started_again() {
    let home = home_with_agent();
    let host = home.up();
    let session = session(&home, &host);
    assert_eq!(host.terminate(), 0);
    let host = home.up();
    assert_eq!(ask(&host, &session, "GET", "/secrets", &Value::Null).status, 200);
    let kept = fs::read_to_string(home.root().join("run/page-sessions.json")).unwrap();
    assert!(!kept.contains(&session) && !kept.contains(&owner_token(&home)), "only hashes are kept");
}

#[test]
fn nobody_but_the_owner_gets_anything_from_the_owners_routes() {
    let home = home_with_agent();
    let host = home.up();
    assert_eq!(host.listing().len(), 1);
    let wrong = format!("page_{}", "0".repeat(64));
    for (method, path, body) in routes_of_the_owner() {
        for shown in ["", "x", &wrong] {
            let answer = ask(&host, shown, method, path, &body);
            assert_eq!(answer.status, 403, "{method} {path} {shown}: {answer:?}");
            assert_eq!(answer.json()["reason"], "owner_only", "{method} {path}");
        }
    }
    assert!(!home.root().join("conversations").exists());
    let rights = home.json(&["rights", "asks_agent.py"]);
    assert_eq!(rights["rights"][0]["state"], "not_granted", "{rights}");
}

#[test]
fn rights_are_given_refused_and_taken_back_over_http() {
    let home = home_with_agent();
    let host = home.up();
    let session = session(&home, &host);
    let ask = |method: &str, path: &str, body: &Value| ask(&host, &session, method, path, body);
    let waiting = ask("GET", "/rights/waiting", &Value::Null).json();
    assert_eq!(waiting["waiting"][0]["app"], "asks_agent.py", "{waiting}");
    let no = json!({ "app": "asks_agent.py", "right": "env:DEMO_KEY" });
    assert_eq!(ask("POST", "/rights/refuse", &no).status, 200);
    assert_eq!(ask("GET", "/rights/waiting", &Value::Null).json(), json!({ "waiting": [] }));
    let state = || ask("GET", "/rights?app=asks_agent.py", &Value::Null).json()["rights"][0]["state"].clone();
    let grant = json!({ "app": "asks_agent.py", "rights": ["env:DEMO_KEY"], "lasting": "version" });
    assert_eq!(ask("POST", "/rights/grant", &grant).json()["granted"], json!(["env:DEMO_KEY"]));
    assert_eq!(state(), "granted_version");
    let taken = ask("POST", "/rights/revoke", &json!({ "app": "asks_agent.py" })).json();
    assert_eq!(taken["revoked"][0]["right"], "env:DEMO_KEY", "{taken}");
    assert_eq!(state(), "not_granted");
    let rows = ask("GET", "/audit?app=asks_agent.py", &Value::Null).json()["rows"].clone();
    let kinds: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row["what"].as_str()).collect();
    assert!(kinds.contains(&"grant") && kinds.contains(&"revoke"), "{kinds:?}");
    assert_eq!(ask("GET", "/audit/verify", &Value::Null).json()["ok"], true);
}

#[test]
fn bad_requests_of_the_owner_are_refused_and_change_nothing() {
    let home = home_with_agent();
    let host = home.up();
    let session = session(&home, &host);
    let good = "/conversations/00000000-0000-4000-8000-000000000000";
    let message = |value: Value| json!({ "messages": value });
    let grant = |rights: Value, lasting: &str| json!({ "app": "asks_agent.py", "rights": rights, "lasting": lasting });
    for (method, path, body, status, reason) in [
        ("POST", "/rights/grant", grant(json!([]), "always"), 400, "bad_request"),
        ("POST", "/rights/grant", grant(json!(["env:DEMO_KEY"]), "forever"), 400, "bad_request"),
        ("POST", "/rights/grant", grant(json!(["everything"]), "always"), 422, "invalid_right"),
        ("POST", "/rights/grant", grant(json!(["env:DEMO_KEY", "model"]), "always"), 403, "right_not_asked"),
        ("POST", "/rights/refuse", json!({ "app": "asks_agent.py", "right": "*" }), 422, "invalid_right"),
        ("GET", "/rights?app=nobody", Value::Null, 404, "unknown_agent"),
        ("GET", "/rights", Value::Null, 400, "bad_request"),
        ("GET", "/audit?since=yesterday", Value::Null, 400, "bad_request"),
        ("GET", "/why?subject=nothing-of-this-name", Value::Null, 404, "unknown_agent"),
        ("GET", "/conversations/..%2fsecrets", Value::Null, 404, "unknown_session"),
        ("GET", good, Value::Null, 404, "unknown_session"),
        ("DELETE", good, Value::Null, 404, "unknown_session"),
        ("POST", good, message(json!([])), 400, "bad_request"),
        ("POST", good, message(json!([{ "role": "system", "content": "x" }])), 400, "bad_request"),
        ("POST", good, message(json!([{ "role": "user", "content": 1 }])), 400, "bad_request"),
        ("POST", "/owner/sessions", json!({ "ticket": "x" }), 403, "ticket_invalid"),
        ("POST", "/owner/sessions", json!({ "key": "x" }), 400, "bad_request"),
        ("DELETE", "/catalogs/nowhere", Value::Null, 404, "unknown_catalog"),
    ] {
        let answer = ask(&host, &session, method, path, &body);
        assert_eq!(
            (answer.status, &answer.json()["reason"]),
            (status, &json!(reason)),
            "{method} {path}: {answer:?}"
        );
    }
    let rights = home.json(&["rights", "asks_agent.py"]);
    assert_eq!(rights["rights"][0]["state"], "not_granted", "{rights}");
    assert!(!home.root().join("conversations").exists());
}

#[test]
fn a_turn_is_kept_without_values_of_the_vault() {
    let home = home_with_agent();
    assert_eq!(
        home.roost_with_input(&["secrets", "set", "DEMO_KEY"], b"value-that-nobody-keeps\n").status,
        0
    );
    assert_eq!(home.roost(&["grant", "asks_agent.py", "env:DEMO_KEY"]).status, 0);
    let host = home.up();
    let session = session(&home, &host);
    assert_eq!(host.output("Asks", &json!({})), "value-that-nobody-keeps");
    let path = "/conversations/11111111-0000-4000-8000-000000000000";
    let turn = json!({ "messages": [
        { "role": "user", "content": "tell me" },
        { "role": "assistant", "content": "It is value-that-nobody-keeps.", "calls": [{ "output": "value-that-nobody-keeps" }] },
    ] });
    assert_eq!(ask(&host, &session, "POST", path, &turn).status, 200);
    let kept = ask(&host, &session, "GET", path, &Value::Null).json();
    assert_eq!(kept["messages"][1]["content"], "It is [REDACTED:DEMO_KEY].", "{kept}");
    assert!(!kept.to_string().contains("value-that-nobody-keeps"), "{kept}");
    let listed = ask(&host, &session, "GET", "/conversations", &Value::Null).json();
    assert_eq!(listed["conversations"][0]["title"], "tell me");
    assert_eq!(ask(&host, &session, "DELETE", path, &Value::Null).status, 200);
    assert_eq!(ask(&host, &session, "GET", path, &Value::Null).status, 404);
}

#[test]
fn the_page_comes_with_its_policy_and_its_files_stay_in_the_cache() {
    let home = TestHome::new();
    let host = home.up();
    let page = host.get("/");
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8")),
        "{page:?}"
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    for missing in ["/ui/", "/ui/index.html", "/ui/..%2fCargo.toml", "/ui/assets/", "/ui/.gitignore"] {
        assert_eq!(host.get(missing).status, 404, "{missing}");
    }
    // A build without Node.js has the plain page only.
    let Some(script) = page.body.split('"').find(|part| part.starts_with("/ui/assets/")) else { return };
    let plain = host.get(script);
    assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(plain.header("content-type"), Some("text/javascript; charset=utf-8"));
    let compressed = host.send("GET", script, &[("Accept-Encoding", "gzip")], b"");
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert!(compressed.bytes.len() < plain.bytes.len() / 2 && compressed.bytes.starts_with(&[0x1f, 0x8b]));
    let etag = page.header("etag").unwrap();
    assert_eq!(host.send("GET", "/", &[("If-None-Match", etag)], b"").status, 304);
}

#[test]
fn there_is_nothing_to_open_without_a_running_host() {
    let home = TestHome::new();
    let ran = home.roost(&["open", "--json"]);
    assert_eq!(ran.json()["error"]["reason"], "host_unreachable", "{ran:?}");
}
