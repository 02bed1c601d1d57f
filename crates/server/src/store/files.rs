//! The catalog, the published apps and the static API, as they are on disk.

use super::StoreDoor;
use crate::error::ErrorAnswer;
use axum::{
    extract::{RawPathParams, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use roost_protocol::Reason;

/// Pages and pictures are strangers': a browser that opens one here runs nothing of it.
const SANDBOX: HeaderValue =
    HeaderValue::from_static("sandbox; default-src 'none'; style-src 'unsafe-inline'");

/// One file, or that nothing changed.
pub(super) async fn show(
    State(door): State<StoreDoor>,
    uri: Uri,
    parameters: RawPathParams,
    headers: HeaderMap,
) -> Result<Response, ErrorAnswer> {
    // The part behind the wildcard comes decoded; what is before it needs no decoding.
    let path = match parameters.iter().next() {
        Some((_, below)) if uri.path().starts_with("/apps/") => format!("apps/{below}"),
        Some((_, below)) => format!("api/v1/{below}"),
        None => uri.path().trim_start_matches('/').to_owned(),
    };
    let missing = || ErrorAnswer::new(Reason::UnknownRoute, "the store has no such file");
    let file = door.store.served(path).await?.ok_or_else(missing)?;
    let etag = format!("\"{}\"", file.digest.short());
    let etag = HeaderValue::from_str(&etag)
        .map_err(|error| ErrorAnswer::new(Reason::Internal, error.to_string()))?;
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(|known| known == etag);
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, file.content_type)], file.bytes).into_response(),
    };
    response.headers_mut().insert(header::ETAG, etag);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    Ok(response)
}
