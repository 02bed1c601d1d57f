//! The published routes of native apps: stores, events, and what authors use.

use crate::native_install::{ID, Store, folder};
use roost_tests::{Answer, RunningHost, TestHome, until};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
};

struct Owner {
    host: RunningHost,
    authorization: String,
}

impl Owner {
    fn of(home: &TestHome) -> Self {
        let host = home.up();
        let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
        Self { host, authorization: format!("Bearer {}", token.trim()) }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.host.send(method, path, &[("Authorization", &self.authorization)], body.as_bytes())
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.ask("GET", path, &Value::Null).json()
    }

    fn event(&self, event: &Value) -> Value {
        self.ask("POST", "/api/v1/apps/events", event).json()
    }
}

#[test]
fn apps_of_a_believed_store_are_found_installed_and_removed() {
    let (store, home) = (Store::new(), TestHome::new());
    store.add("1.0.0", &json!({ "provides": ["tool:echo", "ui"] }));
    home.json(&["keys", "store", "add", &store.url()]);
    let owner = Owner::of(&home);
    let list = owner.get("/api/v1/store/apps?q=echo&pageSize=5");
    assert_eq!((&list["totalCount"], &list["page"], &list["pageSize"]), (&json!(1), &json!(1), &json!(5)));
    let item = &list["apps"][0];
    assert_eq!(
        (&item["id"], &item["version"], &item["isInstalled"]),
        (&json!(ID), &json!("1.0.0"), &json!(false))
    );
    for key in [
        "name",
        "slug",
        "description",
        "icon",
        "category",
        "author",
        "installCount",
        "rating",
        "reviewCount",
        "status",
    ] {
        assert!(item.get(key).is_some(), "{key} {item}");
    }
    assert_eq!(owner.get("/api/v1/store/apps?q=nothing")["totalCount"], 0);
    let detail = owner.get(&format!("/api/v1/store/apps/{ID}"));
    assert_eq!((&detail["app"]["id"], detail["app"].get("manifest")), (&json!(ID), None));
    assert!(detail["app"]["changelog"][0]["version"] == "1.0.0");
    let reviews = owner.get(&format!("/api/v1/store/apps/{ID}/reviews"));
    assert_eq!(
        reviews,
        json!({ "reviews": [], "totalCount": 0, "average": 0, "distribution": [0, 0, 0, 0, 0] })
    );
    let unknown = owner.ask("GET", "/api/v1/store/apps/com.example.none", &Value::Null);
    assert_eq!((unknown.status, &unknown.json()["code"]), (404, &json!(404)), "{unknown:?}");

    let path = format!("/api/v1/store/apps/{ID}/install");
    assert_eq!(owner.host.send("POST", &path, &[], b"").status, 403);
    let done = owner.ask("POST", &path, &Value::Null).json();
    assert_eq!(done, json!({ "pluginId": ID, "message": "app installed" }));
    assert_eq!(owner.get("/api/v1/store/apps")["apps"][0]["isInstalled"], true);
    // Its page, which came with the package, is at an origin of its own.
    let opened = owner.ask("POST", &format!("/api/v1/apps/{ID}/ui/open"), &Value::Null).json();
    let url = opened["url"].as_str().unwrap_or_else(|| panic!("{opened}"));
    let place = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let page = owner.host.send("GET", &format!("/apps/{ID}/ui/"), &[("Host", place)], b"");
    assert_eq!(page.body, "<h1>1.0.0</h1>");
    let mounted = owner.ask("POST", &format!("/v1/apps/{ID}/mount"), &Value::Null).json();
    assert_eq!(
        (&mounted["page"]["native"], &mounted["tier"]),
        (&json!(true), &json!("standard")),
        "{mounted}"
    );

    // A version that wants more waits, with what it wants.
    store.add("1.1.0", &json!({ "provides": ["tool:echo", "ui"], "permissions": ["user:id", "user:token"] }));
    assert_eq!(owner.event(&json!({ "type": "app_updated", "app_id": ID }))["outcome"], "waiting");
    let waiting = owner.get("/v1/app-updates");
    assert_eq!(waiting["updates"][0]["wants"]["permissions"], json!(["user:token"]), "{waiting}");
    assert_eq!(owner.ask("DELETE", &format!("/v1/apps/{ID}/waiting"), &Value::Null).status, 200);
    assert_eq!(owner.get("/v1/app-updates"), json!({ "updates": [] }));

    let gone = owner.ask("DELETE", &path, &Value::Null).json();
    assert_eq!(gone, json!({ "message": "app uninstalled" }));
    assert_eq!(owner.host.send("GET", &format!("/apps/{ID}/ui/"), &[("Host", place)], b"").status, 404);
    assert_eq!(owner.ask("DELETE", &path, &Value::Null).status, 404);
}

#[test]
fn events_of_every_spelling_are_understood_and_those_about_nothing_ignored() {
    let (store, home) = (Store::new(), TestHome::new());
    store.add("1.0.0", &json!({}));
    home.json(&["keys", "store", "add", &store.url()]);
    let owner = Owner::of(&home);
    for empty in [json!({ "event": "app_installed", "app_id": "" }), json!({ "type": "installed" })] {
        assert_eq!(owner.event(&empty), json!({ "app_id": "", "outcome": "nothing" }));
    }
    let outcome = |event: &Value| owner.event(event)["outcome"].clone();
    assert_eq!(
        outcome(&json!({ "event": "app_installed", "app_id": ID, "version": "1.0.0", "app_name": "x" })),
        "installed"
    );
    assert_eq!(outcome(&json!({ "type": "installed", "app_id": ID, "payload": {} })), "nothing");
    assert_eq!(outcome(&json!({ "type": "tool_uninstalled", "tool_id": ID })), "removed");
    assert_eq!(outcome(&json!({ "type": "tool_uninstalled", "tool_id": ID })), "nothing");
    let told = json!({ "type": "app_installed", "app_id": ID, "payload": { "version": "1.0.0", "download_url": "" } });
    assert_eq!(outcome(&told), "installed");
    assert_eq!(outcome(&json!({ "type": "revoked", "app_id": ID })), "quarantined");
    let wrong = |event: &Value| owner.ask("POST", "/api/v1/apps/events", event).status;
    assert_eq!(wrong(&json!({ "type": "app_exploded", "app_id": ID })), 400);
    assert_eq!(wrong(&json!({ "type": "installed", "app_id": "../x" })), 400);
    assert_eq!(owner.host.send("POST", "/api/v1/apps/events", &[], b"{}").status, 403);
}

#[test]
fn an_author_sideloads_looks_tries_and_removes() {
    let home = TestHome::new();
    let project = folder(&home, "Echo", "1.0.0", &json!({}));
    let owner = Owner::of(&home);
    let refused = owner.ask("POST", "/api/v1/dev/sideload", &json!({ "path": "/nowhere" }));
    assert_eq!((refused.status, &refused.json()["code"]), (400, &json!(400)));
    let done = owner.ask("POST", "/api/v1/dev/sideload", &json!({ "path": project })).json();
    assert_eq!(done, json!({ "appId": ID, "name": "Echo", "version": "1.0.0", "path": project }));
    let apps = owner.get("/api/v1/dev/apps");
    assert_eq!(
        (&apps["apps"][0]["appId"], &apps["apps"][0]["running"]),
        (&json!(ID), &json!(true)),
        "{apps}"
    );
    assert_eq!(apps["apps"][0]["path"], json!(project));
    let context = owner.get(&format!("/api/v1/dev/apps/{ID}/context"));
    assert!(context["manifestRaw"].as_str().unwrap().contains(ID), "{context}");
    assert_eq!((&context["hasMakefile"], &context["running"]), (&json!(false), &json!(true)));
    assert!(context["files"].as_array().unwrap().contains(&json!("ui/index.html")));

    let tools = owner.get("/api/v1/dev/tools");
    assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"), "{tools}");
    let tried = owner
        .ask("POST", "/api/v1/dev/tools/execute", &json!({ "tool": "echo", "input": { "a": 1 } }))
        .json();
    assert_eq!(tried, json!({ "content": "{\"a\":1}", "isError": false }));
    assert_eq!(owner.ask("POST", "/api/v1/dev/tools/execute", &json!({ "tool": "none" })).status, 404);

    let path = format!("/api/v1/dev/apps/{ID}/logs?stream=stderr");
    let mut line = String::new();
    until("the log has a line", || {
        let stream = owner.host.start("GET", &path, &[("Authorization", &owner.authorization)], 0).unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        line = lines.find(|line| line.starts_with("data:")).unwrap_or_default();
        line.contains("listening on")
    });
    let again = owner.ask("POST", &format!("/api/v1/dev/apps/{ID}/relaunch"), &Value::Null).json();
    assert_eq!(again["appId"], ID);
    assert_eq!(owner.ask("DELETE", &format!("/api/v1/dev/sideload/{ID}"), &Value::Null).status, 200);
    assert_eq!(owner.get("/api/v1/dev/apps"), json!({ "apps": [] }));
    assert!(project.join("binary").exists());
}
