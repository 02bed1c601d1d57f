//! Sources: agents from a repository or a folder, pinned to what was brought, and nothing left of what did not work.

use roost_tests::{Answer, RunningHost, TestHome, find_on_path, python_agent};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// A real repository beside the home.
struct Repository {
    path: PathBuf,
}

impl Repository {
    fn new(home: &TestHome, name: &str) -> Self {
        let repository = Self { path: home.outside().join(name) };
        fs::create_dir_all(&repository.path).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    #[expect(clippy::disallowed_methods, reason = "a story makes its own repositories")]
    fn git(&self, words: &[&str]) -> String {
        let git = find_on_path("git").expect("git is needed for sources");
        let mut command = Command::new(git);
        command.current_dir(&self.path).args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Commits everything; says which commit that is.
    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }
}

fn says(name: &str, text: &str) -> String {
    python_agent(name, &format!("return '{text}'"))
}

fn add(host: &RunningHost, body: &Value) -> Value {
    let answer = host.post("/repos", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[track_caller]
fn failed(answer: &Answer, status: u16, reason: &str) {
    assert_eq!((answer.status, &answer.json()["reason"]), (status, &json!(reason)), "{answer:?}");
}

/// Nothing of a source is there, not even what was being made.
#[track_caller]
fn nothing_is_left(home: &TestHome, host: &RunningHost) {
    assert_eq!(host.get("/repos").json(), json!({ "repos": [] }));
    let left: Vec<_> = fs::read_dir(home.root().join("sources")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_repository_brings_its_agents_and_a_sync_what_changed() {
    let home = TestHome::new();
    let repository = Repository::new(&home, "Some Agents".replace(' ', "_").as_str());
    repository.write("tea_agent.py", says("Tea", "green"));
    repository.write("gone_agent.py", says("Gone", "soon"));
    repository.write("README.md", "not an agent");
    repository.write("deep/other_agent.py", says("Other", "x"));
    let first = repository.commit();
    let host = home.up();
    let added = add(&host, &json!({ "url": repository.url() }));
    let id = added["repo"]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("some-agents-"), "{id}");
    assert_eq!(added["repo"]["commit"], first.as_str());
    assert_eq!(added["added"], json!(["gone_agent.py", "tea_agent.py"]));
    assert_eq!(added["repo"]["agents"], json!(["Gone", "Tea"]));
    assert_eq!(host.output("Tea", &json!({})), "green");
    let listing = host.listing();
    let tea = listing.iter().find(|agent| agent["name"] == "Tea").unwrap();
    assert_eq!((&tea["source"], &tea["file"]), (&json!(id), &json!("tea_agent.py")));

    repository.write("tea_agent.py", says("Tea", "black"));
    repository.write("new_agent.py", says("New", "here"));
    fs::remove_file(repository.path.join("gone_agent.py")).unwrap();
    let second = repository.commit();
    assert_eq!(host.output("Tea", &json!({})), "green", "nothing comes by itself");
    let synced = host.post(&format!("/repos/{id}/sync"), &json!({})).json();
    assert_eq!((&synced["commit_before"], &synced["repo"]["commit"]), (&json!(first), &json!(second)));
    assert_eq!((&synced["added"], &synced["changed"]), (&json!(["new_agent.py"]), &json!(["tea_agent.py"])));
    assert_eq!(synced["removed"], json!(["gone_agent.py"]));
    assert_eq!(host.output("Tea", &json!({})), "black");
    assert_eq!(host.failure("Gone", &json!({})), "unknown_agent");
    let again = host.post(&format!("/repos/{id}/sync"), &json!({})).json();
    assert_eq!((&again["added"], &again["changed"], &again["removed"]), (&json!([]), &json!([]), &json!([])));

    drop(host);
    let host = home.up();
    assert_eq!(host.output("New", &json!({})), "here", "a source stays connected");
    failed(&host.post("/repos", &json!({ "url": repository.url() })), 409, "already_exists");
    assert_eq!(host.send("DELETE", &format!("/repos/{id}"), &[], b"").json(), json!({ "removed": id }));
    assert_eq!(host.failure("Tea", &json!({})), "unknown_agent");
    nothing_is_left(&home, &host);
}

#[test]
fn a_ref_and_a_folder_say_what_is_brought() {
    let home = TestHome::new();
    let repository = Repository::new(&home, "agents");
    repository.write("py/one_agent.py", says("One", "first"));
    let first = repository.commit();
    repository.git(&["tag", "v1"]);
    repository.write("py/one_agent.py", says("One", "second"));
    repository.commit();
    let host = home.up();
    failed(&host.post("/repos", &json!({ "url": repository.url() })), 422, "source_unavailable");
    failed(
        &host.post("/repos", &json!({ "url": repository.url(), "folder": "no" })),
        422,
        "source_unavailable",
    );
    failed(&host.post("/repos", &json!({ "url": repository.url(), "ref": "no" })), 422, "source_unavailable");
    nothing_is_left(&home, &host);
    let by_tag = add(&host, &json!({ "url": repository.url(), "ref": "v1", "folder": "py" }));
    assert_eq!((&by_tag["repo"]["commit"], &by_tag["repo"]["ref"]), (&json!(first), &json!("v1")));
    assert_eq!(host.output("One", &json!({})), "first");
    // The same name from elsewhere is shadowed, and the first keeps it.
    let by_branch = add(&host, &json!({ "url": repository.url(), "ref": "main", "folder": "py" }));
    let shadowed = host.listing().into_iter().filter(|agent| agent["state"] == "shadowed").count();
    assert_eq!(shadowed, 1);
    // A tag that moves is followed on request only, and is said.
    repository.git(&["tag", "--force", "v1"]);
    let id = by_tag["repo"]["id"].as_str().unwrap();
    let moved = host.post(&format!("/repos/{id}/sync"), &json!({})).json();
    assert_eq!(moved["changed"], json!(["one_agent.py"]));
    assert_eq!(moved["repo"]["commit"], by_branch["repo"]["commit"]);
    assert_eq!(moved["commit_before"], json!(first));
}

#[test]
fn own_agents_win_and_a_source_shares_no_folder_and_no_setting_with_them() {
    let home = TestHome::new().with_variable("OWN_KEY", "mine");
    home.settings("[agents.\"tea_agent.py\"]\nenv = [\"OWN_KEY\"]\n");
    let repository = Repository::new(&home, "agents");
    let look = "from utils.workspace import workspace_dir\n\
                return f\"{os.environ.get('OWN_KEY')} {os.path.basename(workspace_dir())}\"";
    repository.write("tea_agent.py", python_agent("Foreign", look));
    repository.write("clash_agent.py", says("Own", "of the source"));
    repository.commit();
    home.write("tea_agent.py", python_agent("Tea", look));
    home.write("own_agent.py", says("Own", "of the home"));
    let host = home.up();
    let id = add(&host, &json!({ "url": repository.url() }))["repo"]["id"].as_str().unwrap().to_owned();
    assert_eq!(host.output("Own", &json!({})), "of the home");
    assert_eq!(host.output("Tea", &json!({})), "mine tea_agent");
    assert_eq!(host.output("Foreign", &json!({})), format!("None tea_agent.{id}"));
    let shadowed = host.listing().into_iter().find(|agent| agent["state"] == "shadowed").unwrap();
    assert_eq!((&shadowed["name"], &shadowed["source"]), (&json!("Own"), &json!(id)));
    let rights = home.json(&["rights", "Foreign"]);
    assert_eq!(rights["origin"], "catalog", "{rights}");
    assert_eq!(rights["app"], format!("{id}/tea_agent.py"));
    assert_eq!(home.json(&["rights", &format!("{id}/tea_agent.py")])["app"], rights["app"]);
}

#[test]
fn new_content_of_a_source_has_to_be_granted_its_rights_again() {
    let home = TestHome::new().with_variable("TEA_KEY", "secret");
    let repository = Repository::new(&home, "agents");
    let look =
        |word: &str| python_agent("Tea", &format!("return '{word} ' + os.environ.get('TEA_KEY', 'nothing')"));
    repository.write("tea_agent.py", look("first"));
    repository.commit();
    let host = home.up();
    let id = add(&host, &json!({ "url": repository.url() }))["repo"]["id"].as_str().unwrap().to_owned();
    assert_eq!(host.output("Tea", &json!({})), "first nothing");
    for lasting in [&["grant", "Tea", "env:TEA_KEY"][..], &["grant", "Tea", "env:TEA_KEY", "--always"]] {
        let granted = home.roost(lasting);
        assert_eq!(granted.status, 0, "{granted:?}");
    }
    assert_eq!(host.output("Tea", &json!({})), "first secret");
    repository.write("tea_agent.py", look("second"));
    repository.commit();
    assert_eq!(host.post(&format!("/repos/{id}/sync"), &json!({})).status, 200);
    assert_eq!(host.output("Tea", &json!({})), "second nothing");
}

#[test]
fn what_was_brought_is_what_runs() {
    let home = TestHome::new();
    let repository = Repository::new(&home, "agents");
    repository.write("tea_agent.py", says("Tea", "green"));
    repository.write("cup_agent.py", says("Cup", "full"));
    repository.commit();
    let host = home.up();
    let id = add(&host, &json!({ "url": repository.url() }))["repo"]["id"].as_str().unwrap().to_owned();
    let folder = home.root().join("sources").join(&id);
    let state = |file: &str| {
        let agent = host.listing().into_iter().find(|agent| agent["file"] == file && agent["source"] == id);
        let agent = agent.unwrap_or_else(|| panic!("{file} is not listed"));
        format!("{} {}", agent["state"].as_str().unwrap(), agent["reason"]["reason"].as_str().unwrap_or("-"))
    };
    assert_eq!(state("tea_agent.py"), "ready -");
    fs::write(folder.join("tea_agent.py"), says("Tea", "poisoned")).unwrap();
    assert_eq!(state("tea_agent.py"), "failed digest_mismatch");
    assert_ne!(host.call("Tea", &json!({})).json()["output"], "poisoned");
    fs::write(folder.join("extra_agent.py"), says("Extra", "poisoned")).unwrap();
    assert_eq!(state("extra_agent.py"), "failed digest_mismatch");
    assert_eq!(host.failure("extra_agent", &json!({})), "digest_mismatch");
    assert_eq!(host.failure("Extra", &json!({})), "unknown_agent", "it was never loaded");
    fs::remove_file(folder.join("cup_agent.py")).unwrap();
    assert_eq!(state("cup_agent.py"), "failed digest_mismatch");
    symlink(repository.path.join("cup_agent.py"), folder.join("cup_agent.py")).unwrap();
    assert_eq!(state("cup_agent.py"), "failed digest_mismatch");
    let listed = host.get("/repos").json();
    assert_eq!(
        (&listed["repos"][0]["state"], &listed["repos"][0]["reason"]["reason"]),
        (&json!("failed"), &json!("digest_mismatch"))
    );
    assert_eq!(host.post(&format!("/repos/{id}/sync"), &json!({})).status, 200);
    assert_eq!((state("tea_agent.py"), state("cup_agent.py")), ("ready -".to_owned(), "ready -".to_owned()));
    assert_eq!(host.output("Tea", &json!({})), "green");
    assert!(!folder.join("extra_agent.py").exists());
}

#[test]
fn nothing_of_a_repository_runs_or_leads_out_while_it_is_brought() {
    let home = TestHome::new();
    let repository = Repository::new(&home, "agents");
    let mark = home.outside().join("ran");
    let touch = format!("#!/bin/sh\ntouch {}\n", mark.display());
    repository.write("ok_agent.py", says("Ok", "fine").replace('\n', "\r\n"));
    repository.write(".gitattributes", "*.py text eol=lf filter=evil\n*_agent.py ident\n");
    repository.write("secret.txt", "not for agents");
    symlink("/etc/passwd", repository.path.join("passwd_agent.py")).unwrap();
    symlink("secret.txt", repository.path.join("near_agent.py")).unwrap();
    repository.write("huge_agent.py", vec![b'#'; (1 << 20) + 1]);
    repository.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% ran\n");
    repository.git(&["config", "filter.evil.smudge", &format!("touch {}; cat", mark.display())]);
    repository.git(&["add", "--all"]);
    repository.git(&["-c", "filter.evil.clean=cat", "commit", "--quiet", "--message=x"]);
    for hook in ["post-checkout", "post-merge", "reference-transaction", "pre-auto-gc"] {
        repository.write(&format!(".git/hooks/{hook}"), &touch);
    }
    let host = home.up();
    let added = add(&host, &json!({ "url": repository.url() }));
    assert_eq!(added["repo"]["files"], json!(["ok_agent.py"]));
    assert!(!mark.exists());
    let brought = home.root().join("sources").join(added["repo"]["id"].as_str().unwrap()).join("ok_agent.py");
    let stored = repository.git(&["cat-file", "-s", "HEAD:ok_agent.py"]);
    assert_eq!(fs::metadata(brought).unwrap().len().to_string(), stored, "the bytes are the repository's");
}

#[test]
fn addresses_that_are_none_are_refused_and_nothing_is_left() {
    let home = TestHome::new();
    let host = home.up();
    let mark = home.outside().join("ran");
    for url in [
        format!("ext::sh -c touch% {}", mark.display()),
        format!("--upload-pack=touch {}", mark.display()),
        "http://127.0.0.1/x".to_owned(),
        "https://user:word@127.0.0.1/x".to_owned(),
        "ssh://-oProxyCommand=x/y".to_owned(),
        "relative".to_owned(),
        home.agents().display().to_string(),
        String::new(),
    ] {
        failed(&host.post("/repos", &json!({ "url": url })), 400, "bad_request");
    }
    for body in [
        json!({}),
        json!({ "url": 1 }),
        json!({ "url": "file:///x", "other": 1 }),
        json!({ "url": "file:///x", "ref": "--upload-pack=x" }),
        json!({ "url": "file:///x", "ref": "a..b" }),
        json!({ "url": "file:///x", "folder": "../.." }),
        json!([]),
    ] {
        failed(&host.post("/repos", &body), 400, "bad_request");
    }
    let nowhere = format!("file://{}", home.outside().join("nowhere").display());
    failed(&host.post("/repos", &json!({ "url": nowhere })), 422, "source_unavailable");
    failed(&host.post("/repos", &json!({ "url": "/nowhere/at/all" })), 422, "source_unavailable");
    failed(&host.post("/repos/none-1/sync", &json!({})), 404, "unknown_source");
    failed(&host.send("DELETE", "/repos/none-1", &[], b""), 404, "unknown_source");
    failed(&host.send("DELETE", "/repos/..%2Fagents", &[], b""), 404, "unknown_source");
    failed(&host.send("PUT", "/repos", &[], b""), 405, "method_not_allowed");
    let foreign = [("Origin", "https://evil.example")];
    failed(&host.send("POST", "/repos", &foreign, br#"{"url": "/srv"}"#), 403, "foreign_origin");
    assert!(!mark.exists() && home.agents().is_dir());
    nothing_is_left(&home, &host);
}

#[test]
fn a_folder_is_a_source_too_and_the_command_line_knows_all_of_it() {
    let home = TestHome::new();
    let folder = home.outside().join("shelf");
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("tea_agent.py", &says("Tea", "green"));
    symlink("tea_agent.py", folder.join("link_agent.py")).unwrap();
    let path = folder.display().to_string();
    // Without a running host, and then with one.
    let added = home.json(&["repos", "add", &path]);
    let id = added["repo"]["id"].as_str().unwrap_or_else(|| panic!("{added}")).to_owned();
    assert_eq!((&added["repo"]["kind"], &added["repo"]["commit"]), (&json!("folder"), &Value::Null));
    assert_eq!(added["added"], json!(["tea_agent.py"]));
    assert_eq!(home.roost(&["call", "Tea"]).text(), "green");
    let host = home.up();
    write("tea_agent.py", &says("Tea", "black"));
    assert_eq!(host.output("Tea", &json!({})), "green");
    let synced = home.roost(&["repos", "sync", &id]);
    assert!(synced.text().contains("changed: tea_agent.py"), "{synced:?}");
    assert_eq!(host.output("Tea", &json!({})), "black");
    assert!(home.roost(&["repos"]).text().contains(&id));
    assert_eq!(home.json(&["repos", "list"])["repos"][0]["url"], json!(path));
    assert_eq!(home.roost(&["repos", "sync", "none-1"]).status, 1);
    assert_eq!(home.roost(&["repos", "add", &path]).status, 1);
    assert!(home.roost(&["repos", "remove", &id]).text().contains("removed"));
    nothing_is_left(&home, &host);
    assert!(Path::new(&path).join("tea_agent.py").exists(), "the folder itself is the person's");
}
