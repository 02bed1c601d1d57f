//! Files as the contract shows them: closed objects, written without a copy of the content.

use crate::openwop::{Refusal, moment};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_host::workspace::{FileInfo, Listing, WorkspaceError};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

const REVISION: HeaderName = HeaderName::from_static("roost-revision");
const ENCODING: HeaderName = HeaderName::from_static("roost-encoding");

/// One version of a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceFile<'a> {
    /// Its name.
    path: &'a str,
    /// The content; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// What it holds, as its writer said.
    content_type: &'a str,
    /// Counted from 1.
    version: i64,
    /// What a writer sends back in `If-Match`.
    etag: &'a str,
    /// UTC.
    updated_at: String,
}

impl<'a> WorkspaceFile<'a> {
    fn new(info: &'a FileInfo, content: Option<&'a str>) -> Self {
        Self {
            path: info.path.as_str(),
            content,
            content_type: &info.content_type,
            version: info.version,
            etag: info.etag.as_str(),
            updated_at: moment(info.updated_at),
        }
    }
}

/// The answer to a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkspaceFiles<'a> {
    /// In the order of their names, without their contents.
    files: Vec<WorkspaceFile<'a>>,
}

/// How a content is written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    /// As text, which it must be.
    #[default]
    Text,
    /// As base64, for whatever it is.
    Base64,
}

impl Encoding {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Refusal> {
        match text {
            None | Some("utf-8") => Ok(Self::Text),
            Some("base64") => Ok(Self::Base64),
            Some(_) => Err(Refusal::invalid("encoding", "an encoding is `utf-8` or `base64`")),
        }
    }
}

/// Which names count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Names {
    /// Those of the contract.
    #[default]
    Portable,
    /// Also those that programs gave to files of a folder.
    Any,
}

impl Names {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Refusal> {
        match text {
            None => Ok(Self::Portable),
            Some("any") => Ok(Self::Any),
            Some(_) => Err(Refusal::invalid("names", "`names` is `any` or absent")),
        }
    }
}

/// A file with its content.
pub(crate) fn file(info: &FileInfo, content: &[u8], encoding: Encoding) -> Result<Response, Refusal> {
    let text: Cow<'_, str> = match encoding {
        Encoding::Text => std::str::from_utf8(content).map_err(|_| WorkspaceError::NotText)?.into(),
        Encoding::Base64 => STANDARD.encode(content).into(),
    };
    let mut bytes = Vec::with_capacity(text.len() + text.len() / 8 + 512);
    let mut response = written(&mut bytes, &WorkspaceFile::new(info, Some(&text)));
    *response.body_mut() = Body::from(bytes);
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag(info));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if encoding == Encoding::Base64 {
        headers.insert(ENCODING, HeaderValue::from_static("base64"));
    }
    Ok(response)
}

/// The tag alone, for who has the rest already.
pub(crate) fn unchanged(info: &FileInfo) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = axum::http::StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(header::ETAG, tag(info));
    response
}

/// Files without their contents.
pub(crate) fn list(listing: &Listing, names: Names) -> Response {
    let shown = |info: &&FileInfo| names == Names::Any || info.path.is_portable();
    let files = listing.files.iter().filter(shown).map(|info| WorkspaceFile::new(info, None)).collect();
    let mut bytes = Vec::with_capacity(64 + listing.files.len() * 256);
    let mut response = written(&mut bytes, &WorkspaceFiles { files });
    *response.body_mut() = Body::from(bytes);
    response.headers_mut().insert(REVISION, HeaderValue::from(listing.sequence));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

fn written(bytes: &mut Vec<u8>, value: &impl Serialize) -> Response {
    serde_json::to_writer(bytes, value).expect("texts and numbers can be written to memory");
    let mut response = Response::new(Body::empty());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn tag(info: &FileInfo) -> HeaderValue {
    HeaderValue::from_str(info.etag.as_str()).expect("a tag is hexadecimal digits in quotes")
}
