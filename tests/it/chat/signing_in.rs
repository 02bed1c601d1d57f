//! Signing in and choosing a model over HTTP, against a GitHub on loopback: the rows of the kernels' routes.

use roost_tests::{Answer, GitHub, RunningHost, TestHome, until};
use serde_json::{Value, json};
use std::fs;

fn home(github: &GitHub) -> TestHome {
    let home = TestHome::new();
    home.settings(&github.settings());
    home
}

#[track_caller]
fn post(host: &RunningHost, path: &str) -> Value {
    let answer = host.post(path, &json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Signs in as a person does and waits until the host knows.
fn sign_in(host: &RunningHost, github: &GitHub) {
    assert_eq!(post(host, "/login")["user_code"], "ABCD-1234");
    github.confirm();
    until("the login is done", || post(host, "/login/poll")["status"] == "ok");
}

#[test]
fn a_login_goes_from_its_code_to_an_answer_of_copilot() {
    let github = GitHub::new();
    let home = home(&github);
    let host = home.up();
    assert_eq!(host.get("/login/status").json(), json!({ "pending": false }));
    assert_eq!(host.get("/health").json()["status"], "unauthenticated");
    let begun = post(&host, "/login");
    let expected = json!({ "user_code": "ABCD-1234", "verification_uri": "https://github.com/login/device" });
    assert_eq!(begun, expected);
    assert_eq!(post(&host, "/login"), expected, "the code that waits is used again");
    assert_eq!(post(&host, "/login/poll"), json!({ "status": "pending" }));
    let status = host.get("/login/status").json();
    assert_eq!((&status["pending"], &status["user_code"]), (&json!(true), &json!("ABCD-1234")));
    assert!(status["expires_in"].as_u64().is_some_and(|seconds| seconds <= 899), "{status}");
    github.confirm();
    until("the login is done", || post(&host, "/login/poll")["status"] == "ok");
    let answer = host.post("/chat", &json!({ "user_input": "hello" })).json();
    assert_eq!(
        (&answer["response"], &answer["model"]),
        (&json!("claude-haiku-4.5 answers"), &json!("claude-haiku-4.5"))
    );
    let health = host.get("/health").json();
    assert_eq!((&health["status"], &health["copilot"]), (&json!("ok"), &json!("✓")), "{health}");
    assert!(health["voice_mode"].is_boolean() && health["brainstem_dir"].is_string(), "{health}");
    assert_eq!(post(&host, "/login/retry"), json!({ "status": "ok" }));
    let kept: Value = serde_json::from_slice(&fs::read(home.root().join(".copilot_token")).unwrap()).unwrap();
    assert_eq!(kept["access_token"], "ghu_tokenOfTheStory");
}

#[test]
fn models_are_listed_chosen_and_remembered() {
    let github = GitHub::new();
    let home = home(&github);
    let host = home.up();
    sign_in(&host, &github);
    let listed = host.get("/models").json();
    let ids: Vec<&str> =
        listed["models"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["gpt-4o", "claude-haiku-4.5"], "what cannot chat is not listed");
    assert_eq!(listed["current"], "claude-haiku-4.5");
    let set = |model: Value| -> Answer { host.post("/models/set", &json!({ "model": model })) };
    assert_eq!(set(json!("gpt-4o")).json(), json!({ "model": "gpt-4o" }));
    assert_eq!(host.post("/chat", &json!({ "user_input": "x" })).json()["response"], "gpt-4o answers");
    let unknown = set(json!("gpt-9"));
    assert_eq!((unknown.status, unknown.json()["reason"].clone()), (400, json!("unknown_model")));
    assert!(unknown.json()["error"].as_str().unwrap().contains("claude-haiku-4.5"), "{unknown:?}");
    assert_eq!(set(json!(5)).status, 400);
    drop(host);
    let again = home.up();
    assert_eq!(again.get("/models").json()["current"], "gpt-4o", "the choice outlives the host");
    assert_eq!(again.post("/models/set", &json!({ "model": "auto" })).json()["auto"], true);
}

#[test]
fn an_account_without_copilot_is_told_so_in_the_words_clients_look_for() {
    let github = GitHub::new();
    github.allow_copilot(false);
    let home = home(&github);
    let host = home.up();
    sign_in(&host, &github);
    let refused = host.post("/chat", &json!({ "user_input": "hello" }));
    let body = refused.json();
    assert_eq!((refused.status, &body["reason"]), (500, &json!("no_copilot_access")), "{body}");
    assert_eq!(body["error"], "NO_COPILOT_ACCESS:octocat");
    assert_eq!(post(&host, "/login/retry")["status"], "no_copilot_access");
    github.allow_copilot(true);
    assert_eq!(post(&host, "/login/retry")["status"], "ok");
    assert_eq!(host.post("/chat", &json!({ "user_input": "hello" })).status, 200);
}

#[test]
fn a_github_that_is_away_changes_nothing() {
    let home = TestHome::new();
    let away = { roost_tests::WebServer::new().port() };
    let address = format!("http://127.0.0.1:{away}");
    home.settings(&format!(
        "[models]\ndiscover = false\ngithub_login = \"{address}\"\ngithub_api = \"{address}\"\n"
    ));
    let host = home.up();
    let failed = host.post("/login", &json!({}));
    assert_eq!((failed.status, failed.json()["reason"].clone()), (500, json!("login_failed")), "{failed:?}");
    assert_eq!(post(&host, "/login/retry")["status"], "unauthenticated");
    assert!(!home.root().join(".copilot_pending").exists());
}
