//! The web UI: the page at `/` and its files below `/ui/`, as they were embedded when this program was built.
//!
//! Knows nothing of what the page does. Where the page was not built, `/` is the plain page.

use super::plain_page;
use crate::{app_origin::frame_sources, error::ErrorAnswer, guard::Access};
use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::Host;
use roost_protocol::{Digest, Reason, media_type};
use std::sync::{Arc, LazyLock};

/// A file of the page.
struct EmbeddedFile {
    /// As seen from `web/dist`.
    name: &'static str,
    plain: &'static [u8],
    /// The same, compressed by gzip.
    compressed: Option<&'static [u8]>,
}

const FILES: &[EmbeddedFile] = include!(concat!(env!("OUT_DIR"), "/embedded_files.rs"));

/// The one file whose name never changes.
const PAGE: &str = "index.html";

/// What the page may do. Its own files and its own host are all it needs; text can become markup only through the one
/// policy that the framework uses for the page's own templates, which are fixed when it is built. The page itself may
/// also show mounted pages, and nothing else, in frames.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data: blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

/// Names below `assets/` hold a hash of their content, so that what a browser has never becomes old.
const KEPT_FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASKED_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// What every answer with a file of the page carries.
const GUARDS: [(HeaderName, HeaderValue); 5] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY)),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

static PAGE_ETAG: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let page = file(PAGE)?;
    HeaderValue::from_str(&format!("\"{}\"", Digest::of(page.plain).short())).ok()
});

/// The web UI; the plain page where it was not built.
#[utoipa::path(get, path = "/", tag = "host", responses((status = 200, description = "A page", content_type = "text/html")))]
pub(crate) async fn page(
    State(host): State<Host>,
    Extension(access): Extension<Arc<Access>>,
    headers: HeaderMap,
) -> Response {
    let (Some(page), Some(etag)) = (file(PAGE), PAGE_ETAG.clone()) else {
        return plain_page::answer(&host);
    };
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == etag);
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { sent(page, &headers) };
    response.headers_mut().extend([(header::ETAG, etag), (header::CACHE_CONTROL, ASKED_AGAIN)]);
    response.headers_mut().extend(GUARDS);
    // Without it, what was kept without frames holds: a page that cannot be mounted, but none that leads elsewhere.
    if let Ok(policy) = HeaderValue::from_str(&policy_with_frames(&access)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn policy_with_frames(access: &Access) -> String {
    format!("{PAGE_POLICY}; frame-src {}", frame_sources(access))
}

/// A file of the web UI.
#[utoipa::path(get, path = "/ui/{*path}", tag = "host", params(("path" = String, Path)),
    responses((status = 200, description = "The file", content_type = "application/octet-stream")))]
pub(crate) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Result<Response, ErrorAnswer> {
    // The page itself has one address only.
    let found = file(&path).filter(|found| found.name != PAGE);
    let found = found
        .ok_or_else(|| ErrorAnswer::new(Reason::UnknownRoute, format!("there is nothing at /ui/{path}")))?;
    let mut response = sent(found, &headers);
    let caching = if found.name.starts_with("assets/") { KEPT_FOR_GOOD } else { ASKED_AGAIN };
    response.headers_mut().insert(header::CACHE_CONTROL, caching);
    response.headers_mut().extend(GUARDS);
    Ok(response)
}

fn file(name: &str) -> Option<&'static EmbeddedFile> {
    FILES.iter().find(|file| file.name == name)
}

fn sent(file: &'static EmbeddedFile, asked: &HeaderMap) -> Response {
    let content_type = (header::CONTENT_TYPE, HeaderValue::from_static(media_type(file.name)));
    let vary = (header::VARY, HeaderValue::from_static("accept-encoding"));
    match file.compressed.filter(|_| takes_gzip(asked)) {
        Some(compressed) => {
            let encoding = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            ([content_type, vary, encoding], compressed).into_response()
        }
        None => ([content_type, vary], file.plain).into_response(),
    }
}

fn takes_gzip(asked: &HeaderMap) -> bool {
    let accepted = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = accepted.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"))
            && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

#[cfg(test)]
mod tests {
    use super::{FILES, PAGE_POLICY, file, policy_with_frames, takes_gzip};
    use crate::guard::{Access, Neighbours};
    use axum::http::{HeaderMap, HeaderValue, header};

    #[test]
    fn compressed_copies_go_to_those_who_take_them() {
        let takes = |value: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate,gzip , br"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("xgzip") && !takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn no_name_leads_out_of_the_embedded_files() {
        for name in ["", "..", "../index.html", "/index.html", ".gitignore", "assets", "index.html.gz"] {
            assert!(file(name).is_none(), "{name}");
        }
        assert!(FILES.iter().all(|file| !file.name.contains("..") && !file.name.starts_with('/')));
    }

    #[test]
    fn frames_lead_to_mounted_pages_of_this_port_only() {
        let neighbours = Neighbours { hosts: vec!["den.example".to_owned()], ..Neighbours::default() };
        let policy = policy_with_frames(&Access { port: 7071, neighbours });
        let frames = policy.split("; ").find(|part| part.starts_with("frame-src "));
        assert_eq!(
            frames,
            Some(
                "frame-src http://*.localhost:7071 http://127.0.0.1:7071/mounted/ http://localhost:7071/mounted/ \
                 http://den.example:7071/mounted/"
            )
        );
    }

    #[test]
    fn the_page_has_no_way_to_run_text_as_script() {
        for weakness in ["unsafe-inline", "unsafe-eval", "*", "http:", "https:"] {
            assert!(!PAGE_POLICY.contains(weakness), "{weakness}");
        }
    }
}
