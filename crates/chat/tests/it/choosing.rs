//! Who is asked, what can be chosen, and what is kept of a choice.

use crate::asking::{ask, ask_for, github, nothing, open, open_in, openai, secret, signed_out};
use crate::server::Server;
use roost_chat::{
    AnthropicSettings, AzureCredential, AzureSettings, ModelProblem, ModelSettings, Models, OpenAiSettings,
};
use roost_chat::{ProviderName, StandingState};
use roost_protocol::Reason;
use std::os::unix::fs::PermissionsExt as _;

fn everything(server: &Server) -> ModelSettings {
    let anthropic = AnthropicSettings {
        key: secret("sk-ant-recorded-key-0003"),
        model: Some("claude-sonnet-4-5".into()),
        base_url: Some(server.url()),
    };
    let azure = AzureSettings {
        endpoint: server.url(),
        deployment: "my-gpt".into(),
        api_version: "2024-10-21".into(),
        credential: AzureCredential::Key(secret("azure-recorded-key-0002")),
    };
    ModelSettings {
        openai: openai(server, Some("gpt-4o")).openai,
        azure: Some(azure),
        anthropic: Some(anthropic),
        ollama_host: Some(server.url()),
        ..github(server, Some("gpt-4o"))
    }
}

fn ids(models: &roost_chat::ModelList) -> Vec<&str> {
    models.models.iter().map(|model| model.id.as_str()).collect()
}

#[tokio::test]
async fn the_first_provider_in_order_is_chosen() {
    let server = Server::of(&[]).await;
    let mut settings = everything(&server);
    let provider = |settings: &ModelSettings| open(settings.clone()).0.standing().provider;
    assert_eq!(provider(&settings), Some(ProviderName::OpenAi));
    settings.openai = Some(OpenAiSettings::default());
    assert_eq!(provider(&settings), Some(ProviderName::Azure));
    settings.azure = None;
    assert_eq!(provider(&settings), Some(ProviderName::Anthropic));
    settings.anthropic = None;
    assert_eq!(provider(&settings), Some(ProviderName::Copilot));
    settings.github.token = None;
    assert_eq!(provider(&settings), Some(ProviderName::Ollama));
    settings.ollama_host = None;
    assert_eq!(provider(&settings), None);
}

#[tokio::test]
async fn without_a_provider_people_are_told_what_is_missing() {
    let server = Server::of(&[]).await;
    let (models, _folder) = open(nothing());
    assert_eq!(ask(&models).await.unwrap_err().problem, ModelProblem::NotSetUp);
    assert_eq!(models.standing().state, StandingState::NotSetUp);
    let mut settings = signed_out(&server);
    settings.github.model = Some("gpt-4o".into());
    let (models, _folder) = open(settings);
    assert_eq!(ask(&models).await.unwrap_err().problem, ModelProblem::NotSignedIn);
    assert_eq!(models.standing().state, StandingState::NotSignedIn);
    assert_eq!(models.standing().model.as_deref(), Some("gpt-4o"));
    let failure = ask_for(&open(openai(&server, Some("m"))).0, Some("anthropic:claude")).await.unwrap_err();
    assert_eq!(failure.message, "The provider anthropic of model 'anthropic:claude' is not set up.");
}

#[tokio::test]
async fn tokens_of_the_gh_program_that_cannot_be_exchanged_are_ignored() {
    let server = Server::of(&[]).await;
    let mut settings = signed_out(&server);
    settings.github.gh_token = Some(secret("gho_fromTheProgram"));
    assert_eq!(open(settings.clone()).0.standing().state, StandingState::NotSetUp);
    settings.github.gh_token = Some(secret("ghp_fromTheProgram"));
    assert_eq!(open(settings).0.standing().state, StandingState::Pending);
}

#[tokio::test]
async fn the_same_id_at_a_later_provider_is_listed_with_its_provider() {
    let server = Server::of(&[
        "openai/models",
        "copilot/exchange",
        "copilot/models",
        "anthropic/models",
        "ollama/tags",
    ])
    .await;
    let (models, _folder) = open(everything(&server));
    let list = models.list().await;
    server.is_done();
    let expect = [
        "gpt-4o-mini",
        "gpt-4o",
        "o3-mini",
        "my-gpt",
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "gpt-4.1",
        "claude-sonnet-4.5",
        "claude-haiku-4.5",
        "claude-3.5-haiku",
        "claude-opus-4.5",
        "copilot:gpt-4o",
        "gpt-4",
        "o1-preview",
        "llama3.2:latest",
        "qwen2.5:7b",
    ];
    assert_eq!(ids(&list), expect);
    assert_eq!(list.current.as_deref(), Some("gpt-4o"));
}

/// A host with OpenAI's form and Copilot, whose catalogues are recorded.
async fn two_providers(more: &[&str]) -> (Server, ModelSettings) {
    let mut exchanges = vec!["openai/models", "copilot/exchange", "copilot/models"];
    exchanges.extend(more);
    let server = Server::of(&exchanges).await;
    let settings = ModelSettings { openai: openai(&server, Some("gpt-4o")).openai, ..github(&server, None) };
    (server, settings)
}

#[tokio::test]
async fn a_choice_is_kept_for_the_owner_only_and_decides_the_provider_after_a_restart() {
    let (server, settings) = two_providers(&["copilot/chat"]).await;
    let folder = tempfile::tempdir().unwrap();
    let models = open_in(settings.clone(), folder.path());
    let set = models.set(" copilot:gpt-4o ").await.unwrap();
    assert_eq!((set.model.as_deref(), set.auto), (Some("copilot:gpt-4o"), false));
    let path = folder.path().join(".brainstem_model");
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept["model"], "copilot:gpt-4o");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = open_in(settings, folder.path());
    assert_eq!(again.standing().provider, Some(ProviderName::Copilot));
    let reply = ask(&again).await.unwrap();
    assert_eq!((reply.requested_model.as_str(), reply.model.as_str()), ("copilot:gpt-4o", "copilot:gpt-4o"));
    server.is_done();
}

#[tokio::test]
async fn a_bare_id_means_the_first_provider_that_lists_it_and_auto_clears() {
    let (server, settings) = two_providers(&["copilot/chat_haiku"]).await;
    let (models, folder) = open(settings);
    let set = models.set("claude-haiku-4.5").await.unwrap();
    assert_eq!(set.model.as_deref(), Some("claude-haiku-4.5"));
    assert_eq!(models.standing().provider, Some(ProviderName::Copilot));
    assert_eq!(ask(&models).await.unwrap().text(), "Sunny.");
    let set = models.set("auto").await.unwrap();
    assert_eq!((set.model.as_deref(), set.auto), (Some("gpt-4o"), true));
    assert!(!folder.path().join(".brainstem_model").exists());
    assert_eq!(models.standing().provider, Some(ProviderName::OpenAi));
    server.is_done();
}

#[tokio::test]
async fn an_id_of_an_earlier_provider_may_be_written_with_it() {
    let (_server, settings) = two_providers(&[]).await;
    let (models, _folder) = open(settings);
    assert_eq!(models.set("openai:gpt-4o").await.unwrap().model.as_deref(), Some("gpt-4o"));
}

#[tokio::test]
async fn an_unknown_id_is_refused_with_the_ids_there_are() {
    let server = Server::of(&["openai/models"]).await;
    let (models, folder) = open(openai(&server, None));
    for id in ["gpt-9", "copilot:gpt-4o", "", " "] {
        let failure = models.set(id).await.unwrap_err();
        assert_eq!(failure.reason, Reason::UnknownModel);
        assert!(failure.message.ends_with("there are: gpt-4o-mini, gpt-4o, o3-mini"), "{}", failure.message);
    }
    assert!(!folder.path().join(".brainstem_model").exists());
}

#[tokio::test]
async fn a_caller_may_name_a_model_that_is_not_listed() {
    let server = Server::of(&["openai/o1"]).await;
    let (models, _folder) = open(openai(&server, Some("gpt-4o")));
    assert_eq!(ask_for(&models, Some("o1-mini")).await.unwrap().requested_model, "o1-mini");
    server.is_done();
}

#[tokio::test]
async fn a_choice_of_old_and_a_pinned_model_find_their_provider() {
    let (server, settings) = two_providers(&["copilot/chat_haiku"]).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".brainstem_model"), r#"{"model": "claude-haiku-4.5"}"#).unwrap();
    assert_eq!(ask(&open_in(settings, folder.path())).await.unwrap().model, "claude-haiku-4.5");
    server.is_done();
    let (server, settings) = two_providers(&["copilot/chat_haiku"]).await;
    let pinned = ModelSettings { pinned: Some("claude-haiku-4.5".into()), ..settings };
    assert_eq!(ask(&open(pinned).0).await.unwrap().model, "claude-haiku-4.5");
    server.is_done();
}

#[tokio::test]
async fn what_was_meant_for_a_provider_that_is_gone_goes_to_no_other() {
    let server = Server::of(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let choice = r#"{"model": "claude", "provider": "anthropic"}"#;
    std::fs::write(folder.path().join(".brainstem_model"), choice).unwrap();
    let models: Models = open_in(openai(&server, Some("gpt-4o")), folder.path());
    let failure = ask(&models).await.unwrap_err();
    assert_eq!(failure.problem, ModelProblem::NotSetUp);
    assert!(failure.message.contains("claude") && failure.message.contains("roost models set"), "{failure}");
    server.is_done();
}

#[tokio::test]
async fn a_damaged_choice_does_not_stop_anybody() {
    for content in ["{\"model\":", "[]"] {
        let server = Server::of(&["openai/chat"]).await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".brainstem_model"), content).unwrap();
        let models: Models = open_in(openai(&server, Some("gpt-4o")), folder.path());
        assert_eq!(ask(&models).await.unwrap().requested_model, "gpt-4o", "{content}");
    }
}
