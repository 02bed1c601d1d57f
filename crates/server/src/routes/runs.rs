//! Runs: seeing them, following them, ending them, going through them again.

mod follow; // events as they come
mod shown; // runs and events as clients see them
mod verbs; // what can be done with a run

pub(crate) use follow::{__path_follow, __path_poll, follow, poll};
pub(crate) use verbs::{
    __path_act, __path_cancel, __path_export, __path_import, __path_remove, act, cancel, export, import,
    remove,
};

use crate::openwop::{Asker, Code, Headers, Refusal, RefusalBody, known_query, object_in};
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, HeaderValue, StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host, Scope,
    runs::{NewRun, Run, workflow_named},
    workspace::{Once, Owner},
};
use roost_protocol::{Failure, Reason};
use serde::Deserialize;
use serde_json::{Value, json};
use shown::{run_document, run_row, started};

/// Runs in one list.
const RUNS_MAX: i64 = 200;
const RUNS_USUAL: i64 = 50;

/// A workflow that can be started.
#[utoipa::path(get, path = "/v1/workflows/{id}", tag = "runs", params(("id" = String, Path)), responses((status = 200, body = Object), (status = 404, body = RefusalBody)))]
pub(crate) async fn workflow(asker: Asker, Path(id): Path<String>) -> Result<Json<Value>, Refusal> {
    asker.may(Scope::RunsRead)?;
    let workflow = workflow_named(&id).ok_or_else(Refusal::not_found)?;
    Ok(Json(json!({
        "workflowId": workflow.id,
        "id": workflow.id,
        "version": 1,
        "trigger": { "type": "manual" },
        "nodes": [{ "id": workflow.node, "type": workflow.node_type }],
        "edges": [],
    })))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartBody {
    workflow_id: String,
    #[serde(default)]
    inputs: Value,
    #[serde(default)]
    configurable: Value,
    #[serde(default)]
    tags: Value,
    #[serde(default)]
    metadata: Value,
}

/// Starts a run of a workflow.
#[utoipa::path(post, path = "/v1/runs", tag = "runs", request_body = Object, responses((status = 201, body = Object), (status = 400, body = RefusalBody), (status = 404, body = RefusalBody)))]
pub(crate) async fn start(
    State(host): State<Host>,
    asker: Asker,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    asker.may(Scope::RunsWrite)?;
    let body = bytes(body)?;
    let asked: StartBody = object_in(&body)?;
    let workflow = workflow_named(&asked.workflow_id)
        .ok_or_else(|| Refusal::new(Code::NotFound, "there is no such workflow"))?;
    let once = once(&headers, &body)?;
    let inputs = json!({
        "inputs": asked.inputs, "configurable": asked.configurable, "tags": asked.tags, "metadata": asked.metadata,
    });
    let credential = asker.credential;
    let new = NewRun { owner: credential.owner, principal: credential.principal, workflow, inputs, once };
    let answered = host.start_run(new).await?;
    let mut response = (StatusCode::CREATED, Json(started(&answered.value))).into_response();
    if answered.replayed {
        response.headers_mut().insert("openwop-idempotent-replay", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The newest runs.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(("before" = Option<String>, Query), ("limit" = Option<i64>, Query)), responses((status = 200, body = Object)))]
pub(crate) async fn list(State(host): State<Host>, asker: Asker, uri: Uri) -> Result<Json<Value>, Refusal> {
    asker.may(Scope::RunsRead)?;
    let query = known_query(&uri, &["before", "limit"])?;
    let limit = query.number("limit", 1)?.unwrap_or(RUNS_USUAL);
    if limit > RUNS_MAX {
        return Err(Refusal::invalid("limit", format!("limit is from 1 to {RUNS_MAX}")));
    }
    let runs = host.runs(&asker.credential.owner, query.one("before")?, limit).await?;
    Ok(Json(json!({ "runs": runs.iter().map(run_row).collect::<Vec<_>>() })))
}

/// One run, with the files it sees.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path)), responses((status = 200, body = Object), (status = 404, body = RefusalBody)))]
pub(crate) async fn show(
    State(host): State<Host>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    asker.may(Scope::RunsRead)?;
    let run = find(&host, &asker.credential.owner, &id).await?;
    let files = host.run_files(&run).await?;
    Ok(Json(run_document(&run, &files)))
}

/// A run of this owner. One of somebody else looks like one that does not exist.
async fn find(host: &Host, owner: &Owner, id: &str) -> Result<Run, Refusal> {
    host.run(owner, id).await.map_err(not_found_or)
}

fn not_found_or(failure: Failure) -> Refusal {
    match failure.reason {
        Reason::UnknownRun => Refusal::not_found(),
        Reason::BadRequest | Reason::DigestMismatch => Refusal::invalid("body", failure.message),
        Reason::BadArguments => Refusal::new(Code::Unprocessable, failure.message),
        _ => failure.into(),
    }
}

fn bytes(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Refusal> {
    body.map_err(|_| Refusal::new(Code::WorkspaceTooLarge, "the body is larger than this takes"))
}

/// What tells a request apart that may be sent twice.
fn once(headers: &HeaderMap, body: &[u8]) -> Result<Option<Once>, Refusal> {
    Ok(Headers(headers).idempotency_key()?.map(|key| Once::new(key, &[body])))
}
