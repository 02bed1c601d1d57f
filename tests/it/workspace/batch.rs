//! Several files at once: all of them or none.

use super::desk::{Desk, refused};
use roost_tests::{ENGINES, TestDatabase, TestHome, owner, removal, text};
use roost_workspace::{BatchError, Condition, Limits, MIGRATIONS, Prefix, WorkspaceError, Writer};
use serde_json::{Value, json};

fn put(path: &str, content: &str) -> Value {
    json!({ "op": "put", "path": path, "content": content })
}

#[tokio::test]
async fn the_one_that_cannot_be_made_is_named_on_both_engines() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(Limits::default());
        let (owner, anna) = (owner("acme", "main"), Writer::person("anna"));
        let writes = vec![
            text("a", Condition::none(), "1"),
            text("b", Condition::none(), "1"),
            removal("c", Condition::none()),
        ];
        let refused = workspaces.write_batch(&owner, &anna, writes, None).await.unwrap_err();
        assert_eq!(refused, BatchError { index: Some(2), error: WorkspaceError::NotFound }, "{engine:?}");
        assert!(workspaces.list(&owner, &Prefix::default()).await.unwrap().files.is_empty());
        // A batch that is cut off anywhere leaves nothing, whatever the engine does in which order.
        for step in 0..100 {
            database.faults.fail_after(step);
            let writes = vec![text("a", Condition::none(), "1"), text("b", Condition::none(), "1")];
            let made = workspaces.write_batch(&owner, &anna, writes, None).await;
            if database.faults.take_back() {
                made.unwrap();
                break;
            }
            assert!(made.is_err(), "{engine:?} {step}");
            assert!(
                workspaces.list(&owner, &Prefix::default()).await.unwrap().files.is_empty(),
                "{engine:?} {step}"
            );
        }
        assert_eq!(workspaces.list(&owner, &Prefix::default()).await.unwrap().sequence, 2);
    }
}

#[test]
fn over_http_a_batch_is_made_whole_and_in_order() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    let first = desk.put("old", "x");
    let operations = json!([
        put("a.md", "one"), put("a.md", "two"),
        { "op": "delete", "path": "old", "ifMatch": first["etag"] },
        { "op": "put", "path": "b", "content": "AP8=", "encoding": "base64", "contentType": "image/png", "createOnly": true },
    ]);
    let (status, answer) = desk.post("batch", &json!({ "operations": operations }));
    assert_eq!(status, 200, "{answer}");
    let results = answer["results"].as_array().unwrap();
    let versions: Vec<&Value> = results.iter().map(|result| &result["version"]).collect();
    assert_eq!(versions, [&json!(1), &json!(2), &json!(2), &json!(1)]);
    assert_eq!((&results[2]["removed"], &results[3]["contentType"]), (&json!(true), &json!("image/png")));
    assert_eq!(desk.get("usage").1["bytes"], 5);

    let revision = || desk.get("usage").1["revision"].clone();
    let before = revision();
    let stale =
        json!([put("a.md", "three"), { "op": "put", "path": "b", "content": "", "createOnly": true }]);
    let conflict = desk.post("batch", &json!({ "operations": stale }));
    assert_eq!(refused(&conflict), (409, "workspace_conflict".to_owned()));
    assert_eq!(conflict.1["details"], json!({ "currentVersion": 1, "index": 1 }));
    for (operation, field) in [
        (json!({ "op": "put", "path": "x" }), "content"),
        (json!({ "op": "put", "path": "../x", "content": "" }), "path"),
        (json!({ "op": "put", "path": "x", "content": "!", "encoding": "base64" }), "content"),
        (json!({ "op": "put", "path": "x", "content": "", "encoding": "utf-16" }), "encoding"),
        (json!({ "op": "put", "path": "x", "content": "", "contentType": "a\nb" }), "contentType"),
        (json!({ "op": "put", "path": "x", "content": "", "ifMatch": "" }), "ifMatch"),
        (
            json!({ "op": "put", "path": "x", "content": "", "ifMatch": "\"a\"", "createOnly": true }),
            "createOnly",
        ),
        (json!({ "op": "delete", "path": "a.md", "content": "" }), "op"),
    ] {
        let (status, answer) = desk.post("batch", &json!({ "operations": [put("y", ""), operation] }));
        let details = json!({ "field": field, "index": 1 });
        assert_eq!((status, &answer["details"]), (400, &details), "{operation}: {answer}");
    }
    let too_many: Vec<Value> = (0..257).map(|number| put(&format!("f{number}"), "")).collect();
    for body in [
        json!({ "operations": [] }),
        json!({ "operations": too_many }),
        json!({ "operations": [[]] }),
        json!([]),
    ] {
        assert_eq!(refused(&desk.post("batch", &body)), (400, "validation_error".to_owned()));
    }
    let large =
        desk.post("batch", &json!({ "operations": [put("y", ""), put("z", &"x".repeat((1 << 20) + 1))] }));
    assert_eq!(refused(&large), (413, "workspace_too_large".to_owned()));
    assert_eq!(large.1["details"]["index"], 1);
    assert_eq!(revision(), before, "nothing of all this was made");
}

#[test]
fn a_batch_that_is_sent_twice_counts_once() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    let send = |content: &str, key: &str| {
        let body = json!({ "operations": [put("a", content)] }).to_string();
        desk.send("POST", "batch", &[("Idempotency-Key", key)], body.as_bytes())
    };
    let first = send("one", "k1");
    let again = send("one", "k1");
    assert_eq!((first.status, first.header("openwop-idempotent-replay")), (200, None));
    assert_eq!((again.status, again.header("openwop-idempotent-replay")), (200, Some("true")));
    assert_eq!(first.json(), again.json());
    let other = send("two", "k1");
    assert_eq!(refused(&(other.status, other.json())), (409, "idempotency_key_mismatch".to_owned()));
    assert_eq!(send("one", &"k".repeat(256)).status, 400);
    assert_eq!(send("one", "k2").json()["results"][0]["version"], 2);
}
