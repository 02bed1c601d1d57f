//! Servers on this machine: found, listed and asked; and the model that the host runs itself.

use crate::asking::{ask, calls, listen, nothing, open, open_with_local, secret};
use crate::server::{Server, closed_port};
use roost_chat::{
    Endpoint, ModelFailure, ModelProblem, ModelSettings, ProviderName, ServerProbe, StandingState, StartLocal,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn looking(provider: ProviderName, port: u16) -> ModelSettings {
    ModelSettings { discover: true, probes: vec![ServerProbe { provider, port }], ..nothing() }
}

#[tokio::test]
async fn ollama_is_found_and_asked_for_what_was_pulled() {
    let server = Server::of(&["ollama/tags", "ollama/chat"]).await;
    let (models, _folder) = open(looking(ProviderName::Ollama, server.port()));
    assert_eq!(models.standing().state, StandingState::NotSetUp);
    models.discover().await;
    let standing = models.standing();
    assert_eq!((standing.state, standing.provider), (StandingState::Ready, Some(ProviderName::Ollama)));
    assert_eq!((standing.model.as_deref(), standing.server), (Some("llama3.2:latest"), Some(server.url())));
    let reply = ask(&models).await.unwrap();
    server.is_done();
    assert_eq!(calls(&reply), json!([["call_x1", "Weather", "{\"city\":\"Bern\"}"]]));
}

#[tokio::test]
async fn calls_that_ollama_numbers_alike_stay_apart() {
    let server = Server::of(&["ollama/tags", "ollama/stream"]).await;
    let settings = ModelSettings { ollama_host: Some(format!("127.0.0.1:{}", server.port())), ..nothing() };
    let (reply, _) = listen(&open(settings).0).await;
    server.is_done();
    let expect =
        json!([["call_x1", "Weather", "{\"city\":\"Bern\"}"], ["call_x2", "Weather", "{\"city\":\"Thun\"}"]]);
    assert_eq!(calls(&reply.unwrap()), expect);
}

#[tokio::test]
async fn lm_studio_is_found_by_a_question_without_its_models_for_vectors() {
    let server = Server::of(&["lm_studio/models", "lm_studio/chat"]).await;
    let (models, _folder) = open(looking(ProviderName::LmStudio, server.port()));
    assert_eq!(ask(&models).await.unwrap().text(), "Sunny.");
    server.is_done();
    assert_eq!(models.list().await.models.len(), 1);
}

#[tokio::test]
async fn llama_cpp_is_found_and_streams() {
    let server = Server::of(&["llama_cpp/models", "llama_cpp/stream"]).await;
    let (models, _folder) = open(looking(ProviderName::LlamaCpp, server.port()));
    let (reply, heard) = listen(&models).await;
    server.is_done();
    let reply = reply.unwrap();
    assert_eq!((reply.text(), reply.usage.prompt_tokens), ("Sunny.", 30));
    assert_eq!(heard, ["Sun", "ny."]);
}

#[tokio::test]
async fn what_is_no_server_of_models_or_has_none_is_not_found() {
    let tomcat = Server::of(&["llama_cpp/not_a_model_server"]).await;
    let empty = Server::of(&["ollama/tags_empty"]).await;
    let nobody = closed_port().await;
    let probe = |provider, port| ServerProbe { provider, port };
    let probes = vec![
        probe(ProviderName::LlamaCpp, tomcat.port()),
        probe(ProviderName::Ollama, empty.port()),
        probe(ProviderName::LmStudio, nobody),
    ];
    let (models, _folder) = open(ModelSettings { discover: true, probes, ..nothing() });
    assert_eq!(ask(&models).await.unwrap_err().problem, ModelProblem::NotSetUp);
    assert_eq!(models.standing().server, None);
    tomcat.is_done();
    empty.is_done();
}

#[tokio::test]
async fn a_server_that_is_gone_is_forgotten_when_it_is_looked_for_again() {
    let server = Server::of(&["llama_cpp/models"]).await;
    let (models, _folder) = open(looking(ProviderName::LlamaCpp, server.port()));
    models.discover().await;
    assert_eq!(models.standing().state, StandingState::Ready);
    drop(server);
    models.discover().await;
    assert_eq!(models.standing().state, StandingState::NotSetUp);
}

#[tokio::test]
async fn a_server_that_does_not_answer_any_more_is_not_asked_twice() {
    let server = Server::of(&["llama_cpp/models"]).await;
    let (models, _folder) = open(looking(ProviderName::LlamaCpp, server.port()));
    models.discover().await;
    drop(server);
    assert_eq!(ask(&models).await.unwrap_err().problem, ModelProblem::Unreachable);
    assert_eq!(ask(&models).await.unwrap_err().problem, ModelProblem::NotSetUp);
}

#[tokio::test]
async fn the_hosts_own_model_is_started_when_it_is_asked() {
    let server = Server::of(&["local/chat"]).await;
    let (base_url, starts) = (server.url(), Arc::new(AtomicUsize::new(0)));
    let counted = starts.clone();
    let start = move |_: String| -> futures::future::BoxFuture<'static, Result<Endpoint, ModelFailure>> {
        counted.fetch_add(1, Ordering::Relaxed);
        let endpoint = Endpoint { base_url: base_url.clone(), key: Some(secret("local-recorded-key-0008")) };
        Box::pin(async move { Ok(endpoint) })
    };
    let (models, _folder) = open_with_local(nothing(), tiny(start));
    let standing = models.standing();
    assert_eq!((standing.state, standing.provider), (StandingState::Ready, Some(ProviderName::Local)));
    assert_eq!(models.list().await.current.as_deref(), Some("tiny"));
    assert_eq!(starts.load(Ordering::Relaxed), 0);
    assert_eq!(ask(&models).await.unwrap().text(), "Sunny.");
    assert_eq!(starts.load(Ordering::Relaxed), 1);
    server.is_done();
}

#[tokio::test]
async fn why_the_hosts_own_model_does_not_start_is_told() {
    let failure = ModelFailure {
        problem: ModelProblem::Unreachable,
        message: "the file of the model is missing".into(),
        model: "tiny".into(),
        detail: String::new(),
    };
    let told = failure.clone();
    let start = move |_: String| -> futures::future::BoxFuture<'static, Result<Endpoint, ModelFailure>> {
        let told = told.clone();
        Box::pin(async move { Err(told) })
    };
    let (models, _folder) = open_with_local(nothing(), tiny(start));
    assert_eq!(ask(&models).await.unwrap_err(), failure);
}

/// One local model, started like this.
fn tiny(
    start: impl Fn(String) -> futures::future::BoxFuture<'static, Result<Endpoint, ModelFailure>>
    + Send
    + Sync
    + 'static,
) -> StartLocal {
    StartLocal { names: Arc::new(|| vec!["tiny".to_owned()]), endpoint: Arc::new(start) }
}
