//! Accounts of native apps, as their published clients ask for them: connecting, coming back, listing, disconnecting.
//!
//! Coming back is the one address that another site's page may lead to. What counts there is the state, which nobody
//! else knows and which counts once.

use crate::{
    coded::coded,
    error::ErrorAnswer,
    guard::Access,
    owner::Owner,
    request::{PathOf, QueryOf},
};
use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::Host;
use roost_protocol::Reason;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where providers send people back to.
pub(crate) const CALLBACK: &str = "/api/v1/apps/oauth/callback";

/// What a person sees when it is done. Nothing of what was sent is in it.
const DONE: &str = "<!doctype html><meta charset=utf-8><title>Connected</title>\
    <p>The account is connected. This window can be closed.</p><script>window.close()</script>";

/// Nothing is loaded; the one script is the one above.
const SEALED: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'unsafe-inline'; sandbox allow-scripts; frame-ancestors 'none'",
);

/// Which scopes.
#[derive(Deserialize)]
pub(crate) struct Scopes {
    scopes: Option<String>,
}

/// What a provider says.
#[derive(Deserialize)]
pub(crate) struct Said {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

/// Sends a browser to the provider, where a person lets the app use an account.
#[utoipa::path(get, path = "/api/v1/apps/{id}/oauth/{provider}/connect", tag = "native", params(("id" = String, Path), ("provider" = String, Path), ("scopes" = Option<String>, Query)), responses((status = 302)))]
pub(crate) async fn connect(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    Path((id, provider)): Path<(String, String)>,
    QueryOf(Scopes { scopes }): QueryOf<Scopes>,
    headers: HeaderMap,
) -> Result<Response, ErrorAnswer> {
    let scopes = scopes.filter(|scopes| !scopes.trim().is_empty());
    let scopes: Option<Vec<String>> = scopes.map(|scopes| {
        scopes.split([' ', ',']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
    });
    let url = host.connect_account(&id, &provider, scopes, &callback_at(&headers, &access)).await?;
    let location = HeaderValue::from_str(&url)
        .map_err(|_| ErrorAnswer::new(Reason::Internal, "the address of the provider is none"))?;
    Ok((StatusCode::FOUND, [(header::LOCATION, location)]).into_response())
}

/// Where a provider sends a person back to.
#[utoipa::path(get, path = "/api/v1/apps/oauth/callback", tag = "native", params(("state" = Option<String>, Query), ("code" = Option<String>, Query), ("error" = Option<String>, Query)), responses((status = 200, content_type = "text/html")))]
pub(crate) async fn callback(
    State(host): State<Host>,
    QueryOf(Said { state, code, error }): QueryOf<Said>,
) -> Result<Response, ErrorAnswer> {
    let Some(state) = state.filter(|state| !state.is_empty()) else {
        return Ok(coded(StatusCode::BAD_REQUEST, "the address has no state"));
    };
    let said = match (&error, &code) {
        (Some(error), _) => Err(error.as_str()),
        (None, Some(code)) if !code.is_empty() => Ok(code.as_str()),
        (None, _) => Err("no code"),
    };
    host.finish_account(&state, said).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, SEALED),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, DONE).into_response())
}

/// The accounts of an app.
#[utoipa::path(get, path = "/api/v1/apps/{id}/oauth/grants", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn grants(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "grants": host.accounts(&id).await? })))
}

/// Forgets an account of an app.
#[utoipa::path(delete, path = "/api/v1/apps/{id}/oauth/{provider}", tag = "native", params(("id" = String, Path), ("provider" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn disconnect(
    _: Owner,
    State(host): State<Host>,
    Path((id, provider)): Path<(String, String)>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.disconnect_account(&id, &provider).await?;
    Ok(Json(json!({ "ok": true })))
}

/// The address that a provider is told. The name of this machine is the one the asker used, which the guard let in.
pub(crate) fn callback_at(headers: &HeaderMap, access: &Access) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match host {
        Some(host) => format!("http://{host}{CALLBACK}"),
        None => format!("http://127.0.0.1:{}{CALLBACK}", access.port),
    }
}
