//! Native apps of a store as homes and published hosts ask for them: keys, what was taken back, lists and packages.

use super::StoreDoor;
use crate::error::ErrorAnswer;
use axum::{
    Json,
    extract::{Path, Query, State},
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use roost_host::storefront::{NativeShelf, ShelvedApp};
use roost_protocol::Reason;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a package is.
const NAPP: &str = "application/x-napp";

/// Most apps of one page.
const PAGE_SIZE_MAX: usize = 100;
const PAGE_SIZE: usize = 20;

/// Which part of the list.
#[derive(Deserialize)]
pub(super) struct Wanted {
    q: Option<String>,
    category: Option<String>,
    page: Option<usize>,
    #[serde(rename = "pageSize")]
    page_size: Option<usize>,
}

/// Which version.
#[derive(Deserialize)]
pub(super) struct Version {
    version: Option<String>,
}

/// The keys that the store signs with.
pub(super) async fn signing_key(State(door): State<StoreDoor>) -> Result<Response, ErrorAnswer> {
    let shelf = door.store.native_shelf().await?;
    if shelf.keys.is_empty() {
        return Err(ErrorAnswer::new(Reason::UnknownRoute, "the store signs no native apps"));
    }
    Ok(fresh(&shelf.signing_key()))
}

/// Apps that the store took back.
pub(super) async fn revocations(State(door): State<StoreDoor>) -> Result<Response, ErrorAnswer> {
    Ok(fresh(&door.store.native_shelf().await?.revoked()))
}

/// Apps that can be installed.
pub(super) async fn list(
    State(door): State<StoreDoor>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Value>, ErrorAnswer> {
    let shelf = door.store.native_shelf().await?;
    let query = wanted.q.unwrap_or_default().to_lowercase();
    let is_meant = |app: &&ShelvedApp| {
        let text = format!("{} {} {}", app.id, app.name, app.description).to_lowercase();
        query.split_whitespace().all(|word| text.contains(word))
    };
    // There is one category: what is asked of another is nothing.
    let is_known =
        wanted.category.is_none_or(|category| matches!(category.as_str(), "" | "featured" | "popular"));
    let found: Vec<&ShelvedApp> = shelf.apps.iter().filter(is_meant).filter(|_| is_known).collect();
    let page = wanted.page.unwrap_or(1).max(1);
    let size = wanted.page_size.unwrap_or(PAGE_SIZE).clamp(1, PAGE_SIZE_MAX);
    let shown: Vec<Value> =
        found.iter().skip((page - 1).saturating_mul(size)).take(size).map(|app| item(app, &shelf)).collect();
    Ok(Json(json!({ "apps": shown, "totalCount": found.len(), "page": page, "pageSize": size })))
}

/// One of them, with everything that is known.
pub(super) async fn show(
    State(door): State<StoreDoor>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ErrorAnswer> {
    let shelf = door.store.native_shelf().await?;
    let app = shelf.app(&id).ok_or_else(|| missing(&shelf, &id))?;
    let mut detail = item(app, &shelf);
    let versions = app.versions.iter().rev();
    detail["changelog"] = versions
        .clone()
        .map(|one| json!({ "version": one.version, "date": one.published_at, "notes": "" }))
        .collect();
    detail["sha256"] = json!(app.newest().map(|newest| newest.sha256));
    detail["size"] = json!({ "linux-amd64": app.newest().map(|newest| newest.bytes) });
    detail["manifest"] = json!({ "id": app.id, "provides": app.provides, "permissions": app.permissions });
    Ok(Json(json!({ "app": detail })))
}

/// Nobody can rate apps here.
pub(super) async fn reviews(
    State(door): State<StoreDoor>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ErrorAnswer> {
    let shelf = door.store.native_shelf().await?;
    shelf.app(&id).ok_or_else(|| missing(&shelf, &id))?;
    Ok(Json(json!({ "reviews": [], "totalCount": 0, "average": 0, "distribution": [0, 0, 0, 0, 0] })))
}

/// The package itself.
pub(super) async fn download(
    State(door): State<StoreDoor>,
    Path(id): Path<String>,
    Query(wanted): Query<Version>,
) -> Result<Response, ErrorAnswer> {
    let version = wanted.version.filter(|version| !version.is_empty());
    let Some(bytes) = door.store.native_package(id.clone(), version).await? else {
        return Err(missing(&door.store.native_shelf().await?, &id));
    };
    Ok(([(header::CONTENT_TYPE, NAPP)], bytes).into_response())
}

fn item(app: &ShelvedApp, shelf: &NativeShelf) -> Value {
    let newest = app.newest();
    json!({
        "id": app.id, "name": app.name, "slug": roost_host::storefront::native_slug(&app.name),
        "description": app.description, "icon": "", "category": "", "version": newest.map(|one| &one.version),
        "author": { "id": "", "name": "", "verified": !shelf.keys.is_empty() },
        "installCount": 0, "rating": 0, "reviewCount": 0, "isInstalled": false, "status": "published",
    })
}

fn missing(shelf: &NativeShelf, id: &str) -> ErrorAnswer {
    match shelf.revocations.iter().any(|revoked| revoked.id == id) {
        true => ErrorAnswer::new(Reason::AppRevoked, "the store took this app back"),
        false => ErrorAnswer::new(Reason::UnknownRoute, "the store has no such app"),
    }
}

/// A list that somebody between us and a home keeps would be an older one by then.
fn fresh(list: &Value) -> Response {
    const NO_STORE: (HeaderName, HeaderValue) = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    ([NO_STORE], Json(list.clone())).into_response()
}
