//! Sources of agents: listing, connecting, syncing and forgetting them.

use crate::{
    error::ErrorAnswer,
    request::{JsonBody, PathOf},
};
use axum::{Json, extract::State};
use roost_host::{Host, NewSource, SourceChange, SourceListing};
use serde::Serialize;
use serde_json::{Value, json};

/// The list of `roost repos --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Repos {
    repos: Vec<SourceListing>,
}

/// Every connected source, and what it brought.
#[utoipa::path(get, path = "/repos", tag = "agents", responses((status = 200, body = Object)))]
pub(crate) async fn list(State(host): State<Host>) -> Result<Json<Repos>, ErrorAnswer> {
    Ok(Json(Repos { repos: host.sources().await? }))
}

/// Connects a repository or a folder; its agents are pinned and loaded at once.
#[utoipa::path(post, path = "/repos", tag = "agents", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn add(
    State(host): State<Host>,
    JsonBody(asked): JsonBody<NewSource>,
) -> Result<Json<SourceChange>, ErrorAnswer> {
    Ok(Json(host.add_source(&asked).await?))
}

/// Brings what a source has now, and says what changed.
#[utoipa::path(post, path = "/repos/{id}/sync", tag = "agents", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn sync(
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<SourceChange>, ErrorAnswer> {
    Ok(Json(host.sync_source(&id).await?))
}

/// Forgets a source and takes its agents away.
#[utoipa::path(delete, path = "/repos/{id}", tag = "agents", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(State(host): State<Host>, PathOf(id): PathOf) -> Result<Json<Value>, ErrorAnswer> {
    host.remove_source(&id).await?;
    Ok(Json(json!({ "removed": id })))
}
