//! Files that agents ask people for. For the owner only: a prompt may say what an agent is about.

use crate::{error::ErrorAnswer, owner::Owner, request::PathOf};
use axum::{Json, extract::State};
use roost_host::Host;
use serde_json::{Value, json};

/// What agents ask for and nobody has given or dismissed yet: `{requests: [{id, app, folder, prompt, patterns, asked}]}`.
#[utoipa::path(get, path = "/workspace-requests", tag = "workspace", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "requests": host.file_requests()? })))
}

/// Takes a request off the list. An agent that still needs the file asks again.
#[utoipa::path(delete, path = "/workspace-requests/{id}", tag = "workspace", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn dismiss(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.dismiss_file_request(&id)?;
    Ok(Json(json!({ "dismissed": id })))
}
