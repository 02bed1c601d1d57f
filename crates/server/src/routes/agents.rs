//! Listing and calling agents.

use crate::error::ErrorAnswer;
use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{JsonRejection, QueryRejection},
    },
};
use roost_host::{Host, NoProgress, Request};
use roost_protocol::{AgentListing, CallOutcome, Failure, Reason, UserGuid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Files and the agents in them, as the RAPP kernels list them.
pub(crate) async fn files(State(host): State<Host>) -> Json<Value> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for agent in host.known_agents() {
        let names = files.entry(agent.file).or_default();
        if agent.serving.is_some() {
            names.push(agent.name);
        }
    }
    let files: Vec<Value> = files
        .into_iter()
        .map(|(filename, agents)| json!({ "filename": filename, "agents": agents }))
        .collect();
    Json(json!({ "files": files }))
}

/// The list of `roost agents --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Agents {
    agents: Vec<AgentListing>,
}

/// How to list.
#[derive(Debug, Deserialize)]
pub(crate) struct ListQuery {
    /// Asks every file again, also those that failed before.
    #[serde(default)]
    refresh: bool,
}

/// Every agent with its state; what changed a moment ago counts.
pub(crate) async fn list(
    State(host): State<Host>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Agents>, ErrorAnswer> {
    let Query(query) = query.map_err(|rejection| Failure::new(Reason::BadRequest, rejection.body_text()))?;
    if query.refresh {
        host.forget_descriptions();
    }
    Ok(Json(Agents { agents: host.agents(&NoProgress).await? }))
}

/// What a caller sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallBody {
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    user_guid: Option<UserGuid>,
    #[serde(default)]
    slush: Option<Map<String, Value>>,
    #[serde(default)]
    breadcrumbs: Vec<String>,
}

/// Runs one agent. A client that leaves ends the call.
pub(crate) async fn call(
    State(host): State<Host>,
    Path(name): Path<String>,
    body: Result<Json<Map<String, Value>>, JsonRejection>,
) -> Result<Json<CallOutcome>, ErrorAnswer> {
    // An object first: a list would be read as the fields in their order.
    let Json(body) = body.map_err(|rejection| Failure::new(Reason::BadRequest, rejection.body_text()))?;
    let body: CallBody = serde_json::from_value(Value::Object(body))
        .map_err(|error| Failure::new(Reason::BadRequest, error.to_string()))?;
    let request = Request {
        arguments: body.arguments,
        user: body.user_guid,
        query: None,
        slush: body.slush,
        breadcrumbs: body.breadcrumbs,
    };
    Ok(Json(host.call(&name, &request).await?))
}
