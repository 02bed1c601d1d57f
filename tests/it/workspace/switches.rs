//! What settings change: workspaces switched off, and the seam of the conformance tests.

use super::asking::{Asking, FILES, check};
use roost_tests::TestHome;
use serde_json::{Value, json};

#[test]
fn switched_off_every_operation_says_so_after_who_and_what_for() {
    let home = TestHome::new();
    home.settings("[workspace]\nenabled = false\n");
    let host = home.up();
    let said = host.get("/.well-known/openwop").json();
    assert!(said.get("workspace").is_none(), "{said}");
    assert_eq!(said["capabilities"], json!({}));
    let asking = Asking::new(&home, &host, &["--scope", "workspace:read"]);
    for (answer, status) in [
        (asking.list("?prefix=%zz"), 501),
        (asking.get("..%2F"), 501),
        (asking.send("GET", "/v1/host/workspace/events", &[], b""), 501),
        (asking.send("GET", "/v1/host/workspace/events/poll", &[], b""), 501),
        (asking.send("GET", "/conformance/seams/workspace/files", &[], b""), 422),
        (asking.send("GET", "/conformance/seams/workspace/files/a", &[], b""), 422),
    ] {
        check(&answer, status, "capability_not_provided");
        assert_eq!(answer.json()["details"]["capability"], "workspace");
    }
    check(&asking.put("a.md", "x", &[]), 403, "forbidden");
    assert_eq!(host.send("GET", FILES, &[], b"").status, 401);
    let writer = Asking::new(&home, &host, &["--scope", "workspace:write"]);
    check(&writer.put("..", "x", &[]), 501, "capability_not_provided");
    check(&writer.delete("a", &[]), 501, "capability_not_provided");
}

#[test]
fn the_seam_of_the_tests_is_there_only_when_asked_for() {
    let home = TestHome::new();
    home.settings("[workspace]\ntest_seam = true\n");
    let host = home.up();
    let asking = Asking::new(&home, &host, &[]);
    let operate = |tenant: &str, more: Value| {
        let mut body = json!({ "tenant": tenant, "workspace": "main" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asking.send("POST", "/v1/host/sample/workspace/op", &[], body.to_string().as_bytes())
    };
    let put = operate("one", json!({ "op": "put", "path": "a.md", "content": "secret" }));
    assert_eq!((put.status, &put.json()["version"]), (200, &json!(1)));
    assert_eq!(operate("one", json!({ "op": "get", "path": "a.md" })).json(), put.json());
    check(&operate("two", json!({ "op": "get", "path": "a.md" })), 404, "not_found");
    assert_eq!(operate("two", json!({ "op": "list" })).json(), json!({ "files": [] }));
    assert_eq!(operate("one", json!({ "op": "list", "prefix": "a" })).json()["files"][0]["path"], "a.md");
    check(
        &operate("one", json!({ "op": "put", "path": "a.md", "content": "x", "ifMatch": "\"stale\"" })),
        409,
        "workspace_conflict",
    );
    check(&operate("one", json!({ "op": "put", "path": "a%2Fb", "content": "x" })), 400, "validation_error");
    check(&operate("one", json!({ "op": "get", "path": "a.md", "version": 0 })), 400, "validation_error");
    check(&operate("one", json!({ "op": "fly", "path": "a.md" })), 400, "validation_error");
    check(&operate("one", json!({ "op": "put", "path": "b.md" })), 400, "validation_error");
    assert_eq!(operate("one", json!({ "op": "delete", "path": "a.md" })).status, 204);
    let nobody = host.post("/v1/host/sample/workspace/op", &json!({}));
    assert_eq!(nobody.status, 401);
}
