//! What can be done with the files of one owner, in the order that the contract asks for.

use super::{
    new_file::NewFile,
    shapes::{self, Encoding, Names},
};
use crate::openwop::{Arriving, Asker, Code, Headers, Query, Refusal, Unread};
use axum::{
    body::Body,
    extract::{FromRequestParts as _, Request},
    http::{HeaderName, HeaderValue, StatusCode, request::Parts},
    response::Response,
};
use roost_host::{
    Host, Scope,
    workspace::{
        Answered, Condition, Content, Done, File, FileInfo, FilePath, IfNoneMatch, Limit, Once, Owner,
        Prefix, WorkspaceError, Workspaces, Write, Writer, decode_once,
    },
};
use serde_json::json;

const REPLAYED: HeaderName = HeaderName::from_static("openwop-idempotent-replay");

/// JSON may write a character in six bytes.
const JSON_BYTES_PER_BYTE: i64 = 6;

/// Room for the content type and what stands around it.
const BODY_ROOM_BYTES: i64 = 64 << 10;

/// The files of one owner, for somebody who may use them.
pub(crate) struct Files {
    workspaces: Workspaces,
    owner: Owner,
    writer: Writer,
}

/// A write that may be sent twice.
pub(crate) struct Counted<'a> {
    pub(crate) key: Option<&'a str>,
    /// What was asked for besides the content.
    pub(crate) asked: Vec<&'a [u8]>,
}

impl Files {
    /// The files of whoever asks, if the token is for this.
    pub(crate) async fn of(host: &Host, asker: Asker, scope: Scope) -> Result<Self, Refusal> {
        let workspaces = asker.workspaces(host, scope).await?;
        let writer = asker.writer(host);
        Ok(Self { workspaces, owner: asker.credential.owner, writer })
    }

    /// Anybody's files, for the seam of the tests.
    pub(super) fn of_anybody(workspaces: Workspaces, owner: Owner, writer: Writer) -> Self {
        Self { workspaces, owner, writer }
    }

    pub(crate) async fn list(&self, prefix: &Prefix, names: Names) -> Result<Response, Refusal> {
        Ok(shapes::list(&self.workspaces.list(&self.owner, prefix).await?, names))
    }

    pub(crate) async fn get(
        &self,
        path: &FilePath,
        version: Option<i64>,
        encoding: Encoding,
        unless: Option<&IfNoneMatch>,
    ) -> Result<Response, Refusal> {
        let File { info, content } = self.workspaces.get(&self.owner, path, version).await?;
        if unless.is_some_and(|tags| !tags.holds(Some(&info.etag))) {
            return Ok(shapes::unchanged(&info));
        }
        shapes::file(&info, &content, encoding)
    }

    pub(crate) async fn put(
        &self,
        path: FilePath,
        condition: Condition,
        mut content: Content,
        encoding: Encoding,
        counted: Counted<'_>,
    ) -> Result<Response, Refusal> {
        let once = counted.once("put", &self.writer, &path, Some(&content));
        if let std::borrow::Cow::Owned(kept) = self.writer.redactions.redact_bytes(&content.bytes) {
            content.bytes = kept;
        }
        self.check_size(&content)?;
        // The answer shows what is kept, and the store takes what it keeps.
        let shown = content.bytes.clone();
        let write = Write { path, condition, content: Some(content) };
        let (info, replayed) = self.make(write, once).await?;
        Ok(marked(shapes::file(&info, &shown, encoding)?, replayed))
    }

    pub(crate) async fn delete(
        &self,
        path: FilePath,
        condition: Condition,
        counted: Counted<'_>,
    ) -> Result<Response, Refusal> {
        let once = counted.once("delete", &self.writer, &path, None);
        let (_, replayed) = self.make(Write { path, condition, content: None }, once).await?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(marked(response, replayed))
    }

    async fn make(&self, write: Write, once: Option<(String, Once)>) -> Result<(FileInfo, bool), Refusal> {
        let Answered { value, replayed } =
            self.workspaces.write_one(&self.owner, &self.writer, write, once).await?;
        match value {
            Done::Made(info) => Ok((info, replayed)),
            // Only what agents write can wait for a person.
            Done::Proposed(_) => Err(Refusal::new(Code::Forbidden, "this change waits for a person")),
        }
    }

    /// Before anything is compared, as the contract orders it.
    fn check_size(&self, content: &Content) -> Result<(), Refusal> {
        let max = self.workspaces.limits().file_bytes_max;
        let provided = i64::try_from(content.bytes.len()).unwrap_or(i64::MAX);
        if provided <= max {
            return Ok(());
        }
        Err(WorkspaceError::TooLarge { limit: Limit::FileBytes, max, provided }.into())
    }

    fn body_bytes_max(&self) -> usize {
        let max = self.workspaces.limits().file_bytes_max;
        let max = max.saturating_mul(JSON_BYTES_PER_BYTE).saturating_add(BODY_ROOM_BYTES);
        usize::try_from(max).unwrap_or(usize::MAX)
    }
}

impl Counted<'_> {
    /// A write that nobody sends twice.
    pub(super) fn never() -> Self {
        Self { key: None, asked: Vec::new() }
    }

    fn once(
        &self,
        operation: &str,
        writer: &Writer,
        path: &FilePath,
        content: Option<&Content>,
    ) -> Option<(String, Once)> {
        let key = self.key?;
        let mut parts: Vec<&[u8]> = vec![operation.as_bytes(), path.as_str().as_bytes()];
        if let Some(Content { bytes, content_type }) = content {
            parts.extend([&bytes[..], content_type.as_bytes()]);
        }
        parts.extend(&self.asked);
        let operation = format!("{operation} {} {}", writer.author.principal, path.as_str());
        Some((operation, Once::new(key, &parts)))
    }
}

fn marked(mut response: Response, replayed: bool) -> Response {
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// A file name as it stands in an address.
pub(crate) fn path_in(raw: &str, names: Names) -> Result<FilePath, Refusal> {
    let parsed = decode_once(raw).and_then(|text| match names {
        Names::Portable => FilePath::parse(&text),
        Names::Any => FilePath::of_folder(&text),
    });
    parsed.map_err(|error| Refusal::invalid("path", error.to_string()))
}

pub(crate) async fn list(host: &Host, asker: Asker, uri: &axum::http::Uri) -> Result<Response, Refusal> {
    let files = Files::of(host, asker, Scope::WorkspaceRead).await?;
    let query = Query::of(uri)?;
    let prefix = Prefix::parse(query.one("prefix")?.unwrap_or_default())
        .map_err(|error| Refusal::invalid("prefix", error.to_string()))?;
    files.list(&prefix, Names::parse(query.one("names")?)?).await
}

pub(crate) async fn get(host: &Host, asker: Asker, parts: &Parts, raw: &str) -> Result<Response, Refusal> {
    let files = Files::of(host, asker, Scope::WorkspaceRead).await?;
    let query = Query::of(&parts.uri)?;
    let path = path_in(raw, Names::parse(query.one("names")?)?)?;
    let version = query.number("version", 1)?;
    let encoding = Encoding::parse(query.one("encoding")?)?;
    let unless = Headers(&parts.headers).if_none_match()?;
    files.get(&path, version, encoding, unless.as_ref()).await
}

pub(crate) async fn delete(host: &Host, asker: Asker, parts: &Parts, raw: &str) -> Result<Response, Refusal> {
    let files = Files::of(host, asker, Scope::WorkspaceWrite).await?;
    let path = path_in(raw, Names::parse(Query::of(&parts.uri)?.one("names")?)?)?;
    let headers = Headers(&parts.headers);
    let counted = Counted { key: headers.idempotency_key()?, asked: headers.sent_conditions() };
    files.delete(path, headers.condition()?, counted).await
}

/// Writes a file. The request is taken apart here, so that whatever is refused the rest of the body is let go of.
pub(crate) async fn put(host: &Host, request: Request, top: &str) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    let mut body = Arriving::new(&parts.headers, body);
    let answer = put_body(host, &mut parts, &mut body, top).await;
    if answer.is_err() {
        body.discard().await;
    }
    answer
}

async fn put_body(
    host: &Host,
    parts: &mut Parts,
    body: &mut Arriving,
    top: &str,
) -> Result<Response, Refusal> {
    let asker = Asker::from_request_parts(parts, host).await?;
    let files = Files::of(host, asker, Scope::WorkspaceWrite).await?;
    let query = Query::of(&parts.uri)?;
    let path = path_in(crate::openwop::rest_below(&parts.uri, top), Names::parse(query.one("names")?)?)?;
    let encoding = Encoding::parse(query.one("encoding")?)?;
    let headers = Headers(&parts.headers);
    let (key, condition) = (headers.idempotency_key()?, headers.condition()?);
    let bytes = body.read(files.body_bytes_max()).await.map_err(|unread| match unread {
        Unread::Broken => Refusal::invalid("body", "the body did not arrive"),
        Unread::TooLong(bytes) => Refusal::new(Code::WorkspaceTooLarge, "the body is larger than any file")
            .with("limit", json!(Limit::FileBytes.name()))
            .with("maxBytes", json!(files.workspaces.limits().file_bytes_max))
            .with("providedBytes", json!(bytes)),
    })?;
    let content = NewFile::read(&bytes)?.into_content(encoding)?;
    drop(bytes);
    let mut asked = headers.sent_conditions();
    asked.extend(query.one("encoding")?.map(str::as_bytes));
    files.put(path, condition, content, encoding, Counted { key, asked }).await
}
