//! `roost workspace`, with and without a running host.

use super::desk::Desk;
use roost_tests::{Ran, TestHome};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Stdio,
};

/// Files of a home, written without the verbs that are told here.
fn with_files(home: &TestHome) {
    let desk = Desk::open(home);
    desk.put("notes/a.md", "one\n");
    desk.put("notes/a.md", "one\ntwo\n");
    desk.put("b.txt", "see one\n");
}

#[track_caller]
fn text(ran: &Ran) -> &str {
    ran.text()
}

#[track_caller]
fn reason(ran: &Ran) -> (i32, String) {
    (ran.status, ran.json()["error"]["reason"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn versions_are_seen_and_brought_back_from_the_command_line() {
    let home = TestHome::new();
    with_files(&home);
    let run = |words: &[&str]| home.roost(&[&["workspace"], words].concat());
    let json = |words: &[&str]| home.json(&[&["workspace"], words].concat());
    for running in [false, true] {
        let host = running.then(|| home.up());
        let log = run(&["log", "notes/a.md"]);
        let lines: Vec<&str> = text(&log).lines().collect();
        assert!(
            lines[0].starts_with("v") && lines[0].contains(" B ") && lines[0].contains("owner"),
            "{log:?}"
        );
        assert!(lines.last().unwrap().starts_with("v1"), "{log:?}");
        assert!(text(&run(&["diff", "notes/a.md", "1", "2"])).contains("\n+two"));
        assert!(!text(&run(&["diff", "notes/a.md"])).contains('\u{1b}'));
        assert!(text(&run(&["search", "one"])).contains("b.txt:1:5: see one"));
        assert_eq!(text(&run(&["search", "nowhere"])), "Nothing was found.");
        drop(host);
    }
    assert_eq!(json(&["restore", "notes/a.md", "1"])["version"], 3);
    assert!(text(&run(&["log", "notes/a.md"])).contains("restored version 1"));
    assert_eq!(json(&["mv", "b.txt", "c.txt"])["path"], "c.txt");
    assert_eq!(json(&["undelete", "b.txt"])["version"], 3);
    let usage = run(&["usage"]);
    assert!(text(&usage).contains("of 256") && text(&usage).contains("MiB"), "{usage:?}");
    assert_eq!(json(&["usage"])["files"], 3);

    let refused = run(&["log", "none", "--json"]);
    assert_eq!(reason(&refused), (1, "unknown_file".to_owned()));
    assert!(refused.json()["error"]["next"].as_str().unwrap().contains("roost workspace ls"));
    assert_eq!(reason(&run(&["undelete", "b.txt", "--json"])), (1, "file_changed".to_owned()));
    assert_eq!(reason(&run(&["log", "../x", "--json"])), (2, "wrong_use".to_owned()));
    assert_eq!(reason(&run(&["purge", "b.txt", "--json"])), (2, "wrong_use".to_owned()));
    assert_eq!(reason(&run(&["purge", "b.txt", "--yes", "--json"])), (1, "file_changed".to_owned()));
    assert_eq!(reason(&run(&["search", "(", "--regex", "--json"])), (2, "wrong_use".to_owned()));
}

#[test]
fn a_workspace_is_carried_to_another_home() {
    let (home, other) = (TestHome::new(), TestHome::new());
    with_files(&home);
    let zip = home.outside().join("files.zip");
    let file = zip.to_str().unwrap();
    assert!(text(&home.roost(&["workspace", "export", file])).contains("files.zip"));
    let again = home.roost(&["workspace", "export", file, "--json"]);
    assert_eq!(reason(&again), (1, "already_exists".to_owned()));
    assert_eq!(home.json(&["workspace", "export", file, "--force", "--no-history"])["file"], file);
    home.roost(&["workspace", "export", file, "--force"]);

    let trial = other.roost(&["workspace", "import", file, "--dry-run"]);
    assert!(
        text(&trial).contains("new         notes/a.md") && text(&trial).contains("Nothing was changed"),
        "{trial:?}"
    );
    assert_eq!(other.json(&["workspace", "usage"])["files"], 0);
    assert_eq!(other.json(&["workspace", "import", file])["create"], json!(["b.txt", "notes/a.md"]));
    assert_eq!(other.json(&["workspace", "import", file])["same"], json!(["b.txt", "notes/a.md"]));
    other.roost(&["workspace", "restore", "notes/a.md", "1"]);
    let refused = other.roost(&["workspace", "import", file, "--json"]);
    assert_eq!(reason(&refused), (1, "file_changed".to_owned()));
    assert!(refused.json()["error"]["next"].as_str().unwrap().contains("--on-conflict"), "{refused:?}");
    assert_eq!(
        other.json(&["workspace", "import", file, "--on-conflict", "skip"])["conflict"],
        json!(["notes/a.md"])
    );
    assert_eq!(
        other.json(&["workspace", "import", file, "--on-conflict", "replace"])["replace"],
        json!(["notes/a.md"])
    );

    fs::write(&zip, b"not a zip").unwrap();
    let refused = other.roost(&["workspace", "import", file, "--json"]);
    assert_eq!(reason(&refused), (2, "wrong_use".to_owned()));
    let missing = other.roost(&["workspace", "import", "/nowhere.zip", "--json"]);
    assert_eq!(reason(&missing), (2, "wrong_use".to_owned()));
}

#[test]
fn rules_proposals_and_other_workspaces() {
    let home = TestHome::new();
    let run = |words: &[&str]| home.roost(&[&["workspace"], words].concat());
    assert!(text(&run(&["rules"])).contains("propose  IDENTITY.md*"));
    assert_eq!(text(&run(&["rules", "set", "notes/", "read"])), "notes/*: agents may read");
    assert!(text(&run(&["rules"])).contains("read     notes/*"));
    text(&run(&["rules", "unset", "notes/"]));
    assert_eq!(reason(&run(&["rules", "unset", "notes/", "--json"])), (1, "unknown_file".to_owned()));
    assert_eq!(run(&["rules", "set", "notes/", "none"]).status, 2);

    assert_eq!(text(&run(&["proposals"])), "No agent proposes anything.");
    super::rules::propose_in(&home, "IDENTITY.md", "me\n");
    let listed = home.json(&["workspace", "proposals"]);
    let id = listed["proposals"][0]["id"].to_string();
    assert!(text(&run(&["proposals", "show", &id])).contains("+me"));
    assert_eq!(text(&run(&["proposals", "approve", &id])), "IDENTITY.md is version 1");
    assert_eq!(reason(&run(&["proposals", "reject", &id, "--json"])), (1, "unknown_file".to_owned()));

    let files =
        |words: &[&str]| -> Value { home.json(&[&["workspace", "usage"], words].concat())["files"].clone() };
    assert_eq!(
        (files(&[]), files(&["--app", "demo"]), files(&["--workspace", "x"])),
        (json!(1), json!(0), json!(0))
    );
    assert_eq!(reason(&run(&["usage", "--workspace", "a/b", "--json"])), (2, "wrong_use".to_owned()));
    assert_eq!(run(&["usage", "--workspace", "a", "--app", "b"]).status, 2);
}

#[test]
fn a_host_without_workspaces_says_how_to_have_them() {
    let home = TestHome::new();
    home.settings("[workspace]\nenabled = false\n");
    let ran = home.roost(&["workspace", "usage", "--json"]);
    assert_eq!(reason(&ran), (1, "workspaces_off".to_owned()));
    assert!(ran.json()["error"]["next"].as_str().unwrap().contains("enabled = true"), "{ran:?}");
}

#[test]
fn files_are_written_listed_printed_and_removed() {
    let home = TestHome::new();
    let run = |words: &[&str]| home.roost(&[&["workspace"], words].concat());
    assert!(text(&run(&["ls"])).starts_with("The workspace is empty."));
    let put =
        |words: &[&str], input: &[u8]| home.roost_with_input(&[&["workspace", "put"], words].concat(), input);
    let first = put(&["notes/a.md", "--json"], b"one\n").json();
    assert_eq!((&first["version"], &first["contentType"]), (&json!(1), &json!("text/markdown")));
    let binary = home.write_outside("b.bin", [0, 159, 146, 150]);
    assert!(text(&run(&["put", "b.bin", binary.to_str().unwrap()])).starts_with("b.bin is version 1"));
    let etag = first["etag"].as_str().unwrap();
    assert_eq!(put(&["notes/a.md", "-", "--if-match", etag, "--json"], b"two\n").json()["version"], 2);
    let stale = put(&["notes/a.md", "-", "--if-match", etag, "--json"], b"three\n");
    assert_eq!(reason(&stale), (1, "file_changed".to_owned()));
    assert!(stale.json()["error"]["next"].as_str().unwrap().contains("newest version is 2"), "{stale:?}");

    let listed = run(&["ls"]);
    let lines: Vec<&str> = text(&listed).lines().collect();
    assert!(
        lines[0].starts_with("b.bin       v1  4 B") && lines[1].starts_with("notes/a.md  v2  4 B"),
        "{listed:?}"
    );
    let rows = home.json(&["workspace", "ls", "notes/"]);
    assert_eq!((rows["files"].as_array().unwrap().len(), &rows["files"][0]["bytes"]), (1, &json!(4)));
    assert_eq!(run(&["cat", "notes/a.md"]).stdout, "two\n");
    assert_eq!(run(&["cat", "notes/a.md", "--version", "1"]).stdout, "one\n");
    assert_eq!(home.json(&["workspace", "cat", "notes/a.md"])["content"], "two\n");
    assert_eq!(home.json(&["workspace", "cat", "b.bin"])["encoding"], "base64");
    let raw = home.command(&["workspace", "cat", "b.bin"]).output().unwrap();
    assert_eq!(raw.stdout, [0, 159, 146, 150]);
    assert!(text(&run(&["rm", "notes/a.md"])).contains("undelete notes/a.md"));
    assert_eq!(reason(&run(&["cat", "notes/a.md", "--json"])), (1, "unknown_file".to_owned()));
    assert_eq!(reason(&run(&["rm", "notes/a.md", "--json"])), (1, "unknown_file".to_owned()));
    assert_eq!(reason(&put(&["../a", "--json"], b"")), (2, "wrong_use".to_owned()));
    let app = put(&["a", "--app", "demo", "--json"], b"x");
    assert_eq!(app.json()["version"], 1);
    assert_eq!(home.json(&["workspace", "ls"])["files"].as_array().unwrap().len(), 1);
    assert_eq!(home.json(&["workspace", "ls", "--app", "demo"])["files"][0]["path"], "a");
}

#[test]
fn changes_are_seen_as_they_happen() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("before", "x");
    let mut command = home.command(&["workspace", "watch"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = command.spawn().unwrap();
    let mut notes = BufReader::new(watch.stderr.take().unwrap()).lines();
    assert!(notes.next().unwrap().unwrap().contains("Waiting"));
    desk.put("after.md", "x");
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.ends_with("after.md  v1"), "{line}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}
