//! Where something stands, over HTTP.

use super::desk::{Desk, refused};
use roost_tests::TestHome;
use serde_json::json;

#[test]
fn lines_are_found_literally_and_by_pattern() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    desk.put("a.md", "first line\nSecond (line)\n");
    desk.put("notes/b.md", "another line\n");
    desk.put("gone.md", "line\n");
    desk.remove("gone.md");
    let binary = json!({ "op": "put", "path": "c.bin", "content": "/2xpbmU=", "encoding": "base64" });
    desk.post("batch", &json!({ "operations": [binary] }));
    let (status, found) = desk.get("search?q=line");
    assert_eq!(status, 200);
    let files: Vec<&str> =
        found["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!((files, &found["truncated"]), (vec!["a.md", "notes/b.md"], &json!(false)));
    let place = json!([{ "line": 2, "column": 8, "text": "Second (line)" }]);
    assert_eq!(desk.get("search?q=(line)").1["files"][0]["matches"], place);
    let count = |what: &str| {
        let (status, found) = desk.get(what);
        assert_eq!(status, 200, "{found}");
        found["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["matches"].as_array().unwrap().len())
            .sum::<usize>()
    };
    assert_eq!(count("search?q=second"), 0);
    assert_eq!(count("search?q=second&ignoreCase=true"), 1);
    assert_eq!(count("search?q=%5Esecond%7C%5Eanother&regex=true&ignoreCase=true"), 2);
    assert_eq!(count("search?q=%5ESec&regex=true"), 1);
    assert_eq!(count("search?q=%5ESec"), 0);
    assert_eq!(count("search?q=line&prefix=notes/"), 1);
    assert_eq!(count("search?q=line&prefix=%25"), 0);
    assert_eq!(
        (count("search?q=line&limit=1"), &desk.get("search?q=line&limit=1").1["truncated"]),
        (1, &json!(true))
    );
    for what in [
        "search",
        "search?q=",
        "search?q=a%0Ab",
        "search?q=(&regex=true",
        "search?q=a&regex=yes",
        "search?q=a&limit=0",
        "search?q=a&limit=1001",
        "search?q=a&other=1",
        "search?q=(%3F%3Da)&regex=true",
        "search?q=a%7B1000%7D%7B1000%7D&regex=true",
    ] {
        assert_eq!(refused(&desk.get(what)), (400, "validation_error".to_owned()), "{what}");
    }
}

#[test]
fn how_full_a_workspace_is() {
    let home = TestHome::new();
    home.settings("[workspace]\nfiles_max = 2\nversions_max = 3\n");
    let desk = Desk::open(&home);
    desk.put("a", "12345");
    desk.put("a", "123");
    let (_, usage) = desk.get("usage");
    let expected = json!({
        "files": 1, "bytes": 3, "historyBytes": 8, "versions": 2, "revision": 2,
        "limits": { "maxFiles": 2, "maxFileBytes": 1 << 20, "maxVersions": 3, "maxWorkspaceBytes": 256 << 20 },
    });
    assert_eq!(usage, expected);
    let operations: Vec<_> =
        ["b", "c"].iter().map(|path| json!({ "op": "put", "path": path, "content": "" })).collect();
    let full = desk.post("batch", &json!({ "operations": operations }));
    assert_eq!(refused(&full), (413, "workspace_too_large".to_owned()));
    let details = json!({ "limit": "maxFiles", "maxFiles": 2, "providedFiles": 3, "index": 1 });
    assert_eq!(full.1["details"], details);
    assert_eq!(desk.get("usage").1, expected);
}
