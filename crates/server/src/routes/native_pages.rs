//! Pages of native apps on the host's own origin: which there are, opening one at an origin of its own, and what the
//! contract promises to programs.
//!
//! A page that were same-origin with the host could do everything that the owner's page can. So its files are sent here
//! as documents without an origin, and what its app answers is for programs and for the owner.

use crate::{
    app_origin::{leads_out, meant},
    coded::coded,
    error::ErrorAnswer,
    guard::Access,
    native_requests,
    owner::Owner,
    request::PathOf,
};
use axum::{
    Extension, Json,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host,
    pages::{Mount, Mounting, PageMode},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::sync::Arc;

/// No origin, no network, nobody around it.
const SEALED: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline' 'self'; \
     style-src 'unsafe-inline' 'self'; img-src 'self' data: blob:; font-src 'self' data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

/// The same for what is no page at all.
const BARE: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Native apps that have pages and run.
#[utoipa::path(get, path = "/api/v1/apps/ui", tag = "native", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Json<Value> {
    let apps = host.native_apps();
    let shown = apps.with_pages().into_iter().filter_map(|id| apps.state(&id).ok());
    let shown: Vec<Value> =
        shown.map(|app| json!({ "id": app.id, "name": app.name, "version": app.version })).collect();
    Json(json!({ "apps": shown }))
}

/// Opens the page of a native app: the answer has its address, at an origin of its own.
#[utoipa::path(post, path = "/api/v1/apps/{id}/ui/open", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn open(
    _: Owner,
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    let bundle = host.library().page(&id).await?;
    if !bundle.native {
        return Err(ErrorAnswer::new(Reason::UnknownNativeApp, format!("{id} is no native app")));
    }
    let is_open = |mode: PageMode, page: &roost_host::pages::PageManifest| {
        mode == PageMode::Origin && page.native && page.id.as_str() == id
    };
    let open = host.pages().sessions().into_iter().find(|one| is_open(one.mode(), one.page().manifest()));
    let session = match open {
        Some(session) => session,
        None => match host.pages().mount_bundle(bundle, Mount::default()).await? {
            Mounting::Mounted(session) => session,
            // It asks for nothing, so there is nothing to ask a person.
            Mounting::Ask { .. } => return Err(Failure::plain(Reason::Internal).into()),
        },
    };
    let url = format!("http://{}.localhost:{}/apps/{id}/ui/", session.place(), access.port);
    Ok(Json(json!({ "opened": false, "url": url })))
}

/// The first page of a native app, as a document without an origin.
#[utoipa::path(get, path = "/api/v1/apps/{id}/ui/", tag = "native", params(("id" = String, Path)), responses((status = 200, content_type = "text/html")))]
pub(crate) async fn entry(State(host): State<Host>, PathOf(id): PathOf) -> Response {
    file(&host, &id, "").await
}

/// A file of the page of a native app, as a document without an origin.
#[utoipa::path(get, path = "/api/v1/apps/{id}/ui/{*path}", tag = "native", params(("id" = String, Path), ("path" = String, Path)), responses((status = 200, content_type = "application/octet-stream")))]
pub(crate) async fn below(State(host): State<Host>, Path((id, path)): Path<(String, String)>) -> Response {
    file(&host, &id, &path).await
}

/// The same where opening is done by another method.
#[utoipa::path(get, path = "/api/v1/apps/{id}/ui/open", tag = "native", params(("id" = String, Path)), responses((status = 200, content_type = "text/html")))]
pub(crate) async fn named_open(State(host): State<Host>, PathOf(id): PathOf) -> Response {
    file(&host, &id, "open").await
}

async fn file(host: &Host, id: &str, path: &str) -> Response {
    if leads_out(path) {
        return coded(StatusCode::BAD_REQUEST, "this is not the path of a file");
    }
    let files = match host.native_page_files(id).await {
        Ok(files) => files,
        Err(failure) => return coded(StatusCode::NOT_FOUND, &failure.message),
    };
    let path = meant(path, |path| files.get(path).is_some());
    let Some(content) = files.get(path) else {
        return coded(StatusCode::NOT_FOUND, "the app has no such file");
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(roost_protocol::media_type(path))),
        (header::CONTENT_SECURITY_POLICY, SEALED),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, content.to_vec()).into_response()
}

/// What a native app answers, for programs and for the owner.
#[utoipa::path(method(get, post, put, delete, patch), path = "/api/v1/apps/{id}/api/{*path}", tag = "native", params(("id" = String, Path), ("path" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn ask(
    owner: Option<Owner>,
    State(host): State<Host>,
    Path((id, _)): Path<(String, String)>,
    request: Request,
) -> Response {
    answer(owner, &host, &id, request).await
}

/// The same at the top.
#[utoipa::path(method(get, post, put, delete, patch), path = "/api/v1/apps/{id}/api/", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn ask_root(
    owner: Option<Owner>,
    State(host): State<Host>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    answer(owner, &host, &id, request).await
}

async fn answer(owner: Option<Owner>, host: &Host, id: &str, request: Request) -> Response {
    if owner.is_none() && is_from_a_page(request.headers()) {
        return coded(StatusCode::FORBIDDEN, Reason::OwnerOnly.sentence());
    }
    // As it was sent: the app undoes escapes itself. No id holds a slash, so this is the first one.
    let path = request.uri().path().split_once("/api/v1/apps/").map_or("", |(_, rest)| rest);
    let path = path.split_once("/api/").map_or("", |(_, rest)| rest).to_owned();
    let mut response = native_requests::answer(host, id, &path, request).await;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, BARE);
    response
}

/// True for what a browser sends for a page, whichever page that is.
fn is_from_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE)
}
