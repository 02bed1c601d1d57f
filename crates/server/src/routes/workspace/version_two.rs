//! The four operations where the conformance suite of version two looks for them. Only one status differs.

use super::{
    new_file::NewFile,
    operations,
    shapes::{WorkspaceFile, WorkspaceFiles},
};
use crate::openwop::{Asker, Refusal, rest_below};
use axum::{
    extract::{Request, State},
    http::{Uri, request::Parts},
    response::Response,
};
use roost_host::Host;

const TOP: &str = "/conformance/seams/workspace/files/";

/// The same as GET `/v1/host/workspace/files`.
#[utoipa::path(get, path = "/conformance/seams/workspace/files", tag = "workspace",
    params(("prefix" = Option<String>, Query)), responses((status = 200, body = WorkspaceFiles)))]
pub(crate) async fn list(asker: Asker, State(host): State<Host>, uri: Uri) -> Result<Response, Refusal> {
    operations::list(&host, asker, &uri).await.map_err(Refusal::in_version_two)
}

/// The same as GET `/v1/host/workspace/files/{path}`.
#[utoipa::path(get, path = "/conformance/seams/workspace/files/{*path}", tag = "workspace",
    params(("path" = String, Path), ("version" = Option<i64>, Query)),
    responses((status = 200, body = WorkspaceFile)))]
pub(crate) async fn get(asker: Asker, State(host): State<Host>, parts: Parts) -> Result<Response, Refusal> {
    let got = operations::get(&host, asker, &parts, rest_below(&parts.uri, TOP)).await;
    got.map_err(Refusal::in_version_two)
}

/// The same as PUT `/v1/host/workspace/files/{path}`.
#[utoipa::path(put, path = "/conformance/seams/workspace/files/{*path}", tag = "workspace", request_body = NewFile,
    params(("path" = String, Path)), responses((status = 200, body = WorkspaceFile)))]
pub(crate) async fn put(State(host): State<Host>, request: Request) -> Result<Response, Refusal> {
    operations::put(&host, request, TOP).await.map_err(Refusal::in_version_two)
}

/// The same as DELETE `/v1/host/workspace/files/{path}`.
#[utoipa::path(delete, path = "/conformance/seams/workspace/files/{*path}", tag = "workspace",
    params(("path" = String, Path)), responses((status = 204, description = "It is gone")))]
pub(crate) async fn delete(
    asker: Asker,
    State(host): State<Host>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let gone = operations::delete(&host, asker, &parts, rest_below(&parts.uri, TOP)).await;
    gone.map_err(Refusal::in_version_two)
}
