//! The vault: its names, and setting and removing values. For the owner only, and no route answers with a value.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf},
};
use axum::{Json, extract::State};
use roost_host::{Host, SecretValue, Secrets};
use roost_protocol::{Reason, VariableName};
use serde::Deserialize;
use serde_json::{Value, json};

/// A value on its way into the vault. Cannot be printed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewValue {
    value: String,
}

/// The names in the vault, when each was set and who was granted it; never a value.
#[utoipa::path(get, path = "/secrets", tag = "secrets", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Secrets>, ErrorAnswer> {
    Ok(Json(host.secrets().await?))
}

/// Sets a secret; the next call of an agent that was granted it has the new value.
#[utoipa::path(put, path = "/secrets/{name}", tag = "secrets", params(("name" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn set(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
    JsonBody(NewValue { value }): JsonBody<NewValue>,
) -> Result<Json<Value>, ErrorAnswer> {
    let name = parsed(&name)?;
    let value = SecretValue::parse(value.as_bytes())
        .map_err(|error| ErrorAnswer::new(Reason::BadRequest, error.to_string()))?;
    let replaced = host.vault().set(&name, &value).await?;
    Ok(Json(json!({ "name": name.as_str(), "replaced": replaced })))
}

/// Removes a secret; who was granted it keeps the grant.
#[utoipa::path(delete, path = "/secrets/{name}", tag = "secrets", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    let name = parsed(&name)?;
    host.vault().remove(&name).await?;
    Ok(Json(json!({ "removed": name.as_str() })))
}

fn parsed(name: &str) -> Result<VariableName, ErrorAnswer> {
    VariableName::parse(name).map_err(|error| ErrorAnswer::new(Reason::BadRequest, error.to_string()))
}
