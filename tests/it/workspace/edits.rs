//! Single lines and other names, over HTTP.

use super::desk::{Desk, refused};
use roost_tests::TestHome;
use serde_json::json;

#[test]
fn lines_are_changed_in_the_version_that_was_seen() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    let first = desk.put("a.md", "one\ntwo\nthree\n");
    let etag = first["etag"].as_str().unwrap();
    let edits = json!({ "path": "a.md", "edits": [
        { "op": "replace", "old": "two", "new": "2" },
        { "op": "insert", "line": 0, "text": "zero" },
        { "op": "delete", "from": 4, "to": 4 },
        { "op": "append", "text": "end" },
    ]});
    let (status, answer) = desk.post("edit", &edits);
    assert_eq!((status, &answer["details"]["field"]), (400, &json!("If-Match")), "{answer}");
    let (status, second) = desk.post_if("edit", &edits, &[("If-Match", etag)]);
    assert_eq!((status, &second["version"]), (200, &json!(2)), "{second}");
    let (_, found) = desk.get("search?q=.&regex=true");
    let lines: Vec<&str> = found["files"][0]["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(lines, ["zero", "one", "2", "end"]);

    let stale = desk.post_if("edit", &edits, &[("If-Match", etag)]);
    assert_eq!((refused(&stale).0, &stale.1["details"]["currentVersion"]), (409, &json!(2)));
    let append = json!({ "path": "a.md", "edits": [{ "op": "append", "text": "more" }] });
    assert_eq!(desk.post_if("edit", &append, &[("If-Match", "*")]).1["version"], 3);
    let absent = json!({ "path": "b.md", "edits": [{ "op": "append", "text": "more" }] });
    assert_eq!(refused(&desk.post_if("edit", &absent, &[("If-Match", "*")])).0, 404);
    for edits in [
        json!([]),
        json!([{ "op": "replace", "old": "nowhere", "new": "" }]),
        json!([{ "op": "insert", "line": 99, "text": "" }]),
        json!([{ "op": "unknown" }]),
        json!([{ "op": "append", "text": "a", "more": 1 }]),
        json!([["append", "a"]]),
        json!([{ "op": "delete", "from": 2, "to": 1 }]),
        json!(null),
        json!({}),
    ] {
        let answer = desk.post_if("edit", &json!({ "path": "a.md", "edits": edits }), &[("If-Match", "*")]);
        assert_eq!(refused(&answer), (400, "validation_error".to_owned()), "{edits}");
    }
    assert_eq!(desk.get("history?path=a.md").1["versions"].as_array().unwrap().len(), 3);
}

#[test]
fn a_file_moves_in_one_step_to_a_name_that_is_free() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    let first = desk.put("a.md", "one");
    desk.put("taken", "x");
    let to = |from: &str, to: &str| json!({ "from": from, "to": to });
    let taken = desk.post("move", &to("a.md", "taken"));
    assert_eq!((refused(&taken).0, &taken.1["details"]["currentVersion"]), (409, &json!(1)));
    assert_eq!(refused(&desk.post_if("move", &to("a.md", "b.md"), &[("If-Match", "\"x\"")])).0, 409);
    for (from, name) in [("a.md", "a.md"), ("a.md", "../b"), ("a.md", ""), ("a.md", "a b"), ("", "b")] {
        assert_eq!(refused(&desk.post("move", &to(from, name))).0, 400, "{from} {name}");
    }
    assert_eq!(refused(&desk.post("move", &to("none", "b"))).0, 404);
    assert_eq!(desk.get("usage").1["revision"], 2, "nothing changed so far");
    let etag = first["etag"].as_str().unwrap();
    let (status, moved) = desk.post_if("move", &to("a.md", "b.md"), &[("If-Match", etag)]);
    assert_eq!((status, &moved["path"], &moved["version"]), (200, &json!("b.md"), &json!(1)), "{moved}");
    let (_, history) = desk.get("history?path=a.md");
    assert_eq!(history["versions"][0]["removed"], true);
    assert_eq!(desk.get("history?path=b.md").1["versions"][0]["author"]["reason"], "moved from a.md");
}
