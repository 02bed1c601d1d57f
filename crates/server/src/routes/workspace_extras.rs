//! What a workspace offers beside the four operations of the contract: siblings of `files`, so that no name of a file
//! can be taken for one of them.

pub(crate) mod history; // versions: looking, comparing, going back, forgetting
pub(crate) mod changes; // several files at once, other names, single lines
pub(crate) mod lookup; // searching, and how full it is
pub(crate) mod transfer; // to another place and back
pub(crate) mod rules; // what agents may do
pub(crate) mod proposals; // what agents would like to do
mod shapes; // answers

use crate::openwop::{Arriving, Asker, Code, Headers, Query, Refusal, Unread, known_query, object_in};
use axum::{
    extract::Request,
    http::{HeaderMap, Uri, request::Parts},
};
use roost_host::{
    Host, Scope,
    workspace::{FilePath, Owner, Workspaces, Writer},
};
use serde::de::DeserializeOwned;
use serde_json::json;

/// Largest body of an operation on one file: the text of edits, with room for escapes.
const BODY_BYTES_MAX: usize = 16 << 20;

/// A request whose sender may do this.
struct Call {
    workspaces: Workspaces,
    owner: Owner,
    writer: Writer,
    headers: HeaderMap,
    uri: Uri,
    body: Vec<u8>,
}

impl Call {
    /// A request that only looks.
    async fn reading(asker: &Asker, host: &Host, uri: Uri) -> Result<Self, Refusal> {
        let workspaces = asker.workspaces(host, Scope::WorkspaceRead).await?;
        Ok(Self::new(asker, host, workspaces, HeaderMap::new(), uri, Vec::new()))
    }

    /// A request that changes something. Its body is read only once that is allowed.
    async fn writing(
        asker: &Asker,
        host: &Host,
        request: Request,
        body_bytes_max: usize,
    ) -> Result<Self, Refusal> {
        let (Parts { headers, uri, .. }, body) = request.into_parts();
        let mut arriving = Arriving::new(&headers, body);
        let read = async {
            let workspaces = asker.workspaces(host, Scope::WorkspaceWrite).await?;
            let body = arriving.read(body_bytes_max).await.map_err(|unread| match unread {
                Unread::TooLong(bytes) => Refusal::new(Code::WorkspaceTooLarge, "the body is too long")
                    .with("maxBytes", json!(body_bytes_max))
                    .with("providedBytes", json!(bytes)),
                Unread::Broken => Refusal::invalid("body", "the body broke off"),
            })?;
            Ok((workspaces, body))
        };
        match read.await {
            Ok((workspaces, body)) => Ok(Self::new(asker, host, workspaces, headers, uri, body)),
            Err(refusal) => {
                arriving.discard().await;
                Err(refusal)
            }
        }
    }

    fn new(
        asker: &Asker,
        host: &Host,
        workspaces: Workspaces,
        headers: HeaderMap,
        uri: Uri,
        body: Vec<u8>,
    ) -> Self {
        let (owner, writer) = (asker.credential.owner.clone(), asker.writer(host));
        Self { workspaces, owner, writer, headers, uri, body }
    }

    /// The query, with these names and no others.
    fn query(&self, names: &[&str]) -> Result<Query, Refusal> {
        known_query(&self.uri, names)
    }

    /// The object in the body, of a request without a query.
    fn object<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        self.query(&[])?;
        object_in(&self.body)
    }

    fn headers(&self) -> Headers<'_> {
        Headers(&self.headers)
    }
}

/// The name of a file that is there: programs on a real folder choose names that clients may not.
fn existing_path(field: &str, text: &str) -> Result<FilePath, Refusal> {
    FilePath::of_folder(text).map_err(|error| Refusal::invalid(field, error.to_string()))
}

/// The name of a file that a client makes.
fn new_path(field: &str, text: &str) -> Result<FilePath, Refusal> {
    FilePath::parse(text).map_err(|error| Refusal::invalid(field, error.to_string()))
}

/// A value that must be in the query.
fn required<'a>(query: &'a Query, name: &str) -> Result<&'a str, Refusal> {
    query.one(name)?.ok_or_else(|| Refusal::invalid(name, "the query must have this"))
}
