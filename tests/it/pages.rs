//! Page apps without a browser: what is listed and refused, who may ask, and where files are and are not served.

use roost_tests::{Answer, RunningHost, TestHome};
use serde_json::{Value, json};
use std::fs;

const INDEX: &str = "<!doctype html><script src=\"../_sdk/reploid-app-sdk.js\"></script>";

struct Story {
    home: TestHome,
    host: RunningHost,
    authorization: String,
}

impl Story {
    fn new() -> Self {
        let home = TestHome::new();
        let host = home.up();
        let authorization = authorization(&home);
        Self { home, host, authorization }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("Authorization", self.authorization.as_str()), ("Content-Type", "application/json")];
        self.host.send(method, path, &headers, body.to_string().as_bytes())
    }

    #[track_caller]
    fn make(&self, id: &str, permissions: &Value) {
        let manifest = json!({
            "id": id, "name": id, "version": "1.0.0", "entry": "index.html", "permissions": permissions
        });
        let made =
            self.ask("POST", "/v1/pages", &json!({ "manifest": manifest, "files": { "index.html": INDEX } }));
        assert_eq!(made.status, 200, "{}", made.body);
    }

    /// Mounts a page and answers everything it asks with yes.
    #[track_caller]
    fn mount(&self, id: &str) -> Value {
        let path = format!("/v1/pages/{id}/mount");
        let asked = self.ask("POST", &path, &json!({})).json();
        let Some(ask) = asked["ask"].as_array() else { return asked };
        let answers: serde_json::Map<String, Value> =
            ask.iter().map(|one| (one["right"].as_str().unwrap().to_owned(), json!("always"))).collect();
        self.ask("POST", &path, &json!({ "digest": asked["digest"], "answers": answers })).json()
    }

    #[track_caller]
    fn call(&self, session: &Value, method: &str, args: &Value) -> Value {
        let path = format!("/v1/pages/sessions/{}/call", session["session"].as_str().unwrap());
        self.ask("POST", &path, &json!({ "method": method, "args": args })).json()
    }
}

fn authorization(home: &TestHome) -> String {
    format!("Bearer {}", fs::read_to_string(home.root().join("run/owner.token")).unwrap().trim())
}

#[test]
fn a_page_with_every_field_wrong_is_listed_with_its_reasons_and_hides_no_other() {
    let story = Story::new();
    story.make("good", &json!({}));
    let wrong = json!({ "id": "Other", "name": 1, "version": "x", "entry": "../a.html", "display": [] });
    let content = json!({ "content": wrong.to_string(), "contentType": "application/json" });
    let written = story.ask("PUT", "/v1/host/workspace/files/apps/bad/manifest.json", &content);
    assert_eq!(written.status, 200);
    let listed = story.ask("GET", "/v1/pages", &Value::Null).json();
    let pages = listed["pages"].as_array().unwrap();
    let states: Vec<(&str, &str)> =
        pages.iter().map(|page| (page["id"].as_str().unwrap(), page["state"].as_str().unwrap())).collect();
    assert_eq!(states, [("bad", "invalid"), ("good", "ready")]);
    let fields: Vec<&str> =
        pages[0]["problems"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["id", "name", "version", "entry", "display"]);
    assert_eq!(pages[0]["reason"]["reason"], "page_invalid");
    assert_eq!(story.ask("POST", "/v1/pages/bad/mount", &json!({})).json()["reason"], "page_invalid");
    assert_eq!(story.ask("POST", "/v1/pages/none/mount", &json!({})).json()["reason"], "unknown_page");
    assert_eq!(story.home.json(&["pages", "list"])["pages"].as_array().unwrap().len(), 2);
}

#[test]
fn only_the_owner_mounts_calls_and_decides() {
    let story = Story::new();
    story.make("mine", &json!({}));
    let session = story.mount("mine")["session"].as_str().unwrap().to_owned();
    for (method, path) in [
        ("GET", "/v1/pages".to_owned()),
        ("POST", "/v1/pages".to_owned()),
        ("POST", "/v1/pages/mine/mount".to_owned()),
        ("GET", "/v1/pages/sessions".to_owned()),
        ("POST", format!("/v1/pages/sessions/{session}/call")),
        ("GET", format!("/v1/pages/sessions/{session}/events")),
        ("DELETE", format!("/v1/pages/sessions/{session}")),
        ("POST", "/v1/pages/mine/revoke".to_owned()),
        ("GET", "/v1/approvals".to_owned()),
        ("POST", "/v1/approvals/apr_x/approve".to_owned()),
    ] {
        let answer = story.host.send(method, &path, &[], b"{}");
        assert_eq!(
            (answer.status, answer.json()["reason"].as_str()),
            (403, Some("owner_only")),
            "{method} {path}"
        );
    }
    for header in [("Origin", "null"), ("Sec-Fetch-Site", "cross-site")] {
        let headers = [("Authorization", story.authorization.as_str()), header];
        let answer = story.host.send("GET", "/v1/pages", &headers, b"");
        assert_eq!(answer.json()["reason"], "foreign_origin", "{header:?}");
    }
}

#[test]
fn an_apps_origin_answers_for_its_own_files_while_it_is_mounted() {
    let story = Story::new();
    story.make("served", &json!({}));
    story.make("other", &json!({}));
    let mounted = story.mount("served");
    let url = mounted["frame"]["url"].as_str().unwrap();
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    let get = |host: &str, path: &str| {
        let headers = [("Host", host), ("Authorization", story.authorization.as_str())];
        story.host.send("GET", path, &headers, b"").status
    };
    assert_eq!(get(host, "/apps/served/index.html"), 200);
    assert_eq!(get(host, "/apps/_sdk/reploid-app-sdk.js"), 200);
    for path in [
        "/",
        "/health",
        "/v1/pages",
        "/apps/other/index.html",
        "/apps/served/manifest.json/x",
        "/apps/_sdk/x",
    ] {
        assert_eq!(get(host, path), 404, "{path}");
    }
    let port = story.host.port();
    for other in ["evil.localhost", "served.localhost", "localhost.evil.example", "a.b.localhost"] {
        let status = get(&format!("{other}:{port}"), "/apps/served/index.html");
        assert!(status == 404 || status == 403, "{other}: {status}");
    }
    assert_eq!(get(&format!("127.0.0.1:{port}"), "/apps/served/index.html"), 404);
    let session = mounted["session"].as_str().unwrap();
    assert_eq!(story.ask("DELETE", &format!("/v1/pages/sessions/{session}"), &Value::Null).status, 200);
    assert_eq!(get(host, "/apps/served/index.html"), 404);
}

#[test]
fn calls_are_decided_for_the_mounted_content_and_counted() {
    let story = Story::new();
    story.make("reader", &json!({ "vfs": { "read": ["/docs/*"], "write": ["/docs/*"] } }));
    let session = story.mount("reader");
    assert_eq!(story.call(&session, "vfs.write", &json!(["/docs/a.md", "alpha"])), json!({ "result": true }));
    assert_eq!(story.call(&session, "vfs.read", &json!(["/docs/a.md"])), json!({ "result": "alpha" }));
    assert_eq!(story.call(&session, "vfs.list", &json!(["/"])), json!({ "result": ["/docs/a.md"] }));
    for (method, args) in [
        ("vfs.read", json!(["/IDENTITY.md"])),
        ("vfs.write", json!(["/docs/manifest.json", "x"])),
        ("vfs.write", json!(["/apps/reader/index.html", "x"])),
        ("eventbus.emit", json!(["hitl:approve"])),
    ] {
        assert_eq!(story.call(&session, method, &args)["error"], "Permission denied", "{method} {args}");
    }
    for path in ["/docs/../a", "\\docs\\a", " /docs/a", "/docs/%2e%2e/a", "/docs//a", "/docs/a\u{0}"] {
        assert_eq!(story.call(&session, "vfs.read", &json!([path]))["error"], "Invalid path", "{path:?}");
    }
    let revoked = story.home.roost(&["revoke", "page:reader", "--all"]);
    assert_eq!(revoked.status, 0, "{revoked:?}");
    assert_eq!(story.call(&session, "vfs.read", &json!(["/docs/a.md"]))["error"], "Permission denied");
}

#[test]
fn an_archive_that_lies_leaves_nothing_behind() {
    let story = Story::new();
    story.make("taken", &json!({}));
    let zip = story.ask("GET", "/v1/pages/taken/export", &Value::Null).bytes;
    let import = |bytes: &[u8], query: &str| {
        let headers = [("Authorization", story.authorization.as_str())];
        story.host.send("POST", &format!("/v1/pages/import{query}"), &headers, bytes)
    };
    assert_eq!(import(&zip, "").json()["reason"], "already_exists");
    assert_eq!(import(&zip, "?replace=true").json()["id"], "taken");
    let mut climbing = zip.clone();
    let at = climbing.windows(16).position(|window| window == b"taken/index.html").unwrap();
    climbing[at..at + 16].copy_from_slice(b"../en/index.html");
    for bad in [&climbing[..], &zip[..zip.len() / 2], b"PK", b""] {
        assert_eq!(import(bad, "?replace=true").json()["reason"], "page_invalid");
    }
    let listed = story.ask("GET", "/v1/pages", &Value::Null).json();
    assert_eq!(listed["pages"].as_array().unwrap().len(), 1);
}
