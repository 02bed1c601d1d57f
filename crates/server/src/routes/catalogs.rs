//! Catalogs of apps: which there are, and what is in them. For the owner only: looking asks other computers.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf, QueryOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    catalogs::{CATALOG_AGE_MAX, EntryName, Filters, Freshness, Position, SearchAnswer, ShownEntry},
};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

/// Entries that are shown unless asked otherwise, and at most.
const FOUND_USUAL: usize = 50;
const FOUND_MAX: usize = 500;

/// Every source and how it stands: `{sources}`, the same as `roost store list --json`.
#[utoipa::path(get, path = "/catalogs", tag = "catalogs", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "sources": host.catalogs()?.list().await? })))
}

/// A source to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCatalog {
    address: String,
    name: Option<String>,
}

/// Adds a source and fetches it; one that cannot be fetched is not added: `{added}`.
#[utoipa::path(post, path = "/catalogs", tag = "catalogs", request_body = NewCatalog, responses((status = 200, body = Object)))]
pub(crate) async fn add(
    _: Owner,
    State(host): State<Host>,
    JsonBody(new): JsonBody<NewCatalog>,
) -> Result<Json<Value>, ErrorAnswer> {
    let added = host.catalogs()?.add(&new.address, new.name.as_deref(), Position::Last).await?;
    Ok(Json(json!({ "added": added })))
}

/// Forgets a source and what was kept of it: `{removed}`.
#[utoipa::path(delete, path = "/catalogs/{id}", tag = "catalogs", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.catalogs()?.remove(&id)?;
    Ok(Json(json!({ "removed": id })))
}

/// Fetches every source; one that fails keeps what it had: `{sources}`.
#[utoipa::path(post, path = "/catalogs/refresh", tag = "catalogs", responses((status = 200, body = Object)))]
pub(crate) async fn refresh(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "sources": host.catalogs()?.refresh(None).await? })))
}

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Search {
    /// Words; all of them must fit.
    #[serde(default)]
    q: String,
    category: Option<String>,
    tag: Option<String>,
    publisher: Option<String>,
    source: Option<String>,
    /// At most 500.
    limit: Option<usize>,
    /// Looks only into what was fetched before.
    #[serde(default)]
    offline: bool,
}

/// The apps that fit, the best first: `{query, total, found, sources}`, the same as `roost store search --json`.
#[utoipa::path(get, path = "/catalogs/search", tag = "catalogs", params(Search), responses((status = 200, body = Object)))]
pub(crate) async fn search(
    _: Owner,
    State(host): State<Host>,
    QueryOf(asked): QueryOf<Search>,
) -> Result<Json<SearchAnswer>, ErrorAnswer> {
    let Search { q, category, tag, publisher, source, limit, offline } = asked;
    let filters = Filters { category, tag, publisher, tier: None, source, access: None };
    let limit = limit.unwrap_or(FOUND_USUAL).min(FOUND_MAX);
    Ok(Json(host.catalogs()?.search(&q, &filters, limit, freshness(offline)).await?))
}

/// Which app.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneApp {
    /// `id`, `@publisher/id` or either with `@version`.
    app: String,
    #[serde(default)]
    offline: bool,
}

/// Everything about one app, the same as `roost store show APP --json`.
#[utoipa::path(get, path = "/catalogs/show", tag = "catalogs", params(OneApp), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    QueryOf(asked): QueryOf<OneApp>,
) -> Result<Json<ShownEntry>, ErrorAnswer> {
    let name = EntryName::parse(&asked.app)?;
    Ok(Json(host.catalogs()?.show(&name, freshness(asked.offline)).await?))
}

fn freshness(offline: bool) -> Freshness {
    if offline { Freshness::Kept } else { Freshness::AtMost(CATALOG_AGE_MAX) }
}
