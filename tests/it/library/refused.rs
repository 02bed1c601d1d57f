//! What is not installed, and leaves nothing behind.

use super::{Store, agent, failed, left_by_apps, works};
use roost_tests::TestHome;
use serde_json::json;
use std::fs;

#[test]
fn nothing_is_installed_without_a_yes() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "import subprocess");
    let error = failed(&home, &["install", "tea"], "consent_needed");
    assert!(error["next"].as_str().unwrap().contains("--asked"), "{error}");
    let ran = home.roost(&["install", "tea"]);
    assert!(ran.status == 1 && ran.stdout.contains("safety     E"), "{ran:?}");
    assert!(left_by_apps(&home).is_empty());
    let installed = works(&home, &["install", "tea", "--yes"]);
    assert_eq!(installed["not_given"][0]["right"], "subprocess", "a yes alone gives what the policy gives");
    works(&home, &["remove", "tea"]);
    let installed = works(&home, &["install", "tea", "--asked"]);
    assert_eq!(installed["not_given"], json!([]));
    let rights = works(&home, &["rights", "tea_agent.py"]);
    assert_eq!(rights["rights"][0]["state"], "granted_version");
    works(&home, &["remove", "tea"]);
    works(&home, &["install", "tea", "--yes"]);
    let rights = works(&home, &["rights", "tea_agent.py"]);
    assert_eq!(rights["rights"][0]["state"], "not_granted", "what was given went with the app");
}

#[test]
fn an_agent_that_does_not_answer_is_not_installed() {
    let home = TestHome::new();
    let store = Store::of(&home);
    for (agent, reason) in [
        (agent("Tea", "1", "raise RuntimeError('no')"), "import_failed"),
        (agent("Tea", "1", "import os; os._exit(3)"), "load_crashed"),
        ("x = 1\n".to_owned(), "no_agent"),
        ("def f(:\n".to_owned(), "bundle_invalid"),
    ] {
        store.publish("tea", "@ada", "1.0.0", &agent, &json!({}));
        let ran = home.roost(&["install", "tea", "--yes", "--json"]);
        assert_eq!(ran.status, 1, "{ran:?}");
        let error = ran.json()["error"].clone();
        assert!(error["reason"] == reason || reason == "load_crashed", "{reason}: {error}");
        assert!(left_by_apps(&home).is_empty(), "{reason}: {:?}", left_by_apps(&home));
        assert!(!home.root().join(".brainstem_data/workspaces/tea").exists(), "{reason}");
        assert_eq!(works(&home, &["apps"])["apps"], json!([]));
    }
}

#[test]
fn other_bytes_than_the_catalog_names_are_not_installed() {
    let home = TestHome::new();
    let store = Store::of(&home);
    for key in ["singleton_sha256", "ui_sha256"] {
        store.publish("tea", "@ada", "1.0.0", &agent("Tea", "1", ""), &json!({ key: "0".repeat(64) }));
        failed(&home, &["install", "tea", "--yes"], "digest_mismatch");
        assert!(left_by_apps(&home).is_empty());
    }
}

#[test]
fn the_first_holder_of_an_id_a_file_and_a_name_keeps_it() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    works(&home, &["install", "tea", "--yes"]);
    store.publish("tea", "@mallory", "9.0.0", &agent("Tea", "evil", ""), &json!({}));
    works(&home, &["store", "refresh"]);
    failed(&home, &["install", "tea", "--yes"], "id_taken");
    let update = home.roost(&["update", "tea", "--json"]);
    assert_eq!((update.status, &update.json()["updates"][0]["state"]), (1, &json!("failed")), "{update:?}");
    store.publish("other", "@ada", "1.0.0", &agent("Tea", "1", ""), &json!({}));
    works(&home, &["store", "refresh"]);
    failed(&home, &["install", "other", "--yes"], "shadowed");
    let more = json!({ "singleton_filename": "tea_agent.py" });
    store.publish("third", "@ada", "1.0.0", &agent("Third", "1", ""), &more);
    works(&home, &["store", "refresh"]);
    failed(&home, &["install", "third", "--yes"], "file_taken");
    assert_eq!(super::says(&home, "Tea"), "Tea 1.0.0 in tea");

    let mine = home.write("fourth_agent.py", agent("Fourth", "mine", ""));
    store.publish("fourth", "@ada", "1.0.0", &agent("Fourth", "theirs", ""), &json!({}));
    works(&home, &["store", "refresh"]);
    let ran = home.roost(&["install", "fourth", "--yes", "--json"]);
    assert_eq!(ran.json()["error"]["reason"], "file_taken", "{ran:?}");
    assert_eq!(fs::read_to_string(mine).unwrap(), agent("Fourth", "mine", ""));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let home = TestHome::new();
    let store = Store::of(&home);
    for (id, more) in [
        ("workspaces", json!({})),
        ("memory", json!({})),
        ("tea", json!({ "singleton_filename": "basic_agent.py" })),
        ("tea", json!({ "singleton_filename": "../../x_agent.py" })),
        ("tea", json!({ "ui_filename": "../index.html" })),
    ] {
        store.publish(id, "@ada", "1.0.0", &agent("Tea", "1", ""), &more);
        works(&home, &["store", "refresh"]);
        let ran = home.roost(&["install", id, "--yes", "--json"]);
        assert_eq!(ran.status, 1, "{id} {more}: {ran:?}");
        assert!(left_by_apps(&home).is_empty(), "{id} {more}");
    }
    let blocked = TestHome::new();
    Store::of(&blocked).publish_tea("1.0.0", "");
    fs::create_dir_all(blocked.root().join("apps/library.json")).unwrap();
    failed(&blocked, &["install", "tea", "--yes"], "library_unusable");
    failed(&blocked, &["apps"], "library_unusable");
    assert_eq!(works(&blocked, &["agents"])["agents"], json!([]), "agents are not touched by it");
}
