//! What was decided, why something does not work, and what this machine has. For the owner only.

use crate::{error::ErrorAnswer, owner::Owner, request::QueryOf};
use axum::{Json, extract::State};
use jiff::Timestamp;
use roost_host::{
    AuditFilter, Host,
    doctor::{FindingState, examine},
    why::{Explanation, explain},
};
use roost_protocol::{AppId, Failure, Reason};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

/// Rows that are shown unless asked otherwise.
const ROWS_USUAL: usize = 200;

/// Which rows of the record.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Rows {
    /// Only those of this app.
    app: Option<String>,
    /// Only those of this time or later, as in 2026-11-16T10:00:00Z.
    #[param(value_type = Option<String>)]
    since: Option<Timestamp>,
    /// Only the last so many; at most 10 000.
    limit: Option<usize>,
}

/// The record of decisions, oldest first: `{rows, left_out, broken}`, the same as `roost audit --json`.
#[utoipa::path(get, path = "/audit", tag = "rights", params(Rows), responses((status = 200, body = Object)))]
pub(crate) async fn audit(
    _: Owner,
    State(host): State<Host>,
    QueryOf(asked): QueryOf<Rows>,
) -> Result<Json<Value>, ErrorAnswer> {
    let Rows { app, since, limit } = asked;
    let app = app.filter(|app| !app.is_empty()).map(AppId::new);
    let filter = AuditFilter { app, since, limit: Some(limit.unwrap_or(ROWS_USUAL)) };
    let listing = reading(move || host.audit(&filter)).await?;
    let broken = listing.broken.as_ref().map(ToString::to_string);
    Ok(Json(json!({ "rows": listing.rows, "left_out": listing.left_out, "broken": broken })))
}

/// Follows the chain of the record: `{ok, rows, segments}`; 422 `audit_broken` names the first row that was changed.
#[utoipa::path(get, path = "/audit/verify", tag = "rights", responses((status = 200, body = Object)))]
pub(crate) async fn verify(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    let verified = reading(move || host.verify_audit()).await?;
    Ok(Json(json!({ "ok": true, "rows": verified.rows, "segments": verified.segments })))
}

/// What is asked about.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Subject {
    /// An agent, a service, a file, a call or a reason code.
    subject: String,
}

/// One cause, the evidence and the next step, the same as `roost why X --json`.
#[utoipa::path(get, path = "/why", tag = "host", params(Subject), responses((status = 200, body = Object)))]
pub(crate) async fn why(
    _: Owner,
    State(host): State<Host>,
    QueryOf(asked): QueryOf<Subject>,
) -> Result<Json<Explanation>, ErrorAnswer> {
    Ok(Json(explain(&host, &asked.subject).await?))
}

/// What this machine has and what is missing, the same as `roost doctor --json`.
#[utoipa::path(get, path = "/doctor", tag = "host", responses((status = 200, body = Object)))]
pub(crate) async fn doctor(_: Owner, State(host): State<Host>) -> Json<Value> {
    let findings = examine(&host).await;
    let ok = findings.iter().all(|finding| finding.state != FindingState::Missing);
    Json(json!({ "ok": ok, "findings": findings }))
}

/// Reads files of megabytes, beside the threads that answer.
async fn reading<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
}
