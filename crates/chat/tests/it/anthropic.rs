//! Anthropic: its own form, translated both ways.

use crate::asking::{ask, calls, listen, nothing, open, secret};
use crate::server::Server;
use roost_chat::{AnthropicSettings, ModelProblem, ModelSettings};
use roost_protocol::ModelUse;
use serde_json::json;
use std::time::Duration;

const USAGE: ModelUse =
    ModelUse { completions: 1, prompt_tokens: 117, cached_tokens: 100, completion_tokens: 33 };

fn anthropic(server: &Server) -> ModelSettings {
    let anthropic = AnthropicSettings {
        key: secret("sk-ant-recorded-key-0003"),
        model: Some("claude-sonnet-4-5".into()),
        base_url: Some(server.url()),
    };
    ModelSettings { anthropic: Some(anthropic), ..nothing() }
}

#[tokio::test]
async fn a_reply_comes_at_once() {
    let server = Server::of(&["anthropic/chat"]).await;
    let reply = ask(&open(anthropic(&server)).0).await.unwrap();
    server.is_done();
    assert_eq!(reply.message, json!({"role": "assistant", "content": "Sunny, 21 °C."}));
    assert_eq!(reply.usage, USAGE);
}

#[tokio::test]
async fn a_use_of_a_tool_becomes_a_call_and_thinking_is_left_out() {
    let server = Server::of(&["anthropic/tool_use"]).await;
    let reply = ask(&open(anthropic(&server)).0).await.unwrap();
    assert_eq!(reply.text(), "I look it up.");
    assert_eq!(calls(&reply), json!([["toolu_01A09q90qw90lq917835lq9", "Weather", "{\"city\":\"Bern\"}"]]));
}

#[tokio::test]
async fn a_stream_is_heard_in_pieces_with_its_calls() {
    let server = Server::of(&["anthropic/stream"]).await;
    let (reply, heard) = listen(&open(anthropic(&server)).0).await;
    server.is_done();
    let reply = reply.unwrap();
    assert_eq!(heard, ["I look ", "it up."]);
    let expect = json!([
        ["toolu_01T1x1fJ34qAmk2tNTrN7Up6", "Weather", "{\"city\": \"Bern\"}"],
        ["toolu_02", "Now", "{}"],
    ]);
    assert_eq!(calls(&reply), expect);
    assert_eq!(reply.usage, USAGE);
}

#[tokio::test]
async fn half_a_stream_and_an_answer_without_content_are_garbled() {
    let server = Server::of(&["anthropic/stream_half"]).await;
    let failure = listen(&open(anthropic(&server)).0).await.0.unwrap_err();
    assert_eq!(failure.problem, ModelProblem::Garbled);
    let server = Server::of(&["anthropic/no_content"]).await;
    let failure = ask(&open(anthropic(&server)).0).await.unwrap_err();
    assert_eq!(failure.message, "Model 'claude-sonnet-4-5' returned no content.");
}

#[tokio::test]
async fn an_error_within_a_stream_keeps_its_meaning_and_nobody_else_goes_on() {
    let server = Server::of(&["anthropic/stream_overloaded"]).await;
    let (reply, heard) = listen(&open(anthropic(&server)).0).await;
    server.is_done();
    assert_eq!(reply.unwrap_err().problem, ModelProblem::Refused { status: 529 });
    assert_eq!(heard, ["I lo"]);
}

#[tokio::test]
async fn when_it_is_overloaded_another_of_its_models_answers() {
    let server = Server::of(&["anthropic/overloaded", "anthropic/models", "anthropic/chat_by_other"]).await;
    let reply = ask(&open(anthropic(&server)).0).await.unwrap();
    server.is_done();
    assert_eq!(
        (reply.requested_model.as_str(), reply.model.as_str()),
        ("claude-sonnet-4-5", "claude-haiku-4-5")
    );
}

#[tokio::test]
async fn a_limit_says_when_to_ask_again() {
    let server = Server::of(&["anthropic/rate_limited", "anthropic/models_one"]).await;
    let failure = ask(&open(anthropic(&server)).0).await.unwrap_err();
    server.is_done();
    assert_eq!(failure.problem, ModelProblem::Limited { retry_after: Some(Duration::from_secs(7)) });
}

#[tokio::test]
async fn its_models_are_listed_by_their_names() {
    let server = Server::of(&["anthropic/models"]).await;
    let list = open(anthropic(&server)).0.list().await;
    server.is_done();
    let names: Vec<&str> = list.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["Claude Sonnet 4.5", "Claude Haiku 4.5"]);
    assert_eq!(list.current.as_deref(), Some("claude-sonnet-4-5"));
}
