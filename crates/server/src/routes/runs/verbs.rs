//! What can be done with a run.

use super::{bytes, find, not_found_or};
use crate::openwop::{Asker, Code, Refusal, RefusalBody, object_in};
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Credential, Host, Scope,
    runs::{ForkMode, NewFork, Run},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Ends a run.
#[utoipa::path(post, path = "/v1/runs/{run}/cancel", tag = "runs", params(("run" = String, Path)), responses((status = 200, body = Object), (status = 404, body = RefusalBody)))]
pub(crate) async fn cancel(
    State(host): State<Host>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    asker.may(Scope::RunsWrite)?;
    let run = find(&host, &asker.credential.owner, &id).await?;
    host.cancel_run(&run).await.map_err(not_found_or)?;
    let run = find(&host, &asker.credential.owner, &id).await?;
    Ok(Json(json!({ "runId": run.id, "status": run.status })))
}

/// Does what stands after the colon: `RUN:pause`, `RUN:resume`, `RUN:fork` or `RUN:replay`.
#[utoipa::path(post, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path, description = "the run, a colon, and `pause`, `resume`, `fork` or `replay`")), request_body = Object, responses((status = 200, body = Object), (status = 201, body = Object), (status = 202, body = Object), (status = 400, body = RefusalBody), (status = 404, body = RefusalBody), (status = 422, body = RefusalBody)))]
pub(crate) async fn act(
    State(host): State<Host>,
    asker: Asker,
    Path(run_and_verb): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    asker.may(Scope::RunsWrite)?;
    let (id, verb) = run_and_verb.split_once(':').ok_or_else(Refusal::not_found)?;
    let run = find(&host, &asker.credential.owner, id).await?;
    let moved = |changed: bool, run: Run| {
        if changed {
            let document = json!({ "runId": run.id, "status": run.status });
            return Ok((StatusCode::ACCEPTED, Json(document)).into_response());
        }
        Err(Refusal::new(Code::Unprocessable, "the run has ended").with("status", json!(run.status)))
    };
    match verb {
        "pause" => {
            let changed = host.pause_run(&run).await.map_err(not_found_or)?;
            moved(changed, find(&host, &asker.credential.owner, id).await?)
        }
        "resume" => {
            let changed = host.resume_run(&run).await.map_err(not_found_or)?;
            moved(changed, find(&host, &asker.credential.owner, id).await?)
        }
        "fork" => fork(&host, &asker.credential, &run, &bytes(body)?).await,
        "replay" => Ok(Json(host.replay(&run).await.map_err(not_found_or)?).into_response()),
        _ => Err(Refusal::not_found()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ForkBody {
    mode: String,
    from_seq: Option<i64>,
    run_options_overlay: Option<Value>,
}

async fn fork(host: &Host, credential: &Credential, run: &Run, body: &[u8]) -> Result<Response, Refusal> {
    let asked: ForkBody = object_in(body)?;
    let mode = ForkMode::parse(&asked.mode)
        .ok_or_else(|| Refusal::invalid("mode", "a fork is a `replay` or a `branch`"))?;
    let from_sequence = asked.from_seq.unwrap_or(0);
    if from_sequence < 0 {
        return Err(Refusal::invalid("fromSeq", "events are counted from 0"));
    }
    if mode == ForkMode::Replay && asked.run_options_overlay.is_some_and(|overlay| !overlay.is_null()) {
        let message = "a replay has the options of the run it replays";
        return Err(Refusal::invalid("runOptionsOverlay", message));
    }
    let fork = NewFork { mode, from_sequence, principal: &credential.principal };
    let forked = host.fork_run(run, fork).await.map_err(not_found_or)?;
    let document = json!({
        "runId": forked.id,
        "sourceRunId": run.id,
        "fromSeq": from_sequence,
        "mode": mode.as_str(),
        "status": forked.status,
        "eventsUrl": format!("/v1/runs/{}/events", forked.id),
    });
    Ok((StatusCode::CREATED, Json(document)).into_response())
}

/// Removes a run that ended, and what only it needed.
#[utoipa::path(delete, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path)), responses((status = 204), (status = 404, body = RefusalBody)))]
pub(crate) async fn remove(
    State(host): State<Host>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    asker.may(Scope::RunsWrite)?;
    let run = find(&host, &asker.credential.owner, &id).await?;
    if !run.status.is_final() {
        return Err(Refusal::new(Code::Unprocessable, "the run has not ended yet"));
    }
    host.remove_run(&run).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Everything about a run, with the files as it saw them: to be taken to another host.
#[utoipa::path(get, path = "/v1/runs/{run}/export", tag = "runs", params(("run" = String, Path)), responses((status = 200, body = Object), (status = 404, body = RefusalBody)))]
pub(crate) async fn export(
    State(host): State<Host>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    asker.may(Scope::RunsRead)?;
    asker.may(Scope::WorkspaceRead)?;
    let run = find(&host, &asker.credential.owner, &id).await?;
    Ok(Json(host.export_run(&run).await.map_err(not_found_or)?))
}

/// Takes over a run of another host.
#[utoipa::path(post, path = "/v1/run-imports", tag = "runs", request_body = Object, responses((status = 201, body = Object), (status = 400, body = RefusalBody)))]
pub(crate) async fn import(
    State(host): State<Host>,
    asker: Asker,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    asker.may(Scope::RunsWrite)?;
    asker.may(Scope::WorkspaceWrite)?;
    let document: Value = object_in(&bytes(body)?)?;
    let Credential { owner, principal, .. } = asker.credential;
    let imported = host.import_run(&owner, &principal, document).await.map_err(not_found_or)?;
    Ok((StatusCode::CREATED, Json(imported)).into_response())
}
