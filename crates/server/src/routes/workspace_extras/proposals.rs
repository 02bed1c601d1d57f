//! Changes that agents propose: seen, compared with what is there, approved or rejected.

use super::{BODY_BYTES_MAX, Call, shapes};
use crate::openwop::{Asker, Refusal, RefusalBody, moment};
use axum::{
    Json,
    extract::{Path, Request, State},
    http::Uri,
};
use roost_host::{
    Host,
    workspace::{Diff, Proposal, Side, Verdict, WorkspaceError, unified_diff},
};
use serde_json::{Value, json};

/// Lines around a difference.
const CONTEXT_LINES: usize = 3;

/// Every change that waits for a person.
#[utoipa::path(
    get, path = "/v1/host/workspace/proposals", tag = "workspace",
    responses((status = 200, body = Object), (status = 401, body = RefusalBody))
)]
pub(crate) async fn list(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    call.query(&[])?;
    let proposals = call.workspaces.proposals(&call.owner).await?;
    let rows: Vec<Value> = proposals.iter().map(row).collect();
    Ok(Json(json!({ "proposals": rows })))
}

fn row(proposal: &Proposal) -> Value {
    json!({
        "id": proposal.id, "path": proposal.path, "removes": proposal.content.is_none(),
        "contentType": proposal.content_type, "bytes": proposal.content.as_ref().map_or(0, Vec::len),
        "etag": proposal.etag, "proposedAt": moment(proposal.at), "author": shapes::author(&proposal.author),
    })
}

/// One change that waits, with its content and how that differs from the file.
#[utoipa::path(
    get, path = "/v1/host/workspace/proposals/{id}", tag = "workspace", params(("id" = i64, Path)),
    responses((status = 200, body = Object), (status = 404, body = RefusalBody))
)]
pub(crate) async fn show(
    asker: Asker,
    State(host): State<Host>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    call.query(&[])?;
    let id = number(&id)?;
    let proposals = call.workspaces.proposals(&call.owner).await?;
    let proposal = proposals.into_iter().find(|proposal| proposal.id == id);
    let proposal = proposal.ok_or(WorkspaceError::NotFound)?;
    let mut shown = row(&proposal);
    let current = match call.workspaces.get(&call.owner, &proposal.path, None).await {
        Err(WorkspaceError::NotFound) => None,
        file => Some(file?),
    };
    shown["current"] = json!(current.as_ref().map(|file| &file.info.etag) == proposal.etag.as_ref());
    if let Some(content) = &proposal.content {
        let (content, encoding) = shapes::encoded(content);
        shown["content"] = json!(content);
        shown["encoding"] = json!(encoding);
    }
    let compare = move || {
        let (old, new) = (current.map(|file| file.content), proposal.content);
        let name = |there: bool| if there { proposal.path.as_str() } else { "/dev/null" };
        let sides = (name(old.is_some()), name(new.is_some()));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let old = Side { name: sides.0, content: &old };
        unified_diff(old, Side { name: sides.1, content: &new }, CONTEXT_LINES)
    };
    let compared = tokio::task::spawn_blocking(compare).await.unwrap_or(Diff::TooLarge);
    shown["difference"] = shapes::diff(&compared);
    Ok(Json(shown))
}

/// Makes a proposed change, if the file is still as it was then.
#[utoipa::path(
    post, path = "/v1/host/workspace/proposals/{id}/approve", tag = "workspace", params(("id" = i64, Path)),
    responses((status = 200, body = Object), (status = 409, body = RefusalBody))
)]
pub(crate) async fn approve(
    asker: Asker,
    State(host): State<Host>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    decide(&call, &id, Verdict::Approve).await
}

/// Drops a proposed change.
#[utoipa::path(
    post, path = "/v1/host/workspace/proposals/{id}/reject", tag = "workspace", params(("id" = i64, Path)),
    responses((status = 200, body = Object), (status = 404, body = RefusalBody))
)]
pub(crate) async fn reject(
    asker: Asker,
    State(host): State<Host>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    decide(&call, &id, Verdict::Reject).await
}

async fn decide(call: &Call, id: &str, verdict: Verdict) -> Result<Json<Value>, Refusal> {
    call.query(&[])?;
    let id = number(id)?;
    let principal = &call.writer.author.principal;
    let made = call.workspaces.decide(&call.owner, id, verdict, principal).await?;
    let Some(info) = made else { return Ok(Json(json!({ "id": id, "verdict": "rejected" }))) };
    // A removal leaves no content type behind.
    let file = if info.content_type.is_empty() { shapes::removal(&info) } else { shapes::file(&info) };
    Ok(Json(json!({ "id": id, "verdict": "approved", "file": file })))
}

/// Something else than a number names no proposal.
fn number(text: &str) -> Result<i64, Refusal> {
    text.parse().map_err(|_| Refusal::not_found())
}
