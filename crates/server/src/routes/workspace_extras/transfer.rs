//! A workspace as a zip: out, and in again.

use super::Call;
use crate::openwop::{Asker, Refusal, RefusalBody};
use axum::{
    Json,
    extract::{Request, State},
    http::{Uri, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host,
    workspace::{Existing, Extent},
};
use serde_json::{Value, json};

/// Largest zip that comes in: everything that may travel, and its wrapping.
const IMPORT_BYTES_MAX: usize = 320 << 20;

/// The workspace as a zip, with every version that is kept, or only the newest with `history=false`.
#[utoipa::path(
    get, path = "/v1/host/workspace/export", tag = "workspace",
    params(("history" = Option<bool>, Query, description = "False for the newest versions only")),
    responses(
        (status = 200, content_type = "application/zip", body = Vec<u8>),
        (status = 413, description = "Too much to travel at once", body = RefusalBody),
    )
)]
pub(crate) async fn export(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Response, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    let history = call.query(&["history"])?.flag("history")?.unwrap_or(true);
    let extent = if history { Extent::History } else { Extent::Newest };
    let zip = call.workspaces.export(&call.owner, extent).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"workspace.zip\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, zip).into_response())
}

/// Brings in what an export holds, all or nothing; `dryRun=true` only says what it would do.
#[utoipa::path(
    post, path = "/v1/host/workspace/import", tag = "workspace",
    params(
        ("dryRun" = Option<bool>, Query, description = "True to change nothing"),
        ("onConflict" = Option<String>, Query, description = "What becomes of files that are there and differ: fail, skip or replace"),
    ),
    request_body(content = Vec<u8>, content_type = "application/zip"),
    responses((status = 200, body = Object), (status = 409, description = "Files are in the way", body = RefusalBody))
)]
pub(crate) async fn import(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let call = Call::writing(&asker, &host, request, IMPORT_BYTES_MAX).await?;
    let query = call.query(&["dryRun", "onConflict"])?;
    let is_rehearsal = query.flag("dryRun")?.unwrap_or(false);
    let existing = match query.one("onConflict")? {
        None | Some("fail") => Existing::Fail,
        Some("skip") => Existing::Skip,
        Some("replace") => Existing::Replace,
        Some(_) => return Err(Refusal::invalid("onConflict", "this must be fail, skip or replace")),
    };
    let Call { workspaces, owner, writer, body, .. } = call;
    let plan = if is_rehearsal {
        workspaces.rehearse_import(&owner, &writer, body, existing).await?
    } else {
        workspaces.import(&owner, &writer, body, existing).await?
    };
    Ok(Json(json!({
        "dryRun": is_rehearsal, "create": plan.create, "replace": plan.replace, "same": plan.same,
        "conflict": plan.conflict,
    })))
}
