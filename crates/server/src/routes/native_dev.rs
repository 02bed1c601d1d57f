//! Native apps for those who write them: from the folder in which one is written to a running app, and trying
//! tools. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host, NoProgress, Request,
    library::Choice,
    native::{NativeOrigin, NativePhase},
};
use roost_protocol::{AgentState, Reason};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Who sideloads when a client does.
const BY: &str = "the owner";

/// The folder of an app.
#[derive(Deserialize)]
pub(crate) struct Folder {
    path: String,
}

/// A tool and what it is given.
#[derive(Deserialize)]
pub(crate) struct Try {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
}

/// Builds, copies and runs the app of a folder, which nobody signed.
#[utoipa::path(post, path = "/api/v1/dev/sideload", tag = "native", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn sideload(
    _: Owner,
    State(host): State<Host>,
    JsonBody(Folder { path }): JsonBody<Folder>,
) -> Result<Json<Value>, ErrorAnswer> {
    sideloaded(&host, &path).await
}

/// Removes an app that was sideloaded; its folder is as it was.
#[utoipa::path(delete, path = "/api/v1/dev/sideload/{id}", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn unsideload(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.library().unsideload(&id).await?;
    Ok(Json(json!({ "ok": true })))
}

/// Apps that were sideloaded.
#[utoipa::path(get, path = "/api/v1/dev/apps", tag = "native", responses((status = 200, body = Object)))]
pub(crate) async fn apps(_: Owner, State(host): State<Host>) -> Json<Value> {
    let states = host.native_apps().states();
    let sideloaded = states.iter().filter(|state| state.origin == NativeOrigin::Sideloaded);
    let shown: Vec<Value> = sideloaded
        .map(|state| {
            let path = host.library().sideloaded_from(&state.id).unwrap_or_else(|_| state.folder.clone());
            json!({
                "appId": state.id, "name": state.name, "version": state.version, "path": path,
                "running": state.phase == NativePhase::Running, "loadedAt": state.since,
            })
        })
        .collect();
    Json(json!({ "apps": shown }))
}

/// Builds a sideloaded app anew and runs it.
#[utoipa::path(post, path = "/api/v1/dev/apps/{id}/relaunch", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn relaunch(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    if let Ok(path) = host.library().sideloaded_from(&id) {
        return sideloaded(&host, &path.to_string_lossy()).await;
    }
    let state = host.native_apps().state(&id)?;
    if state.origin != NativeOrigin::Sideloaded {
        return Err(ErrorAnswer::new(Reason::NotSideloaded, format!("{id} was not sideloaded")));
    }
    let state = host.native_apps().start(host.native_folder(&id).await?).await?;
    Ok(Json(json!({
        "appId": state.id, "name": state.name, "version": state.version, "path": state.folder,
    })))
}

async fn sideloaded(host: &Host, path: &str) -> Result<Json<Value>, ErrorAnswer> {
    let installed = host.library().sideload(path.as_ref(), &Choice::Policy, BY).await?;
    let app = installed.app;
    Ok(Json(json!({ "appId": app.id, "name": app.name, "version": app.version, "path": path })))
}

/// What an author sees of an app: its files, its manifest, whether it runs, and what it printed.
#[utoipa::path(get, path = "/api/v1/dev/apps/{id}/context", tag = "native", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn context(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    Ok(Json(json!(host.native_workbench(&id).await?)))
}

/// Every tool that can be called.
#[utoipa::path(get, path = "/api/v1/dev/tools", tag = "native", responses((status = 200, body = Object)))]
pub(crate) async fn tools(_: Owner, State(host): State<Host>) -> Result<Json<Value>, ErrorAnswer> {
    let agents = host.agents(&NoProgress).await?;
    let ready = agents.into_iter().filter(|agent| agent.state == AgentState::Ready);
    let tools: Vec<Value> = ready
        .map(|agent| json!({ "name": agent.name, "description": agent.description, "schema": agent.parameters }))
        .collect();
    Ok(Json(json!({ "tools": tools })))
}

/// Calls a tool, under the rules that hold for every call.
#[utoipa::path(post, path = "/api/v1/dev/tools/execute", tag = "native", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn execute(
    _: Owner,
    State(host): State<Host>,
    JsonBody(Try { tool, input }): JsonBody<Try>,
) -> Result<Json<Value>, ErrorAnswer> {
    let request = Request { arguments: input, ..Request::default() };
    let outcome = host.call(&tool, &request).await?;
    Ok(Json(match outcome.error {
        Some(failure) => json!({ "content": failure.message, "isError": true }),
        None => json!({ "content": outcome.output, "isError": false }),
    }))
}
