//! The six known defects of the published receiver, and what else a stranger would try.

use super::{App, Approval, Payload, StoreError, Submitter, TestStore, codes, moment};
use serde_json::json;
use std::{fs, os::unix::fs::symlink, thread};

#[test]
fn an_id_that_is_a_path_deletes_and_writes_nothing() {
    let store = TestStore::new();
    store.publish(&App::default());
    let before = store.everything();
    for id in ["../../apps", "../apps/@ada/tea", "/etc", ".", "..", "", "a/b", "staging", "@ada"] {
        let app = App { version: "2.0.0", ..App::default() };
        let flat = app.files().to_flat_zip();
        let payload = Payload { id: Some(id.to_owned()), ..Payload::default() };
        let submitter = Submitter::account("@ada").unwrap();
        let refused = store.store.examine_zip(&flat, submitter, &payload).map(|_| ());
        assert_eq!(codes(refused), ["E_DIR_NAME_MISMATCH"], "{id}");
        let refused = store.receive(1, "[RAPP] x", "ada", &app.issue(id)).map(|_| ());
        assert_eq!(codes(refused), ["E_PAYLOAD_MISMATCH"], "{id}");
        assert_eq!(store.everything(), before, "{id}");
    }
}

#[test]
fn files_are_where_the_entry_says() {
    let store = TestStore::new();
    let promoted = store.publish(&App::default());
    let url = promoted.entry["singleton_url"].as_str().unwrap();
    assert_eq!(url, "apps/@ada/tea/singleton/tea_agent.py");
    assert!(store.root().join(url).is_file() && !store.root().join("tea").exists());
}

#[test]
fn a_version_does_not_go_backwards_between_two_approvals() {
    let store = TestStore::new();
    store.publish(&App::default());
    let [low, high] = [("1.1.0", 1), ("1.2.0", 2)].map(|(version, number)| {
        let app = App { version, ..App::default() };
        store.receive(number, "[RAPP] x", "ada", &app.issue("tea")).unwrap().submission
    });
    store.approve(high.as_str()).unwrap();
    let before = store.everything();
    assert_eq!(codes(store.approve(low.as_str())), ["E_REVALIDATE_FAILED", "E_VERSION_NOT_BUMPED"]);
    assert_eq!(store.everything(), before);
    // Nor under an item that was read before the other was approved.
    let item = store.store.pending_item(low.as_str()).unwrap();
    let submitter = Submitter::account("@ada").unwrap();
    let other = TestStore::new();
    let app = App { version: "1.1.0", ..App::default() };
    let examined = other.store.examine_zip(&app.zip(), submitter, &Payload::default()).unwrap();
    let refused = store.store.promote(&item, &examined, &Approval::default(), moment(3));
    assert_eq!(codes(refused), ["E_REVALIDATE_FAILED", "E_VERSION_NOT_BUMPED"]);
    assert_eq!(store.everything(), before);
}

#[test]
fn another_publisher_needs_the_title_and_a_maintainer() {
    let store = TestStore::new();
    let app = App { publisher: "@rapp", ..App::default() };
    let body = app.issue("tea");
    assert_eq!(codes(store.receive(1, "[RAPP] x", "ada", &body)), ["E_PUBLISHER_MISMATCH"]);
    let other = "[RAPP] x publisher-override: @bob";
    assert_eq!(codes(store.receive(1, other, "ada", &body)), ["E_PUBLISHER_MISMATCH"]);
    store.receive(1, "[RAPP] x publisher-override: @rapp", "ada", &body).unwrap();
    assert_eq!(codes(store.approve("1")), ["E_OVERRIDE_NOT_APPROVED"]);
    let approval = Approval { accepts_override: true, ..Approval::default() };
    assert_eq!(store.approve_with("1", &approval).unwrap().publisher, "@rapp");
}

#[test]
fn an_id_is_not_taken_over_at_any_time() {
    let store = TestStore::new();
    let eve = App { publisher: "@eve", version: "9.0.0", ..App::default() };
    // Both wait; the first to be approved holds the id.
    store.receive(2, "[RAPP] x", "eve", &eve.issue("tea")).unwrap();
    store.publish(&App::default());
    let before = store.everything();
    assert_eq!(codes(store.approve("2")), ["E_REVALIDATE_FAILED", "E_ID_TAKEN"]);
    assert_eq!(codes(store.submit(&eve, "eve")), ["E_ID_TAKEN"]);
    let spelled = App { publisher: "@ADA", version: "2.0.0", ..App::default() };
    assert_eq!(codes(store.submit(&spelled, "ada")), ["E_PUBLISHER_MISMATCH"]);
    assert_eq!(store.everything(), before);
}

#[test]
fn what_was_looked_at_is_what_is_published() {
    let store = TestStore::new();
    let first = store.receive(1, "[RAPP] x", "ada", &App::default().issue("tea")).unwrap();
    let swapped = App { code: "# swapped", ..App::default() };
    store.receive(1, "[RAPP] x", "ada", &swapped.issue("tea")).unwrap();
    let approval = Approval { digest: Some(first.digest), ..Approval::default() };
    assert_eq!(codes(store.approve_with("1", &approval)), ["E_STAGED_CHANGED"]);
    // Somebody changes a staged file.
    let staged = store.root().join("staging/issue-1/tea/singleton/tea_agent.py");
    fs::write(&staged, "evil").unwrap();
    assert_eq!(codes(store.approve("1")), ["E_STAGED_CHANGED"]);
    fs::remove_file(&staged).unwrap();
    symlink("/etc/passwd", &staged).unwrap();
    assert_eq!(codes(store.approve("1")), ["E_REVALIDATE_FAILED", "E_LINK"]);
    fs::remove_dir_all(store.root().join("staging/issue-1")).unwrap();
    assert_eq!(codes(store.approve("1")), ["E_STAGED_MISSING"]);
    symlink("/etc", store.root().join("staging/issue-1")).unwrap();
    assert_eq!(codes(store.approve("1")), ["E_STAGED_MISSING"]);
    assert_eq!(store.index()["rapplications"], json!([]));
}

#[test]
fn links_in_the_store_lead_no_write_elsewhere() {
    for place in ["apps", "apps/@ada", "staging", "api", "api/v1", ".store", ".store/work"] {
        let store = TestStore::new();
        let outside = store.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let link = store.root().join(place);
        fs::remove_dir_all(&link).ok();
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&outside, &link).unwrap();
        let published = store
            .submit(&App::default(), "ada")
            .and_then(|received| store.approve(received.submission.as_str()).map(|_| ()));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{place}");
        // A link where unfinished work goes is removed, and so does not matter.
        assert_eq!(published.is_ok(), place == ".store/work", "{place}");
        let entries = store.index()["rapplications"].as_array().unwrap().len();
        assert_eq!(entries, usize::from(published.is_ok()), "{place}");
    }
}

#[test]
fn hidden_files_and_foreign_old_versions_are_left_out() {
    let store = TestStore::new();
    let more = [".git/config", "source/.git/hooks/x", ".gitattributes", "versions/0.9.0/manifest.json"];
    let app = App { more: more.map(|path| (path, "evil".to_owned())).to_vec(), ..App::default() };
    store.publish(&app);
    let files = store.everything();
    assert!(files.keys().all(|path| !path.contains(".git/") && !path.contains("versions/")), "{files:?}");
    assert!(!files.contains_key("apps/@ada/tea/.gitattributes"));
    assert_eq!(store.index()["rapplications"][0].get("available_versions"), None);
    let hidden = App {
        more: vec![("versions/page.html", "x".into())],
        manifest: json!({ "ui": "versions/page.html" }),
        version: "1.1.0",
        ..App::default()
    };
    assert_eq!(codes(store.submit(&hidden, "ada")), ["E_UI_MISSING"]);
}

#[test]
fn an_entry_vouches_for_nothing_that_was_not_looked_at() {
    let store = TestStore::new();
    let app = App {
        manifest: json!({
            "quality_tier": "official", "organ_url": "https://evil/x.py", "egg_url": "https://evil/x.egg",
            "tools_url": "https://evil/t", "source": { "type": "federation", "repo": "e/e" },
            "available_versions": ["0.1.0"], "singleton_url": "https://evil/a.py", "tool": "kept",
        }),
        ..App::default()
    };
    let entry = store.publish(&app).entry;
    assert!(!serde_json::to_string(&entry).unwrap().contains("evil"), "{entry:?}");
    assert_eq!((&entry["quality_tier"], &entry["tool"]), (&json!("community"), &json!("kept")));
    assert!(!entry.contains_key("source") && !entry.contains_key("available_versions"));
}

#[test]
fn fatal_findings_wait_for_a_maintainer() {
    let store = TestStore::new();
    let app =
        App { code: "def _internal():\n    import os\n    os.system('ls')\n    eval('1')", ..App::default() };
    let received = store.submit(&app, "ada").unwrap();
    let name = received.submission.as_str();
    assert_eq!(codes(store.approve(name)), ["E_FINDINGS_NOT_ACCEPTED"]);
    let item = store.store.pending_item(name).unwrap();
    let found = crate::storefront::scan(store.store.reexamine_staged(&item).unwrap().bundle());
    assert_eq!((found.fatal.len(), found.uses_exec), (1, false));
    assert_eq!(found.capabilities.into_iter().collect::<Vec<_>>(), ["eval"]);
    let approval = Approval { accepts_findings: true, ..Approval::default() };
    assert!(store.approve_with(name, &approval).is_ok());
}

#[test]
fn two_submissions_of_one_app_at_once_leave_one_and_two_approvals_publish_once() {
    let store = TestStore::new();
    let texts: Vec<String> = (0..6).map(|number| format!("# {number}")).collect();
    thread::scope(|scope| {
        for code in &texts {
            scope.spawn(|| store.submit(&App { code, ..App::default() }, "ada").unwrap());
        }
    });
    let pending = store.store.pending().unwrap();
    assert_eq!(pending.len(), 1, "a newer submission replaces the older one");
    let staged = fs::read_dir(store.root().join("staging")).unwrap().count();
    assert_eq!(staged, 2, "the list and one folder");
    let name = pending[0].submission.as_str();
    let approved: Vec<bool> = thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| store.approve(name).is_ok())).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(approved.iter().filter(|approved| **approved).count(), 1);
    assert_eq!(store.index()["rapplications"].as_array().unwrap().len(), 1);
}

#[test]
fn nobody_fills_the_store() {
    let store = TestStore::new();
    for number in 0..20 {
        let id = format!("tea{number}");
        store.submit(&App { id: &id, ..App::default() }, "ada").unwrap();
    }
    assert_eq!(codes(store.submit(&App { id: "more", ..App::default() }, "ada")), ["E_TOO_MANY_PENDING"]);
    store.submit(&App { id: "cup", publisher: "@bob", ..App::default() }, "bob").unwrap();
}

#[test]
fn what_waits_and_what_is_hidden_is_not_served() {
    let store = TestStore::new();
    store.publish(&App::default());
    let waiting = store.submit(&App { id: "cup", ..App::default() }, "ada").unwrap();
    store.store.create_token("ada", None, "", moment(0)).unwrap();
    fs::write(store.root().join("apps/.env"), "secret").unwrap();
    symlink("/etc/passwd", store.root().join("apps/@ada/tea/link.txt")).unwrap();
    for (path, is_served) in [
        ("index.json", true),
        ("apps/@ada/tea/ui/index.html", true),
        ("api/v1/sprite/tea.svg", true),
        ("api/v1/index.json", true),
        ("apps/@ada/tea/link.txt", false),
        ("apps/.env", false),
        ("apps/../store.json", false),
        ("apps/@ada/tea/../../../.store/tokens.json", false),
        ("staging/_pending.json", false),
        (&format!("staging/{}/cup/manifest.json", waiting.submission), false),
        (".store/tokens.json", false),
        ("store.json", false),
        ("apps/@ada", false),
        ("apps/@ada/tea/none", false),
        ("", false),
    ] {
        assert_eq!(store.store.served(path).unwrap().is_some(), is_served, "{path}");
    }
}

#[test]
fn a_list_that_somebody_else_wrote_leads_nowhere() {
    let store = TestStore::new();
    let received = store.submit(&App::default(), "ada").unwrap();
    let path = store.root().join("staging/_pending.json");
    let good: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let name = received.submission.as_str();
    for (key, value, expected) in [
        ("mode", json!("magic"), "E_UNKNOWN_MODE"),
        ("mode", json!("federation"), "E_BAD_FEDERATION_SOURCE"),
        ("id", json!("../../apps"), "E_STAGED_MISSING"),
        ("publisher", json!("@../x"), "E_STAGED_MISSING"),
    ] {
        let mut bad = good.clone();
        bad["items"][0][key] = value;
        fs::write(&path, bad.to_string()).unwrap();
        let item = store.store.pending_item(name).unwrap();
        let tried = item.mode().and_then(|mode| match mode {
            super::super::Mode::Bundle => store.store.reexamine_staged(&item).map(|_| ()),
            super::super::Mode::Federation => store.store.pending_repository(&item).map(|_| ()),
        });
        assert_eq!(codes(tried), [expected]);
    }
    let mut bad = good.clone();
    bad["items"][0]["submission"] = json!("../../x");
    fs::write(&path, bad.to_string()).unwrap();
    assert!(matches!(store.store.pending_item(name), Err(StoreError::Failed(_))));
    fs::write(&path, "{\"items\": []}").unwrap();
    assert_eq!(codes(store.approve(name)), ["E_NO_PENDING"]);
    fs::write(&path, good.to_string()).unwrap();
    assert_eq!(codes(store.approve("issue-9")), ["E_NO_PENDING_FOR_ISSUE"]);
}
