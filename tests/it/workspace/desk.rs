//! Asking a running host about one workspace.

use roost_storage::{Database, Faults, Location};
use roost_tests::{Answer, RunningHost, TestHome};
use roost_workspace::{Limits, Workspaces};
use serde_json::{Value, json};
use std::fs;

/// A running host, and who asks.
pub(super) struct Desk {
    pub(super) host: RunningHost,
    pub(super) token: String,
    /// Another workspace of the owner.
    pub(super) workspace: Option<String>,
}

impl Desk {
    /// The owner of this home.
    #[track_caller]
    pub(super) fn open(home: &TestHome) -> Self {
        let host = home.up();
        let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap().trim().to_owned();
        Self { host, token, workspace: None }
    }

    #[track_caller]
    pub(super) fn send(&self, method: &str, what: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(self.workspace.as_deref().map(|name| ("Roost-Workspace", name)));
        all.extend_from_slice(headers);
        self.host.send(method, &format!("/v1/host/workspace/{what}"), &all, body)
    }

    #[track_caller]
    pub(super) fn get(&self, what: &str) -> (u16, Value) {
        let answer = self.send("GET", what, &[], b"");
        (answer.status, answer.json())
    }

    #[track_caller]
    pub(super) fn post(&self, what: &str, body: &Value) -> (u16, Value) {
        self.post_if(what, body, &[])
    }

    #[track_caller]
    pub(super) fn post_if(&self, what: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
        let answer = self.send("POST", what, headers, body.to_string().as_bytes());
        (answer.status, answer.json())
    }

    /// Writes a text, and gives what the file is then.
    #[track_caller]
    pub(super) fn put(&self, path: &str, content: &str) -> Value {
        let operation = json!({ "op": "put", "path": path, "content": content });
        let (status, answer) = self.post("batch", &json!({ "operations": [operation] }));
        assert_eq!(status, 200, "{answer}");
        answer["results"][0].clone()
    }

    #[track_caller]
    pub(super) fn remove(&self, path: &str) {
        let operation = json!({ "op": "delete", "path": path });
        let (status, answer) = self.post("batch", &json!({ "operations": [operation] }));
        assert_eq!(status, 200, "{answer}");
    }
}

/// The code of a refusal, after a look at its form.
#[track_caller]
pub(super) fn refused((status, answer): &(u16, Value)) -> (u16, String) {
    let object = answer.as_object().unwrap_or_else(|| panic!("{answer}"));
    assert!(object.keys().all(|key| ["error", "message", "details"].contains(&key.as_str())), "{answer}");
    assert!(object["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    (*status, object["error"].as_str().unwrap_or_default().to_owned())
}

/// The files of a home, opened beside its host.
pub(super) async fn workspaces_of(home: &TestHome) -> Workspaces {
    let location = Location::File(home.root().join("roost.db"));
    let database =
        Database::open(location, &roost_host::store_migrations(), Faults::default()).await.unwrap();
    Workspaces::new(database, Limits::default())
}
