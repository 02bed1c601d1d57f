//! Native apps at the command line: judged, packed, signed, and believed or not.

use roost_tests::{StoreServer, TestHome};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The folder of an app, with a program and things that are no part of a package.
fn app(home: &TestHome, id: &str) -> PathBuf {
    let folder = home.outside().join(id);
    let manifest = json!({
        "id": id, "name": "Calculator", "version": "1.0.0", "description": "Adds numbers", "runtime": "local",
        "protocol": "grpc", "provides": ["tool:calculator", "ui"], "permissions": ["network:example.com", "user:token"],
    });
    for (path, content) in [
        ("manifest.json", manifest.to_string()),
        ("SKILL.md", "---\nname: calculator\ndescription: Adds numbers.\n---\nUse it.\n".to_owned()),
        ("binary", "\x7fELF a program".to_owned()),
        ("ui/index.html", "<h1>Hello</h1>".to_owned()),
        ("src/main.rs", "fn main() {}".to_owned()),
    ] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::set_permissions(folder.join("binary"), Permissions::from_mode(0o755)).unwrap();
    folder
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn codes(report: &Value) -> Vec<&str> {
    report["errors"].as_array().unwrap().iter().map(|error| error["code"].as_str().unwrap()).collect()
}

/// A signed package, and the public half of its key in a file.
fn signed(home: &TestHome) -> (PathBuf, PathBuf) {
    let folder = app(home, "com.example.calculator");
    let key = home.json(&["keys", "signing", "new", "--name", "ada"]);
    let [napp, public] = ["calculator.napp", "ada.json"].map(|name| home.outside().join(name));
    home.json(&["pack", &text(&folder), "-o", &text(&napp)]);
    let signed = home.json(&["sign", &text(&napp)]);
    assert_eq!(signed["key_id"], key["id"]);
    home.json(&["keys", "signing", "export", key["id"].as_str().unwrap(), "-o", &text(&public)]);
    (napp, public)
}

fn refusal(home: &TestHome, words: &[&str]) -> String {
    let answer = home.roost(&[words, &["--json"]].concat());
    assert_eq!(answer.status, 1, "{}", answer.stdout);
    answer.json()["error"]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_folder_is_judged_packed_signed_and_believed_by_whoever_trusts_its_key() {
    let home = TestHome::new();
    let folder = app(&home, "com.example.calculator");
    let report = home.json(&["validate", &text(&folder)]);
    assert_eq!((&report["ok"], &report["kind"]), (&json!(true), &json!("native")));
    let app = &report["app"];
    assert_eq!((&app["provides"], &app["signed_by"]), (&json!(["tool:calculator", "ui"]), &Value::Null));
    assert_eq!(app["permissions"][1], json!({"permission": "user:token", "right": "feature:user:token"}));
    assert_eq!(app["files"].as_array().unwrap().len(), 4);

    let [first, second] = ["a.napp", "b.napp"].map(|name| home.outside().join(name));
    let packed = home.json(&["pack", &text(&folder), "-o", &text(&first)]);
    assert_eq!((&packed["id"], &packed["key_id"]), (&json!("com.example.calculator"), &Value::Null));
    home.json(&["pack", &text(&folder), "-o", &text(&second)]);
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let unsigned = home.roost(&["validate", &text(&first), "--json"]);
    assert_eq!((unsigned.status, codes(&unsigned.json())), (1, vec!["E_MISSING_SIGNATURES"]));
    assert_eq!(refusal(&home, &["keys", "verify", &text(&first)]), "signature_missing");
    assert_eq!(refusal(&home, &["sign", &text(&first)]), "unknown_trust");

    let (napp, public) = signed(&home);
    assert_eq!(home.json(&["validate", &text(&napp)])["app"]["signed_by"]["covers"], "tree");
    let verified = home.json(&["keys", "verify", &text(&napp)]);
    assert_eq!(
        (&verified["ok"], &verified["vouched_by"], &verified["covers"]),
        (&json!(true), &json!("ada"), &json!("tree"))
    );

    let other = TestHome::new();
    assert_eq!(refusal(&other, &["keys", "verify", &text(&napp)]), "unknown_key");
    let trusted = other.json(&["keys", "publisher", "trust", &text(&public), "--name", "Ada"]);
    let id = trusted["trusted"]["key"]["keyId"].as_str().unwrap().to_owned();
    assert_eq!(other.json(&["keys", "verify", &text(&napp)])["vouched_by"], "Ada");
    assert_eq!(other.json(&["keys", "list"])["publishers"][0]["key"]["keyId"], json!(id));
    other.json(&["keys", "publisher", "remove", &id]);
    assert_eq!(refusal(&other, &["keys", "verify", &text(&napp)]), "unknown_key");
}

#[test]
fn whatever_is_changed_in_a_signed_folder_is_found() {
    let home = TestHome::new();
    let folder = app(&home, "com.example.calculator");
    home.json(&["keys", "signing", "new"]);
    home.json(&["sign", &text(&folder)]);
    let verify = |home: &TestHome| home.roost(&["keys", "verify", &text(&folder), "--json"]);
    assert_eq!(verify(&home).status, 0);
    for path in ["manifest.json", "SKILL.md", "binary", "ui/index.html"] {
        let good = fs::read(folder.join(path)).unwrap();
        fs::write(folder.join(path), [&good[..], b"\n"].concat()).unwrap();
        assert_eq!(verify(&home).json()["error"]["reason"], "signature_invalid", "{path}");
        fs::write(folder.join(path), good).unwrap();
    }
    fs::write(folder.join("ui/extra.js"), "alert(1)").unwrap();
    assert_eq!(verify(&home).json()["error"]["reason"], "signature_invalid");
    fs::remove_file(folder.join("ui/extra.js")).unwrap();
    assert_eq!(verify(&home).status, 0);
    fs::remove_file(folder.join("signatures.json")).unwrap();
    assert_eq!(verify(&home).json()["error"]["reason"], "signature_missing");
}

#[test]
fn a_store_is_believed_until_it_takes_something_back_and_never_goes_back() {
    const KEYS: &str = "/api/v1/apps/signing-key";
    const REVOCATIONS: &str = "/api/v1/apps/revocations";
    let author = TestHome::new();
    let (napp, public) = signed(&author);
    let home = TestHome::new();
    let server = StoreServer::new();
    let url = server.url("");
    let add = ["keys", "store", "add", &url];
    assert_eq!(refusal(&home, &add), "fetch_missing");
    server.publish(KEYS, fs::read(&public).unwrap());
    server.publish(REVOCATIONS, "<html>");
    assert_eq!(refusal(&home, &add), "trust_invalid");
    assert_eq!(home.json(&["keys", "list"])["stores"], json!([]));
    server.publish(REVOCATIONS, json!({"revocations": ["com.example.other"]}).to_string());
    assert_eq!(home.json(&add)["added"]["revoked"], 1);
    assert_eq!(home.json(&["keys", "verify", &text(&napp)])["vouched_by"], json!(url));

    // A store that fails keeps what it said, and says so.
    server.fail(Some(500));
    let failed = home.roost(&["keys", "store", "refresh", "--json"]);
    assert_eq!(
        (failed.status, &failed.json()["stores"][0]["reason"]["reason"]),
        (1, &json!("fetch_refused"))
    );
    assert_eq!(home.json(&["keys", "verify", &text(&napp)])["ok"], true);
    server.fail(None);

    server.publish(REVOCATIONS, json!({"revocations": []}).to_string());
    let back = home.roost(&["keys", "store", "refresh", &url, "--json"]);
    assert_eq!(
        (back.status, &back.json()["stores"][0]["reason"]["reason"]),
        (1, &json!("trust_rolled_back"))
    );
    let both = [json!({"id": "com.example.other"}), json!({"id": "com.example.calculator"})];
    server.publish(REVOCATIONS, json!({"revocations": both}).to_string());
    assert_eq!(home.json(&["keys", "store", "refresh"])["stores"][0]["revoked"], 2);
    assert_eq!(refusal(&home, &["keys", "verify", &text(&napp)]), "app_revoked");
    home.json(&["keys", "store", "remove", &url]);
    assert_eq!(refusal(&home, &["keys", "verify", &text(&napp)]), "unknown_key");
}

#[test]
fn lists_that_are_too_old_and_clocks_that_went_back_believe_nothing() {
    let author = TestHome::new();
    let (napp, public) = signed(&author);
    let home = TestHome::new();
    let server = StoreServer::new();
    server.publish("/api/v1/apps/signing-key", fs::read(&public).unwrap());
    server.publish("/api/v1/apps/revocations", r#"{"revocations": []}"#);
    home.json(&["keys", "store", "add", &server.url("")]);
    let path = home.root().join("keys/trust.json");
    let good: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed = good.clone();
        change(&mut changed);
        fs::write(&path, changed.to_string()).unwrap();
        refusal(&home, &["keys", "verify", &text(&napp)])
    };
    let old = json!("2020-01-01T00:00:00Z");
    assert_eq!(with(&|trust| trust["stores"][0]["revocations"]["fetchedAt"] = old.clone()), "trust_stale");
    assert_eq!(with(&|trust| trust["stores"][0]["keys"]["fetchedAt"] = old.clone()), "trust_stale");
    assert_eq!(
        with(&|trust| trust["stores"][0]["keys"]["keys"][0]["notAfter"] = old.clone()),
        "key_not_valid"
    );
    assert_eq!(
        with(&|trust| trust["stores"][0]["keys"]["keys"][0]["revokedAt"] = old.clone()),
        "key_revoked"
    );
    assert_eq!(with(&|trust| trust["latest"] = json!("2999-01-01T00:00:00Z")), "clock_went_back");
    assert_eq!(with(&|trust| trust["format"] = json!(2)), "trust_unusable");
}

#[test]
fn what_is_no_native_app_is_told_for_what_it_is() {
    let home = TestHome::new();
    let broken = home.write_outside("broken.napp", "hello");
    let report = home.roost(&["validate", &text(&broken), "--json"]).json();
    assert_eq!((&report["kind"], codes(&report)), (&json!("native"), vec!["E_BAD_ARCHIVE"]));
    assert_eq!(refusal(&home, &["keys", "verify", &text(&broken)]), "package_invalid");
    let agent = home.write_outside("x_agent.py", "x = 1\n");
    assert_eq!(refusal(&home, &["sign", &text(&agent)]), "package_invalid");
    let folder = app(&home, "com.example.calculator");
    fs::write(folder.join("binary"), "#!/bin/sh\n").unwrap();
    fs::write(folder.join("manifest.json"), r#"{"id": "../x", "name": "n", "provides": ["teleport"]}"#)
        .unwrap();
    for verb in ["validate", "pack"] {
        let report = home.roost(&[verb, &text(&folder), "--json"]).json();
        let expected = ["E_MANIFEST_FIELD", "E_CAPABILITY", "E_BINARY_FORMAT"];
        assert_eq!((&report["kind"], codes(&report)), (&json!("native"), expected.to_vec()), "{verb}");
    }
    assert!(!Path::new("com.example.calculator-1.0.0.napp").exists());
    let no_key = home.write_outside("key.json", "{}");
    assert_eq!(refusal(&home, &["keys", "publisher", "trust", &text(&no_key)]), "trust_invalid");
}

/// The folder of an app that runs, and misbehaves as its name says.
fn running_app(home: &TestHome, name: &str) -> PathBuf {
    let folder = app(home, &format!("com.example.app{}", name.len()));
    let manifest = json!({
        "id": "com.example.echo", "name": name, "version": "1.2.3", "provides": ["tool:echo"], "startup_timeout": 2,
    });
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_native_app"), folder.join("binary")).unwrap();
    folder
}

/// The tests of an app by name: whether each passed, and what it said.
fn tested(home: &TestHome, name: &str) -> (i32, Vec<(String, bool, String)>) {
    let ran = home.roost(&["test", &text(&running_app(home, name)), "--json"]);
    let report = ran.json();
    let tests = report["tests"].as_array().unwrap().iter().map(|test| {
        let text = |key: &str| test[key].as_str().unwrap().to_owned();
        (text("test"), test["passed"] == true, text("message"))
    });
    (ran.status, tests.collect())
}

#[test]
fn an_app_that_answers_passes_every_test_in_its_sandbox() {
    let home = TestHome::new();
    let (status, tests) = tested(&home, "Echo");
    assert_eq!(status, 0, "{tests:?}");
    let names: Vec<&str> = tests.iter().map(|(name, _, _)| name.as_str()).collect();
    let expected = [
        "starts",
        "tool_is_healthy",
        "tool_describes_itself",
        "tool_name_is_tool_safe",
        "tool_schema_is_an_object",
        "tool_answers",
        "ToolService.Configure",
        "stays_in_its_sandbox",
        "ends",
    ];
    assert_eq!(names, expected);
    assert_eq!(tests[1].2, "Echo 1.2.3");
    assert_eq!(tests[5].2, "a result, 2 characters");
    let log = fs::read_to_string(home.root().join("logs/native/com.example.echo/stderr.log")).unwrap();
    assert!(log.contains("[Echo] listening on "), "{log}");
    // A package that travels is tested as its folder is.
    let napp = home.outside().join("echo.napp");
    home.json(&["pack", &text(&running_app(&home, "Echo")), "-o", &text(&napp)]);
    assert_eq!(home.json(&["test", &text(&napp)])["ok"], true);
}

#[test]
fn an_app_that_misbehaves_fails_the_test_it_fails_and_leaves_nothing() {
    let home = TestHome::new();
    for (name, test, words) in [
        ("ends at once", "starts", "ended before it answered"),
        ("never listens", "starts", "no answer within 2 s"),
        ("not well", "starts", "not healthy"),
        ("hangs when asked how it is", "starts", "no answer within 2 s"),
        ("bad name", "tool_name_is_tool_safe", "not a tool name"),
        ("bad schema", "tool_schema_is_an_object", "invalid_schema"),
        ("has no approval", "tool_describes_itself", "native_unanswered"),
        ("sends too much", "tool_answers", "result_too_large"),
        ("answers with a status", "tool_answers", "on purpose"),
        ("dies in the middle", "tool_answers", "["),
    ] {
        let (status, tests) = tested(&home, name);
        assert_eq!(status, 1, "{name}: {tests:?}");
        let failed: Vec<_> = tests.iter().filter(|(_, passed, _)| !passed).collect();
        assert!(
            failed.iter().any(|(found, _, why)| found == test && why.contains(words)),
            "{name}: {tests:?}"
        );
    }
    for name in ["says that it failed", "does not end"] {
        let (status, tests) = tested(&home, name);
        assert_eq!(status, 0, "{name}: {tests:?}");
    }
}

#[test]
fn an_app_sees_its_six_variables_and_reaches_nothing_but_its_own() {
    let home = TestHome::new().with_variable("ANTHROPIC_API_KEY", "secret").with_variable("TZ", "UTC");
    assert_eq!(tested(&home, "tells its environment").0, 0);
    let log = home.root().join("logs/native/com.example.echo/stderr.log");
    let said = fs::read_to_string(&log).unwrap();
    let said = said.lines().find(|line| line.starts_with('{')).unwrap().to_owned();
    let environment: Value = serde_json::from_str(&said).unwrap();
    let allowed = [
        "HOME",
        "LANG",
        "LC_ALL",
        "NEBO_APP_DATA",
        "NEBO_APP_DIR",
        "NEBO_APP_ID",
        "NEBO_APP_NAME",
        "NEBO_APP_SOCK",
        "NEBO_APP_VERSION",
        "PATH",
        "TMPDIR",
        "TZ",
    ];
    for (name, value) in environment.as_object().unwrap() {
        assert!(allowed.contains(&name.as_str()), "{name} = {value}");
    }
    for name in allowed.iter().filter(|name| name.starts_with("NEBO_")) {
        assert!(environment.get(name).is_some(), "{name}");
    }
    assert_eq!(tested(&home, "tries to get out").0, 0);
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.lines().any(|line| line == "could: []"), "{said}");
}
