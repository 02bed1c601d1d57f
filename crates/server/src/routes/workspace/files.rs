//! The four operations of the contract.

use super::{
    new_file::NewFile,
    operations,
    shapes::{WorkspaceFile, WorkspaceFiles},
};
use crate::openwop::{Asker, Refusal, RefusalBody, rest_below};
use axum::{
    extract::{Request, State},
    http::{Method, Uri, request::Parts},
    response::Response,
};
use roost_host::{Host, Scope, workspace::PathError};

const TOP: &str = "/v1/host/workspace/files/";

/// Files whose name begins with a text, without their contents.
#[utoipa::path(get, path = "/v1/host/workspace/files", tag = "workspace",
    params(
        ("prefix" = Option<String>, Query, description = "How names begin; everything when absent"),
        ("names" = Option<String>, Query, description = "`any` also shows names that only programs give"),
    ),
    responses(
        (status = 200, body = WorkspaceFiles, headers(("Roost-Revision" = i64, description = "Grows with every write"))),
        (status = 501, description = "Workspaces are switched off", body = RefusalBody),
    ))]
pub(crate) async fn list(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Response, Refusal> {
    operations::list(&host, asker, &uri).await
}

/// One file, or one of its versions.
#[utoipa::path(get, path = "/v1/host/workspace/files/{*path}", tag = "workspace",
    params(
        ("path" = String, Path, description = "Raw or percent-encoded"),
        ("version" = Option<i64>, Query, description = "The newest when absent"),
        ("encoding" = Option<String>, Query, description = "`base64` for files that are not text"),
        ("names" = Option<String>, Query, description = "`any` allows names that only programs give"),
        ("If-None-Match" = Option<String>, Header, description = "Answers 304 for a tag that is the current one"),
    ),
    responses(
        (status = 200, body = WorkspaceFile, headers(("ETag" = String), ("Roost-Encoding" = String))),
        (status = 304, description = "The reader has it"),
        (status = 404, description = "There is no such file or version", body = RefusalBody),
    ))]
pub(crate) async fn get(asker: Asker, State(host): State<Host>, parts: Parts) -> Result<Response, Refusal> {
    operations::get(&host, asker, &parts, rest_below(&parts.uri, TOP)).await
}

/// Without a name there is no file.
#[utoipa::path(method(get, put, delete), path = "/v1/host/workspace/files/", tag = "workspace",
    responses((status = 400, description = "A name is not empty", body = RefusalBody)))]
pub(crate) async fn nameless(
    asker: Asker,
    State(host): State<Host>,
    method: Method,
) -> Result<Response, Refusal> {
    let scope = if method == Method::GET || method == Method::HEAD {
        Scope::WorkspaceRead
    } else {
        Scope::WorkspaceWrite
    };
    asker.workspaces(&host, scope).await?;
    Err(Refusal::invalid("path", PathError::Empty.to_string()))
}

/// Makes or replaces a file, whole.
#[utoipa::path(put, path = "/v1/host/workspace/files/{*path}", tag = "workspace", request_body = NewFile,
    params(
        ("path" = String, Path, description = "Raw or percent-encoded"),
        ("encoding" = Option<String>, Query, description = "`base64` when the content is sent so"),
        ("names" = Option<String>, Query, description = "`any` allows names that only programs give"),
        ("If-Match" = Option<String>, Header, description = "Writes only over one of these versions"),
        ("If-None-Match" = Option<String>, Header, description = "`*` writes only where there is no file"),
        ("Idempotency-Key" = Option<String>, Header, description = "Lets the request be sent twice"),
    ),
    responses(
        (status = 200, body = WorkspaceFile, headers(("ETag" = String), ("openwop-Idempotent-Replay" = String))),
        (status = 409, description = "The file is not as the writer thought", body = RefusalBody),
        (status = 413, description = "More than a limit allows", body = RefusalBody),
    ))]
pub(crate) async fn put(State(host): State<Host>, request: Request) -> Result<Response, Refusal> {
    operations::put(&host, request, TOP).await
}

/// Removes a file; its versions stay readable for a while.
#[utoipa::path(delete, path = "/v1/host/workspace/files/{*path}", tag = "workspace",
    params(
        ("path" = String, Path, description = "Raw or percent-encoded"),
        ("names" = Option<String>, Query, description = "`any` allows names that only programs give"),
        ("If-Match" = Option<String>, Header, description = "Removes only one of these versions"),
        ("Idempotency-Key" = Option<String>, Header, description = "Lets the request be sent twice"),
    ),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "There is no such file", body = RefusalBody),
        (status = 409, description = "The file is not as the writer thought", body = RefusalBody),
    ))]
pub(crate) async fn delete(
    asker: Asker,
    State(host): State<Host>,
    parts: Parts,
) -> Result<Response, Refusal> {
    operations::delete(&host, asker, &parts, rest_below(&parts.uri, TOP)).await
}
