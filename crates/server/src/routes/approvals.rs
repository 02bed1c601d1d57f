//! What models want to do and a person decides. For the owner only.

use crate::{error::ErrorAnswer, owner::Owner, request::PathOf};
use axum::{Json, extract::State};
use roost_host::Host;
use serde_json::{Value, json};

/// What waits for a person, oldest first.
#[utoipa::path(get, path = "/v1/approvals", tag = "pages", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "approvals": host.pages().approvals().await? })))
}

/// Does what was waited for.
#[utoipa::path(post, path = "/v1/approvals/{id}/approve", tag = "pages", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn approve(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    let approval = host.pages().approve(&id).await?;
    Ok(Json(json!({ "approved": approval.id, "page": approval.page })))
}

/// Forgets what was waited for; nothing of it is done.
#[utoipa::path(post, path = "/v1/approvals/{id}/deny", tag = "pages", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn deny(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    let approval = host.pages().deny(&id).await?;
    Ok(Json(json!({ "denied": approval.id, "page": approval.page })))
}
