//! Where mounted pages are served: at a host name of their own, or below a path that nobody guesses.
//!
//! An app's origin has its files and the SDK and nothing else: no request to it ever reaches a route of the host, and
//! the host's own origin has files of pages only below the path of a mounted opaque one.

mod native; // pages with a native app behind them
mod headers; // what every file of a page is sent with
mod sdk; // scripts that the host gives to pages

pub(crate) use self::{
    headers::frame_sources,
    native::{leads_out, meant},
};

use self::headers::{Frame, HostOrigins, headers_of};
use crate::guard::{Access, host_name};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host,
    pages::{PageMode, PageSession},
    workspace::decode_once,
};
use roost_protocol::Digest;
use std::sync::Arc;

/// Host names of pages end with this; browsers resolve them to this machine without being told.
const SUFFIX: &str = ".localhost";

/// What a host page tries in a frame to learn whether such names resolve.
const PROBE_LABEL: &str = "probe";

/// Where pages without a host name are served on the host's own origin.
pub(crate) const MOUNTED: &str = "/mounted/";

const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");

/// What pages are served from.
#[derive(Clone)]
pub(crate) struct AppOrigin {
    pub(crate) host: Host,
    pub(crate) access: Arc<Access>,
}

/// Answers what is asked of pages' origins; everything else goes on.
pub(crate) async fn serve_pages(State(origin): State<AppOrigin>, request: Request, next: Next) -> Response {
    match origin.place(&request) {
        Place::Host => next.run(request).await,
        Place::Nowhere => not_found(),
        Place::Page { label } => origin.answer_label(&label, request).await,
        Place::Mounted { key, rest } => origin.answer_mounted(&key, &rest, request).await,
    }
}

/// What a request is for.
enum Place {
    Host,
    Page { label: String },
    Mounted { key: String, rest: String },
    Nowhere,
}

impl AppOrigin {
    fn place(&self, request: &Request) -> Place {
        let named: Vec<&HeaderValue> = request.headers().get_all(header::HOST).iter().collect();
        let in_address = request.uri().authority().map(axum::http::uri::Authority::as_str);
        let names = named.iter().map(|name| name.to_str().unwrap_or_default()).chain(in_address);
        let names: Vec<String> = names.map(|name| host_name(name).to_ascii_lowercase()).collect();
        if names.iter().any(|name| name.ends_with(SUFFIX)) {
            // Two names in one request: whoever sends that wants one of them to be overlooked.
            let label = names[0].strip_suffix(SUFFIX).unwrap_or_default();
            let is_one = names.iter().all(|name| *name == names[0]) && is_label(label);
            return if is_one { Place::Page { label: label.to_owned() } } else { Place::Nowhere };
        }
        let mounted = request.uri().path().strip_prefix(MOUNTED);
        match mounted.and_then(|below| below.split_once('/')) {
            // Only on names that are this host's; the guard says no to the others.
            Some((key, rest)) if names.iter().all(|name| self.access.is_here(name)) => {
                Place::Mounted { key: key.to_owned(), rest: format!("/{rest}") }
            }
            _ => Place::Host,
        }
    }

    async fn answer_label(&self, label: &str, request: Request) -> Response {
        let authority = format!("http://{label}{SUFFIX}:{}", self.access.port);
        let path = request.uri().path().to_owned();
        if label == PROBE_LABEL {
            let frame = Frame { base: &authority, session: None, hosts: &self.hosts() };
            return match path.as_str() {
                sdk::PROBE_PATH => answer(&request, sdk::PROBE.into(), "text/html; charset=utf-8", &frame),
                _ => not_found(),
            };
        }
        let Some(session) = self.host.pages().at(label, PageMode::Origin) else { return not_found() };
        let frame = Frame { base: &authority, session: Some(&session), hosts: &self.hosts() };
        self.serve(&path, request, &session, &frame).await
    }

    async fn answer_mounted(&self, key: &str, rest: &str, request: Request) -> Response {
        let Some(session) = self.host.pages().at(key, PageMode::Opaque) else { return not_found() };
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let authority = host.map_or_else(|| format!("127.0.0.1:{}", self.access.port), str::to_owned);
        let base = format!("http://{authority}{MOUNTED}{key}");
        let frame = Frame { base: &base, session: Some(&session), hosts: &self.hosts() };
        self.serve(rest, request, &session, &frame).await
    }

    async fn serve(
        &self,
        path: &str,
        request: Request,
        session: &PageSession,
        frame: &Frame<'_>,
    ) -> Response {
        match session.page().manifest().native {
            true => native::serve(&self.host, path, request, session, frame).await,
            false => serve(path, &request, session, frame),
        }
    }

    fn hosts(&self) -> HostOrigins {
        HostOrigins::of(&self.access)
    }
}

/// A label of a host name, in lower case.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// One file of a mounted page, or one of the SDK.
fn serve(path: &str, request: &Request, session: &PageSession, frame: &Frame<'_>) -> Response {
    if let Some(name) = path.strip_prefix("/apps/_sdk/") {
        return match sdk::script(name) {
            Some(script) => answer(request, script.into(), "text/javascript; charset=utf-8", frame),
            None => not_found(),
        };
    }
    let manifest = session.page().manifest();
    // The second is where pages of rapplications have always been.
    let tops = [format!("/apps/{}/", manifest.id), format!("/binder/ui/{}/", manifest.id)];
    let below = tops.iter().find_map(|top| path.strip_prefix(top.as_str()));
    let Some(path) = below.and_then(|path| decode_once(path).ok()) else {
        return not_found();
    };
    let path = if path.is_empty() { session.page().manifest().entry.clone() } else { path };
    let Some(content) = session.page().files().get(&path) else { return not_found() };
    let media_type = roost_protocol::media_type(&path);
    let content = match session.strict() {
        Some(strict) if path == manifest.entry => strict.html.clone().into_bytes(),
        _ if manifest.agent.is_some() && media_type.starts_with("text/html") => {
            sdk::with_shim(content, frame.base)
        }
        _ => content.to_vec(),
    };
    answer(request, content, media_type, frame)
}

fn answer(request: &Request, content: Vec<u8>, media_type: &'static str, frame: &Frame<'_>) -> Response {
    // A worker that answers for a page would outlive what was hashed.
    if request.headers().contains_key(SERVICE_WORKER) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let mut headers = headers_of(frame);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    let etag = format!("\"{}\"", Digest::of(&content));
    let is_known = knows(request.headers(), &etag);
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    let (status, body) =
        if is_known { (StatusCode::NOT_MODIFIED, Vec::new()) } else { (StatusCode::OK, content) };
    let mut response = (status, Body::from(body)).into_response();
    response.headers_mut().extend(headers);
    response
}

fn knows(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag)
}

/// Says nothing about what there is.
fn not_found() -> Response {
    let headers = [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::CACHE_CONTROL, "no-store")];
    (StatusCode::NOT_FOUND, headers).into_response()
}
