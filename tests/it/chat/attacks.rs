//! What pages from elsewhere, rebound names and other users of the machine try. All of it is refused, and nothing is
//! written.

use super::Stage;
use roost_tests::RunningHost;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

/// Every file of the home with its content, but for what a running host writes about itself.
fn contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if ["cache", "logs", "audit", "run", ".brainstem_book.json"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

const ROUTES: &[(&str, &str)] = &[
    ("POST", "/chat"),
    ("POST", "/chat/stream"),
    ("POST", "/agents/import"),
    ("POST", "/login"),
    ("POST", "/login/switch"),
    ("POST", "/models/set"),
    ("POST", "/repos"),
    ("DELETE", "/agents/echo_agent.py"),
    ("POST", "/api/businessinsightbot_function"),
    ("POST", "/agents/invoke/echo_agent.py"),
    ("GET", "/health"),
    ("GET", "/debug/auth"),
    ("GET", "/agents/export/echo_agent.py"),
];

#[test]
fn a_page_from_elsewhere_gets_nothing_whatever_it_asks() {
    let stage = Stage::new();
    let host = stage.up();
    let before = contents(&stage.home.root());
    let own = format!("127.0.0.1:{}", host.port());
    for origin in ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1", "file://"] {
        for (method, path) in ROUTES {
            let headers = [("Host", own.as_str()), ("Origin", origin), ("Content-Type", "text/plain")];
            let answer = host.send(method, path, &headers, br#"{"user_input": "call Echo {}"}"#);
            assert_eq!(
                (answer.status, answer.json()["reason"].clone()),
                (403, json!("foreign_origin")),
                "{origin} {path}"
            );
        }
    }
    for name in ["evil.example", "evil.example:7071", "localhost.evil.example", "0.0.0.0"] {
        for (method, path) in ROUTES {
            let answer = host.send(method, path, &[("Host", name)], br#"{"user_input": "x"}"#);
            assert_eq!(
                (answer.status, answer.json()["reason"].clone()),
                (403, json!("foreign_host")),
                "{name} {path}"
            );
        }
    }
    assert!(stage.model.requests().is_empty(), "no model was asked");
    assert_eq!(contents(&stage.home.root()), before, "nothing was written");
}

#[test]
fn a_guid_that_leads_elsewhere_is_refused_and_nothing_is_written() {
    let stage = Stage::new();
    let host = stage.up();
    let before = contents(&stage.home.root());
    for guid in
        ["..", "../../x", "a/b", "a\\b", "/etc/passwd", "a\u{0}b", "%2e%2e", &"x".repeat(65), "a b", "ünï"]
    {
        let body = json!({ "user_input": "call Echo {}", "user_guid": guid });
        for path in ["/chat", "/chat/stream", "/api/businessinsightbot_function"] {
            let answer = host.post(path, &body);
            assert_eq!(
                (answer.status, answer.json()["reason"].clone()),
                (400, json!("bad_request")),
                "{guid:?} {path}"
            );
        }
    }
    assert!(stage.model.requests().is_empty());
    assert_eq!(contents(&stage.home.root()), before);
}

fn owner(host_home: &Path) -> String {
    let token = fs::read_to_string(host_home.join("run/owner.token")).unwrap();
    format!("Bearer {}", token.trim())
}

/// A session of the owner's, as a completed login leaves it.
fn sign_in(root: &Path, endpoint: &str) {
    let session =
        json!({ "token": "tid=secret-session-token", "endpoint": endpoint, "expires_at": 4_102_444_800_u64 });
    fs::write(root.join(".copilot_session"), session.to_string()).unwrap();
    fs::write(root.join(".copilot_token"), json!({ "access_token": "ghu_secretsecretsecret" }).to_string())
        .unwrap();
}

#[track_caller]
fn ask(host: &RunningHost, method: &str, path: &str, authorization: Option<&str>) -> (u16, Value) {
    let headers: Vec<(&str, &str)> = authorization.iter().map(|value| ("Authorization", *value)).collect();
    let answer = host.send(method, path, &headers, b"{}");
    (answer.status, answer.json())
}

#[test]
fn a_stranger_can_neither_log_the_owner_out_nor_see_the_token() {
    let stage = Stage::new();
    let server = roost_tests::WebServer::new();
    sign_in(&stage.home.root(), &format!("http://127.0.0.1:{}", server.port()));
    let host = stage.up();
    let before = contents(&stage.home.root());
    for path in ["/login", "/login/switch"] {
        let (status, body) = ask(&host, "POST", path, None);
        assert_eq!((status, &body["reason"]), (403, &json!("owner_only")), "{path}: {body}");
        let (status, body) = ask(&host, "POST", path, Some("Bearer 00000000"));
        assert_eq!((status, &body["reason"]), (403, &json!("owner_only")), "{path}: {body}");
    }
    assert_eq!(contents(&stage.home.root()), before, "the session is untouched");
    let (status, seen) = ask(&host, "GET", "/debug/auth", None);
    assert_eq!(status, 200);
    let shown = seen.to_string();
    for part in ["ghu_", "secret", "tid="] {
        assert!(!shown.contains(part), "{shown}");
    }
    let (_, own) = ask(&host, "GET", "/debug/auth", Some(&owner(&stage.home.root())));
    assert!(own.to_string().contains("ghu_secret"), "{own}");
    assert!(!own.to_string().contains("ghu_secretsecretsecret"), "not even the owner sees all of it: {own}");
}

#[test]
fn token_files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new();
    let host = stage.up();
    assert_eq!(host.post("/models/set", &json!({ "model": "other" })).status, 200);
    for name in ["run/owner.token", "run/host.json", ".brainstem_model"] {
        let mode = fs::metadata(stage.home.root().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn what_a_stranger_puts_in_place_of_an_agent_inherits_no_grant() {
    let stage = Stage::new();
    let reads = "import os\nreturn os.environ.get('SECRET_OF_OWNER', 'nothing')";
    let agent = |more: &str| {
        let source = roost_tests::python_agent("Reads", &format!("{more}{reads}"));
        format!("# /// script\n# [tool.roost]\n# rights = [\"env:SECRET_OF_OWNER\"]\n# ///\n{source}")
    };
    let home = stage.home.with_variable("SECRET_OF_OWNER", "hush");
    home.write("reads_agent.py", agent(""));
    let host = home.up();
    assert_eq!(home.roost(&["grant", "reads_agent.py", "env:SECRET_OF_OWNER", "--always"]).status, 0);
    assert_eq!(host.output("Reads", &json!({})), "hush");
    let import = |more: &str, headers: &[(&str, &str)]| {
        let body = roost_tests::form_of(&[("file", Some("reads_agent.py"), agent(more).as_bytes())]);
        let headers: Vec<(&str, &str)> =
            [("Content-Type", roost_tests::FORM_TYPE)].into_iter().chain(headers.iter().copied()).collect();
        assert_eq!(host.send("POST", "/agents/import", &headers, &body).status, 200);
    };
    import("_ = 'the owner changed it'\n", &[("Authorization", &owner(&home.root()))]);
    assert_eq!(host.output("Reads", &json!({})), "hush", "the owner's own change keeps the grant");
    import("_ = 'a stranger changed it'\n", &[]);
    assert_eq!(host.output("Reads", &json!({})), "nothing");
}
