//! A store of one's own, as its maintainer, its authors and its attackers use it, with the real program.

use crate::catalogs::catalogs;
use roost_host::catalogs::{EntryName, FetchedApp, PartKind, Position};
use roost_protocol::Digest;
use roost_tests::{RunningHost, StoreServer, TestHome, in_shell, repository_root};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A new store beside the home.
fn new_store(home: &TestHome) -> PathBuf {
    let folder = home.outside().join("store");
    home.json(&["store", "init", &text(&folder)]);
    folder
}

/// A new app of this author beside the home.
fn new_app(home: &TestHome, id: &str, publisher: &str) -> PathBuf {
    let folder = text(&home.outside());
    home.json(&["new", "app", id, "--publisher", publisher, "--folder", &folder]);
    home.outside().join(id)
}

/// The same app in another version, with this at the end of its agent.
fn change(app: &Path, version: &str, code: &str) {
    for name in ["manifest.json", "index_entry.json"] {
        let mut fields: Value = serde_json::from_slice(&fs::read(app.join(name)).unwrap()).unwrap();
        fields["version"] = json!(version);
        fs::write(app.join(name), fields.to_string()).unwrap();
    }
    let id = app.file_name().unwrap().to_str().unwrap();
    let agent = app.join(format!("singleton/{id}_agent.py"));
    let source = fs::read_to_string(&agent).unwrap();
    fs::write(&agent, format!("{source}\n{code}\n")).unwrap();
}

/// Every file that an entry names is there, with its digest.
fn check_files(server: &RunningHost, entry: &Value) {
    for kind in ["singleton", "ui"] {
        let path = format!("/{}", entry[format!("{kind}_url")].as_str().unwrap());
        let answer = server.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        let expected = Digest::parse(entry[format!("{kind}_sha256")].as_str().unwrap()).unwrap();
        assert_eq!(Digest::of(&answer.bytes), expected, "{path}");
    }
}

/// An app as another home fetches it from this store, in the version that is named.
fn fetched(store: &str, name: &str) -> FetchedApp {
    let (home, nobody) = (TestHome::new(), StoreServer::new());
    let catalogs = catalogs(&home, &nobody, &[]);
    let fetching = async {
        catalogs.add(store, None, Position::First).await?;
        catalogs.fetch(&EntryName::parse(name)?).await
    };
    tokio::runtime::Runtime::new().unwrap().block_on(fetching).unwrap()
}

#[track_caller]
fn codes(answer: &Value) -> Vec<&str> {
    answer["errors"].as_array().unwrap().iter().map(|error| error["code"].as_str().unwrap()).collect()
}

#[test]
fn an_app_is_published_reviewed_approved_found_and_updated() {
    let maintainer = TestHome::new();
    let store = new_store(&maintainer);
    let folder = text(&store);
    let made = maintainer.json(&["store", "token", &folder, "create", "@alice", "--expires", "30d"]);
    let server = maintainer.serve_store(&store);
    let url = format!("http://127.0.0.1:{}", server.port());

    let author = TestHome::new().with_variable("ROOST_STORE_TOKEN", made["token"].as_str().unwrap());
    let app = new_app(&author, "word_count", "@alice");
    let sent = author.json(&["publish", &text(&app), "--store", &url]);
    let submission = sent["submission"].as_str().unwrap();
    assert_eq!(server.get("/index.json").json()["rapplications"], json!([]));

    let listed = maintainer.json(&["store", "review", &folder]);
    assert_eq!(listed["items"][0]["submission"], submission);
    let review = maintainer.json(&["store", "review", &folder, submission]);
    assert_eq!(review["tests"]["ok"], true, "{review}");
    assert_eq!((&review["live_version"], &review["scan"]["fatal"]), (&Value::Null, &json!([])));
    let digest = review["submission"]["digest"].as_str().unwrap();
    let approved = maintainer.json(&["store", "approve", &folder, submission, "--digest", digest]);
    check_files(&server, &approved["entry"]);

    let user = TestHome::new().with_variable("RAPPSTORE_URL", format!("{url}/index.json"));
    let found = user.json(&["store", "search", "words"]);
    assert_eq!(found["found"][0]["id"], "word_count", "{found}");
    user.json(&["store", "add", &folder, "--name", "folder"]);
    let shown = user.json(&["store", "show", "@alice/word_count"]);
    assert_eq!(shown["also_in"], json!(["folder"]));
    assert_eq!(shown["entry"], approved["entry"]);

    change(&app, "0.2.0", "import urllib.request\n_PLACE = 'https://api.example.com/words'");
    let sent = author.json(&["publish", &text(&app), "--store", &url]);
    let submission = sent["submission"].as_str().unwrap();
    let review = maintainer.json(&["store", "review", &folder, submission, "--no-test"]);
    assert_eq!(review["live_version"], "0.1.0");
    assert_eq!(review["rights"]["added"], json!(["network:api.example.com"]), "{review}");
    let agent = review["files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["path"] == "singleton/word_count_agent.py");
    assert!(agent.unwrap()["diff"].as_str().unwrap().contains("+_PLACE"), "{review}");
    let updated = maintainer.json(&["store", "approve", &folder, submission]);
    assert_eq!((&updated["replaced"], &updated["version"]), (&json!("0.1.0"), &json!("0.2.0")));
    check_files(&server, &updated["entry"]);
    let kept = server.get("/apps/@alice/word_count/versions/0.1.0/singleton/word_count_agent.py");
    let listed = &updated["entry"]["available_versions"][0];
    assert_eq!(listed["version"], "0.1.0");
    assert_eq!(Digest::of(&kept.bytes), Digest::parse(listed["singleton_sha256"].as_str().unwrap()).unwrap());
    user.json(&["store", "refresh"]);
    let shown = user.json(&["store", "show", "word_count@0.1.0"]);
    assert_eq!(shown["wanted_version"], "0.1.0");
    for place in [folder.as_str(), url.as_str()] {
        let fetched = fetched(place, "word_count@0.1.0");
        let agent = fetched.file(PartKind::Agent).unwrap();
        assert_eq!((agent.is_verified, &agent.bytes), (true, &kept.bytes), "{place}");
        assert!(fetched.file(PartKind::Page).unwrap().is_verified);
    }
    assert_eq!(server.terminate(), 0);
}

#[test]
fn an_issue_is_written_received_and_approved_by_its_number() {
    let home = TestHome::new();
    let (store, app) = (new_store(&home), new_app(&home, "tea", "@alice"));
    let folder = text(&store);
    let issue = home.json(&["publish", &text(&app), "--issue"]);
    let title = issue["title"].as_str().unwrap();
    assert_eq!(title, "[RAPP] @alice/tea v0.1.0");
    let receive = |author: &str, body: &[u8]| {
        let words =
            ["store", "receive", &folder, "--number", "7", "--title", title, "--author", author, "--json"];
        home.roost_with_input(&words, body)
    };
    let body = issue["body"].as_str().unwrap();
    let refused = receive("eve", body.as_bytes());
    assert_eq!((refused.status, codes(&refused.json())), (1, vec!["E_PUBLISHER_MISMATCH"]));
    assert_eq!(refused.json()["labels"], json!(["failed", "rapplication-submission"]));
    for (body, code) in [
        (&b""[..], "E_NO_PAYLOAD"),
        (
            b"```json\n{\"submission_type\":\"bundle\",\"id\":\"../../apps\"}\n```\n```bundle\n!!!\n```",
            "E_BAD_BUNDLE_BASE64",
        ),
        (&vec![b'x'; 50 << 20][..], "E_BUNDLE_TOO_LARGE"),
        (format!("```json\n{}\n```", "{\"a\":".repeat(100_000)).as_bytes(), "E_BAD_PAYLOAD_JSON"),
    ] {
        assert_eq!(codes(&receive("alice", body).json()), [code]);
    }
    assert_eq!(home.json(&["store", "review", &folder])["items"], json!([]));
    assert_eq!(receive("alice", body.as_bytes()).json()["submission"], "issue-7");
    let approved = home.json(&["store", "approve", &folder, "7"]);
    assert_eq!(approved["labels"], json!(["promoted"]));
    let again = home.roost(&["store", "approve", &folder, "7", "--json"]);
    assert_eq!((again.status, codes(&again.json())), (1, vec!["E_NO_PENDING"]));
    change(&app, "0.2.0", "");
    home.json(&["store", "submit", &folder, &text(&app)]);
    let waiting = home.json(&["store", "review", &folder]);
    let name = waiting["items"][0]["submission"].as_str().unwrap();
    let rejected = home.json(&["store", "reject", &folder, name, "--reason", "not yet"]);
    assert_eq!(rejected["comment"], "Not approved: not yet");
    assert_eq!(home.json(&["store", "index", &folder])["entries"], 1);
}

#[test]
fn only_a_token_that_works_submits_and_only_what_is_published_is_read() {
    let home = TestHome::new();
    let (store, app) = (new_store(&home), new_app(&home, "tea", "@alice"));
    let folder = text(&store);
    let create = |account: &str| home.json(&["store", "token", &folder, "create", account]);
    let (alice, eve) = (create("@alice"), create("@eve"));
    let server = home.serve_store(&store);
    let zip = home.outside().join("tea.zip");
    home.json(&["pack", &text(&app), "-o", &text(&zip)]);
    let zip = fs::read(zip).unwrap();
    let bearer = |token: &Value| format!("Bearer {}", token["token"].as_str().unwrap());
    let submit = |authorization: &str, kind: &str, body: &[u8]| {
        server.send("POST", "/submit", &[("Authorization", authorization), ("Content-Type", kind)], body)
    };
    for wrong in ["", "Bearer ", "Bearer roost_store_0", "Basic x", &bearer(&alice)[..30]] {
        let answer = submit(wrong, "application/zip", &zip);
        assert_eq!((answer.status, answer.json()["reason"] == "token_refused"), (401, true), "{wrong}");
    }
    let another = submit(&bearer(&eve), "application/zip", &zip);
    assert_eq!((another.status, codes(&another.json())), (422, vec!["E_PUBLISHER_MISMATCH"]));
    assert_eq!(submit(&bearer(&alice), "application/zip", &vec![0; 50 << 20]).status, 413);
    assert_eq!(codes(&submit(&bearer(&alice), "application/zip", b"not a zip").json()), ["E_BAD_ZIP"]);
    for body in ["[".repeat(100_000), "{}".into(), "{\"repository\": \"file:///etc\"}".into()] {
        assert_eq!(submit(&bearer(&alice), "application/json", body.as_bytes()).status, 400, "{body:.40}");
    }
    assert_eq!(submit(&bearer(&alice), "text/plain", b"x").status, 400);
    let taken = submit(&bearer(&alice), "application/zip", &zip);
    assert_eq!(taken.status, 202, "{taken:?}");
    let name = taken.json()["submission"].as_str().unwrap().to_owned();
    for path in [
        "/staging/_pending.json".to_owned(),
        format!("/staging/{name}/tea/manifest.json"),
        "/.store/tokens.json".into(),
        "/store.json".into(),
        "/apps/../.store/tokens.json".into(),
        "/apps/..%2f.store%2ftokens.json".into(),
        "/apps/%2e%2e/.store/tokens.json".into(),
        "/apps/@alice/tea/manifest.json".into(),
    ] {
        assert_eq!(server.get(&path).status, 404, "{path}");
    }
    home.json(&["store", "approve", &folder, &name]);
    let page = server.get("/apps/%40alice/tea/ui/index.html");
    assert_eq!(page.status, 200);
    assert!(page.header("content-security-policy").unwrap().contains("sandbox"));
    let etag = page.header("etag").unwrap();
    let again = server.send("GET", "/apps/@alice/tea/ui/index.html", &[("If-None-Match", etag)], b"");
    assert_eq!(again.status, 304);
    assert_eq!(server.get("/api/v1/sprite/tea.svg").header("content-type"), Some("image/svg+xml"));
    assert_eq!(server.send("GET", "/index.json", &[("Host", "evil.example")], b"").status, 403);
    assert_eq!(server.send("DELETE", "/index.json", &[], b"").status, 405);
    home.json(&["store", "token", &folder, "revoke", alice["id"].as_str().unwrap()]);
    let over = submit(&bearer(&alice), "application/zip", &zip);
    assert_eq!((over.status, over.json()["error"].as_str()), (401, Some("the token was taken back")));
    let listed = home.json(&["store", "token", &folder, "list"]);
    assert!(!listed.to_string().contains(&bearer(&alice)[7..]));
}

#[test]
fn repositories_are_listed_at_their_commit_and_gates_are_tried() {
    let server = StoreServer::new();
    let home = TestHome::new();
    let (raw, api) = (server.url("/raw"), server.url("/api"));
    home.settings(&format!("[store]\nraw = \"{raw}\"\ncommits = \"{api}\"\n"));
    let (store, app) = (new_store(&home), new_app(&home, "tea", "@alice"));
    let folder = text(&store);
    let commit = "a".repeat(40);
    server.publish("/api/repos/alice/apps/commits/main", json!({ "sha": commit }).to_string());
    for file in ["manifest.json", "singleton/tea_agent.py", "ui/index.html"] {
        server.publish(&format!("/raw/alice/apps/{commit}/tea/{file}"), fs::read(app.join(file)).unwrap());
    }
    let address = "https://github.com/alice/apps/tree/main/tea";
    let taken = home.json(&["store", "submit", &folder, address]);
    assert_eq!(
        (&taken["mode"], &taken["entry"]["source"]["commit_sha"]),
        (&json!("federation"), &json!(commit))
    );
    let name = taken["submission"].as_str().unwrap();
    // The branch moves on; what was looked at is what is listed.
    server.publish("/api/repos/alice/apps/commits/main", json!({ "sha": "b".repeat(40) }).to_string());
    let approved = home.json(&["store", "approve", &folder, name]);
    assert_eq!(approved["entry"]["source"]["commit_sha"], json!(commit));
    let missing = home.roost(&["store", "submit", &folder, "https://github.com/bob/none", "--json"]);
    assert_eq!(codes(&missing.json()), ["E_COMMIT_UNKNOWN"]);
    server.publish("/api/repos/bob/none/commits/main", json!({ "sha": commit }).to_string());
    let missing = home.roost(&["store", "submit", &folder, "https://github.com/bob/none", "--json"]);
    assert_eq!(codes(&missing.json()), ["E_FETCH_MANIFEST"]);

    let gated = home.outside().join("cup");
    fs::create_dir(&gated).unwrap();
    let place = "https://raw.githubusercontent.com/alice/secret/main";
    let manifest = json!({
        "schema": "rapp-application/1.0", "id": "cup", "name": "Cup", "version": "1.0.0", "publisher": "@alice",
        "summary": "A cup.", "category": "data", "tags": ["rapplication"], "agent": "singleton/cup_agent.py",
        "ui": "ui/index.html", "access": "private", "private_repo": "alice/secret",
    });
    let entry = json!({
        "id": "cup", "name": "Cup", "version": "1.0.0", "summary": "A cup.", "category": "data",
        "tags": ["rapplication"], "publisher": "@alice", "access": "private", "private_repo": "alice/secret",
        "singleton_filename": "cup_agent.py", "singleton_url": format!("{place}/cup_agent.py"),
        "singleton_sha256": "c".repeat(64),
    });
    fs::write(gated.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(gated.join("index_entry.json"), entry.to_string()).unwrap();
    fs::write(gated.join("README.md"), "A cup.").unwrap();
    server.publish("/raw/alice/secret/main/cup_agent.py", "everybody reads this");
    let open = home.roost(&["store", "submit", &folder, &text(&gated), "--json"]);
    assert_eq!((open.status, codes(&open.json())), (1, vec!["E_GATE_OPEN"]));
    server.gate("/raw/alice/secret/", "the token");
    let taken = home.json(&["store", "submit", &folder, &text(&gated)]);
    let approved = home.json(&["store", "approve", &folder, taken["submission"].as_str().unwrap()]);
    let mut expected = entry;
    expected["quality_tier"] = json!("private");
    assert_eq!(approved["entry"], expected);
}

#[test]
fn publishing_says_what_is_missing() {
    let home = TestHome::new();
    let (store, app) = (new_store(&home), new_app(&home, "tea", "@alice"));
    let server = home.serve_store(&store);
    let url = format!("http://127.0.0.1:{}", server.port());
    let failed = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        home.roost(&words).json()["error"]["reason"].as_str().unwrap_or("none").to_owned()
    };
    let path = text(&app);
    assert_eq!(failed(&["publish", &path, "--store", &url]), "token_refused");
    assert_eq!(failed(&["publish", &path, "--store", &url, "--token", "wrong"]), "token_refused");
    assert_eq!(failed(&["publish", &path, "--store", "https://github.com/a/b"]), "no_submissions");
    assert_eq!(failed(&["publish", &path, "--store", &text(&home.root())]), "store_unusable");
    let sent = home.json(&["publish", &path, "--store", &text(&store)]);
    assert_eq!(sent["publisher"], "@alice");
    fs::remove_file(app.join("README.md")).unwrap();
    let broken = home.roost(&["publish", &path, "--store", &url, "--json"]);
    assert_eq!((broken.status, codes(&broken.json())), (1, vec!["E_NO_README"]));
}

#[test]
fn the_whole_life_that_is_written_down_can_be_lived() {
    let home = TestHome::new();
    let script = repository_root().join("examples/store/whole-life.sh");
    let ran = in_shell(&home, &text(&script));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.text().contains("its workspace is still bob's"), "{ran:?}");
}
