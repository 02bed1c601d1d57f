//! Agent files over HTTP, as the RAPP kernels list, export, import, remove and invoke them.

use super::voice::Done;
use crate::{
    error::{ErrorAnswer, agent_failed},
    owner::Owner,
    request::{Form, JsonOrNothing, PathOf},
};
use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use roost_host::{ArrivingFile, Host, Request};
use roost_protocol::{Language, Reason, UserGuid};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Files of the agents folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Files {
    files: Vec<OneFile>,
}

/// One file and its agents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneFile {
    filename: String,
    /// Names of those that can be called.
    agents: Vec<String>,
}

/// Files and the agents in them.
#[utoipa::path(get, path = "/agents", tag = "agents", responses((status = 200, body = Files)))]
pub(crate) async fn files(State(host): State<Host>) -> Json<Files> {
    let one = |file: roost_host::ListedFile| OneFile { filename: file.file_name, agents: file.agents };
    Json(Files { files: host.agent_files().into_iter().map(one).collect() })
}

/// Files with their text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FullFiles {
    files: Vec<FullFile>,
}

/// One file, its agents and its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FullFile {
    filename: String,
    agents: Vec<String>,
    /// Absent when the file cannot be read.
    source: Option<String>,
}

/// The same with the text of each file.
#[utoipa::path(get, path = "/agents/full", tag = "agents", responses((status = 200, body = FullFiles)))]
pub(crate) async fn full(State(host): State<Host>) -> Json<FullFiles> {
    let one = |file: roost_host::ListedFile| {
        let source = host.agent_source(&file.file_name).ok();
        let source = source.map(|source| String::from_utf8_lossy(&source.bytes).into_owned());
        FullFile { filename: file.file_name, agents: file.agents, source }
    };
    Json(FullFiles { files: host.agent_files().into_iter().map(one).collect() })
}

/// An agent file as it is, to be kept.
#[utoipa::path(get, path = "/agents/export/{file}", tag = "agents", params(("file" = String, Path)),
    responses((status = 200, description = "The file", content_type = "text/x-python")))]
pub(crate) async fn export(State(host): State<Host>, PathOf(file): PathOf) -> Result<Response, ErrorAnswer> {
    let source = host.agent_source(&file)?;
    let content_type = match source.language {
        Language::Python => "text/x-python",
        Language::TypeScript => "text/typescript",
    };
    // The name was checked when the file was read: letters, digits, `_`, `-` and `.` only.
    let disposition = format!("attachment; filename=\"{}\"", source.file_name);
    let headers =
        [(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, source.bytes.to_vec()).into_response())
}

/// Removes an agent file; it is kept in the trash of the home.
#[utoipa::path(delete, path = "/agents/{file}", tag = "agents", params(("file" = String, Path)),
    responses((status = 200, body = Done)))]
pub(crate) async fn remove(
    State(host): State<Host>,
    PathOf(file): PathOf,
) -> Result<Json<Done>, ErrorAnswer> {
    let kept = host.remove_agent(&file).await?;
    Ok(Json(Done::ok(format!(
        "{file} was removed; to take it back, copy {} from the home folder to the agents folder",
        kept.display()
    ))))
}

/// A form with an agent file.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the form; its parts are read one by one")]
pub(crate) struct AgentForm {
    /// The agent file, with its name.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// What the file's SHA-256 must be, in hexadecimal digits.
    sha256: Option<String>,
    /// Where it comes from, for the record.
    source_revision: Option<String>,
}

/// What was imported.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Imported {
    /// Always `ok`.
    status: &'static str,
    message: String,
    /// The name the file got.
    filename: String,
    agents: Vec<String>,
    sha256: String,
    /// Where the file is kept that it replaced, as seen from the home folder.
    replaced: Option<String>,
}

/// Imports an agent file, if it loads and its agents' names are free.
#[utoipa::path(post, path = "/agents/import", tag = "agents",
    request_body(content = AgentForm, content_type = "multipart/form-data"), responses((status = 200, body = Imported)))]
pub(crate) async fn import(
    State(host): State<Host>,
    owner: Option<Owner>,
    form: Form,
) -> Result<Json<Imported>, ErrorAnswer> {
    let part = form.file("file")?;
    let sent_name = part.file_name.clone().filter(|name| !name.is_empty());
    let sent_name =
        sent_name.ok_or_else(|| ErrorAnswer::new(Reason::BadRequest, "No name: the file has no name"))?;
    let arriving = ArrivingFile {
        sent_name,
        bytes: part.bytes.to_vec(),
        sha256: form.text("sha256")?,
        source_revision: form.text("source_revision")?,
        by_owner: owner.is_some(),
    };
    let arrived = host.import_agent(arriving).await?;
    let message = format!("imported {} with {}", arrived.file_name, arrived.agents.join(", "));
    Ok(Json(Imported {
        status: "ok",
        message,
        filename: arrived.file_name,
        agents: arrived.agents,
        sha256: arrived.digest.to_string(),
        replaced: arrived.replaced.map(|path| path.display().to_string()),
    }))
}

/// What an agent answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Invoked {
    agent: String,
    filename: String,
    result: String,
    /// What was enforced and used.
    #[schema(value_type = Object)]
    receipt: Value,
}

/// Runs the first agent of a file with the body as its arguments.
#[utoipa::path(post, path = "/agents/invoke/{file}", tag = "agents", params(("file" = String, Path)),
    request_body = Object, responses((status = 200, body = Invoked)))]
pub(crate) async fn invoke(
    State(host): State<Host>,
    PathOf(file): PathOf,
    JsonOrNothing(arguments): JsonOrNothing<Map<String, Value>>,
) -> Result<Response, ErrorAnswer> {
    let name = host.first_agent_of(&file).await?;
    let user = arguments.get("user_guid").and_then(Value::as_str).and_then(|guid| UserGuid::parse(guid).ok());
    let request = Request { arguments, user, ..Request::default() };
    let outcome = host.call(name.as_str(), &request).await?;
    if let Some(failure) = outcome.error {
        return Ok(agent_failed(failure, &outcome.receipt));
    }
    let (agent, result) = (outcome.agent.to_string(), outcome.output);
    Ok(Json(Invoked { agent, filename: file, result, receipt: json!(outcome.receipt) }).into_response())
}
