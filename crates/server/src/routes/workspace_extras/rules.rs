//! What agents may do with files, by the beginning of their names.

use super::{BODY_BYTES_MAX, Call, required};
use crate::openwop::{Asker, Refusal, RefusalBody};
use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, Uri},
};
use roost_host::{
    Host,
    workspace::{Prefix, Rule},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Every rule for agents, the usual ones included. The longest beginning of a name decides.
#[utoipa::path(
    get, path = "/v1/host/workspace/rules", tag = "workspace",
    responses((status = 200, body = Object), (status = 401, body = RefusalBody))
)]
pub(crate) async fn list(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let call = Call::reading(&asker, &host, uri).await?;
    call.query(&[])?;
    Ok(Json(json!({ "rules": call.workspaces.rules(&call.owner).await? })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRule {
    prefix: String,
    rule: Rule,
}

/// Sets what agents may do with files whose name begins so: `read`, `propose` or `write`.
#[utoipa::path(
    put, path = "/v1/host/workspace/rules", tag = "workspace", request_body = Object,
    responses((status = 200, body = Object), (status = 400, body = RefusalBody))
)]
pub(crate) async fn set(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let NewRule { prefix, rule } = call.object()?;
    call.workspaces.set_rule(&call.owner, &prefix_of(&prefix)?, Some(rule)).await?;
    Ok(Json(json!({ "prefix": prefix, "rule": rule })))
}

/// Takes a rule back.
#[utoipa::path(
    delete, path = "/v1/host/workspace/rules", tag = "workspace",
    params(("prefix" = String, Query, description = "The beginning of names that the rule is for")),
    responses((status = 204, description = "It is gone"), (status = 404, body = RefusalBody))
)]
pub(crate) async fn unset(
    asker: Asker,
    State(host): State<Host>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let call = Call::writing(&asker, &host, request, BODY_BYTES_MAX).await?;
    let query = call.query(&["prefix"])?;
    call.workspaces.set_rule(&call.owner, &prefix_of(required(&query, "prefix")?)?, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A database does not take every text; names of files have no control characters anyway.
fn prefix_of(text: &str) -> Result<Prefix, Refusal> {
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid("prefix", "a prefix has no control characters"));
    }
    Prefix::parse(text).map_err(|error| Refusal::invalid("prefix", error.to_string()))
}
