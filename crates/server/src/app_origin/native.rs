//! Pages with a native app behind them: files at `/apps/{id}/ui/`, and what the app answers at `/apps/{id}/api/`.
//!
//! Both only for the page itself. Whatever the app answers has the headers of its page, so that a document that it
//! makes up may do no more than the files that were hashed.

use super::{Frame, answer, headers_of, not_found, sdk};
use crate::{coded::coded, native_requests};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host,
    pages::{PageMode, PageSession},
    workspace::decode_once,
};

/// Where published hosts have them; a page may ask for the whole address.
const PUBLISHED: &str = "/api/v1";

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Answers what a page with a native app behind it asks for.
pub(super) async fn serve(
    host: &Host,
    path: &str,
    request: Request,
    session: &PageSession,
    frame: &Frame<'_>,
) -> Response {
    session.touch();
    if let Some(name) = path.strip_prefix("/apps/_sdk/") {
        return match sdk::script(name) {
            Some(script) => answer(&request, script.into(), "text/javascript; charset=utf-8", frame),
            None => not_found(),
        };
    }
    let id = session.page().manifest().id.as_str();
    let path = path.strip_prefix(PUBLISHED).unwrap_or(path);
    let Some(below) = path.strip_prefix(&format!("/apps/{id}/")) else { return not_found() };
    if let Some(path) = below.strip_prefix("api").filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        return ask(host, id, path, request, session, frame).await;
    }
    match below.strip_prefix("ui").filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(path) => file(path.trim_start_matches('/'), &request, session, frame),
        None => not_found(),
    }
}

/// The file that is meant: an address without a file is one of the page's own making, and the page knows what it is.
pub(crate) fn meant(path: &str, is_there: impl Fn(&str) -> bool) -> &str {
    const ENTRY: &str = "index.html";
    if path.is_empty() || !is_there(path) { ENTRY } else { path }
}

/// True for a path that leads out of where it begins.
pub(crate) fn leads_out(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == "..") || path.contains('\0')
}

fn file(path: &str, request: &Request, session: &PageSession, frame: &Frame<'_>) -> Response {
    let Some(path) = decode_once(path).ok().filter(|path| !leads_out(path)) else {
        return coded(StatusCode::BAD_REQUEST, "this is not the path of a file");
    };
    let files = session.page().files();
    let path = meant(&path, |path| files.get(path).is_some());
    match files.get(path) {
        Some(content) => answer(request, content.to_vec(), roost_protocol::media_type(path), frame),
        None => not_found(),
    }
}

async fn ask(
    host: &Host,
    id: &str,
    path: &str,
    request: Request,
    session: &PageSession,
    frame: &Frame<'_>,
) -> Response {
    let own = if session.mode() == PageMode::Origin { frame.base } else { "null" };
    let mut response = if !is_own(request.headers(), own) {
        coded(StatusCode::FORBIDDEN, "only the page itself may ask for this")
    } else if session.mode() == PageMode::Opaque && is_preflight(&request) {
        allowed()
    } else {
        native_requests::answer(host, id, path, request).await
    };
    let headers = response.headers_mut();
    let mut of_page = headers_of(frame);
    if headers.contains_key(header::CACHE_CONTROL) {
        of_page.remove(header::CACHE_CONTROL);
    }
    for (name, value) in of_page.iter() {
        headers.insert(name, value.clone());
    }
    response
}

/// True for what the page itself sends. Another page does not know the address, and if it did, its browser would say
/// whose request it is.
fn is_own(headers: &HeaderMap, own: &str) -> bool {
    let is_own_origin = headers.get_all(header::ORIGIN).iter().all(|origin| origin == own);
    // An opaque page is told from no other by this; there the address is what nobody knows.
    let is_own_site = own == "null"
        || headers.get_all(FETCH_SITE).iter().all(|site| site == "same-origin" || site == "none");
    is_own_origin && is_own_site
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn allowed() -> Response {
    let methods = HeaderValue::from_static("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    response
}
