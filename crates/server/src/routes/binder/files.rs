//! Pages and shared files of installed apps, over HTTP.
//!
//! These answer on the host's own origin, so that a page opened here is put into a sandbox and cannot act as the host's.

use crate::{
    error::ErrorAnswer,
    request::{PathOf, unreadable_body},
};
use axum::{
    Json,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
    http::header,
    response::{IntoResponse as _, Response},
};
use roost_host::Host;
use roost_protocol::{Failure, Reason, media_type};
use serde_json::{Value, json};

type TwoNames = Result<Path<(String, String)>, PathRejection>;

fn named(names: TwoNames) -> Result<(String, String), Failure> {
    let names = names.map(|Path(names)| names);
    names.map_err(|rejection| Failure::new(Reason::BadRequest, rejection.body_text()))
}

/// A file of an app's page.
#[utoipa::path(get, path = "/api/binder/ui/{id}/{*file}", tag = "binder", params(("id" = String, Path), ("file" = String, Path)),
    responses((status = 200, description = "The file")))]
pub(crate) async fn page_file(State(host): State<Host>, names: TwoNames) -> Result<Response, ErrorAnswer> {
    let (id, file) = named(names)?;
    if file.split(['/', '\\']).any(|part| part == "..") {
        return Err(ErrorAnswer::new(Reason::BadRequest, "the file is not below the page"));
    }
    let found = host.library().page_file(&id, &file)?;
    let bytes = found.ok_or_else(|| {
        let shown: String = file.escape_debug().take(200).collect();
        ErrorAnswer::new(Reason::UnknownFile, format!("the page of {id} has no file `{shown}`"))
    })?;
    Ok(sent(&file, bytes))
}

/// The page of an app itself.
#[utoipa::path(get, path = "/api/binder/ui/{id}/", tag = "binder", params(("id" = String, Path)),
    responses((status = 200, description = "The page", content_type = "text/html")))]
pub(crate) async fn page_root(State(host): State<Host>, PathOf(id): PathOf) -> Result<Response, ErrorAnswer> {
    let app = host.library().show(&id).await?;
    let none = || ErrorAnswer::new(Reason::UnknownFile, format!("{id} has no page"));
    let file = app.page_file.ok_or_else(none)?;
    let bytes = host.library().page_file(&id, &file)?.ok_or_else(none)?;
    Ok(sent(&file, bytes))
}

/// The same where rapplications have always had it.
#[utoipa::path(get, path = "/binder/ui/{id}/", tag = "binder", params(("id" = String, Path)),
    responses((status = 200, description = "The page", content_type = "text/html")))]
pub(crate) async fn page_root_by_old_name(host: State<Host>, id: PathOf) -> Result<Response, ErrorAnswer> {
    page_root(host, id).await
}

/// The same where rapplications have always had it.
#[utoipa::path(get, path = "/binder/ui/{id}/{*file}", tag = "binder", params(("id" = String, Path), ("file" = String, Path)),
    responses((status = 200, description = "The file")))]
pub(crate) async fn page_file_by_old_name(
    host: State<Host>,
    names: TwoNames,
) -> Result<Response, ErrorAnswer> {
    page_file(host, names).await
}

/// Scripts run, and reach nothing: another origin than the host's, and no network.
const PAGE_POLICY: &str = "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'";

fn sent(name: &str, bytes: Vec<u8>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type(name)),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, bytes).into_response()
}

/// Where an app's shared files are, and how many.
#[utoipa::path(get, path = "/{id}/info", tag = "binder", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn info(State(host): State<Host>, PathOf(id): PathOf) -> Result<Json<Value>, ErrorAnswer> {
    let library = host.library();
    let files = library.workspace_files(&id)?;
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    Ok(Json(json!({
        "available": true, "id": id, "path": library.workspace_path(&id)?, "mode": "local",
        "file_count": files.len(), "bytes": bytes,
    })))
}

/// An app's shared files.
#[utoipa::path(get, path = "/{id}/list", tag = "binder", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn list(State(host): State<Host>, PathOf(id): PathOf) -> Result<Json<Value>, ErrorAnswer> {
    let files = host.library().workspace_files(&id)?;
    let shown = files.iter().map(|file| {
        json!({ "name": file.name, "size": file.size, "mtime": file.mtime, "mime": media_type(&file.name) })
    });
    Ok(Json(json!({ "files": shown.collect::<Vec<_>>() })))
}

/// One shared file.
#[utoipa::path(get, path = "/{id}/file/{*name}", tag = "binder", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, description = "The file")))]
pub(crate) async fn read(State(host): State<Host>, names: TwoNames) -> Result<Response, ErrorAnswer> {
    let (id, name) = named(names)?;
    Ok(sent(&name, host.library().read_workspace_file(&id, &name)?))
}

/// Writes one shared file: the body is its content.
#[utoipa::path(put, path = "/{id}/file/{*name}", tag = "binder", params(("id" = String, Path), ("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn write(
    State(host): State<Host>,
    names: TwoNames,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ErrorAnswer> {
    let (id, name) = named(names)?;
    let body = body.map_err(|rejection| unreadable_body(&rejection))?;
    host.library().write_workspace_file(&id, &name, &body)?;
    Ok(Json(json!({ "ok": true, "name": name, "size": body.len() })))
}

/// Removes one shared file.
#[utoipa::path(delete, path = "/{id}/file/{*name}", tag = "binder", params(("id" = String, Path), ("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(State(host): State<Host>, names: TwoNames) -> Result<Json<Value>, ErrorAnswer> {
    let (id, name) = named(names)?;
    host.library().remove_workspace_file(&id, &name)?;
    Ok(Json(json!({ "ok": true })))
}

/// Says where an app's shared files are, for a person to open.
#[utoipa::path(post, path = "/{id}/reveal", tag = "binder", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn reveal(State(host): State<Host>, PathOf(id): PathOf) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!({ "ok": true, "path": host.library().workspace_path(&id)? })))
}
