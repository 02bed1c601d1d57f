//! Newer versions: taken when they answer, kept waiting when they ask for more, and gone back from.

use super::{Store, failed, says, works};
use roost_tests::TestHome;
use serde_json::{Value, json};
use std::fs;

fn update(home: &TestHome, words: &[&str]) -> Value {
    let words: Vec<&str> = ["update"].iter().chain(words).copied().chain(["--json"]).collect();
    home.roost(&words).json()["updates"][0].clone()
}

#[test]
fn a_newer_version_serves_when_it_answers_and_can_be_gone_back_from() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    works(&home, &["install", "tea", "--yes"]);
    failed(&home, &["update", "tea", "--rollback"], "no_previous_version");
    assert_eq!(update(&home, &[])["state"], "current");
    store.publish_tea("1.1.0", "");
    let updated = update(&home, &[]);
    assert_eq!(
        (&updated["state"], &updated["from"], &updated["to"]),
        (&json!("updated"), &json!("1.0.0"), &json!("1.1.0"))
    );
    assert_eq!(says(&home, "Tea"), "Tea 1.1.0 in tea");

    store.publish_tea("1.2.0", "raise RuntimeError('broken')");
    let broken = update(&home, &["tea"]);
    assert_eq!((&broken["state"], &broken["reason"]["reason"]), (&json!("failed"), &json!("update_failed")));
    assert_eq!(says(&home, "Tea"), "Tea 1.1.0 in tea");
    let listed = works(&home, &["apps"])["apps"][0].clone();
    assert_eq!((&listed["version"], &listed["reason"]["reason"]), (&json!("1.1.0"), &json!("update_failed")));

    assert_eq!(update(&home, &["tea", "--rollback"])["to"], "1.0.0");
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
    assert_eq!(update(&home, &["tea", "--rollback"])["to"], "1.1.0", "and forth again");

    fs::write(home.root().join("agents/tea_agent.py"), super::agent("Tea", "mine", "")).unwrap();
    assert_eq!(works(&home, &["apps"])["apps"][0]["state"], "changed");
    assert_eq!(home.json(&["why", "tea"])["reason"], "app_changed");
    store.publish_tea("1.3.0", "");
    let kept = update(&home, &["tea"]);
    let kept = kept["kept"][0].as_str().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), super::agent("Tea", "mine", ""));
    assert_eq!(says(&home, "Tea"), "Tea 1.3.0 in tea");
}

#[test]
fn a_version_that_was_taken_back_is_not_taken_again_by_itself() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    works(&home, &["install", "tea", "--yes"]);
    store.publish_tea("1.1.0", "");
    update(&home, &[]);
    update(&home, &["tea", "--rollback"]);
    for words in [&[][..], &["tea"]] {
        let again = update(&home, words);
        assert_eq!(
            (&again["state"], &again["reason"]["reason"]),
            (&json!("taken_back"), &json!("version_taken_back")),
            "{words:?}"
        );
    }
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
    assert_eq!(update(&home, &["tea", "--now"])["to"], "1.1.0", "a person asked for it");
    update(&home, &["tea", "--rollback"]);
    store.publish_tea("1.2.0", "");
    assert_eq!(update(&home, &[])["to"], "1.2.0", "a newer one is another");
}

#[test]
fn a_version_that_asks_for_more_waits_for_a_yes() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "URL = 'https://one.example/'\nimport urllib.request");
    works(&home, &["install", "tea", "--asked"]);
    store.publish_tea("1.1.0", "URL = 'https://one.example/'\nimport urllib.request\n# the same");
    assert_eq!(update(&home, &[])["state"], "updated", "nothing new is asked for");
    let rights = works(&home, &["rights", "tea_agent.py"]);
    assert_eq!(
        rights["rights"][0]["state"], "granted_version",
        "what was given is given to it too: {rights}"
    );

    store.publish_tea(
        "2.0.0",
        "URLS = ['https://one.example/', 'https://two.example/']\nimport urllib.request",
    );
    let waiting = update(&home, &[]);
    assert_eq!(waiting["state"], "waiting", "{waiting}");
    assert_eq!(waiting["new_rights"][0]["right"], "network:two.example");
    assert_eq!(says(&home, "Tea"), "Tea 1.1.0 in tea");
    let listed = works(&home, &["apps"])["apps"][0].clone();
    assert_eq!((&listed["state"], &listed["waiting_version"]), (&json!("pending_update"), &json!("2.0.0")));
    assert_eq!(home.json(&["why", "tea"])["reason"], "update_waits");
    failed(&home, &["update", "--approve", "tea"], "consent_needed");
    assert_eq!(says(&home, "Tea"), "Tea 1.1.0 in tea");
    works(&home, &["update", "--approve", "tea", "--yes"]);
    assert_eq!(says(&home, "Tea"), "Tea 2.0.0 in tea");
    let rights = works(&home, &["rights", "tea_agent.py"]);
    let states: Vec<&Value> =
        rights["rights"].as_array().unwrap().iter().map(|right| &right["state"]).collect();
    assert_eq!(states, [&json!("granted_version"), &json!("granted_version")]);
    failed(&home, &["update", "--approve", "tea", "--yes"], "unknown_version");
    assert_eq!(update(&home, &["tea", "--rollback"])["to"], "1.1.0");
}

#[test]
fn a_version_that_is_too_young_is_taken_only_when_it_is_asked_for() {
    let home = TestHome::new();
    home.settings("[apps]\ncool_down_days = 7\n");
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    works(&home, &["install", "tea", "--yes"]);
    store.publish_tea("1.1.0", "");
    for _ in 0..2 {
        let young = update(&home, &[]);
        assert_eq!(
            (&young["state"], &young["reason"]["reason"]),
            (&json!("young"), &json!("version_too_young"))
        );
    }
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
    assert_eq!(update(&home, &["tea", "--now"])["state"], "updated");
    assert_eq!(says(&home, "Tea"), "Tea 1.1.0 in tea");
}
