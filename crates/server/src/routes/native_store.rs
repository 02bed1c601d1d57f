//! Native apps of the stores that this home believes, as published clients ask for them: finding, installing, removing;
//! and what a store or its messages tell. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf, QueryOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    library::{InstallEvent, StoreQuery},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Who installs when a client does.
const BY: &str = "the owner";

/// Most apps of one page, and how many when nobody says.
const PAGE_SIZE_MAX: usize = 100;
const PAGE_SIZE: usize = 20;

/// Which part of the list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wanted {
    q: Option<String>,
    category: Option<String>,
    page: Option<usize>,
    page_size: Option<usize>,
}

/// Apps that can be installed from a store that this home believes.
#[utoipa::path(get, path = "/api/v1/store/apps", tag = "native", params(("q" = Option<String>, Query), ("category" = Option<String>, Query), ("page" = Option<usize>, Query), ("pageSize" = Option<usize>, Query)), responses((status = 200, body = Object)))]
pub(crate) async fn list(
    _: Owner,
    State(host): State<Host>,
    QueryOf(wanted): QueryOf<Wanted>,
) -> Result<Json<Value>, ErrorAnswer> {
    let page = wanted.page.unwrap_or(1).max(1);
    let size = wanted.page_size.unwrap_or(PAGE_SIZE).clamp(1, PAGE_SIZE_MAX);
    let query = StoreQuery { words: wanted.q, category: wanted.category };
    let found = host.library().store_apps(&query).await?;
    let shown: Vec<_> = found.iter().skip((page - 1).saturating_mul(size)).take(size).collect();
    Ok(Json(json!({ "apps": shown, "totalCount": found.len(), "page": page, "pageSize": size })))
}

/// One of them.
#[utoipa::path(get, path = "/api/v1/store/apps/{id}", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "app": host.library().store_app(&id).await? })))
}

/// What people said of an app: nothing, because no store that this home can believe keeps reviews.
#[utoipa::path(get, path = "/api/v1/store/apps/{id}/reviews", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn reviews(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.library().store_app(&id).await?;
    Ok(Json(json!({ "reviews": [], "totalCount": 0, "average": 0, "distribution": [0, 0, 0, 0, 0] })))
}

/// Installs an app; answered when it answers. It gets the rights that the policy gives.
#[utoipa::path(post, path = "/api/v1/store/apps/{id}/install", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn install(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.library().install_from_store(&id, None, BY).await?;
    Ok(Json(json!({ "pluginId": id, "message": "app installed" })))
}

/// Removes an app; what it kept stays.
#[utoipa::path(delete, path = "/api/v1/store/apps/{id}/install", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn uninstall(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.library().remove_native(&id).await?;
    Ok(Json(json!({ "message": "app uninstalled" })))
}

/// Takes what a store tells: that an app was installed, updated, uninstalled or revoked, in every spelling there is.
#[utoipa::path(post, path = "/api/v1/apps/events", tag = "native", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn events(
    _: Owner,
    State(host): State<Host>,
    JsonBody(event): JsonBody<InstallEvent>,
) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!(host.library().take_event(event, BY).await?)))
}
