//! Native apps as the host's own clients see them: state, starting and stopping, settings, accounts. For the owner only.

use crate::{
    error::ErrorAnswer,
    guard::Access,
    owner::Owner,
    request::{JsonBody, JsonOrNothing, PathOf},
    routes::native_accounts::callback_at,
};
use axum::{
    Extension, Json,
    extract::{Path, State},
    http::HeaderMap,
};
use roost_host::{
    Host,
    library::UpdateOutcome,
    native::{NativeSettings, NativeState, SettingsChange, ShownAccount},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// All native apps that this host keeps.
#[derive(Serialize)]
pub(crate) struct NativeApps {
    apps: Vec<NativeState>,
}

/// Versions that wait for a person.
#[derive(Serialize)]
pub(crate) struct Waiting {
    updates: Vec<UpdateOutcome>,
}

/// Which scopes of those that the app names; all of them when absent.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Connecting {
    scopes: Option<Vec<String>>,
}

/// Every native app that was started, with its phase, the reason for it and what it does not get to give.
#[utoipa::path(get, path = "/v1/native-apps", tag = "native", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Json<NativeApps> {
    Json(NativeApps { apps: host.native_apps().states() })
}

/// One of them.
#[utoipa::path(get, path = "/v1/native-apps/{id}", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<NativeState>, ErrorAnswer> {
    Ok(Json(host.native_apps().state(&id)?))
}

/// Starts a native app, or starts it again; answered when it answers.
#[utoipa::path(post, path = "/v1/native-apps/{id}/start", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn start(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<NativeState>, ErrorAnswer> {
    let folder = host.native_folder(&id).await?;
    Ok(Json(host.native_apps().start(folder).await?))
}

/// Ends a native app; answered when it is gone. It is not started again by itself.
#[utoipa::path(post, path = "/v1/native-apps/{id}/stop", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn stop(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<NativeState>, ErrorAnswer> {
    Ok(Json(host.native_apps().stop(&id).await?))
}

/// Ends a native app and starts it from what counts now.
#[utoipa::path(post, path = "/v1/native-apps/{id}/restart", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn restart(
    owner: Owner,
    host: State<Host>,
    id: PathOf,
) -> Result<Json<NativeState>, ErrorAnswer> {
    start(owner, host, id).await
}

/// Every version that waits for a person, with what it wants and the one before did not.
#[utoipa::path(get, path = "/v1/app-updates", tag = "apps", responses((status = 200, body = Object)))]
pub(crate) async fn waiting(_: Owner, State(host): State<Host>) -> Result<Json<Waiting>, ErrorAnswer> {
    Ok(Json(Waiting { updates: host.library().all_waiting().await? }))
}

/// What can be set of a native app and what is; secrets masked.
#[utoipa::path(get, path = "/v1/native-apps/{id}/settings", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn settings(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<NativeSettings>, ErrorAnswer> {
    Ok(Json(host.native_settings(&id).await?))
}

/// Changes settings, `{settings, unset, secrets}`: all of them or none. A running app is told.
#[utoipa::path(put, path = "/v1/native-apps/{id}/settings", tag = "native", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn set(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(change): JsonBody<SettingsChange>,
) -> Result<Json<NativeSettings>, ErrorAnswer> {
    Ok(Json(host.change_native_settings(&id, change).await?))
}

/// The accounts elsewhere that a native app uses.
#[utoipa::path(get, path = "/v1/native-apps/{id}/accounts", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn accounts(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Vec<ShownAccount>>, ErrorAnswer> {
    Ok(Json(host.accounts(&id).await?))
}

/// Begins to connect an account: the answer has the address at which a person signs in.
#[utoipa::path(post, path = "/v1/native-apps/{id}/accounts/{provider}", tag = "native", params(("id" = String, Path), ("provider" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn connect(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    Path((id, provider)): Path<(String, String)>,
    headers: HeaderMap,
    JsonOrNothing(asked): JsonOrNothing<Connecting>,
) -> Result<Json<Value>, ErrorAnswer> {
    let redirect = callback_at(&headers, &access);
    let url = host.connect_account(&id, &provider, asked.scopes, &redirect).await?;
    Ok(Json(json!({ "url": url })))
}
