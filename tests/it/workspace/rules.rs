//! What agents may do, and what they propose.

use super::desk::{Desk, refused};
use roost_tests::{ENGINES, TestDatabase, TestHome, owner, text};
use roost_workspace::{
    Condition, Done, Limits, MIGRATIONS, Prefix, Role, Rule, Verdict, WorkspaceError, Writer,
};
use serde_json::json;

#[test]
fn rules_are_set_and_taken_back() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    let usual = [
        json!({ "prefix": "DIRECTIVES.md", "rule": "propose" }),
        json!({ "prefix": "IDENTITY.md", "rule": "propose" }),
    ];
    assert_eq!(desk.get("rules"), (200, json!({ "rules": usual })));
    let put = |body: &str| {
        let answer = desk.send("PUT", "rules", &[], body.as_bytes());
        (answer.status, answer.json())
    };
    let notes = json!({ "prefix": "notes/", "rule": "read" });
    assert_eq!(put(&notes.to_string()), (200, notes.clone()));
    assert_eq!(desk.get("rules").1["rules"][2], notes);
    for bad in [
        "{}",
        r#"{"prefix": "a"}"#,
        r#"{"prefix": "a", "rule": "none"}"#,
        r#"{"prefix": 1, "rule": "read"}"#,
        r#"{"prefix": "a", "rule": "read", "more": 1}"#,
        r#"{"prefix": "\u0000", "rule": "read"}"#,
    ] {
        assert_eq!(refused(&put(bad)), (400, "validation_error".to_owned()), "{bad}");
    }
    let long = json!({ "prefix": "x".repeat(257), "rule": "read" });
    assert_eq!(refused(&put(&long.to_string())).0, 400);
    let unset = |query: &str| desk.send("DELETE", &format!("rules{query}"), &[], b"").status;
    assert_eq!((unset("?prefix=notes/"), unset("?prefix=notes/"), unset("")), (204, 404, 400));
    assert_eq!(desk.get("rules").1["rules"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_agent_proposes_and_a_person_decides_on_both_engines() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(Limits::default());
        let owner = owner("acme", "main");
        let agent = Writer { role: Role::Agent, ..Writer::person("app") };
        let write = async |path: &str, content: &str| {
            let write = text(path, Condition::none(), content);
            workspaces.write_one(&owner, &agent, write, None).await.map(|answered| answered.value)
        };
        let Done::Proposed(first) = write("IDENTITY.md", "me").await.unwrap() else { panic!("{engine:?}") };
        let Done::Proposed(second) = write("IDENTITY.md", "you").await.unwrap() else { panic!("{engine:?}") };
        workspaces.set_rule(&owner, &Prefix::parse("fixed/").unwrap(), Some(Rule::Read)).await.unwrap();
        assert_eq!(write("fixed/a", "x").await, Err(WorkspaceError::ReadOnlyForAgents));
        assert!(matches!(write("free", "x").await, Ok(Done::Made(_))));
        let made = workspaces.decide(&owner, first, Verdict::Approve, "anna").await.unwrap().unwrap();
        assert_eq!(made.version, 1);
        // It was made for a file that was not there; now there is one.
        let stale = workspaces.decide(&owner, second, Verdict::Approve, "anna").await;
        assert_eq!(stale, Err(WorkspaceError::Conflict { current_version: 1 }), "{engine:?}");
        assert_eq!(workspaces.proposals(&owner).await.unwrap().len(), 1, "a refused approval keeps it");
        assert_eq!(workspaces.decide(&owner, second, Verdict::Reject, "anna").await, Ok(None));
        let gone = workspaces.decide(&owner, second, Verdict::Reject, "anna").await;
        assert_eq!(gone, Err(WorkspaceError::NotFound));
    }
}

#[test]
fn proposals_are_seen_compared_and_decided_over_http() {
    let home = TestHome::new();
    let desk = Desk::open(&home);
    assert_eq!(desk.get("proposals"), (200, json!({ "proposals": [] })));
    desk.put("IDENTITY.md", "old\n");
    let propose = |path: &str, content: &str| {
        let (path, content) = (path.to_owned(), content.to_owned());
        propose_in(&home, &path, &content);
    };
    propose("IDENTITY.md", "new\n");
    propose("DIRECTIVES.md", "do\n");
    let (_, listed) = desk.get("proposals");
    let ids: Vec<i64> =
        listed["proposals"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{listed}");
    assert_eq!(
        (&listed["proposals"][0]["removes"], &listed["proposals"][0]["bytes"]),
        (&json!(false), &json!(4))
    );
    let (_, shown) = desk.get(&format!("proposals/{}", ids[0]));
    assert_eq!(
        (&shown["content"], &shown["encoding"], &shown["current"]),
        (&json!("new\n"), &json!("utf-8"), &json!(true))
    );
    assert!(shown["difference"]["text"].as_str().unwrap().contains("-old\n+new\n"), "{shown}");
    let (_, shown) = desk.get(&format!("proposals/{}", ids[1]));
    assert!(shown["difference"]["text"].as_str().unwrap().contains("/dev/null"), "{shown}");
    let (status, approved) = desk.post(&format!("proposals/{}/approve", ids[0]), &json!({}));
    assert_eq!(
        (status, &approved["verdict"], &approved["file"]["version"]),
        (200, &json!("approved"), &json!(2))
    );
    assert_eq!(
        desk.get("history?path=IDENTITY.md").1["versions"][0]["author"]["reason"],
        "approved by owner"
    );
    let rejected = desk.post(&format!("proposals/{}/reject", ids[1]), &json!({}));
    assert_eq!(rejected, (200, json!({ "id": ids[1], "verdict": "rejected" })));
    for what in [
        format!("proposals/{}/approve", ids[0]),
        "proposals/x/approve".to_owned(),
        "proposals/-1/reject".to_owned(),
    ] {
        assert_eq!(refused(&desk.post(&what, &json!({}))), (404, "not_found".to_owned()), "{what}");
    }
    assert_eq!(refused(&desk.get("proposals/99")), (404, "not_found".to_owned()));
    assert_eq!(desk.get("proposals").1, json!({ "proposals": [] }));
}

/// What an agent would do, written by this process into the database of the home.
pub(super) fn propose_in(home: &TestHome, path: &str, content: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let workspaces = super::desk::workspaces_of(home).await;
        let agent = Writer { role: Role::Agent, ..Writer::person("app") };
        let owner = owner("local", "default");
        let write = text(path, Condition::none(), content);
        let done = workspaces.write_one(&owner, &agent, write, None).await.unwrap().value;
        assert!(matches!(done, Done::Proposed(_)), "{done:?}");
    });
}
