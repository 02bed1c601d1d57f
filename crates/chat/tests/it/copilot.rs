//! GitHub Copilot: the exchange, the session in its file, refusals, the catalogue; and GitHub Models.

use crate::asking::{GITHUB_TOKEN, ask, ask_for, github, open, open_in, signed_out};
use crate::server::Server;
use roost_chat::{ModelProblem, Models, StandingState};
use serde_json::{Value, json};
use std::path::Path;

/// The year 2100.
const FAR: u64 = 4_102_444_800;

fn state(folder: &Path, name: &str) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).ok()?).ok()
}

fn write_session(folder: &Path, server: &Server, change: Value) {
    let mut session = json!({
        "token": "tid=from-the-file;exp=4102444800", "endpoint": format!("{}/copilot", server.url()), "expires_at": FAR,
    });
    for (key, value) in change.as_object().unwrap() {
        session[key] = value.clone();
    }
    std::fs::write(folder.join(".copilot_session"), session.to_string()).unwrap();
}

fn assert_no_credentials(shown: &str) {
    for credential in [GITHUB_TOKEN, "tid=", "recorded-session"] {
        assert!(!shown.contains(credential), "{credential} in {shown}");
    }
}

#[tokio::test]
async fn a_token_is_exchanged_once_and_the_session_kept_for_the_owner_only() {
    let server = Server::of(&["copilot/exchange", "copilot/chat", "copilot/chat"]).await;
    let (models, folder) = open(github(&server, Some("gpt-4o")));
    assert_eq!(models.standing().state, StandingState::Pending);
    assert_eq!(ask(&models).await.unwrap().text(), "Sunny, 21 °C.");
    ask(&models).await.unwrap();
    server.is_done();
    assert_eq!(models.standing().state, StandingState::Ready);
    let session = state(folder.path(), ".copilot_session").unwrap();
    assert_eq!(session["endpoint"], format!("{}/copilot", server.url()));
    assert_eq!(session["expires_at"], FAR);
    assert_eq!(session["github_token_fingerprint"].as_str().unwrap().len(), 64);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(folder.path().join(".copilot_session")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_no_credentials(&format!("{models:?}"));
}

#[tokio::test]
async fn a_session_in_its_file_is_enough() {
    let server = Server::of(&["copilot/models", "copilot/chat_from_file"]).await;
    let (mut settings, folder) = (signed_out(&server), tempfile::tempdir().unwrap());
    settings.github.model = Some("gpt-4o".into());
    write_session(folder.path(), &server, json!({}));
    let models = open_in(settings, folder.path());
    assert_eq!(models.standing().state, StandingState::Ready);
    assert_eq!(ask(&models).await.unwrap().text(), "Sunny, 21 °C.");
}

#[tokio::test]
async fn a_session_that_ended_or_belongs_to_another_token_or_is_damaged_is_not_used() {
    for change in [
        json!({"expires_at": 1}),
        json!({"github_token_fingerprint": "0000"}),
        json!({"token": 7}),
        json!({"endpoint": "http://elsewhere.example"}),
    ] {
        let server = Server::of(&["copilot/exchange", "copilot/chat"]).await;
        let folder = tempfile::tempdir().unwrap();
        write_session(folder.path(), &server, change.clone());
        let models = open_in(github(&server, Some("gpt-4o")), folder.path());
        assert_eq!(models.standing().state, StandingState::Pending, "{change}");
        ask(&models).await.unwrap();
        server.is_done();
    }
}

#[tokio::test]
async fn a_refused_session_is_exchanged_again_and_the_question_repeated_once() {
    let server = Server::of(&[
        "copilot/exchange",
        "copilot/chat_expired",
        "copilot/exchange_again",
        "copilot/chat_again",
    ])
    .await;
    assert_eq!(ask(&open(github(&server, Some("gpt-4o"))).0).await.unwrap().text(), "Sunny, 21 °C.");
    server.is_done();
    let server = Server::of(&[
        "copilot/exchange",
        "copilot/chat_expired",
        "copilot/exchange_again",
        "copilot/chat_expired_again",
    ])
    .await;
    let failure = ask(&open(github(&server, Some("gpt-4o"))).0).await.unwrap_err();
    server.is_done();
    assert_eq!(failure.problem, ModelProblem::Refused { status: 401 });
    assert_no_credentials(&format!("{failure:?}"));
}

async fn refused(exchanges: &[&str]) -> (ModelProblem, Models) {
    let server = Server::of(exchanges).await;
    let (models, folder) = open(github(&server, Some("gpt-4o")));
    let failure = ask(&models).await.unwrap_err();
    server.is_done();
    assert_no_credentials(&format!("{failure:?}"));
    assert_eq!(state(folder.path(), ".copilot_session"), None);
    (failure.problem, models)
}

#[tokio::test]
async fn an_account_without_copilot_is_named() {
    for exchange in ["copilot/exchange_no_access", "copilot/exchange_not_found"] {
        let (problem, models) = refused(&[exchange, "copilot/user"]).await;
        assert_eq!(problem, ModelProblem::NoCopilotAccess { user: "octocat".into() });
        assert_eq!(models.standing().state, StandingState::NoAccess { user: "octocat".into() });
    }
}

#[tokio::test]
async fn a_token_that_github_does_not_take_means_signing_in_again() {
    let (problem, models) = refused(&["copilot/exchange_bad_credentials"]).await;
    assert_eq!(problem, ModelProblem::NotSignedIn);
    assert_eq!(models.standing().state, StandingState::NotSignedIn);
}

#[tokio::test]
async fn other_ends_of_an_exchange_say_nothing_about_the_account() {
    let (problem, models) = refused(&["copilot/exchange_rate_limited"]).await;
    assert_eq!(problem, ModelProblem::Refused { status: 403 });
    assert_eq!(models.standing().state, StandingState::Pending);
    assert_eq!(refused(&["copilot/exchange_garbled"]).await.0, ModelProblem::Garbled);
}

#[tokio::test]
async fn the_catalogue_is_filtered_and_makes_the_default() {
    let server = Server::of(&["copilot/exchange", "copilot/models", "copilot/chat_haiku"]).await;
    let (models, _folder) = open(github(&server, Some("auto")));
    let list = models.list().await;
    let brief: Vec<(&str, bool)> =
        list.models.iter().map(|model| (model.id.as_str(), model.available.unwrap())).collect();
    let expect = [
        ("gpt-4.1", true),
        ("claude-sonnet-4.5", true),
        ("claude-haiku-4.5", true),
        ("claude-3.5-haiku", true),
        ("claude-opus-4.5", false),
        ("gpt-4o", true),
        ("gpt-4", false),
        ("o1-preview", false),
    ];
    assert_eq!(brief, expect);
    assert_eq!(list.current.as_deref(), Some("claude-haiku-4.5"));
    assert_eq!(models.standing().model.as_deref(), Some("claude-haiku-4.5"));
    // The catalogue is remembered: the question asks for nothing else.
    assert_eq!(ask(&models).await.unwrap().model, "claude-haiku-4.5");
    server.is_done();
}

#[tokio::test]
async fn a_refused_session_is_exchanged_again_for_the_catalogue_too() {
    let server = Server::of(&[
        "copilot/exchange",
        "copilot/models_refused",
        "copilot/exchange_again",
        "copilot/models_again",
    ])
    .await;
    assert_eq!(open(github(&server, None)).0.list().await.models.len(), 1);
    server.is_done();
}

#[tokio::test]
async fn before_the_catalogue_was_fetched_the_built_in_list_is_shown() {
    let expect = ["gpt-4.1", "gpt-4o", "gpt-4o-mini", "claude-sonnet-4", "gpt-4", "gpt-3.5-turbo"];
    let server = Server::of(&["copilot/exchange", "copilot/models_down"]).await;
    let list = open(github(&server, None)).0.list().await;
    let ids: Vec<&str> = list.models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!((ids, list.current.as_deref()), (expect.to_vec(), Some("gpt-4o")));
    server.is_done();
    let list = open(signed_out(&server)).0.list().await;
    let ids: Vec<&str> = list.models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!((ids, list.current), (expect.to_vec(), None));
}

#[tokio::test]
async fn github_models_are_asked_when_they_are_named() {
    let server =
        Server::of(&["github_models/models", "github_models/chat", "copilot/exchange", "copilot/models"])
            .await;
    let mut settings = github(&server, None);
    settings.github.models_base = Some(server.url());
    let (models, _folder) = open(settings);
    let list = models.list().await;
    let of_them: Vec<_> =
        list.models.iter().filter(|model| model.provider.as_str() == "github-models").collect();
    let brief: Vec<_> = of_them.iter().map(|model| (model.id.as_str(), model.available)).collect();
    assert_eq!(brief, [("openai/gpt-4.1", Some(true)), ("deepseek/deepseek-r1", Some(false))]);
    let reply = ask_for(&models, Some("github-models:openai/gpt-4.1")).await.unwrap();
    assert_eq!((reply.text(), reply.model.as_str()), ("Sunny, 21 °C.", "github-models:openai/gpt-4.1"));
    server.is_done();
}
