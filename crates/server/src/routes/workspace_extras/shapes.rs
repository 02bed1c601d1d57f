//! Answers, in the words of the contract.

use crate::openwop::{Refusal, moment};
use axum::{
    Json,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use roost_host::workspace::{Author, Diff, Done, FileInfo};
use serde_json::{Value, json};

/// A file as the list of the contract shows it.
pub(super) fn file(info: &FileInfo) -> Value {
    json!({
        "path": info.path, "contentType": info.content_type, "version": info.version, "etag": info.etag,
        "updatedAt": moment(info.updated_at),
    })
}

/// A file that was removed.
pub(super) fn removal(info: &FileInfo) -> Value {
    json!({
        "path": info.path, "version": info.version, "removed": true, "updatedAt": moment(info.updated_at),
    })
}

/// What became of one write of a content.
pub(super) fn written(done: &Done) -> Value {
    match done {
        Done::Made(info) => file(info),
        Done::Proposed(id) => json!({ "proposed": id }),
    }
}

/// The answer to such a write, with its tag also as a header.
pub(super) fn answer(done: &Done) -> Response {
    let mut response = Json(written(done)).into_response();
    if let Done::Made(info) = done
        && let Ok(etag) = HeaderValue::from_str(info.etag.as_str())
    {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// Who wrote something; what is not known is `null`.
pub(super) fn author(author: &Author) -> Value {
    json!({
        "principal": author.principal, "run": author.run, "node": author.node, "reason": author.reason,
    })
}

/// How two contents differ.
pub(super) fn diff(diff: &Diff) -> Value {
    match diff {
        Diff::Same => json!({ "diff": "same" }),
        Diff::Unified(text) => json!({ "diff": "unified", "text": text }),
        Diff::Binary => json!({ "diff": "binary" }),
        Diff::TooLarge => json!({ "diff": "too_large" }),
    }
}

/// A content as text where it is text, else in base64.
pub(super) fn encoded(content: &[u8]) -> (String, &'static str) {
    match std::str::from_utf8(content) {
        Ok(text) => (text.to_owned(), "utf-8"),
        Err(_) => (BASE64_STANDARD.encode(content), "base64"),
    }
}

/// The bytes of a content that was sent so.
pub(super) fn decoded(content: String, encoding: Option<&str>) -> Result<Vec<u8>, Refusal> {
    match encoding {
        None | Some("utf-8") => Ok(content.into_bytes()),
        Some("base64") => BASE64_STANDARD
            .decode(content)
            .map_err(|_| Refusal::invalid("content", "this is not base64 with its padding")),
        Some(_) => Err(Refusal::invalid("encoding", "an encoding is `utf-8` or `base64`")),
    }
}

/// Longest content type.
const CONTENT_TYPE_CHARACTERS_MAX: usize = 255;

/// A content type as it may be kept.
pub(super) fn content_type(text: String) -> Result<String, Refusal> {
    let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if text.is_empty() || text.len() > CONTENT_TYPE_CHARACTERS_MAX || !is_printable {
        return Err(Refusal::invalid(
            "contentType",
            "a content type has 1 to 255 printable ASCII characters",
        ));
    }
    Ok(text)
}
