//! What servers do wrong, and what is said about it. No failure may hold the key that was sent.

use crate::asking::{IMPATIENCE, ask, listen, nothing, open, openai};
use crate::server::{Server, closed_port};
use roost_chat::{ModelFailure, ModelProblem, ModelSettings, Models, OpenAiSettings, ProxySettings};
use roost_protocol::Reason;
use std::time::Duration;

const KEY: &str = "sk-recorded-openai-key-0001";

/// The failure of an exchange, asked as a stream when its name says so.
async fn failure(exchange: &str) -> ModelFailure {
    let server = Server::of(&[&format!("bad/{exchange}")]).await;
    let settings = openai(&server, Some("gpt-4o"));
    // Only silence is waited for.
    let wait = if exchange.contains("silent") || exchange.contains("stalls") {
        IMPATIENCE
    } else {
        settings.piece_wait
    };
    let (models, _folder) = open(ModelSettings { first_byte_wait: wait, piece_wait: wait, ..settings });
    let reply = if exchange.starts_with("stream") { listen(&models).await.0 } else { ask(&models).await };
    let failure = reply.unwrap_err();
    assert!(!format!("{failure} {failure:?} {models:?}").contains(KEY), "{exchange} shows the key");
    assert_eq!(failure.model, "gpt-4o", "{exchange}");
    failure
}

async fn check(exchange: &str, problem: ModelProblem, message: &str) {
    let failure = failure(exchange).await;
    assert_eq!((failure.problem, failure.message.as_str()), (problem, message), "{exchange}");
}

#[tokio::test]
async fn answers_that_are_none_are_garbled() {
    for (exchange, what) in [
        ("not_json", "answered with something that is not JSON"),
        ("no_choices", "returned no choices"),
        ("choices_missing", "returned no choices"),
        ("body_cut", "broke off in the middle of its answer"),
        ("not_http", "answered with something that is not HTTP"),
        ("stream_half", "stopped in the middle of its answer"),
        ("stream_cut", "broke off in the middle of its answer"),
        ("stream_garbage", "streamed something that is not JSON"),
        ("stream_empty", "returned no choices"),
        ("flood", "answered with more than can be held"),
        ("stream_flood", "streamed an event larger than can be held"),
    ] {
        check(exchange, ModelProblem::Garbled, &format!("Model 'gpt-4o' {what}.")).await;
    }
}

#[tokio::test]
async fn silence_is_told_before_and_within_an_answer() {
    check("silent", ModelProblem::Silent, "Model 'gpt-4o' did not answer within 200 ms.").await;
    check("stream_stalls", ModelProblem::Silent, "Model 'gpt-4o' did not answer within 200 ms.").await;
}

#[tokio::test]
async fn limits_say_when_to_ask_again() {
    let retry_after = Some(Duration::from_secs(20));
    let problem = ModelProblem::Limited { retry_after };
    check_limited(
        "rate_limited",
        problem,
        "The usage limit of model 'gpt-4o' is reached. Ask again in 20 s.",
    )
    .await;
    let problem = ModelProblem::Limited { retry_after: None };
    check_limited("quota", problem, "The usage limit of model 'gpt-4o' is reached.").await;
}

/// After a limit the list of models is asked for, which nobody here has.
async fn check_limited(exchange: &str, problem: ModelProblem, message: &str) {
    let failure = failure(exchange).await;
    assert_eq!((failure.problem, failure.message.as_str()), (problem, message), "{exchange}");
}

#[tokio::test]
async fn refusals_keep_their_status_and_lose_the_key() {
    check("wrong_key", ModelProblem::Refused { status: 401 }, "Model 'gpt-4o' returned 401.").await;
    check("not_found", ModelProblem::Refused { status: 404 }, "Model 'gpt-4o' returned 404.").await;
    check("redirect", ModelProblem::Refused { status: 302 }, "Model 'gpt-4o' returned 302.").await;
    check("stream_error", ModelProblem::Refused { status: 500 }, "Model 'gpt-4o' returned 500.").await;
    assert!(failure("wrong_key").await.detail.contains("Incorrect API key provided: [removed]"));
}

#[tokio::test]
async fn of_a_long_error_the_first_300_characters_are_told() {
    let failure = failure("long_error").await;
    assert_eq!(failure.detail, "ü".repeat(300));
}

#[tokio::test]
async fn a_port_without_a_server_and_a_connection_without_an_answer_are_unreachable() {
    let message = "The provider of model 'gpt-4o' cannot be reached.";
    check("closed", ModelProblem::Unreachable, message).await;
    let base_url = Some(format!("http://127.0.0.1:{}", closed_port().await));
    let openai = OpenAiSettings { base_url, key: None, model: Some("gpt-4o".into()) };
    let failure = ask(&open(ModelSettings { openai: Some(openai), ..nothing() }).0).await.unwrap_err();
    assert_eq!((failure.problem, failure.message.as_str()), (ModelProblem::Unreachable, message));
    assert!(failure.detail.contains("refused"), "{}", failure.detail);
}

#[tokio::test]
async fn an_address_that_is_none_is_unreachable_and_keeps_its_password() {
    let base_url = Some("http://me:hidden-password@[broken/v1".to_owned());
    let openai = OpenAiSettings { base_url, key: None, model: Some("m".into()) };
    let failure = ask(&open(ModelSettings { openai: Some(openai), ..nothing() }).0).await.unwrap_err();
    assert_eq!(failure.problem, ModelProblem::Unreachable);
    assert!(!format!("{failure:?}").contains("hidden-password"), "{failure:?}");
}

#[tokio::test]
async fn a_proxy_is_used_for_the_world_and_not_for_this_machine() {
    let proxy = Server::of(&["openai/through_proxy"]).await;
    let settings = ProxySettings { url: proxy.url(), not_for: String::new() };
    let openai_far =
        OpenAiSettings { base_url: Some("http://models.example".into()), key: None, model: Some("m".into()) };
    let far = ModelSettings { openai: Some(openai_far), proxy: Some(settings), ..nothing() };
    ask(&open(far).0).await.unwrap();
    proxy.is_done();
    let server = Server::of(&["openai/chat"]).await;
    let settings =
        ProxySettings { url: format!("http://127.0.0.1:{}", closed_port().await), not_for: String::new() };
    let near = ModelSettings { proxy: Some(settings), ..openai(&server, Some("gpt-4o")) };
    ask(&open(near).0).await.unwrap();
}

#[tokio::test]
async fn a_proxy_that_is_no_address_is_refused_at_the_start() {
    let proxy = Some(ProxySettings { url: "http://".into(), not_for: String::new() });
    let failure = Models::open(ModelSettings { proxy, ..nothing() }, "unused".into(), None).unwrap_err();
    assert_eq!(failure.reason, Reason::InvalidSettings);
}

#[tokio::test]
async fn settings_can_be_shown_without_their_credentials() {
    let server = Server::of(&[]).await;
    let mut settings = openai(&server, None);
    settings.openai.as_mut().unwrap().base_url = Some("http://me:hidden-password@h/v1".into());
    settings.github.token = Some(crate::asking::secret("ghu_hidden"));
    let shown = format!("{settings:?} {:?}", open(settings.clone()).0);
    for credential in [KEY, "hidden"] {
        assert!(!shown.contains(credential), "{shown}");
    }
}
