//! Pages of native apps: at an origin of their own, where they reach their app and nothing else.

use crate::native_running::{app_folder, sideload};
use roost_tests::{Answer, RunningHost, TestHome, until};
use serde_json::{Value, json};
use std::fs;

const ID: &str = "com.example.Board";

pub(crate) struct Story {
    pub(crate) home: TestHome,
    pub(crate) host: RunningHost,
    authorization: String,
}

impl Story {
    /// A host with one app that has pages, running.
    pub(crate) fn new(name: &str, more: &Value) -> Self {
        Self::with(name, more, "")
    }

    pub(crate) fn with(name: &str, more: &Value, settings: &str) -> Self {
        let home = TestHome::new();
        fs::write(home.root().join("roost.toml"), settings).unwrap();
        let mut manifest = json!({ "provides": ["ui"] });
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let folder = app_folder(&home, ID, name, &manifest);
        fs::create_dir_all(folder.join("ui/assets")).unwrap();
        fs::write(folder.join("ui/index.html"), "<h1>board</h1><script src=assets/app.js></script>").unwrap();
        fs::write(folder.join("ui/assets/app.js"), "fetch('../api/x')").unwrap();
        sideload(&home, &folder);
        let host = home.up();
        let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
        let story = Self { home, host, authorization: format!("Bearer {}", token.trim()) };
        until("the app runs", || story.phase() == "running");
        story
    }

    /// The same home with a host that begins.
    pub(crate) fn again(self) -> Self {
        let Self { home, host, .. } = self;
        drop(host);
        let host = home.up();
        let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
        let story = Self { home, host, authorization: format!("Bearer {}", token.trim()) };
        until("the app runs", || story.phase() == "running");
        story
    }

    pub(crate) fn phase(&self) -> String {
        let apps = self.owner("GET", "/v1/native-apps", &Value::Null).json();
        let app = apps["apps"].as_array().unwrap().iter().find(|app| app["id"] == ID);
        app.map(|app| app["phase"].as_str().unwrap().to_owned()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn owner(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("Authorization", self.authorization.as_str())];
        self.host.send(method, path, &headers, body.as_bytes())
    }

    pub(crate) fn authorization(&self) -> &str {
        &self.authorization
    }

    /// The host name at which the page is, after it was opened.
    fn place(&self) -> String {
        let opened = self.owner("POST", &format!("/api/v1/apps/{ID}/ui/open"), &Value::Null).json();
        let url = opened["url"].as_str().unwrap_or_else(|| panic!("{opened}"));
        let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        assert_eq!(path, format!("apps/{ID}/ui/"));
        authority.to_owned()
    }

    #[track_caller]
    fn at(&self, place: &str, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Answer {
        let headers = [&[("Host", place)][..], more].concat();
        self.host.send(method, path, &headers, body)
    }
}

#[test]
fn a_page_is_served_at_its_own_origin_and_reaches_its_app_by_relative_addresses() {
    let story = Story::new("Board", &json!({}));
    let listed = story.owner("GET", "/api/v1/apps/ui", &Value::Null);
    assert_eq!(listed.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(listed.json(), json!({ "apps": [{ "id": ID, "name": "Board", "version": "1.2.3" }] }));
    let place = story.place();
    // Opened again it is where it was.
    assert_eq!(story.place(), place);
    let top = format!("/apps/{ID}");
    let get = |path: &str| story.at(&place, "GET", &format!("{top}{path}"), &[], b"");
    for path in ["/ui/", "/ui/index.html", "/ui/some/route"] {
        let page = get(path);
        assert!(page.status == 200 && page.body.contains("board"), "{path} {page:?}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains(&format!("connect-src http://{place}{top}/")), "{policy}");
        assert!(
            !policy.contains("sandbox") && policy.contains("frame-ancestors http://127.0.0.1:"),
            "{policy}"
        );
    }
    assert!(get("/ui/assets/app.js").header("content-type").unwrap().contains("javascript"));
    for path in ["/ui/../manifest.json", "/ui/%2e%2e/manifest.json", "/ui/a/..%2f..%2fbinary"] {
        assert_eq!(get(path).status, 400, "{path}");
    }
    let more = [("Origin", format!("http://{place}")), ("X-Own", "1".to_owned())];
    let more: Vec<(&str, &str)> = more.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let asked = story.at(&place, "POST", &format!("{top}/api/notes/a%20b?c=d%20e"), &more, b"body");
    let told = asked.json();
    assert_eq!((&told["method"], &told["path"]), (&json!("POST"), &json!("/notes/a%20b")), "{told}");
    assert_eq!((&told["query"], &told["body"]), (&json!("c=d%20e"), &json!("body")));
    assert_eq!(told["headers"]["x-own"], "1");
    assert_eq!(get("/api/").json()["path"], "/");
    assert_eq!(story.at(&place, "GET", &format!("/api/v1{top}/api/x"), &[], b"").json()["path"], "/x");
    assert_eq!(get("/api/status").status, 299);
    for (path, status) in [("/api/bad-status", 502), ("/api/large", 502)] {
        let answer = get(path);
        assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(status)), "{path}");
    }
    let large = vec![b'x'; (4 << 20) + 1];
    assert_eq!(story.at(&place, "POST", &format!("{top}/api/x"), &[], &large).status, 413);
    // With its headers it is too much for one message, too.
    assert_eq!(story.at(&place, "POST", &format!("{top}/api/x"), &[], &large[..4 << 20]).status, 413);
}

#[test]
fn no_page_of_an_app_reaches_the_host_another_page_or_what_proves_the_owner() {
    let story = Story::new("Board", &json!({}));
    let place = story.place();
    let (top, port) = (format!("/apps/{ID}"), story.host.port());
    let own = format!("http://{place}");
    // The page's origin has nothing of the host.
    for path in
        ["/", "/v1/agents", "/secrets", "/api/v1/plugins", "/api/v1/apps/ui", "/apps/other/ui/", "/health"]
    {
        assert_eq!(
            story.at(&place, "GET", path, &[("Authorization", story.authorization())], b"").status,
            404,
            "{path}"
        );
    }
    // The host has nothing for the page's origin, whatever it shows.
    for origin in [own.as_str(), "null", "http://evil.example"] {
        let headers = [("Origin", origin), ("Authorization", story.authorization())];
        for path in
            [format!("/api/v1{top}/api/x"), "/v1/native-apps".to_owned(), "/api/v1/plugins".to_owned()]
        {
            let refused = story.host.send("GET", &path, &headers, b"");
            assert_eq!(refused.status, 403, "{origin} {path}");
        }
    }
    let refused =
        story.host.send("GET", &format!("/api/v1{top}/api/x"), &[("Sec-Fetch-Site", "same-site")], b"");
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!(403)));
    // The host's own page needs the owner's token, a program does not, and neither token nor cookie arrives.
    let host_page = format!("http://127.0.0.1:{port}");
    let path = format!("/api/v1{top}/api/x");
    assert_eq!(story.host.send("GET", &path, &[("Origin", &host_page)], b"").status, 403);
    let headers =
        [("Origin", host_page.as_str()), ("Authorization", story.authorization()), ("Cookie", "a=b")];
    for headers in [&headers[..], &headers[1..], &[]] {
        let told = story.host.send("GET", &path, headers, b"").json();
        assert_eq!(told["path"], "/x");
        let seen = told["headers"].as_object().unwrap();
        assert!(!seen.contains_key("authorization") && !seen.contains_key("cookie"), "{told}");
    }
    // On the host's origin a document of the app has no origin and no network.
    let page = story.host.get(&format!("/api/v1{top}/ui/"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(page.body.contains("board") && policy.starts_with("sandbox allow-scripts"), "{policy}");
    assert!(!policy.contains("allow-same-origin") && !policy.contains("connect-src"), "{policy}");
    assert_eq!(story.host.get(&format!("/api/v1{top}/ui/..%2fmanifest.json")).status, 400);
    let answered = story.host.get(&format!("/api/v1{top}/api/headers"));
    assert!(answered.header("content-security-policy").unwrap().starts_with("sandbox;"), "{answered:?}");
    // What the app says of its origin's rules does not leave.
    let answered = story.at(&place, "GET", &format!("{top}/api/headers"), &[], b"");
    assert_eq!((answered.header("set-cookie"), answered.header("access-control-allow-origin")), (None, None));
    assert_eq!(answered.header("x-own"), Some("1"));
    let policies: Vec<&(String, String)> =
        answered.headers.iter().filter(|(name, _)| name == "content-security-policy").collect();
    assert!(policies.len() == 1 && policies[0].1.starts_with("default-src 'none'"), "{policies:?}");
    // Another page that learnt the address does not get through.
    for headers in [("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")] {
        let refused = story.at(&place, "GET", &format!("{top}/api/x"), &[headers], b"");
        assert_eq!(refused.status, 403, "{headers:?}");
    }
    let worker =
        story.at(&place, "GET", &format!("{top}/ui/assets/app.js"), &[("Service-Worker", "script")], b"");
    assert_eq!(worker.status, 403);
}

#[test]
fn an_app_that_is_away_or_unknown_is_told_apart() {
    let story = Story::new("Board", &json!({}));
    let status = |path: &str| story.host.get(path).status;
    assert_eq!(status("/api/v1/apps/com.example.none/api/x"), 502);
    assert_eq!(status("/api/v1/apps/com.example.none/ui/"), 404);
    // It dies in the middle, and is started again after a while.
    assert_eq!(status(&format!("/api/v1/apps/{ID}/api/die")), 502);
    let x = format!("/api/v1/apps/{ID}/api/x");
    until("it is known to be away", || status(&x) == 503);
    let stopped = story.owner("POST", &format!("/v1/native-apps/{ID}/stop"), &Value::Null).json();
    assert_eq!(stopped["phase"], "stopped");
    assert_eq!(status(&x), 502);
    let started = story.owner("POST", &format!("/v1/native-apps/{ID}/start"), &Value::Null).json();
    assert_eq!((&started["phase"], status(&x)), (&json!("running"), 200));
    let again = story.owner("POST", &format!("/v1/native-apps/{ID}/restart"), &Value::Null).json();
    assert_eq!(again["phase"], "running");
    let unknown = story.owner("POST", "/v1/native-apps/com.example.none/start", &Value::Null);
    assert_eq!((unknown.status, &unknown.json()["reason"]), (404, &json!("unknown_native_app")));
    assert_eq!(story.host.get("/v1/native-apps").status, 403);
}
