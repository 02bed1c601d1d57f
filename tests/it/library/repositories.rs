//! Apps of a repository and of an address: the commit is looked up, pinned, and found again by an update.

use super::{agent, failed, left_by_apps, says, works};
use roost_tests::{StoreServer, TestHome};
use serde_json::json;

const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";

fn home_of(server: &StoreServer) -> TestHome {
    let home = TestHome::new();
    home.settings(&format!(
        "[store]\nraw = \"{}\"\ncommits = \"{}\"\n",
        server.url("/raw"),
        server.url("/api")
    ));
    home
}

/// Makes a commit the newest of `ada/tea`, with an app of this version.
fn commit(server: &StoreServer, commit: &str, version: &str) {
    let manifest = json!({
        "schema": "rapp-application/1.0", "id": "tea", "name": "Tea", "publisher": "@ada", "version": version,
        "summary": "Says what it is.", "agent": "singleton/tea_agent.py", "ui": "ui/index.html",
    });
    let at = |path: &str| format!("/raw/ada/tea/{commit}/{path}");
    server.publish(&at("manifest.json"), manifest.to_string());
    server.publish(&at("singleton/tea_agent.py"), agent("Tea", version, ""));
    server.publish(&at("ui/index.html"), "<p>tea");
    server.publish("/api/repos/ada/tea/commits/main", json!({ "sha": commit }).to_string());
}

#[test]
fn an_app_of_a_repository_is_pinned_to_its_commit_and_updated_from_the_next() {
    let server = StoreServer::new();
    commit(&server, FIRST, "1.0.0");
    let home = home_of(&server);
    let installed = works(&home, &["install", "https://github.com/ada/tea", "--yes"]);
    assert_eq!(
        (&installed["app"]["version"], &installed["app"]["origin"]["commit"]),
        (&json!("1.0.0"), &json!(FIRST)),
        "{installed}"
    );
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
    assert_eq!(works(&home, &["update", "tea"])["updates"][0]["state"], "current");
    commit(&server, SECOND, "1.1.0");
    assert_eq!(works(&home, &["update", "tea"])["updates"][0]["state"], "updated");
    assert_eq!(says(&home, "Tea"), "Tea 1.1.0 in tea");
    let listed = works(&home, &["apps"])["apps"][0].clone();
    assert_eq!(listed["origin"]["commit"], json!(SECOND));
    let branches = |path: &str| path.starts_with("/raw/") && !path.contains(FIRST) && !path.contains(SECOND);
    assert!(!server.asked().iter().any(|asked| branches(&asked.path)), "no file comes from a branch");
}

#[test]
fn a_repository_that_cannot_be_read_leaves_nothing() {
    let server = StoreServer::new();
    let home = home_of(&server);
    failed(&home, &["install", "https://github.com/ada/nothing", "--yes"], "commit_unknown");
    commit(&server, FIRST, "1.0.0");
    server.publish(&format!("/raw/ada/tea/{FIRST}/singleton/tea_agent.py"), "raise RuntimeError('no')\n");
    let ran = home.roost(&["install", "https://github.com/ada/tea", "--yes", "--json"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(left_by_apps(&home).is_empty());
}

#[test]
fn a_bare_word_is_an_app_of_a_catalog_whatever_lies_in_this_folder() {
    let home = TestHome::new();
    super::Store::of(&home).publish_tea("1.0.0", "");
    home.json(&[
        "new",
        "app",
        "tea",
        "--publisher",
        "@mallory",
        "--folder",
        home.outside().to_str().unwrap(),
    ]);
    home.json(&["new", "app", "cup", "--publisher", "@ada", "--folder", home.outside().to_str().unwrap()]);
    let from_there = |words: &[&str]| {
        let output = home.command(words).current_dir(home.outside()).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let plan = from_there(&["install", "tea", "--dry-run", "--json"]);
    assert_eq!(plan["publisher"], "@ada", "{plan}");
    let plan = from_there(&["install", "./tea", "--dry-run", "--json"]);
    assert_eq!(plan["publisher"], "@mallory", "{plan}");
    let unknown = from_there(&["install", "cup", "--dry-run", "--json"]);
    assert_eq!(unknown["error"]["reason"], "unknown_entry");
    assert!(unknown["error"]["next"].as_str().unwrap().contains("roost install ./cup"), "{unknown}");
}
