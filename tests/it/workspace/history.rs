//! Versions of a file over HTTP: seen, compared, brought back, forgotten, and only by whom they belong to.

use super::desk::{Desk, refused};
use roost_tests::TestHome;
use serde_json::json;

#[test]
fn a_file_can_be_followed_and_brought_back() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("notes/a.md", "one\n");
    let second = desk.put("notes/a.md", "one\ntwo\n");
    let (status, history) = desk.get("history?path=notes%2Fa.md");
    assert_eq!((status, &history["path"]), (200, &json!("notes/a.md")));
    let newest = &history["versions"][0];
    assert_eq!(
        (&newest["version"], &newest["removed"], &newest["bytes"]),
        (&json!(2), &json!(false), &json!(8))
    );
    let author = json!({ "principal": "owner", "run": null, "node": null, "reason": null });
    assert_eq!((&newest["author"], &newest["contentType"]), (&author, &json!("text/markdown")));
    assert_eq!(newest["sha256"], roost_protocol::Digest::of(b"one\ntwo\n").to_string());
    assert!(
        newest["updatedAt"].as_str().is_some_and(|time| time.len() == 24 && time.ends_with('Z')),
        "{newest}"
    );

    let (_, diff) = desk.get("diff?path=notes/a.md&from=1&to=2");
    assert_eq!(diff["diff"], "unified");
    assert!(diff["text"].as_str().unwrap().contains("\n+two\n"), "{diff}");
    assert_eq!(desk.get("diff?path=notes/a.md&from=2").1, json!({ "diff": "same" }));

    let back = json!({ "path": "notes/a.md", "version": 1 });
    let stale = desk.post_if("restore", &back, &[("If-Match", "\"stale\"")]);
    assert_eq!(
        (refused(&stale).1.as_str(), &stale.1["details"]),
        ("workspace_conflict", &json!({ "currentVersion": 2 }))
    );
    let etag = second["etag"].as_str().unwrap();
    let restored = desk.send("POST", "restore", &[("If-Match", etag)], back.to_string().as_bytes());
    assert_eq!((restored.status, &restored.json()["version"]), (200, &json!(3)));
    assert_eq!(restored.header("etag"), restored.json()["etag"].as_str());
    let (_, history) = desk.get("history?path=notes/a.md");
    assert_eq!(history["versions"][0]["author"]["reason"], "restored version 1");

    let undelete = json!({ "path": "notes/a.md" });
    assert_eq!(refused(&desk.post("undelete", &undelete)), (409, "workspace_conflict".to_owned()));
    desk.remove("notes/a.md");
    let (status, back) = desk.post("undelete", &undelete);
    assert_eq!((status, &back["version"]), (200, &json!(5)));
    assert_eq!(desk.get("diff?path=notes/a.md&from=3&to=5").1, json!({ "diff": "same" }));

    let purge = json!({ "path": "notes/a.md" });
    assert_eq!(refused(&desk.post("purge", &purge)), (409, "workspace_conflict".to_owned()));
    desk.remove("notes/a.md");
    assert_eq!(desk.post("purge", &purge), (200, json!({ "path": "notes/a.md", "versionsPurged": 6 })));
    assert_eq!(refused(&desk.get("history?path=notes/a.md")), (404, "not_found".to_owned()));
    assert_eq!(refused(&desk.post("purge", &purge)), (404, "not_found".to_owned()));
    assert_eq!(desk.put("notes/a.md", "new")["version"], 1);
}

#[test]
fn what_cannot_be_meant_is_refused_and_changes_nothing() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("a", "one");
    for what in [
        "history",
        "history?path=",
        "history?path=..%2Fa",
        "history?path=a&path=a",
        "history?path=a&more=1",
        "history?path=%zz",
        "history?path=a%00",
        "diff?path=a",
        "diff?path=a&from=0",
        "diff?path=a&from=-1",
        "diff?path=a&from=x",
        "diff?path=a&from=9223372036854775808",
        "diff?path=a&from=1&to=0",
    ] {
        assert_eq!(refused(&desk.get(what)), (400, "validation_error".to_owned()), "{what}");
    }
    for what in ["history?path=b", "diff?path=a&from=2", "diff?path=a&from=1&to=9", "diff?path=b&from=1"] {
        assert_eq!(refused(&desk.get(what)), (404, "not_found".to_owned()), "{what}");
    }
    for body in [
        "",
        "null",
        "[]",
        "{}",
        "\"a\"",
        r#"["a", 1]"#,
        r#"{"path": "a"}"#,
        r#"{"path": "a", "version": "1"}"#,
        r#"{"path": "a", "version": 0}"#,
        r#"{"path": "a", "version": -1}"#,
        r#"{"path": "a", "version": 1.5}"#,
        r#"{"path": "a", "version": 1, "version": 1}"#,
        r#"{"path": "a", "version": 1, "secret-word": 1}"#,
        r#"{"path": "../secret-word", "version": 1}"#,
        r#"{"path": "\ud800", "version": 1}"#,
        r#"{"path": null, "version": 1}"#,
        r#"{"path": "a", "version": 18446744073709551616}"#,
    ] {
        let answer = desk.send("POST", "restore", &[], body.as_bytes());
        let refusal = (answer.status, answer.json());
        assert_eq!(refused(&refusal), (400, "validation_error".to_owned()), "{body}");
        assert!(!answer.body.contains("secret-word"), "{answer:?}");
    }
    let unknown = desk.post("restore", &json!({ "path": "a", "version": 7 }));
    assert_eq!(refused(&unknown), (404, "not_found".to_owned()));
    assert_eq!(refused(&desk.post("undelete", &json!({ "path": "b" }))), (404, "not_found".to_owned()));
    let (_, history) = desk.get("history?path=a");
    assert_eq!(history["versions"].as_array().unwrap().len(), 1);
}

#[test]
fn nobody_without_the_token_and_no_page_learns_anything() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("a", "one");
    let stranger = Desk { token: "roost_00".to_owned(), ..desk };
    for (method, what) in [
        ("GET", "history?path=a"),
        ("GET", "diff?path=a&from=1"),
        ("POST", "restore"),
        ("POST", "undelete"),
        ("POST", "purge"),
        ("GET", "search?q=one"),
        ("GET", "usage"),
        ("POST", "batch"),
        ("POST", "move"),
        ("POST", "edit"),
        ("GET", "export"),
        ("POST", "import"),
        ("GET", "rules"),
        ("PUT", "rules"),
        ("DELETE", "rules?prefix=a"),
        ("GET", "proposals"),
        ("GET", "proposals/1"),
        ("POST", "proposals/1/approve"),
        ("POST", "proposals/1/reject"),
    ] {
        let answer = stranger.send(method, what, &[], b"{}");
        assert_eq!(
            refused(&(answer.status, answer.json())),
            (401, "unauthenticated".to_owned()),
            "{method} {what}"
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[test]
fn only_the_owner_of_the_host_chooses_a_workspace() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("a", "default");
    let other = Desk { workspace: Some("app.demo".to_owned()), ..desk };
    assert_eq!(other.get("usage").1["files"], 0);
    other.put("b", "other");
    let bad = Desk { workspace: Some("a/b".to_owned()), ..other };
    let (status, refusal) = bad.get("usage");
    assert_eq!((status, &refusal["details"]["field"]), (400, &json!("Roost-Workspace")));
    let desk = Desk { workspace: None, ..bad };
    let files = |desk: &Desk| desk.get("usage?perFile=true").1["perFile"].clone();
    assert_eq!(files(&desk), json!([{ "path": "a", "bytes": 7 }]));
    let twice = [("Roost-Workspace", "app.demo"), ("Roost-Workspace", "default")];
    let answer = desk.send("GET", "usage", &twice, b"");
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"], "validation_error");
}
