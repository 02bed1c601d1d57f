//! The package service as RAPP clients use it, on the same library.

use super::{Store, agent, left_by_apps, works};
use base64::Engine as _;
use roost_tests::{RunningHost, TestHome};
use serde_json::{Value, json};
use std::fs;

fn install(host: &RunningHost, body: &Value) -> (u16, Value) {
    let answer = host.post("/api/binder/install", body);
    (answer.status, answer.json())
}

#[test]
fn an_app_comes_answers_and_goes_over_the_package_service() {
    let home = TestHome::new();
    Store::of(&home).publish_tea("1.0.0", "");
    let host = home.up();
    assert_eq!(host.get("/api/binder").json(), json!({ "installed": [] }));
    let offered = host.get("/api/binder/catalog").json();
    assert_eq!(offered["rapplications"][0]["id"], "tea");
    assert_eq!(offered["rapplications"][0]["singleton_filename"], "tea_agent.py");

    let (status, installed) = install(&host, &json!({ "id": "tea" }));
    assert_eq!((status, &installed["status"]), (200, &json!("ok")), "{installed}");
    let entry = json!({
        "id": "tea", "version": "1.0.0", "agent_filename": "tea_agent.py", "filename": "tea_agent.py",
        "ui_filename": "index.html",
    });
    assert_eq!(installed["installed"], entry);
    for path in ["/api/binder", "/api/binder/", "/api/binder/installed"] {
        assert_eq!(host.get(path).json(), json!({ "installed": [entry] }), "{path}");
    }
    assert_eq!(host.get("/rapplications").json()["rapplications"][0]["agents"], json!(["Tea"]));

    let said = host.post("/api/binder/agent", &json!({ "args": {} })).json();
    assert_eq!((&said["result"], &said["output"]), (&json!("Tea 1.0.0 in tea"), &json!("Tea 1.0.0 in tea")));
    assert_eq!(said["name"], "Tea");
    let by_id = host.post("/api/binder/agent", &json!({ "id": "tea", "kwargs": {} })).json();
    assert_eq!(by_id["result"], "Tea 1.0.0 in tea");

    let removed = host.send("DELETE", "/api/binder/installed/tea", &[], b"");
    assert_eq!((removed.status, &removed.json()["uninstalled"]), (200, &json!("tea")));
    assert_eq!(host.send("DELETE", "/api/binder/installed/tea", &[], b"").status, 404);
    assert_eq!(host.post("/api/binder/agent", &json!({})).status, 503);
    assert!(home.root().join(".brainstem_data/workspaces/tea").is_dir(), "the workspace stays");
}

#[test]
fn what_cannot_be_installed_is_refused_with_the_status_that_clients_know() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    let host = home.up();
    assert_eq!(install(&host, &json!({})).0, 400);
    assert_eq!(install(&host, &json!({ "id": " " })).0, 400);
    assert_eq!(install(&host, &json!({ "id": "coffee" })).0, 404);
    assert_eq!(install(&host, &json!({ "id": "tea", "version": "9.9.9" })).0, 404);
    for hostile in
        ["/etc/passwd", "../tea", "https://127.0.0.1/tea_agent.py", "file:///etc/passwd", "tea.zip"]
    {
        let (status, body) = install(&host, &json!({ "id": hostile }));
        assert_eq!(status, 400, "{hostile}: {body}");
    }
    fs::remove_file(store.folder.join("tea_agent.py")).unwrap();
    let (status, body) = install(&host, &json!({ "id": "tea" }));
    assert_eq!(status, 502, "{body}");
    for kind in ["agent", "sense"] {
        let answer = host.post(&format!("/api/binder/install/{kind}"), &json!({ "name": "x" }));
        assert_eq!(answer.status, 404);
    }
    assert!(left_by_apps(&home).is_empty(), "{:?}", left_by_apps(&home));
    let page = [("Origin", "https://elsewhere.example")];
    assert_eq!(host.send("POST", "/api/binder/install", &page, br#"{"id": "tea"}"#).status, 403);
}

#[test]
fn an_egg_carries_an_app_with_its_state_to_another_home() {
    let home = TestHome::new();
    Store::of(&home).publish("tea", "@ada", "1.0.0", &agent("Tea", "1.0.0", ""), &json!({}));
    let host = home.up();
    assert_eq!(install(&host, &json!({ "id": "tea" })).0, 200);
    let own = home.root().join(".brainstem_data/tea");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("leaves.txt"), "green").unwrap();
    let egg = host.get("/api/binder/export/tea");
    assert_eq!(egg.header("content-disposition"), Some("attachment; filename=\"tea.rapplication.egg\""));
    assert_eq!(host.get("/api/binder/export/none").status, 404);

    let other = TestHome::new();
    let there = other.up();
    let packed = base64::engine::general_purpose::STANDARD.encode(&egg.bytes);
    let imported = there.post("/api/binder/import", &json!({ "egg_b64": packed }));
    let body = imported.json();
    assert_eq!(
        (imported.status, &body["id"], &body["files_restored"]),
        (200, &json!("tea"), &json!(1)),
        "{body}"
    );
    assert_eq!(there.output("Tea", &json!({})), "Tea 1.0.0 in tea");
    let restored = fs::read_to_string(other.root().join(".brainstem_data/tea/leaves.txt")).unwrap();
    assert_eq!(restored, "green");
    for (body, status) in
        [(json!({}), 400), (json!({ "egg_b64": "%%%" }), 400), (json!({ "egg_b64": "aGVsbG8=" }), 400)]
    {
        assert_eq!(there.post("/api/binder/import", &body).status, status, "{body}");
    }
}

#[test]
fn pages_and_shared_files_are_served_and_stay_in_their_folders() {
    let home = TestHome::new();
    Store::of(&home).publish_tea("1.0.0", "");
    works(&home, &["install", "tea", "--yes"]);
    let host = home.up();
    for path in ["/api/binder/ui/tea/", "/api/binder/ui/tea/index.html"] {
        let page = host.get(path);
        assert_eq!((page.status, page.body.as_str()), (200, "<p>tea 1.0.0"), "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(
            page.header("content-security-policy").unwrap().starts_with("sandbox "),
            "not the host's origin"
        );
    }
    assert_eq!(host.get("/api/binder/ui/tea/..%2f..%2froost.toml").status, 400);
    assert_eq!(host.get("/api/binder/ui/tea/none.js").status, 404);

    for base in ["/api/binder/workspace/tea", "/api/workspace/tea"] {
        let written = host.send("PUT", &format!("{base}/file/notes/a.txt"), &[], b"hello");
        assert_eq!(written.json(), json!({ "ok": true, "name": "notes/a.txt", "size": 5 }));
        let info = host.get(&format!("{base}/info")).json();
        assert_eq!((&info["available"], &info["file_count"]), (&json!(true), &json!(1)));
        let listed = host.get(&format!("{base}/list")).json();
        assert_eq!(
            (&listed["files"][0]["name"], &listed["files"][0]["size"]),
            (&json!("notes/a.txt"), &json!(5))
        );
        assert_eq!(host.get(&format!("{base}/file/notes/a.txt")).body, "hello");
        assert_eq!(
            host.send("DELETE", &format!("{base}/file/notes/a.txt"), &[], b"").json(),
            json!({ "ok": true })
        );
        assert_eq!(host.get(&format!("{base}/file/notes/a.txt")).status, 404);
        for hostile in ["..%2f..%2fbinder.json", "%2fetc%2fpasswd", "a%00b", "..", "notes%2f..%2f..%2fx"] {
            let answer = host.send("PUT", &format!("{base}/file/{hostile}"), &[], b"x");
            assert!((400..500).contains(&answer.status), "{hostile}: {answer:?}");
        }
    }
    assert_eq!(host.get("/api/binder/workspace/none/list").status, 404);
}
