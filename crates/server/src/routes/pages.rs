//! Page apps: listing, making, changing, carrying and removing them. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf, QueryOf, unreadable_body},
};
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host, local_owner,
    pages::{ExistingPage, PageChanges, PageFile, PageListing, starter_page},
    workspace::Writer,
};
use roost_protocol::Reason;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// All pages.
#[derive(Debug, Serialize)]
pub(crate) struct PageList {
    pages: Vec<PageListing>,
}

/// A page to be made: with its manifest and files, or with an id alone, which gets a small page that works.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPage {
    id: Option<String>,
    name: Option<String>,
    manifest: Option<Map<String, Value>>,
    #[serde(default)]
    files: BTreeMap<String, PageFile>,
}

/// Whether a page of the same id gives way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replacing {
    #[serde(default)]
    replace: bool,
}

/// Every page, also those that cannot be mounted, with what is wrong.
#[utoipa::path(get, path = "/v1/pages", tag = "pages", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<PageList>, ErrorAnswer> {
    Ok(Json(PageList { pages: host.pages().discover().await? }))
}

/// Makes a page from `{manifest, files}`, or a small one that works from `{id, name}`.
#[utoipa::path(post, path = "/v1/pages", tag = "pages", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn create(
    _: Owner,
    State(host): State<Host>,
    JsonBody(new): JsonBody<NewPage>,
) -> Result<Json<Value>, ErrorAnswer> {
    let (manifest, files) = match (new.manifest, new.id) {
        (Some(manifest), None) => (manifest, new.files),
        (None, Some(id)) if new.files.is_empty() => starter_page(&id, new.name.as_deref())?,
        _ => {
            let message = "give `manifest` with `files`, or `id` alone";
            return Err(ErrorAnswer::new(Reason::BadRequest, message));
        }
    };
    let id = host.pages().create(manifest, files, &writer(&host)).await?;
    Ok(Json(json!({ "id": id })))
}

/// One page.
#[utoipa::path(get, path = "/v1/pages/{id}", tag = "pages", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<PageListing>, ErrorAnswer> {
    Ok(Json(host.pages().get(&id).await?))
}

/// Changes a page: `manifest` as a whole, `files` by path, null to remove one.
#[utoipa::path(patch, path = "/v1/pages/{id}", tag = "pages", params(("id" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn update(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    JsonBody(changes): JsonBody<PageChanges>,
) -> Result<Json<PageListing>, ErrorAnswer> {
    host.pages().update(&id, changes, &writer(&host)).await?;
    Ok(Json(host.pages().get(&id).await?))
}

/// Removes a page with its data and its grants; history has the files still.
#[utoipa::path(delete, path = "/v1/pages/{id}", tag = "pages", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.pages().delete(&id, &writer(&host)).await?;
    Ok(Json(json!({ "removed": id })))
}

/// A page as a zip, without its data.
#[utoipa::path(get, path = "/v1/pages/{id}/export", tag = "pages", params(("id" = String, Path)), responses((status = 200, content_type = "application/zip")))]
pub(crate) async fn export(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Response, ErrorAnswer> {
    let zip = host.pages().export(&id).await?;
    // The id was found, so it has the characters of one.
    let name = format!("attachment; filename=\"{id}.zip\"");
    Ok(([(header::CONTENT_TYPE, "application/zip".to_owned()), (header::CONTENT_DISPOSITION, name)], zip)
        .into_response())
}

/// Takes a page from a zip; one that is there already is replaced with `?replace=true` only.
#[utoipa::path(post, path = "/v1/pages/import", tag = "pages", params(("replace" = Option<bool>, Query)), request_body(content = Vec<u8>, content_type = "application/zip"), responses((status = 200, body = Object)))]
pub(crate) async fn import(
    _: Owner,
    State(host): State<Host>,
    QueryOf(Replacing { replace }): QueryOf<Replacing>,
    zip: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ErrorAnswer> {
    let zip = zip.map_err(|rejection| unreadable_body(&rejection))?;
    let existing = if replace { ExistingPage::Replace } else { ExistingPage::Keep };
    let id = host.pages().import(&zip, existing, &writer(&host)).await?;
    Ok(Json(json!({ "id": id })))
}

/// One file of a page as bytes, for showing its icon or its source; never as something a browser would run.
#[utoipa::path(get, path = "/v1/pages/{id}/files/{*path}", tag = "pages", params(("id" = String, Path), ("path" = String, Path)), responses((status = 200, content_type = "application/octet-stream")))]
pub(crate) async fn file(
    _: Owner,
    State(host): State<Host>,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, ErrorAnswer> {
    let (_, content) = host.pages().file(&id, &path).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
    ];
    Ok((headers, content).into_response())
}

/// The owner, as histories show them.
pub(crate) fn writer(host: &Host) -> Writer {
    Writer { redactions: host.redactions(&local_owner().tenant), ..Writer::person("owner") }
}
