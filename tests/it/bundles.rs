//! Bundles at the command line: made, judged, tested and packed.

use roost_tests::{Engine, TestHome, User};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// A new app outside of the home.
fn new_app(home: &TestHome) -> PathBuf {
    let made = home.json(&["new", "app", "word_count", "--publisher", "@alice", "--folder", &outside(home)]);
    assert_eq!(made["app"], "word_count");
    home.outside().join("word_count")
}

fn outside(home: &TestHome) -> String {
    home.outside().display().to_string()
}

fn text(path: &std::path::Path) -> String {
    path.display().to_string()
}

fn codes(report: &Value) -> Vec<&str> {
    report["errors"].as_array().unwrap().iter().map(|error| error["code"].as_str().unwrap()).collect()
}

#[test]
fn a_new_app_is_good_and_its_agent_answers_in_the_sandbox() {
    let home = TestHome::new();
    let app = new_app(&home);
    let report = home.json(&["validate", &text(&app), "--publisher", "alice"]);
    assert_eq!((&report["ok"], &report["kind"]), (&json!(true), &json!("rapplication")));
    assert_eq!(report["errors"], json!([]));
    assert_eq!(report["integrity"]["singleton_sha256"], report["index_entry"]["singleton_sha256"]);
    let tested = home.json(&["test", &text(&app)]);
    assert_eq!(tested["ok"], json!(true), "{tested}");
    let of_agent = tested["tests"].as_array().unwrap().iter().filter(|test| test["test"] != "page_loads");
    assert_eq!(of_agent.count(), 10, "{tested}");
    let again = home.roost(&["new", "app", "word_count", "--folder", &outside(&home), "--json"]);
    assert_eq!((again.status, &again.json()["error"]["reason"]), (1, &json!("already_exists")));
    let wrong = home.roost(&["new", "app", "Word-Count", "--folder", &outside(&home), "--json"]);
    assert_eq!((wrong.status, &wrong.json()["error"]["reason"]), (1, &json!("invalid_name")));
}

#[test]
fn the_page_of_an_app_is_loaded_in_a_real_browser() {
    let user = if rustix::process::geteuid().is_root() { User::Ordinary } else { User::Caller };
    let Some(home) = user.home(Engine::Python) else { return };
    let app = new_app(&home);
    user.own(&home);
    let page_of = |tested: &Value| {
        let tests = tested["tests"].as_array().unwrap();
        tests.iter().find(|test| test["test"] == "page_loads").cloned()
    };
    let tested = user.roost(&home, &["test", &text(&app), "--json"]).json();
    let Some(page) = page_of(&tested) else {
        assert!(tested["not_tested"][0].as_str().unwrap().contains("no Chromium"), "{tested}");
        return;
    };
    assert_eq!(page["passed"], true, "{tested}");
    for (script, said) in
        [("nothing_there()", "nothing_there is not defined"), ("document.body.remove()", "shows nothing")]
    {
        let page = format!("<!doctype html><body>hello<script>{script}</script>");
        fs::write(app.join("ui/index.html"), page).unwrap();
        let ran = user.roost(&home, &["test", &text(&app), "--json"]);
        let page = page_of(&ran.json()).unwrap();
        assert_eq!((ran.status, &page["passed"]), (1, &json!(false)), "{script}");
        assert!(page["message"].as_str().unwrap().contains(said), "{page}");
    }
    let as_root = home.json(&["test", &text(&app)]);
    if user == User::Ordinary {
        assert!(as_root["not_tested"][0].as_str().unwrap().contains("as root"), "{as_root}");
    }
}

#[test]
fn a_pack_is_the_same_bytes_each_time_and_is_judged_as_its_folder() {
    let home = TestHome::new();
    let app = new_app(&home);
    let [first, second] = ["a.zip", "b.zip"].map(|name| home.outside().join(name));
    let packed = home.json(&["pack", &text(&app), "-o", &text(&first)]);
    assert_eq!((&packed["id"], &packed["version"]), (&json!("word_count"), &json!("0.1.0")));
    home.json(&["pack", &text(&app), "-o", &text(&second)]);
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let mut folder = home.json(&["validate", &text(&app)]);
    let zip = home.json(&["validate", &text(&first)]);
    assert_eq!(folder, zip);
    folder = home.json(&["validate", &text(&first), "--rules", "reference"]);
    assert_eq!(folder["ok"], true);
    assert_eq!(home.json(&["test", &text(&first)])["ok"], true);
}

#[test]
fn what_is_wrong_is_said_with_its_code_and_status_one() {
    let home = TestHome::new();
    let app = new_app(&home);
    let catalog = home.write_outside(
        "index.json",
        r#"{"rapplications": [{"id": "word_count", "version": "1.0.0", "publisher": "@bob"}]}"#,
    );
    let words = ["validate", &text(&app), "--publisher", "@carol", "--catalog", &text(&catalog), "--json"];
    let judged = home.roost(&words);
    assert_eq!(judged.status, 1);
    let report = judged.json();
    assert_eq!(codes(&report), ["E_PUBLISHER_MISMATCH", "E_VERSION_NOT_BUMPED", "E_ID_TAKEN"]);
    assert_eq!((&report["integrity"], &report["index_entry"]), (&Value::Null, &Value::Null));
    let by_reference = home.roost(&[&words[..], &["--rules", "reference"]].concat()).json();
    assert_eq!(codes(&by_reference), ["E_PUBLISHER_MISMATCH", "E_VERSION_NOT_BUMPED"]);

    fs::remove_file(app.join("README.md")).unwrap();
    fs::write(app.join("singleton/word_count_agent.py"), "def f(:\n").unwrap();
    let refused = home.roost(&["validate", &text(&app)]);
    assert_eq!(refused.status, 1);
    assert!(refused.stdout.contains("singleton/word_count_agent.py:1: "), "{}", refused.stdout);
    let expected = ["E_NO_BASIC_AGENT_IMPORT", "E_SINGLETON_SYNTAX", "E_NO_README"];
    for verb in ["validate", "test", "pack"] {
        let refused = home.roost(&[verb, &text(&app), "--json"]);
        assert_eq!((refused.status, codes(&refused.json())), (1, expected.to_vec()), "{verb}");
    }
    let missing = home.roost(&["validate", &text(&app), "--catalog", "/nowhere.json", "--json"]);
    assert_eq!((missing.status, &missing.json()["error"]["reason"]), (2, &json!("bad_arguments")));
}

#[test]
fn what_is_no_bundle_is_told_for_what_it_is_taken() {
    let home = TestHome::new();
    let not_a_zip = home.write_outside("broken.zip", "hello");
    assert_eq!(codes(&home.roost(&["validate", &text(&not_a_zip), "--json"]).json()), ["E_BAD_ZIP"]);
    let empty = home.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(codes(&home.roost(&["validate", &text(&empty), "--json"]).json()), ["E_NO_MANIFEST"]);
    let agent = home.write_outside("x_agent.py", "x = (\n");
    let report = home.roost(&["validate", &text(&agent), "--json"]).json();
    assert_eq!((&report["kind"], codes(&report)), (&json!("agent"), vec!["syntax_error"]));
}

#[test]
fn several_paths_are_judged_together_each_with_its_own_answer() {
    let home = TestHome::new();
    let app = new_app(&home);
    let not_a_zip = home.write_outside("broken.zip", "hello");
    let agent = home.write_outside("x_agent.py", "x = (\n");
    let missing = home.outside().join("missing");
    let paths = [&app, &not_a_zip, &agent, &missing, &app].map(|path| text(path));
    let words: Vec<&str> = ["validate"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let ran = home.roost(&[&words[..], &["--json"]].concat());
    let report = ran.json();
    assert_eq!((ran.status, &report["ok"]), (1, &json!(false)));
    let results = report["results"].as_array().unwrap();
    let named: Vec<&str> = results.iter().map(|result| result["path"].as_str().unwrap()).collect();
    assert_eq!(named, paths);
    let ok: Vec<bool> = results.iter().map(|result| result["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [true, false, false, false, true]);
    assert_eq!((codes(&results[1]), codes(&results[2])), (vec!["E_BAD_ZIP"], vec!["syntax_error"]));
    assert_eq!(codes(&results[3]), ["unreadable"]);
    let lines = home.roost(&words).stdout;
    assert!(lines.starts_with(&format!("{}: ok\n{}: ", paths[0], paths[1])), "{lines}");
    assert!(lines.lines().all(|line| line.matches(&paths[2]).count() <= 1), "{lines}");
    let all_good = home.roost(&["validate", &paths[0], &paths[4], "--json"]);
    assert_eq!((all_good.status, &all_good.json()["ok"]), (0, &json!(true)));
}
