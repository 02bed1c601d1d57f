//! Web pages that want something from the host of the person who looks at them. None gets it.

use super::{address_of, assert_failed, contents, files_of, operations};
use roost_tests::{FORM_TYPE, TestHome, form_of, python_agent};
use serde_json::json;

/// What browsers send by themselves, without asking the server first.
const SIMPLE_TYPES: [&str; 3] = [FORM_TYPE, "text/plain", "application/x-www-form-urlencoded"];

fn foreign_headers(port: u16) -> Vec<(Vec<(&'static str, String)>, &'static str)> {
    let one = |name, value: &str, reason| (vec![(name, value.to_owned())], reason);
    let two = |host: &str, origin: &str| vec![("Host", host.to_owned()), ("Origin", origin.to_owned())];
    vec![
        one("Origin", "https://evil.example", "foreign_origin"),
        one("Origin", "null", "foreign_origin"),
        one("Origin", "http://localhost:1", "foreign_origin"),
        one("Origin", "http://127.0.0.1:1", "foreign_origin"),
        one("Origin", &format!("https://127.0.0.1:{port}"), "foreign_origin"),
        one("Origin", &format!("http://127.0.0.1:{port}.evil.example"), "foreign_origin"),
        one("Host", "evil.example", "foreign_host"),
        one("Host", &format!("evil.example:{port}"), "foreign_host"),
        (two(&format!("evil.example:{port}"), &format!("http://evil.example:{port}")), "foreign_host"),
        one("Sec-Fetch-Site", "cross-site", "foreign_origin"),
        one("Sec-Fetch-Site", "same-site", "foreign_origin"),
    ]
}

#[test]
fn a_page_from_elsewhere_gets_nothing_from_any_address() {
    let home = TestHome::new();
    home.write("x_agent.py", python_agent("X", "return ''"));
    let host = home.up();
    assert_eq!(host.listing().len(), 1);
    let before = files_of(&home);
    let mut addresses: Vec<(String, String)> =
        operations(&host).into_iter().map(|(method, path, _)| (method, address_of(&path))).collect();
    for path in ["/login", "/login/switch", "/models/set", "/chat", "/nowhere", "/api/binder/install"] {
        addresses.push(("POST".to_owned(), path.to_owned()));
    }
    addresses.push(("DELETE".to_owned(), "/agents/x_agent.py".to_owned()));
    for (headers, reason) in foreign_headers(host.port()) {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        for (method, address) in &addresses {
            let answer = host.send(method, address, &headers, b"{}");
            // Whoever follows a link to the page may see it.
            if headers[0].0 == "Sec-Fetch-Site" && address == "/" {
                assert_eq!(answer.status, 200);
                continue;
            }
            // Providers of accounts lead a person's browser back here; without a state that was given out nothing happens.
            if headers[0].0 == "Sec-Fetch-Site" && address == "/api/v1/apps/oauth/callback" {
                assert_eq!(answer.status, 400, "{answer:?}");
                continue;
            }
            assert_failed(&answer, 403, reason);
            assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {address}");
        }
    }
    assert!(files_of(&home) == before);
    assert_eq!(host.get("/voice").json(), json!({ "voice_mode": false }));
}

#[test]
fn a_form_of_another_page_imports_nothing() {
    let home = TestHome::new();
    let host = home.up();
    let before = contents(&home.root().join("agents"));
    let source = python_agent("Evil", "return ''");
    let form = form_of(&[("file", Some("evil_agent.py"), source.as_bytes())]);
    for (headers, reason) in foreign_headers(host.port()) {
        for content_type in SIMPLE_TYPES {
            let mut all = vec![("Content-Type", content_type)];
            all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
            assert_failed(&host.send("POST", "/agents/import", &all, &form), 403, reason);
        }
    }
    assert!(contents(&home.root().join("agents")) == before);
    assert!(!home.root().join("trash").exists());
    assert!(host.listing().is_empty());
    let own = format!("http://127.0.0.1:{}", host.port());
    let headers = [("Content-Type", FORM_TYPE), ("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(host.send("POST", "/agents/import", &headers, &form).status, 200);
}

#[test]
fn a_page_that_was_not_allowed_is_not_told_what_it_may() {
    let home = TestHome::new();
    let host = home.up();
    let asks = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")];
    let answer = host.send("OPTIONS", "/agents/import", &asks, b"");
    assert_failed(&answer, 403, "foreign_origin");
    assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")), "{answer:?}");
}

#[test]
fn a_page_that_was_allowed_by_name_is_let_in_without_credentials() {
    let home = TestHome::new()
        .with_variable("RAPP_CORS_ORIGINS", "https://friend.example, http://localhost:3000")
        .with_variable("BRAINSTEM_ALLOWED_HOSTS", "box.lan");
    let host = home.up();
    let friend = ("Origin", "https://friend.example");
    let asks = [
        friend,
        ("Access-Control-Request-Method", "DELETE"),
        ("Access-Control-Request-Headers", "content-type"),
        ("Access-Control-Request-Private-Network", "true"),
    ];
    let preflight = host.send("OPTIONS", "/agents/x_agent.py", &asks, b"");
    assert_eq!(preflight.status, 204, "{preflight:?}");
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://friend.example"));
    assert_eq!(preflight.header("access-control-allow-private-network"), Some("true"));
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("DELETE"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("content-type"));
    for (method, path) in [("GET", "/health"), ("POST", "/voice/toggle"), ("GET", "/nowhere")] {
        let answer = host.send(method, path, &[friend, ("Sec-Fetch-Site", "cross-site")], b"");
        assert_ne!(answer.status, 403);
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://friend.example"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(answer.header("vary"), Some("Origin"));
    }
    for origin in ["https://friend.example.evil", "http://friend.example", "http://localhost:3001", "null"] {
        let answer = host.send("GET", "/health", &[("Origin", origin)], b"");
        assert_failed(&answer, 403, "foreign_origin");
        assert_eq!(answer.header("vary"), Some("Origin"));
    }
    assert_eq!(host.send("GET", "/health", &[("Host", "box.lan")], b"").status, 200);
    assert_failed(&host.send("GET", "/health", &[("Host", "other.lan")], b""), 403, "foreign_host");
    assert_eq!(host.get("/health").header("access-control-allow-origin"), None);
}

#[test]
fn no_grant_opens_the_owners_token_or_the_voice_configuration_to_an_agent() {
    let home = TestHome::new();
    home.write("read_agent.py", python_agent("Read", "return open(kwargs['file']).read()"));
    let host = home.up();
    let stored = json!({ "_password": "pw", "key": "k-1" });
    assert_eq!(host.post("/voice/config", &stored).status, 200);
    let secrets = ["run/owner.token", "voice.zip", ".brainstem_book.json", "trash"];
    for place in secrets.iter().map(|name| home.root().join(name)).chain([home.root()]) {
        let granted = home.roost(&["grant", "read_agent.py", &format!("files:read:{}", place.display())]);
        assert_ne!(granted.status, 0, "{granted:?}");
    }
    for name in ["run/owner.token", "voice.zip"] {
        let outcome = host.call("Read", &json!({ "file": home.root().join(name) })).json();
        assert!(outcome["error"].is_object() && outcome["output"] == "", "{name}: {outcome}");
    }
}
