//! Native apps as a person lives with them: installed when they answered, updated, taken back by a store, removed; and
//! whatever is wrong with one refused with its own reason, leaving nothing.

use roost_tests::{RunningHost, TestHome};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

pub(crate) const ID: &str = "com.example.echo";

/// The folder of an app that runs, and misbehaves as its name says.
pub(crate) fn folder(home: &TestHome, name: &str, version: &str, more: &Value) -> PathBuf {
    let folder = home.outside().join(format!("{}-{version}", name.replace(' ', "-")));
    let mut manifest = json!({
        "id": ID, "name": name, "version": version, "description": "Says what it was told.",
        "provides": ["tool:echo"], "permissions": ["user:id"], "startup_timeout": 2,
    });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::create_dir_all(folder.join("ui")).unwrap();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: echo\ndescription: Echoes.\n---\nUse it.\n").unwrap();
    fs::write(folder.join("ui/index.html"), format!("<h1>{version}</h1>")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_native_app"), folder.join("binary")).unwrap();
    fs::set_permissions(folder.join("binary"), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The same, signed by the only key of the home, as the file that travels.
fn napp(home: &TestHome, name: &str, version: &str, more: &Value) -> PathBuf {
    let folder = folder(home, name, version, more);
    let file = folder.with_extension("napp");
    home.json(&["pack", text(&folder), "-o", text(&file)]);
    home.json(&["sign", text(&file)]);
    file
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A home with a key that it believes.
fn signing_home() -> TestHome {
    let home = TestHome::new();
    home.json(&["keys", "signing", "new", "--name", "ada"]);
    home
}

#[track_caller]
fn refusal(home: &TestHome, words: &[&str]) -> (String, String) {
    let answer = home.roost(&[words, &["--json"]].concat());
    assert_ne!(answer.status, 0, "{}", answer.stdout);
    let error = &answer.json()["error"];
    (error["reason"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
}

fn installed(home: &TestHome) -> Vec<Value> {
    home.json(&["apps"])["apps"].as_array().unwrap().clone()
}

/// Lets the running host look at every native app now.
fn sweep(home: &TestHome, running: &RunningHost) -> Value {
    let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let headers = [("authorization", format!("Bearer {}", token.trim()))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    running.send("POST", "/v1/app-sweeps", &headers, b"").json()
}

/// Everything of the app in the home.
fn left(home: &TestHome) -> Vec<PathBuf> {
    let places = [home.root().join("apps").join(ID), home.root().join("native").join(ID)];
    places.into_iter().filter(|place| place.exists()).collect()
}

#[test]
fn a_signed_app_is_planned_tried_installed_and_removed() {
    let home = signing_home();
    let napp = napp(&home, "Echo", "1.0.0", &json!({"oauth": [{"provider": "google", "scopes": ["mail"]}]}));
    let plan = home.json(&["install", text(&napp), "--dry-run"]);
    assert_eq!((&plan["kind"], &plan["native"]["signed"]["vouched_by"]), (&json!("native"), &json!("ada")));
    assert_eq!((&plan["native"]["signed"]["covers"], &plan["has_page"]), (&json!("tree"), &json!(true)));
    assert_eq!(plan["rights"][0]["right"], "feature:user:id");
    assert_eq!(plan["native"]["oauth"][0]["provider"], "google");
    assert!(left(&home).is_empty());
    let told = home.roost(&["install", text(&napp), "--dry-run"]).stdout;
    assert!(told.contains("signed by  ada (key "), "{told}");

    let done = home.json(&["install", text(&napp), "--asked"]);
    assert_eq!((&done["app"]["version"], &done["not_given"]), (&json!("1.0.0"), &json!([])));
    let app = &installed(&home)[0];
    assert_eq!((&app["id"], &app["kind"], &app["state"]), (&json!(ID), &json!("native"), &json!("enabled")));
    let given = home.json(&["rights", ID]);
    assert!(given.to_string().contains("feature:user:id"), "{given}");
    assert_eq!(home.json(&["why", ID])["works"], true);
    let data = home.root().join("native").join(ID).join("data");
    fs::write(data.join("mine.txt"), "kept").unwrap();

    // Exactly so is nothing new.
    assert_eq!(home.json(&["install", text(&napp), "--yes"])["installed"], Value::Null);
    let removed = home.json(&["remove", ID]);
    assert_eq!(removed["workspace"], json!(data));
    assert_eq!(fs::read_to_string(data.join("mine.txt")).unwrap(), "kept");
    assert!(installed(&home).is_empty() && !home.root().join("apps").join(ID).exists());
    assert!(!home.json(&["rights", ID]).to_string().contains("feature:user:id"));
}

#[test]
fn whatever_is_wrong_with_a_package_is_refused_with_its_reason_and_leaves_nothing() {
    let home = signing_home();
    let signed = folder(&home, "Echo", "1.0.0", &json!({}));
    home.json(&["sign", text(&signed)]);
    for (path, words) in [
        ("ui/index.html", "tree signature"),
        ("SKILL.md", "tree signature"),
        ("binary", "SHA256 mismatch"),
        ("manifest.json", "manifest signature"),
    ] {
        let good = fs::read(signed.join(path)).unwrap();
        fs::write(signed.join(path), [&good[..], b"\n"].concat()).unwrap();
        let (reason, message) = refusal(&home, &["install", text(&signed), "--yes"]);
        assert_eq!(reason, "signature_invalid", "{path}");
        assert!(message.contains(words), "{path}: {message}");
        fs::write(signed.join(path), good).unwrap();
    }
    fs::remove_file(signed.join("signatures.json")).unwrap();
    assert_eq!(refusal(&home, &["install", text(&signed), "--yes"]).0, "signature_missing");
    let stranger = signing_home();
    let theirs = napp(&stranger, "Echo", "1.0.0", &json!({}));
    assert_eq!(refusal(&home, &["install", text(&theirs), "--yes"]).0, "unknown_key");
    let broken = home.write_outside("broken.napp", "hello");
    assert_eq!(refusal(&home, &["install", text(&broken), "--yes"]).0, "package_invalid");
    for name in ["ends at once", "never listens", "not well", "hangs when asked how it is"] {
        let bad = napp(&home, name, "1.0.0", &json!({}));
        let (reason, message) = refusal(&home, &["install", text(&bad), "--asked"]);
        assert_eq!(reason, "native_start_failed", "{name}");
        assert!(message.contains("was not installed"), "{message}");
    }
    assert!(installed(&home).is_empty());
    assert_eq!(left(&home), Vec::<PathBuf>::new());
    assert!(!home.json(&["rights", ID]).to_string().contains("feature:user:id"));
}

#[test]
fn a_newer_version_takes_over_waits_or_fails_and_an_older_one_never_comes_in() {
    let home = signing_home();
    let place = home.outside().join("echo.napp");
    let offer = |name: &str, version: &str, more: &Value| {
        fs::copy(napp(&home, name, version, more), &place).unwrap();
    };
    offer("Echo", "1.1.0", &json!({"permissions": ["network:*", "user:id"]}));
    home.json(&["install", text(&place), "--asked"]);
    let update = || home.roost(&["update", ID, "--json"]).json()["updates"][0].clone();
    assert_eq!(update()["state"], "current");

    // Narrower is not more.
    offer("Echo", "1.2.0", &json!({"permissions": ["network:example.com", "user:id"]}));
    let narrower = update();
    assert_eq!((&narrower["state"], &narrower["to"]), (&json!("updated"), &json!("1.2.0")), "{narrower}");
    let given = home.json(&["rights", ID]).to_string();
    assert!(given.contains("network:example.com"), "{given}");

    // An old version stays signed for ever.
    offer("Echo", "1.0.0", &json!({}));
    assert_eq!(refusal(&home, &["install", text(&place), "--yes"]).0, "version_not_newer");
    assert_eq!(update()["state"], "current");

    // One that does not answer leaves the one before.
    offer("not well", "1.3.0", &json!({"permissions": ["user:id"]}));
    let failed = update();
    assert_eq!((&failed["state"], &failed["reason"]["reason"]), (&json!("failed"), &json!("update_failed")));
    assert_eq!(installed(&home)[0]["version"], "1.2.0");

    // More of anything waits for a person.
    let more = json!({"provides": ["tool:echo", "vision"], "permissions": ["hook:memory.pre_store", "user:*"],
        "overrides": ["memory.pre_store"], "oauth": [{"provider": "google", "scopes": ["mail"]}]});
    offer("Echo", "2.0.0", &more);
    let waits = update();
    assert_eq!(waits["state"], "waiting");
    let expected = json!({"permissions": ["hook:memory.pre_store", "user:*"], "provides": ["vision"],
        "overrides": ["memory.pre_store"], "oauth": [{"provider": "google", "scopes": ["mail"]}]});
    assert_eq!(waits["wants"], expected);
    assert_eq!(installed(&home)[0]["state"], "pending_update");
    assert_eq!(refusal(&home, &["update", ID, "--approve"]).0, "consent_needed");
    assert_eq!(home.json(&["update", ID, "--reject"])["waiting_version"], Value::Null);
    assert_eq!(refusal(&home, &["update", ID, "--approve", "--yes"]).0, "unknown_version");
    assert_eq!(update()["state"], "waiting");
    let approved = home.json(&["update", ID, "--approve", "--yes"])["updates"][0].clone();
    assert_eq!((&approved["state"], &approved["to"]), (&json!("updated"), &json!("2.0.0")), "{approved}");

    let back = home.json(&["update", ID, "--rollback"])["updates"][0].clone();
    assert_eq!((&back["state"], &back["app"]["version"]), (&json!("updated"), &json!("1.2.0")));
}

#[test]
fn the_files_of_an_installed_app_are_believed_each_time() {
    let home = signing_home();
    let place = home.outside().join("echo.napp");
    fs::copy(napp(&home, "Echo", "1.0.0", &json!({})), &place).unwrap();
    home.json(&["install", text(&place), "--yes"]);
    fs::copy(napp(&home, "Echo", "1.1.0", &json!({})), &place).unwrap();
    assert_eq!(home.json(&["update", ID])["updates"][0]["state"], "updated");
    // Somebody changes the version before, so that going back would run it.
    let versions = fs::read_dir(home.root().join("apps").join(ID)).unwrap().flatten();
    let old = versions.map(|entry| entry.path()).find(|path| text(path).contains("/1.0.0-")).unwrap();
    fs::write(old.join("SKILL.md"), "---\nname: x\ndescription: y\n---\n").unwrap();
    assert_eq!(refusal(&home, &["update", ID, "--rollback"]).0, "digest_mismatch");
    assert_eq!(installed(&home)[0]["version"], "1.1.0");
}

/// A store in a folder, with the keys of its maintainer's home, served.
pub(crate) struct Store {
    maintainer: TestHome,
    folder: PathBuf,
    serving: RunningHost,
}

impl Store {
    pub(crate) fn new() -> Self {
        let maintainer = signing_home();
        let folder = maintainer.outside().join("store");
        maintainer.json(&["store", "init", text(&folder)]);
        let serving = maintainer.serve_store(&folder);
        Self { maintainer, folder, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.serving.port())
    }

    pub(crate) fn add(&self, version: &str, more: &Value) -> Value {
        let folder = folder(&self.maintainer, "Echo", version, more);
        self.native(&["add", text(&folder)])
    }

    fn native(&self, words: &[&str]) -> Value {
        self.maintainer.json(&[&["store", "native", text(&self.folder)], words].concat())
    }
}

#[test]
fn a_store_keeps_signs_serves_and_takes_back_native_apps() {
    let store = Store::new();
    let home = TestHome::new();
    let url = store.url();
    assert_eq!(refusal(&home, &["install", ID, "--yes"]).0, "unknown_entry");
    assert_eq!(refusal(&home, &["keys", "store", "add", &url]).0, "fetch_missing");
    store.add("1.0.0", &json!({}));
    home.json(&["keys", "store", "add", &url]);
    assert_eq!(refusal(&home, &["install", "com.example.none", "--yes"]).0, "fetch_missing");
    let done = home.json(&["install", ID, "--asked"]);
    assert_eq!(done["app"]["origin"], json!({"kind": "store", "url": url}));
    assert_eq!(done["app"]["publisher"], json!(url));

    store.add("1.1.0", &json!({}));
    let updated = home.json(&["update"])["updates"][0].clone();
    assert_eq!((&updated["state"], &updated["to"]), (&json!("updated"), &json!("1.1.0")), "{updated}");
    assert_eq!(refusal(&home, &["install", &format!("{ID}@1.0.0"), "--yes"]).0, "version_not_newer");
    let address = format!("{url}/api/v1/apps/{ID}/download?version=1.0.0&as=x.napp");
    let other = TestHome::new();
    // Without the name of a package it is taken for the file of an agent, and none is as large as a program.
    assert_eq!(refusal(&other, &["install", &address, "--yes"]).0, "fetch_too_large");

    let data = home.root().join("native").join(ID).join("data");
    fs::write(data.join("mine.txt"), "kept").unwrap();
    store.native(&["revoke", ID]);
    let running = home.up();
    let sweep = sweep(&home, &running);
    assert_eq!(sweep["quarantined"][0]["app"], ID);
    assert_eq!(sweep["quarantined"][0]["reason"]["reason"], "app_revoked");
    let app = &installed(&home)[0];
    assert_eq!((&app["state"], &app["reason"]["reason"]), (&json!("quarantined"), &json!("app_revoked")));
    assert!(!home.root().join("apps").join(ID).join("binary").exists());
    assert_eq!(fs::read_to_string(data.join("mine.txt")).unwrap(), "kept");
    assert_eq!(refusal(&home, &["update", ID]).0, "app_quarantined");
    assert_eq!(refusal(&home, &["install", ID, "--yes"]).0, "app_revoked");
    home.json(&["remove", ID]);
    assert!(installed(&home).is_empty());
    assert_eq!(fs::read_to_string(data.join("mine.txt")).unwrap(), "kept");
}

#[test]
fn an_app_runs_on_while_its_store_is_silent_and_stops_when_its_lists_are_too_old() {
    let store = Store::new();
    store.add("1.0.0", &json!({}));
    let home = TestHome::new();
    home.json(&["keys", "store", "add", &store.url()]);
    home.json(&["install", ID, "--asked"]);
    store.serving.terminate();
    let running = home.up();
    let silent = sweep(&home, &running);
    assert_eq!((&silent["believed"], &silent["stopped"]), (&json!([ID]), &json!([])), "{silent}");
    assert_eq!(silent["stores"].as_array().unwrap().len(), 1);
    let path = home.root().join("keys/trust.json");
    let mut trust: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let good = trust.clone();
    trust["stores"][0]["revocations"]["fetchedAt"] = json!("2020-01-01T00:00:00Z");
    fs::write(&path, trust.to_string()).unwrap();
    let stale = sweep(&home, &running);
    assert_eq!(stale["stopped"][0]["reason"]["reason"], "trust_stale", "{stale}");
    assert_eq!(installed(&home)[0]["reason"]["reason"], "trust_stale");
    fs::write(&path, good.to_string()).unwrap();
    assert_eq!(sweep(&home, &running)["believed"], json!([ID]));
    assert_eq!(installed(&home)[0]["reason"], Value::Null);
}

#[test]
fn a_folder_is_built_sideloaded_labelled_and_never_changed() {
    let home = TestHome::new();
    let project = folder(&home, "Echo", "1.0.0", &json!({}));
    fs::remove_file(project.join("SKILL.md")).unwrap();
    fs::rename(project.join("binary"), project.join("made")).unwrap();
    assert_eq!(refusal(&home, &["sideload", text(&project)]).0, "package_invalid");
    fs::write(project.join("Makefile"), "build:\n\t@echo cannot today && false\n").unwrap();
    let (reason, message) = refusal(&home, &["sideload", text(&project)]);
    assert_eq!(reason, "build_failed");
    assert!(message.contains("cannot today"), "{message}");
    assert_eq!(left(&home), Vec::<PathBuf>::new());
    fs::write(project.join("Makefile"), "build:\n\tmkdir -p tmp && cp made tmp/echo\n").unwrap();
    let done = home.json(&["sideload", text(&project), "--asked"]);
    assert_eq!(done["app"]["origin"]["kind"], "sideload");
    assert_eq!(done["app"]["native"]["signed"], Value::Null);
    let told = home.roost(&["apps"]).stdout;
    assert!(told.contains("sideloaded from"), "{told}");
    // Once more is the same app, built anew.
    home.json(&["sideload", text(&project)]);
    assert_eq!(installed(&home).len(), 1);

    home.json(&["keys", "signing", "new", "--name", "ada"]);
    let signed = napp(&home, "Echo signed", "2.0.0", &json!({}));
    assert_eq!(refusal(&home, &["install", text(&signed), "--yes"]).0, "id_taken");
    home.json(&["unsideload", ID]);
    assert!(project.join("tmp/echo").exists() && installed(&home).is_empty());
    home.json(&["install", text(&signed), "--yes"]);
    let before = fs::read_dir(home.root().join("apps").join(ID)).unwrap().count();
    assert_eq!(refusal(&home, &["sideload", text(&project)]).0, "id_taken");
    assert_eq!(refusal(&home, &["unsideload", ID]).0, "not_sideloaded");
    assert_eq!(fs::read_dir(home.root().join("apps").join(ID)).unwrap().count(), before);
    let nothing = home.outside().join("nothing");
    fs::create_dir(&nothing).unwrap();
    fs::write(nothing.join("Makefile"), "build:\n\ttouch ran\n").unwrap();
    assert_eq!(refusal(&home, &["sideload", text(&nothing)]).0, "package_invalid");
    assert!(!nothing.join("ran").exists());
}
