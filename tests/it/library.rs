//! Installed apps as a person lives with them: installed, updated, taken back, removed, and what goes wrong meanwhile.

mod binder; // as RAPP clients ask
mod cut_off; // programs that are killed, and several at once
mod gated; // apps in private repositories
mod single_files; // agents of a registry, and senses
mod repositories; // a repository, an address, and a word that is neither
mod refused; // what is not installed, and leaves nothing
mod updates; // newer versions, and those that wait

use roost_protocol::Digest;
use roost_tests::TestHome;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A catalog that is a folder.
struct Store {
    folder: PathBuf,
}

/// The agent of an app: answers with its version and the name of its workspace.
fn agent(name: &str, version: &str, more: &str) -> String {
    format!(
        r#"{more}
from agents.basic_agent import BasicAgent
from utils.workspace import workspace_dir


class {name}Agent(BasicAgent):
    def __init__(self):
        self.name = "{name}"
        self.metadata = {{"name": self.name, "description": "Says what it is.",
                         "parameters": {{"type": "object", "properties": {{}}}}}}
        super().__init__(self.name, self.metadata)

    def perform(self, **kwargs):
        return f"{{self.name}} {version} in {{workspace_dir().name}}"
"#
    )
}

impl Store {
    /// An empty catalog that the home knows.
    fn of(home: &TestHome) -> Self {
        let folder = home.outside().join("store");
        fs::create_dir_all(&folder).unwrap();
        let store = Self { folder };
        store.write_index(&[]);
        store.add_to(home, "mine");
        store
    }

    /// The only catalog of a home: nothing is asked of other computers.
    fn add_to(&self, home: &TestHome, name: &str) {
        works(home, &["store", "add", self.folder.to_str().unwrap(), "--name", name, "--first"]);
        works(home, &["store", "remove", "official"]);
    }

    fn write_index(&self, entries: &[Value]) {
        let index = json!({ "schema": "rapp-store/1.0", "name": "Mine", "rapplications": entries });
        fs::write(self.folder.join("index.json"), index.to_string()).unwrap();
    }

    /// Publishes one app, in place of everything else, with a page and the digests of its files.
    fn publish(&self, id: &str, publisher: &str, version: &str, agent: &str, more: &Value) -> Value {
        let (code, page) = (format!("{id}_agent.py"), format!("<p>{id} {version}"));
        fs::write(self.folder.join(&code), agent).unwrap();
        fs::write(self.folder.join("index.html"), &page).unwrap();
        let mut entry = json!({
            "id": id, "name": id, "version": version, "publisher": publisher, "summary": "Says what it is.",
            "category": "data", "tags": ["rapplication"],
            "singleton_filename": code, "singleton_url": code, "singleton_sha256": Digest::of(agent.as_bytes()),
            "ui_url": "index.html", "ui_sha256": Digest::of(page.as_bytes()),
        });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write_index(std::slice::from_ref(&entry));
        entry
    }

    /// Publishes `tea` of `@ada`.
    fn publish_tea(&self, version: &str, more: &str) {
        self.publish("tea", "@ada", version, &agent("Tea", version, more), &json!({}));
    }
}

/// Runs a command that must fail for this reason.
#[track_caller]
fn failed(home: &TestHome, words: &[&str], reason: &str) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let ran = home.roost(&words);
    assert_ne!(ran.status, 0, "{ran:?}");
    assert_eq!(ran.json()["error"]["reason"], json!(reason), "{ran:?}");
    ran.json()["error"].clone()
}

/// Runs a command that must work.
#[track_caller]
fn works(home: &TestHome, words: &[&str]) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let ran = home.roost(&words);
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.json()
}

#[track_caller]
fn says(home: &TestHome, agent: &str) -> String {
    let answer = works(home, &["call", agent]);
    answer["output"].as_str().unwrap().to_owned()
}

/// Every file that an app could have left in a home.
fn left_by_apps(home: &TestHome) -> Vec<String> {
    let mut left = Vec::new();
    for folder in ["agents", "services", "apps", ".brainstem_data"] {
        walk(&home.root().join(folder), &mut left);
    }
    let is_bookkeeping = |path: &String| {
        [".catalogs/", "library.json", "library.lock", "binder.json"].iter().any(|known| path.contains(known))
    };
    left.retain(|path| !is_bookkeeping(path));
    left
}

fn walk(folder: &Path, left: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            walk(&entry.path(), left);
        } else {
            left.push(entry.path().display().to_string());
        }
    }
}

#[test]
fn an_app_of_a_catalog_is_installed_answers_and_is_removed() {
    let home = TestHome::new();
    Store::of(&home).publish_tea("1.0.0", "");
    let plan = works(&home, &["install", "tea", "--dry-run"]);
    assert_eq!(
        (&plan["id"], &plan["publisher"], &plan["grade"]),
        (&json!("tea"), &json!("@ada"), &json!("A"))
    );
    assert!(left_by_apps(&home).is_empty(), "a look leaves nothing");

    let installed = works(&home, &["install", "@ada/tea", "--yes"]);
    assert_eq!(installed["app"]["state"], "enabled");
    assert_eq!(installed["app"]["agents"], json!(["Tea"]));
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
    let data = home.root().join(".brainstem_data");
    assert!(data.join("workspaces/tea").is_dir());
    assert_eq!(fs::read_to_string(data.join("rapp_ui/tea/index.html")).unwrap(), "<p>tea 1.0.0");
    let binder: Value = serde_json::from_slice(&fs::read(data.join("binder.json")).unwrap()).unwrap();
    assert_eq!(binder["installed"][0]["agent_filename"], "tea_agent.py");
    assert_eq!(works(&home, &["install", "tea", "--yes"])["plan"]["is_installed"], true);
    assert_eq!(works(&home, &["why", "tea"])["works"], true);
    let rights = works(&home, &["rights", "tea_agent.py"]);
    assert_eq!(rights["origin"], "catalog", "an app is another's work");
    assert_eq!(works(&home, &["rights", "tea"]), rights, "an app is known by its id");

    fs::write(data.join("workspaces/tea/mine.txt"), "mine").unwrap();
    let removed = works(&home, &["remove", "tea"]);
    assert!(removed["workspace"].as_str().unwrap().ends_with("workspaces/tea"));
    assert_eq!(fs::read_to_string(data.join("workspaces/tea/mine.txt")).unwrap(), "mine");
    assert_eq!(works(&home, &["apps"])["apps"], json!([]));
    failed(&home, &["call", "Tea"], "unknown_agent");
    failed(&home, &["remove", "tea"], "unknown_app");
    failed(&home, &["update", "tea"], "unknown_app");
}

#[test]
fn apps_come_from_a_file_a_folder_and_a_zip() {
    let home = TestHome::new();
    let file = home.write_outside("cup_agent.py", agent("Cup", "1", ""));
    let installed = works(&home, &["install", file.to_str().unwrap(), "--yes"]);
    assert_eq!((&installed["app"]["id"], &installed["app"]["kind"]), (&json!("cup_agent"), &json!("agent")));
    assert_eq!(says(&home, "Cup"), "Cup 1 in cup_agent");
    fs::write(&file, agent("Cup", "2", "")).unwrap();
    assert_eq!(works(&home, &["update", "cup_agent"])["updates"][0]["state"], "updated");
    assert_eq!(says(&home, "Cup"), "Cup 2 in cup_agent");

    let outside = home.outside().display().to_string();
    home.json(&["new", "app", "word_count", "--publisher", "@alice", "--folder", &outside]);
    let folder = home.outside().join("word_count");
    let zip = home.outside().join("w.zip");
    home.json(&["pack", folder.to_str().unwrap(), "-o", zip.to_str().unwrap()]);
    let plan = works(&home, &["install", zip.to_str().unwrap(), "--dry-run"]);
    let installed = works(&home, &["install", folder.to_str().unwrap(), "--yes"]);
    assert_eq!(plan["digest"], installed["app"]["digest"], "a folder and its zip are the same app");
    fs::remove_file(folder.join("README.md")).unwrap();
    let error = failed(&home, &["install", folder.to_str().unwrap(), "--yes"], "bundle_invalid");
    assert!(error["message"].as_str().unwrap().contains("E_NO_README"), "{error}");
    let text = home.roost(&["apps"]);
    assert!(text.text().contains("@alice/word_count  0.1.0  enabled  safety A"), "{text:?}");
}

#[test]
fn a_lock_file_makes_the_same_library_elsewhere_or_nothing() {
    let (home, other) = (TestHome::new(), TestHome::new());
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    works(&home, &["install", "tea", "--yes"]);
    store.add_to(&other, "theirs");
    let lock = home.root().join("roost.lock");
    let lock = lock.to_str().unwrap();
    failed(&other, &["install", "--locked", lock], "consent_needed");
    let outcome = works(&other, &["install", "--locked", lock, "--yes"]);
    assert_eq!(outcome["installed"][0]["app"]["id"], "tea");
    assert_eq!(says(&other, "Tea"), "Tea 1.0.0 in tea");
    assert_eq!(works(&other, &["install", "--locked", lock, "--yes"])["unchanged"], json!(["tea"]));
    works(&other, &["remove", "tea"]);

    store.publish("tea", "@ada", "1.0.0", &agent("Tea", "other", ""), &json!({}));
    works(&other, &["store", "refresh"]);
    failed(&other, &["install", "--locked", lock, "--yes"], "digest_mismatch");
    assert_eq!(works(&other, &["apps"])["apps"], json!([]));
    let bad = other.write_outside("bad.lock", "schema = 'x'\n");
    failed(&other, &["install", "--locked", bad.to_str().unwrap(), "--yes"], "lock_invalid");
}

#[test]
fn a_running_host_does_it_and_serves_it_at_once() {
    let home = TestHome::new();
    let store = Store::of(&home);
    store.publish_tea("1.0.0", "");
    let host = home.up();
    works(&home, &["install", "tea", "--yes"]);
    assert_eq!(host.output("Tea", &json!({})), "Tea 1.0.0 in tea");
    store.publish_tea("1.1.0", "");
    works(&home, &["update"]);
    assert_eq!(host.output("Tea", &json!({})), "Tea 1.1.0 in tea");
    works(&home, &["update", "tea", "--rollback"]);
    assert_eq!(host.output("Tea", &json!({})), "Tea 1.0.0 in tea");
    assert_eq!(host.get("/v1/apps").json()["reason"], "owner_only", "nobody but the owner is told");
    works(&home, &["remove", "tea"]);
    assert_eq!(host.failure("Tea", &json!({})), "unknown_agent");
}
