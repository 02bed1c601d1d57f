//! A store as its maintainer and its attackers use it.

mod attacks; // the receiver's known defects, and worse
mod interruption; // stopped at every step
mod native; // signed programs

use super::{
    Approval, IssueText, IssueWish, Payload, Promoted, Received, StoreError, StoreFacts, Storefront,
    Submitter,
};
use crate::{
    Bundle, BundleId, Files, NewApp, Publisher, Submission,
    catalog::{Catalog, DeclaredFiles, RepositoryAddress},
    new_app,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A store in a folder that goes with it.
struct TestStore {
    folder: tempfile::TempDir,
    store: Storefront,
}

fn moment(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

impl TestStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Storefront::init(&folder.path().join("store"), &StoreFacts::new("A store"), moment(0)).unwrap();
        Self { folder, store }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn submit(&self, app: &App<'_>, account: &str) -> Result<Received, StoreError> {
        let submitter = Submitter::account(account)?;
        let examined = self.store.examine_zip(&app.zip(), submitter, &Payload::default())?;
        self.store.stage(&examined, moment(1))
    }

    fn receive(&self, number: u64, title: &str, author: &str, body: &str) -> Result<Received, StoreError> {
        let issue = IssueText { number, title, author, body: body.as_bytes() };
        match self.store.read_issue(&issue)? {
            IssueWish::Bundle(examined) => self.store.stage(&examined, moment(1)),
            IssueWish::Repository { .. } => panic!("no repository is meant"),
        }
    }

    fn approve(&self, submission: &str) -> Result<Promoted, StoreError> {
        self.approve_with(submission, &Approval::default())
    }

    fn approve_with(&self, submission: &str, approval: &Approval) -> Result<Promoted, StoreError> {
        let item = self.store.pending_item(submission)?;
        let examined = self.store.reexamine_staged(&item)?;
        self.store.promote(&item, &examined, approval, moment(2))
    }

    fn publish(&self, app: &App<'_>) -> Promoted {
        let received = self.submit(app, app.publisher).unwrap();
        self.approve(received.submission.as_str()).unwrap()
    }

    fn index(&self) -> Value {
        serde_json::from_slice(&fs::read(self.root().join("index.json")).unwrap()).unwrap()
    }

    /// Every file but those that only this machine needs.
    fn everything(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        visit(&self.root(), "", &mut found);
        found
    }
}

fn visit(folder: &Path, below: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if path == ".store" {
            continue;
        }
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => visit(&entry.path(), &path, found),
            _ => drop(found.insert(path, fs::read(entry.path()).unwrap_or_default())),
        }
    }
}

/// What is submitted.
#[derive(Clone)]
struct App<'a> {
    id: &'a str,
    publisher: &'a str,
    version: &'a str,
    more: Vec<(&'a str, String)>,
    manifest: Value,
    code: &'a str,
}

impl Default for App<'_> {
    fn default() -> Self {
        Self {
            id: "tea",
            publisher: "@ada",
            version: "1.0.0",
            more: Vec::new(),
            manifest: json!({}),
            code: "",
        }
    }
}

impl App<'_> {
    fn files(&self) -> Files {
        let made = new_app(&NewApp {
            id: BundleId::parse(self.id).unwrap(),
            publisher: Publisher::parse(self.publisher).unwrap(),
            name: "Tea".into(),
            summary: "Makes tea.".into(),
        })
        .unwrap();
        let mut contents: BTreeMap<String, Vec<u8>> =
            made.iter().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
        for name in ["manifest.json", "index_entry.json"] {
            let mut fields: Value = serde_json::from_slice(&contents[name]).unwrap();
            fields["version"] = json!(self.version);
            if name == "manifest.json" {
                for (key, value) in self.manifest.as_object().unwrap() {
                    fields[key] = value.clone();
                }
            }
            contents.insert(name.to_owned(), fields.to_string().into_bytes());
        }
        let agent = format!("singleton/{}_agent.py", self.id);
        let source = format!(
            "{}\n# version {}\n{}\n",
            String::from_utf8(contents[&agent].clone()).unwrap(),
            self.version,
            self.code
        );
        contents.insert(agent, source.into_bytes());
        for (path, text) in &self.more {
            contents.insert((*path).to_owned(), text.clone().into_bytes());
        }
        Files::from_contents(contents).unwrap()
    }

    fn zip(&self) -> Vec<u8> {
        self.files().to_zip(self.id)
    }

    fn issue(&self, id: &str) -> String {
        let payload = json!({ "submission_type": "bundle", "id": id });
        format!("```json\n{payload}\n```\n\n```bundle\n{}\n```\n", STANDARD.encode(self.zip()))
    }
}

#[track_caller]
fn codes<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Vec<&'static str> {
    match result.unwrap_err() {
        StoreError::Refused(errors) => errors.iter().map(|error| error.code.as_str()).collect(),
        StoreError::Failed(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn a_submission_waits_is_approved_and_can_be_found_with_its_hashes() {
    let store = TestStore::new();
    let received = store.submit(&App::default(), "ada").unwrap();
    assert_eq!(store.index()["rapplications"], json!([]), "nothing is published before a maintainer says so");
    let item = store.store.pending_item(received.submission.as_str()).unwrap();
    assert_eq!(item.staged_dir, Some(format!("staging/{}/tea", received.submission)));
    let promoted = store.approve(received.submission.as_str()).unwrap();
    assert_eq!(promoted.entry, received.entry);
    let catalog = Catalog::parse(&fs::read(store.root().join("index.json")).unwrap()).unwrap();
    assert_eq!((catalog.entries.len(), catalog.bad_entries_total), (1, 0));
    for part in &catalog.entries[0].parts {
        let bytes = fs::read(store.root().join(&part.url)).unwrap();
        assert_eq!(part.sha256, Some(roost_protocol::Digest::of(&bytes)), "{}", part.url);
    }
    assert!(store.store.pending().unwrap().is_empty());
    assert!(!store.root().join("staging").join(received.submission.as_str()).exists());
    let api: Value =
        serde_json::from_slice(&fs::read(store.root().join("api/v1/index.json")).unwrap()).unwrap();
    assert_eq!((&api["schema"], &api["count"]), (&json!("rapp-pokedex-api/1.0"), &json!(1)));
    for key in ["url", "sprite", "egg"] {
        assert!(store.root().join(api["rapplications"][0][key].as_str().unwrap()).is_file(), "{key}");
    }
}

#[test]
fn older_versions_stay_with_manifest_agent_service_and_page() {
    let store = TestStore::new();
    let service = "name = 'tea'\ndef handle(method, path, body):\n    return {}, 200\n".to_owned();
    let manifest = json!({ "service": "service/tea_service.py" });
    let app = |version| App {
        version,
        more: vec![("service/tea_service.py", service.clone()), ("assets/big.txt", "big".into())],
        manifest: manifest.clone(),
        ..App::default()
    };
    store.publish(&app("1.0.0"));
    let old = store.everything();
    store.publish(&app("1.0.1"));
    store.publish(&app("2.0.0"));
    let now = store.everything();
    for file in ["manifest.json", "singleton/tea_agent.py", "service/tea_service.py", "ui/index.html"] {
        let kept = &now[&format!("apps/@ada/tea/versions/1.0.0/{file}")];
        assert_eq!(kept, &old[&format!("apps/@ada/tea/{file}")], "{file}");
        assert!(now.contains_key(&format!("apps/@ada/tea/versions/1.0.1/{file}")), "{file}");
    }
    assert!(!now.contains_key("apps/@ada/tea/versions/1.0.0/assets/big.txt"));
    let entry = &store.index()["rapplications"][0];
    let versions: Vec<&str> = entry["available_versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|listed| listed["version"].as_str().unwrap())
        .collect();
    assert_eq!((versions, &entry["version"]), (vec!["1.0.1", "1.0.0"], &json!("2.0.0")));
    let kept = roost_protocol::Digest::of(&now["apps/@ada/tea/versions/1.0.0/singleton/tea_agent.py"]);
    assert_eq!(entry["available_versions"][1]["singleton_sha256"], kept.to_string());
    assert_eq!(entry["available_versions"][1].as_object().unwrap().len(), 4);
}

#[test]
fn the_index_is_made_from_the_files_and_the_same_files_make_the_same_bytes() {
    let store = TestStore::new();
    for (id, publisher) in [("tea", "@ada"), ("cup", "@bob"), ("jug", "@ada")] {
        store.publish(&App { id, publisher, ..App::default() });
    }
    store.publish(&App { version: "1.1.0", ..App::default() });
    let before = store.everything();
    assert_eq!(store.store.rebuild(moment(1000)).unwrap().entries, 3);
    assert_eq!(store.everything(), before, "nothing changes, not even the time");
    // A maintainer made one of them verified, and somebody added an app by hand.
    let mut index = store.index();
    index["rapplications"][1]["quality_tier"] = json!("verified");
    fs::write(store.root().join("index.json"), index.to_string()).unwrap();
    fs::remove_dir_all(store.root().join("apps/@ada/jug")).unwrap();
    App { id: "pot", ..App::default() }.files().write_beneath(&store.root().join("apps/@ada/pot")).unwrap();
    fs::create_dir_all(store.root().join("apps/@ada/bad")).unwrap();
    fs::write(store.root().join("apps/@ada/bad/manifest.json"), "{").unwrap();
    let indexed = store.store.rebuild(moment(2000)).unwrap();
    assert_eq!((indexed.entries, indexed.problems.len()), (3, 1), "{:?}", indexed.problems);
    assert_eq!(indexed.dropped, ["jug"]);
    let index = store.index();
    let ids: Vec<&str> = index["rapplications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["tea", "cup", "pot"]);
    assert_eq!(index["rapplications"][1]["quality_tier"], "verified");
    assert!(!store.root().join("api/v1/sprite/jug.svg").exists());
    assert!(store.root().join("api/v1/egg/pot.egg").exists());
}

#[test]
fn a_gated_entry_is_passed_on_unchanged_with_the_tier_private() {
    let store = TestStore::new();
    let place = "https://raw.githubusercontent.com/ada/secret/main/apps/tea";
    let entry = json!({
        "id": "tea", "name": "Tea", "version": "1.0.0", "summary": "Tea.", "category": "data",
        "tags": ["rapplication"], "publisher": "@ada", "access": "private", "private_repo": "ada/secret",
        "singleton_filename": "tea_agent.py", "singleton_url": format!("{place}/tea_agent.py"),
        "singleton_sha256": "a".repeat(64), "organ_url": format!("{place}/organ.py"),
        "organ_sha256": "b".repeat(64), "auth_hint": "gh auth token", "odd": { "kept": [1, 2] },
    });
    let manifest = json!({
        "schema": "rapp-application/1.0", "id": "tea", "name": "Tea", "version": "1.0.0", "publisher": "@ada",
        "summary": "Tea.", "category": "data", "tags": ["rapplication"], "agent": "singleton/tea_agent.py",
        "ui": "ui/index.html", "access": "private", "private_repo": "ada/secret",
    });
    let files = Files::from_contents([
        ("manifest.json".to_owned(), manifest.to_string().into_bytes()),
        ("index_entry.json".to_owned(), entry.to_string().into_bytes()),
        ("README.md".to_owned(), b"Tea".to_vec()),
    ])
    .unwrap();
    let submitter = Submitter::account("@ada").unwrap();
    let examined = store.store.examine_zip(&files.to_zip("tea"), submitter, &Payload::default()).unwrap();
    assert_eq!(examined.bundle().gated_addresses().len(), 2);
    let received = store.store.stage(&examined, moment(1)).unwrap();
    store.approve(received.submission.as_str()).unwrap();
    let mut expected = entry.clone();
    expected["quality_tier"] = json!("private");
    assert_eq!(store.index()["rapplications"], json!([expected]));
    store.store.rebuild(moment(9)).unwrap();
    assert_eq!(store.index()["rapplications"], json!([expected]));
}

#[test]
fn a_federation_keeps_its_repository_and_the_commit_that_was_looked_at() {
    let store = TestStore::new();
    let address = RepositoryAddress::of_parts("ada/apps", "main", "tea").unwrap();
    let declared = |app: &App<'_>| DeclaredFiles {
        commit: "c".repeat(40),
        files: app
            .files()
            .iter()
            .filter(|(path, _)| !matches!(*path, "README.md" | "index_entry.json"))
            .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
            .collect(),
    };
    let submitter = Submitter::account("@ada").unwrap();
    let payload = Payload::default();
    let app = App::default();
    let examined = store.store.examine_repository(&address, declared(&app), submitter, &payload).unwrap();
    let received = store.store.stage(&examined, moment(1)).unwrap();
    let item = store.store.pending_item(received.submission.as_str()).unwrap();
    assert_eq!(item.staged_dir, None);
    assert_eq!(store.store.pending_repository(&item).unwrap().reference, "c".repeat(40));
    let moved = App { code: "# other", ..App::default() };
    assert_eq!(codes(store.store.reexamine_fetched(&item, declared(&moved))), ["E_STAGED_CHANGED"]);
    let again = store.store.reexamine_fetched(&item, declared(&app)).unwrap();
    let promoted = store.store.promote(&item, &again, &Approval::default(), moment(2)).unwrap();
    assert_eq!(
        promoted.entry["singleton_url"],
        "https://raw.githubusercontent.com/ada/apps/main/tea/singleton/tea_agent.py"
    );
    assert_eq!(
        promoted.entry["source"],
        json!({ "type": "federation", "repo": "ada/apps", "ref": "main", "path": "tea", "commit_sha": "c".repeat(40) })
    );
    assert!(!store.root().join("apps").exists() && !store.root().join("api/v1/egg/tea.egg").exists());
    store.store.rebuild(moment(9)).unwrap();
    assert_eq!(store.index()["rapplications"][0], Value::Object(promoted.entry));
}

#[test]
fn an_issue_that_publish_writes_is_one_that_a_store_receives() {
    let store = TestStore::new();
    let bundle = Bundle::from_zip(&App::default().zip(), &Submission::default()).unwrap();
    let (title, body) = super::write_issue(&bundle, None);
    assert_eq!(title, "[RAPP] @ada/tea v1.0.0");
    let received = store.receive(7, &title, "ada", &body).unwrap();
    assert_eq!(received.submission.as_str(), "issue-7");
    assert_eq!(received.labels, ["pending-review", "rapplication-submission"]);
    assert_eq!(received.digest, bundle.files().digest());
    let promoted = store.approve("7").unwrap();
    assert_eq!((promoted.issue, promoted.labels), (Some(7), ["promoted"]));
}

#[test]
fn tokens_are_kept_as_hashes_and_end() {
    let store = TestStore::new();
    let made = store.store.create_token("ada", Some(moment(100)), "laptop", moment(0)).unwrap();
    let kept = fs::read_to_string(store.root().join(".store/tokens.json")).unwrap();
    assert!(!kept.contains(&made.token) && kept.contains("laptop"));
    let account = |token: &str, second| store.store.account_of_token(token, moment(second));
    assert_eq!(account(&made.token, 99).unwrap(), "@ada");
    assert!(account(&made.token, 100).unwrap_err().message.contains("over"));
    assert!(account("", 1).is_err() && account(&made.token[..20], 1).is_err());
    store.store.revoke_token(&made.listing.id, moment(5)).unwrap();
    assert!(account(&made.token, 6).unwrap_err().message.contains("taken back"));
    assert!(store.store.revoke_token("none", moment(5)).is_err());
    assert!(store.store.create_token("../x", None, "", moment(0)).is_err());
}
