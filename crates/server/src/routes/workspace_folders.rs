//! Folders of agents on this machine, for whoever sits in front of it. For the owner only: opening one shows a window.

use crate::{error::ErrorAnswer, owner::Owner, request::PathOf};
use axum::{Json, extract::State};
use roost_host::{Host, workspace::OpenedFolder};
use serde_json::{Value, json};

/// The folders that agents and apps have: `{folders: [{folder, workspace, path}]}`.
#[utoipa::path(get, path = "/workspace-folders", tag = "workspace", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "folders": host.agent_folders()? })))
}

/// Opens a folder in the file manager of this machine, where it has one: `{path, opened}`.
#[utoipa::path(post, path = "/workspace-folders/{folder}/open", tag = "workspace", params(("folder" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn open(
    _: Owner,
    State(host): State<Host>,
    PathOf(folder): PathOf,
) -> Result<Json<OpenedFolder>, ErrorAnswer> {
    Ok(Json(host.open_agent_folder(&folder).await?))
}
