//! Native apps as the settings pages of published clients see them. For the owner only; no answer has a secret.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf, QueryOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    native::{NativePhase, NativeState, SettingsChange},
};
use roost_protocol::Failure;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Which kind.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    r#type: Option<String>,
}

/// New settings.
#[derive(Deserialize)]
pub(crate) struct NewSettings {
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default)]
    secrets: BTreeMap<String, bool>,
}

/// On or off.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Toggled {
    is_enabled: bool,
}

/// Every native app with its settings, secrets masked.
#[utoipa::path(get, path = "/api/v1/plugins", tag = "native", params(("type" = Option<String>, Query)), responses((status = 200, body = Object)))]
pub(crate) async fn list(
    _: Owner,
    State(host): State<Host>,
    QueryOf(wanted): QueryOf<Wanted>,
) -> Result<Json<Value>, ErrorAnswer> {
    let mut plugins = Vec::new();
    for state in host.native_apps().states() {
        let is_meant = wanted.r#type.as_ref().is_none_or(|kind| kind.is_empty() || *kind == kind_of(&state));
        if is_meant {
            plugins.push(item(&host, &state).await?);
        }
    }
    Ok(Json(json!({ "plugins": plugins })))
}

/// One of them.
#[utoipa::path(get, path = "/api/v1/plugins/{id}", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    shown(&host, &id).await
}

/// Sets settings of an app, which is told all of them.
#[utoipa::path(put, path = "/api/v1/plugins/{id}/settings", tag = "native", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn set(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(NewSettings { settings, secrets }): JsonBody<NewSettings>,
) -> Result<Json<Value>, ErrorAnswer> {
    let change = SettingsChange { settings, secrets, unset: Vec::new() };
    host.change_native_settings(&id, change).await?;
    shown(&host, &id).await
}

/// Sets a flag that clients show; it starts and stops nothing.
#[utoipa::path(put, path = "/api/v1/plugins/{id}/toggle", tag = "native", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn toggle(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(Toggled { is_enabled }): JsonBody<Toggled>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.switch_native(&id, is_enabled).await?;
    shown(&host, &id).await
}

async fn shown(host: &Host, id: &str) -> Result<Json<Value>, ErrorAnswer> {
    let state = host.native_apps().state(id)?;
    Ok(Json(json!({ "plugin": item(host, &state).await? })))
}

async fn item(host: &Host, state: &NativeState) -> Result<Value, Failure> {
    let settings = host.native_settings(&state.id).await?;
    let (is_enabled, changed_at) = host.native_switch(&state.id).await?;
    let values: Map<String, Value> = settings
        .settings
        .into_iter()
        .filter_map(|setting| Some((setting.field.key, Value::String(setting.value?))))
        .collect();
    let status = match state.phase {
        NativePhase::Running => "connected",
        NativePhase::Starting | NativePhase::Stopped => "disconnected",
        NativePhase::Waiting | NativePhase::Failed => "error",
    };
    let created_at = host.library().installed_at(&state.id).unwrap_or_else(|| state.since.to_string());
    let mut item = json!({
        "id": state.id, "name": roost_host::storefront::native_slug(&state.name), "pluginType": kind_of(state),
        "displayName": state.name, "description": state.description, "icon": "", "version": state.version,
        "isEnabled": is_enabled, "isInstalled": true, "connectionStatus": status, "settings": values,
        "capabilities": state.provides, "permissions": state.permissions, "appId": state.id,
        "createdAt": created_at,
        "updatedAt": changed_at.map_or_else(|| created_at.clone(), |at| at.to_string()),
    });
    if state.phase == NativePhase::Running {
        item["lastConnectedAt"] = json!(state.since);
    }
    if let Some(reason) = &state.reason {
        item["lastError"] = json!(reason.message);
    }
    Ok(item)
}

/// The first thing that it offers, without the name of the tool or channel.
fn kind_of(state: &NativeState) -> String {
    let first = state.provides.first().map(String::as_str).unwrap_or_default();
    first.split_once(':').map_or(first, |(kind, _)| kind).to_owned()
}
