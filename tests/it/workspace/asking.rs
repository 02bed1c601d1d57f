//! Somebody who asks a host for files, with a token.

use roost_tests::{Answer, RunningHost, TestHome};
use serde_json::{Value, json};

/// Where files are.
pub(super) const FILES: &str = "/v1/host/workspace/files";

/// A token and the host it is for.
#[derive(Clone)]
pub(super) struct Asking<'a> {
    pub(super) host: &'a RunningHost,
    bearer: String,
}

/// Makes a token as a person does.
#[track_caller]
pub(super) fn token(home: &TestHome, words: &[&str]) -> Value {
    home.json(&[&["keys", "token", "create"], words].concat())
}

impl<'a> Asking<'a> {
    /// With a new token without a limit on how often it may be used.
    #[track_caller]
    pub(super) fn new(home: &TestHome, host: &'a RunningHost, words: &[&str]) -> Self {
        let made = token(home, &[&["--rate", "0"], words].concat());
        Self::with(host, made["token"].as_str().unwrap())
    }

    pub(super) fn with(host: &'a RunningHost, token: &str) -> Self {
        Self { host, bearer: format!("Bearer {token}") }
    }

    #[track_caller]
    pub(super) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut all = vec![("Authorization", self.bearer.as_str())];
        all.extend(headers);
        let answer = self.host.send(method, path, &all, body);
        if answer.status >= 400 {
            check_refusal(&answer);
        }
        answer
    }

    #[track_caller]
    pub(super) fn get(&self, path: &str) -> Answer {
        self.send("GET", &format!("{FILES}/{path}"), &[], b"")
    }

    #[track_caller]
    pub(super) fn list(&self, query: &str) -> Answer {
        self.send("GET", &format!("{FILES}{query}"), &[], b"")
    }

    #[track_caller]
    pub(super) fn names(&self, query: &str) -> Vec<String> {
        let list = self.list(query);
        assert_eq!(list.status, 200, "{list:?}");
        let list = list.json();
        assert_eq!(list.as_object().unwrap().len(), 1, "{list}");
        let name = |file: &Value| file["path"].as_str().unwrap().to_owned();
        list["files"].as_array().unwrap().iter().map(name).collect()
    }

    #[track_caller]
    pub(super) fn put(&self, path: &str, content: &str, headers: &[(&str, &str)]) -> Answer {
        let body = json!({ "content": content }).to_string();
        self.send("PUT", &format!("{FILES}/{path}"), headers, body.as_bytes())
    }

    #[track_caller]
    pub(super) fn delete(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("DELETE", &format!("{FILES}/{path}"), headers, b"")
    }
}

/// Every refusal has the form of the contract.
#[track_caller]
pub(super) fn check_refusal(answer: &Answer) {
    let body = answer.json();
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(keys.iter().all(|key| ["error", "message", "details"].contains(key)), "{body}");
    assert!(body["error"].as_str().is_some_and(|code| !code.is_empty()), "{body}");
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    assert!(body.get("details").is_none_or(Value::is_object), "{body}");
}

/// The status and code of a refusal.
#[track_caller]
pub(super) fn refused(answer: &Answer) -> (u16, String) {
    let code = answer.json()["error"].as_str().unwrap_or_default().to_owned();
    (answer.status, code)
}

#[track_caller]
pub(super) fn check(answer: &Answer, status: u16, code: &str) {
    assert_eq!(refused(answer), (status, code.to_owned()), "{answer:?}");
}
