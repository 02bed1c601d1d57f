//! Messages that native apps carry: said to people elsewhere, and to other agents. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    native::{CommMessage, CommRequest, OutgoingMessage},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What to ask of an app that carries messages between agents: one of the three.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Carried {
    /// Carry a message.
    Send(AgentMessage),
    /// Bring what belongs to a topic.
    Subscribe(String),
    /// Bring it no longer.
    Unsubscribe(String),
}

/// A message to another agent. Who sends it is this host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentMessage {
    to: String,
    content: String,
    #[serde(default)]
    topic: String,
    #[serde(default)]
    conversation_id: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// Says something to people elsewhere through an app's channel.
#[utoipa::path(post, path = "/v1/apps/{id}/channel", tag = "apps", params(("id" = String, Path)),
    request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn say(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(message): JsonBody<OutgoingMessage>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.start_native_apps().await;
    let message_id = host.native_apps().say(&id, message).await?;
    Ok(Json(json!({ "message_id": message_id })))
}

/// Sends to other agents, or listens to a topic of theirs.
#[utoipa::path(post, path = "/v1/apps/{id}/comm", tag = "apps", params(("id" = String, Path)),
    request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn carry(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(carried): JsonBody<Carried>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.start_native_apps().await;
    let request = match carried {
        Carried::Subscribe(topic) => CommRequest::Subscribe(topic),
        Carried::Unsubscribe(topic) => CommRequest::Unsubscribe(topic),
        Carried::Send(message) => CommRequest::Send(Box::new(CommMessage {
            to: message.to,
            content: message.content,
            topic: message.topic,
            conversation_id: message.conversation_id,
            kind: message.kind,
            metadata: message.metadata,
            ..CommMessage::default()
        })),
    };
    host.native_apps().carry(&id, request).await?;
    Ok(Json(json!({ "ok": true })))
}
