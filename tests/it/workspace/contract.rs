//! The four operations of the contract, on both engines.

use super::asking::{Asking, FILES, check};
use roost_tests::{ENGINES, TestHome, home_on};
use serde_json::{Value, json};

#[test]
fn what_is_offered_is_said_to_everybody() {
    let home = TestHome::new();
    let host = home.up();
    let answer = host.get("/.well-known/openwop");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("public, max-age=300"));
    let said = answer.json();
    assert!(said["protocolVersion"].is_string() && said["supportedEnvelopes"].is_array(), "{said}");
    assert!(said["schemaVersions"].is_object(), "{said}");
    for limit in ["clarificationRounds", "schemaRounds", "envelopesPerTurn"] {
        assert!(said["limits"][limit].as_i64().is_some_and(|limit| limit >= 0), "{said}");
    }
    let block = json!({
        "supported": true, "versioned": true, "maxFileBytes": 1_048_576, "maxFiles": 256, "maxVersions": 20
    });
    assert_eq!((&said["workspace"], &said["capabilities"]["workspace"]), (&block, &block));
    let tag = answer.header("etag").unwrap();
    let again = host.send("GET", "/.well-known/openwop", &[("If-None-Match", tag)], b"");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[track_caller]
fn check_file(file: &Value, path: &str, content: Option<&str>, version: i64) {
    let mut keys: Vec<&str> = file.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut expected = vec!["contentType", "etag", "path", "updatedAt", "version"];
    if content.is_some() {
        expected.insert(0, "content");
        expected.sort_unstable();
    }
    assert_eq!(keys, expected, "{file}");
    assert_eq!((&file["path"], &file["version"]), (&json!(path), &json!(version)), "{file}");
    assert_eq!(file["content"].as_str(), content, "{file}");
    let time = file["updatedAt"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[19] == b'.', "{file}");
    let etag = file["etag"].as_str().unwrap();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "{file}");
}

#[test]
fn a_file_is_written_read_listed_and_removed_and_its_versions_go_on() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let made = asking.put("behavior%2FCRUD.md", "one\r\n\u{2028} \t", &[]);
        assert_eq!(made.status, 200, "{made:?}");
        check_file(&made.json(), "behavior/CRUD.md", Some("one\r\n\u{2028} \t"), 1);
        assert_eq!(made.header("etag"), made.json()["etag"].as_str());
        assert_eq!(made.json()["contentType"], "text/markdown");
        let got = asking.get("behavior/CRUD.md");
        assert_eq!((got.status, &got.json()), (200, &made.json()));
        assert_eq!(got.header("etag"), made.header("etag"));
        let again = asking.put("behavior/CRUD.md", "one\r\n\u{2028} \t", &[]).json();
        check_file(&again, "behavior/CRUD.md", Some("one\r\n\u{2028} \t"), 2);
        assert_ne!(again["etag"], made.json()["etag"], "identical content is another version");
        let list = asking.list("");
        assert_eq!(list.header("roost-revision"), Some("2"));
        check_file(&list.json()["files"][0], "behavior/CRUD.md", None, 2);

        let gone = asking.delete("behavior%2fCRUD.md", &[]);
        assert_eq!((gone.status, gone.body.as_str()), (204, ""));
        check(&asking.get("behavior/CRUD.md"), 404, "not_found");
        check(&asking.delete("behavior/CRUD.md", &[]), 404, "not_found");
        assert_eq!(asking.names(""), Vec::<String>::new());
        let back = asking.put("behavior/CRUD.md", "", &[]).json();
        check_file(&back, "behavior/CRUD.md", Some(""), 4);
        for (version, status) in [(1, 200), (2, 200), (3, 404), (4, 200), (5, 404), (i64::MAX, 404)] {
            let answer = asking.get(&format!("behavior%2FCRUD.md?version={version}"));
            assert_eq!(answer.status, status, "{version} {engine:?}: {answer:?}");
        }
        assert_eq!(asking.get("behavior%2FCRUD.md?version=1").json(), made.json());
        for version in ["0", "-1", "", "x", "1.5", "9223372036854775808", "1&version=2", "%31%zz"] {
            let answer = asking.get(&format!("behavior/CRUD.md?version={version}"));
            check(&answer, 400, "validation_error");
        }

        assert_eq!(host.terminate(), 0);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        assert_eq!(asking.get("behavior/CRUD.md").json(), back, "a restart keeps everything");
        assert_eq!(asking.get("behavior/CRUD.md?version=1").json(), made.json());
    }
}

#[test]
fn a_list_goes_by_the_bytes_of_its_prefix() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        for path in ["b", "a_c", "a.c", "abc", "a/c", "A", "a", "a-c", "a0"] {
            assert_eq!(asking.put(path, "x", &[]).status, 200);
        }
        let all = ["A", "a", "a-c", "a.c", "a/c", "a0", "a_c", "abc", "b"];
        assert_eq!(asking.names(""), all, "{engine:?}");
        assert_eq!(asking.names("?prefix="), all);
        for (prefix, found) in [
            ("a_", vec!["a_c"]),
            ("a.", vec!["a.c"]),
            ("a%25", vec![]),
            ("a*", vec![]),
            ("A", vec!["A"]),
            ("a%2Fc", vec!["a/c"]),
            ("a/", vec!["a/c"]),
            ("..", vec![]),
            ("%C3%A9", vec![]),
            ("%00", vec![]),
        ] {
            assert_eq!(asking.names(&format!("?prefix={prefix}")), found, "{prefix} {engine:?}");
        }
        assert!(asking.names(&format!("?prefix={}", "a".repeat(256))).is_empty());
        check(&asking.list(&format!("?prefix={}", "a".repeat(257))), 400, "validation_error");
        check(&asking.list("?prefix=%zz"), 400, "validation_error");
        check(&asking.list("?prefix=a&prefix=b"), 400, "validation_error");
    }
}

#[test]
fn methods_and_addresses_that_are_not_there_are_refused_in_the_form_of_the_contract() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    check(&asking.send("POST", FILES, &[], b"{}"), 405, "method_not_allowed");
    check(&asking.send("PATCH", &format!("{FILES}/a"), &[], b"{}"), 405, "method_not_allowed");
    for path in ["/v1/nothing", "/v1/host/workspace", "/conformance/nothing"] {
        check(&asking.send("GET", path, &[], b""), 404, "not_found");
    }
    check(&asking.send("POST", "/v1/host/sample/workspace/op", &[], b"{}"), 404, "not_found");
    let page = asking.send("GET", FILES, &[("Origin", "https://evil.example")], b"");
    check(&page, 403, "forbidden");
    assert_eq!(
        host.get("/v1/agents/None").json()["reason"],
        "unknown_route",
        "older routes stay as they are"
    );
    let head = asking.send("HEAD", FILES, &[], b"");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn version_two_finds_the_same_files_at_its_own_address() {
    let home = TestHome::new();
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    let two = "/conformance/seams/workspace/files";
    let made =
        asking.send("PUT", &format!("{two}/a%2Fb.md"), &[], br#"{"content": "x", "contentType": "text/x"}"#);
    assert_eq!((made.status, &made.json()["contentType"]), (200, &json!("text/x")));
    assert_eq!(asking.get("a/b.md").json(), made.json());
    assert_eq!(asking.send("GET", &format!("{two}/a/b.md"), &[], b"").json(), made.json());
    assert_eq!(asking.send("GET", two, &[], b"").json()["files"].as_array().unwrap().len(), 1);
    check(&asking.send("PUT", &format!("{two}/a%2F..%2Fb"), &[], b"{}"), 400, "validation_error");
    assert_eq!(asking.send("DELETE", &format!("{two}/a/b.md"), &[], b"").status, 204);
    check(&asking.get("a/b.md"), 404, "not_found");
}

#[test]
fn files_that_are_not_text_travel_as_base64() {
    for engine in ENGINES {
        let (home, _server) = home_on(engine);
        let host = home.up();
        let asking = Asking::new(&home, &host, &[]);
        let send = |content: &str| {
            let body = json!({ "content": content, "contentType": "image/png" }).to_string();
            asking.send("PUT", &format!("{FILES}/a.png?encoding=base64"), &[], body.as_bytes())
        };
        let made = send("iVBOR/8A");
        assert_eq!((made.status, &made.json()["content"]), (200, &json!("iVBOR/8A")), "{made:?}");
        assert_eq!(made.header("roost-encoding"), Some("base64"));
        let plain = asking.get("a.png");
        check(&plain, 400, "validation_error");
        assert_eq!(plain.json()["details"]["expected"], "base64");
        let got = asking.get("a.png?encoding=base64");
        assert_eq!((got.json(), got.header("roost-encoding")), (made.json(), Some("base64")));
        assert_eq!(asking.names(""), ["a.png"]);
        for bad in ["*", "iVBOR", "aGk", "aGk=\n"] {
            check(&send(bad), 400, "validation_error");
        }
        check(&asking.get("a.png?encoding=hex"), 400, "validation_error");
        asking.put("t.txt", "hi", &[]);
        assert_eq!(asking.get("t.txt?encoding=base64").json()["content"], "aGk=");
        assert_eq!(asking.get("t.txt?encoding=utf-8").json()["content"], "hi");
    }
}
