//! Conversations that the host keeps, for the page and the terminal. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf},
};
use axum::{Json, extract::State};
use roost_host::{Host, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The newest conversations, newest first: `{conversations: [{session_id, title, time, turns}]}`.
#[utoipa::path(get, path = "/conversations", tag = "chat", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Json<Value> {
    Json(json!({ "conversations": host.conversations().list() }))
}

/// The messages of one, oldest first: `{session_id, messages}`.
#[utoipa::path(get, path = "/conversations/{id}", tag = "chat", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    let messages = host.conversations().messages(&SessionId::parse(&id)?)?;
    Ok(Json(json!({ "session_id": id, "messages": messages })))
}

/// One turn to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    /// Objects with `role` and `content`; whatever else they have is kept with them.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
}

/// Adds a turn to a conversation, which begins with its first one: `{session_id}`. Values of the vault are taken out.
#[utoipa::path(post, path = "/conversations/{id}", tag = "chat", params(("id" = String, Path)), request_body = Turn, responses((status = 200, body = Object)))]
pub(crate) async fn keep(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(turn): JsonBody<Turn>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.keep_turn(&SessionId::parse(&id)?, turn.messages)?;
    Ok(Json(json!({ "session_id": id })))
}

/// Forgets a conversation: `{removed}`.
#[utoipa::path(delete, path = "/conversations/{id}", tag = "chat", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.conversations().remove(&SessionId::parse(&id)?)?;
    Ok(Json(json!({ "removed": id })))
}
