//! Versions of one file: looking at them, comparing two, going back to one, and forgetting those of a removed file.

use super::{BODY_BYTES_MAX, Call, existing_path, required, shapes};
use crate::openwop::{Asker, Refusal, RefusalBody, moment};
use axum::{
    Json,
    extract::{Request, State},
    http::Uri,
    response::Response,
};
use roost_host::{Host, workspace::Revision};
use serde::Deserialize;
use serde_json::{Value, json};

/// Every version of a file that is kept, newest first, and who wrote it.
#[utoipa::path(
    get, path = "/v1/host/workspace/history", tag = "workspace",
    params(("path" = String, Query, description = "Name of the file")),
    responses((status = 200, body = Object), (status = 404, body = RefusalBody))
)]
pub(crate) async fn history(
    asker: Asker,
    State(host): State<Host>,
    uri: Uri,
) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    let query = call.query(&["path"])?;
    let path = existing_path("path", required(&query, "path")?)?;
    let revisions = call.workspaces.history(&call.owner, &path).await?;
    let versions: Vec<Value> = revisions.iter().map(row).collect();
    Ok(Json(json!({ "path": path, "versions": versions })))
}

fn row(revision: &Revision) -> Value {
    let sha256: String = revision.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "version": revision.version, "removed": revision.removed, "bytes": revision.bytes,
        "contentType": revision.content_type, "updatedAt": moment(revision.updated_at), "sha256": sha256,
        "author": shapes::author(&revision.author),
    })
}

/// What changed between two versions of a file; the newest one where `to` is not given.
#[utoipa::path(
    get, path = "/v1/host/workspace/diff", tag = "workspace",
    params(
        ("path" = String, Query, description = "Name of the file"),
        ("from" = i64, Query, description = "A version"),
        ("to" = Option<i64>, Query, description = "Another version"),
    ),
    responses((status = 200, body = Object), (status = 404, body = RefusalBody))
)]
pub(crate) async fn diff(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    let query = call.query(&["path", "from", "to"])?;
    let path = existing_path("path", required(&query, "path")?)?;
    required(&query, "from")?;
    let (from, to) = (query.number("from", 1)?.unwrap_or(1), query.number("to", 1)?);
    Ok(Json(shapes::diff(&call.workspaces.diff(&call.owner, &path, from, to).await?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    path: String,
    version: i64,
}

/// Writes an older version of a file again, as a new one. Honours If-Match.
#[utoipa::path(
    post, path = "/v1/host/workspace/restore", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 409, body = RefusalBody))
)]
pub(crate) async fn restore(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let Restore { path, version } = call.object()?;
    let path = existing_path("path", &path)?;
    if version < 1 {
        return Err(Refusal::invalid("version", "a version is a whole number from 1 on"));
    }
    let condition = call.headers().condition()?;
    let done = call.workspaces.restore(&call.owner, &call.writer, &path, version, condition).await?;
    Ok(shapes::answer(&done))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfPath {
    path: String,
}

/// Brings back a file that was removed, as it was before.
#[utoipa::path(
    post, path = "/v1/host/workspace/undelete", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 409, description = "It is there", body = RefusalBody))
)]
pub(crate) async fn undelete(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let path = existing_path("path", &call.object::<OfPath>()?.path)?;
    Ok(shapes::answer(&call.workspaces.undelete(&call.owner, &call.writer, &path).await?))
}

/// Forgets the versions of a file that was removed, for good. A new file of its name counts from 1 again.
#[utoipa::path(
    post, path = "/v1/host/workspace/purge", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 409, description = "It is there, or a run needs it", body = RefusalBody))
)]
pub(crate) async fn purge(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let path = existing_path("path", &call.object::<OfPath>()?.path)?;
    let versions = call.workspaces.purge(&call.owner, &path).await?;
    // The one thing that cannot be undone: who did it stays in the log.
    tracing::info!(principal = %call.writer.author.principal, owner = %call.owner, versions, "a removed file was purged");
    Ok(Json(json!({ "path": path, "versionsPurged": versions })))
}
