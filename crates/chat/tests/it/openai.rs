//! OpenAI's own form, at once and in pieces.

use crate::asking::{ask, ask_without_tools, calls, listen, nothing, open, openai};
use crate::server::Server;
use roost_chat::{ModelSettings, OpenAiSettings};
use roost_protocol::ModelUse;
use serde_json::json;

const USAGE: ModelUse =
    ModelUse { completions: 1, prompt_tokens: 82, cached_tokens: 64, completion_tokens: 17 };

#[tokio::test]
async fn a_reply_comes_at_once() {
    let server = Server::of(&["openai/chat"]).await;
    let reply = ask(&open(openai(&server, Some("gpt-4o"))).0).await.unwrap();
    server.is_done();
    assert_eq!(reply.text(), "Sunny, 21 °C.");
    assert_eq!((reply.model.as_str(), reply.requested_model.as_str()), ("gpt-4o", "gpt-4o"));
    assert_eq!(reply.usage, USAGE);
    assert_eq!(reply.message, json!({"role": "assistant", "content": "Sunny, 21 °C.", "annotations": []}));
}

#[tokio::test]
async fn a_reply_may_be_a_call() {
    let server = Server::of(&["openai/tool_call"]).await;
    let reply = ask(&open(openai(&server, Some("gpt-4o"))).0).await.unwrap();
    server.is_done();
    assert_eq!(calls(&reply), json!([["call_DdmO9pD3xa9XTPNJ32zg2hcA", "Weather", "{\"city\":\"Bern\"}"]]));
    assert_eq!(reply.message["content"], json!(null));
}

#[tokio::test]
async fn without_key_and_tools_neither_is_sent_and_the_body_is_utf8_whatever_its_header_says() {
    let server = Server::of(&["openai/without_tools"]).await;
    let own = OpenAiSettings {
        base_url: Some(format!("{}/v1/", server.url())),
        key: None,
        model: Some("tiny".into()),
    };
    let (models, _folder) = open(ModelSettings { openai: Some(own), ..nothing() });
    let reply = ask_without_tools(&models).await.unwrap();
    server.is_done();
    assert_eq!(reply.text(), "Grüezi – 你好");
}

#[tokio::test]
async fn models_of_the_family_o1_get_no_tool_choice() {
    let server = Server::of(&["openai/o1"]).await;
    ask(&open(openai(&server, Some("o1-mini"))).0).await.unwrap();
    server.is_done();
}

#[tokio::test]
async fn several_choices_are_one_message() {
    let server = Server::of(&["openai/several_choices"]).await;
    let reply = ask(&open(openai(&server, Some("gpt-4o"))).0).await.unwrap();
    assert_eq!(reply.text(), "I look it up.");
    let expect =
        json!([["toolu_1", "Weather", "{\"city\":\"Bern\"}"], ["toolu_2", "Weather", "{\"city\":\"Thun\"}"]]);
    assert_eq!(calls(&reply), expect);
}

#[tokio::test]
async fn a_stream_is_heard_in_pieces_and_counted() {
    let server = Server::of(&["openai/stream"]).await;
    let (reply, heard) = listen(&open(openai(&server, Some("gpt-4o"))).0).await;
    server.is_done();
    let reply = reply.unwrap();
    assert_eq!(heard, ["Sunny", ", 21 °C."]);
    assert_eq!(reply.message, json!({"role": "assistant", "content": "Sunny, 21 °C."}));
    assert_eq!(reply.usage, USAGE);
}

#[tokio::test]
async fn calls_in_a_stream_are_put_together() {
    let server = Server::of(&["openai/stream_tool_calls"]).await;
    let (reply, heard) = listen(&open(openai(&server, Some("gpt-4o"))).0).await;
    server.is_done();
    let expect =
        json!([["call_1", "Weather", "{\"city\":\"Bern\"}"], ["call_2", "Weather", "{\"city\":\"Zürich\"}"]]);
    assert_eq!(calls(&reply.unwrap()), expect);
    assert!(heard.is_empty());
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_heard_all_the_same() {
    let server = Server::of(&["openai/stream_answered_whole"]).await;
    let (reply, heard) = listen(&open(openai(&server, Some("gpt-4o"))).0).await;
    assert_eq!(reply.unwrap().text(), "All at once.");
    assert_eq!(heard, ["All at once."]);
}

#[tokio::test]
async fn without_a_pinned_model_the_first_listed_is_asked() {
    let server = Server::of(&["openai/models"]).await;
    let (models, _folder) = open(openai(&server, None));
    assert_eq!(models.list().await.current.as_deref(), Some("gpt-4o-mini"));
    assert_eq!(models.standing().model.as_deref(), Some("gpt-4o-mini"));
    server.is_done();
}
