//! Listing and calling agents.

use crate::{
    error::ErrorAnswer,
    request::{JsonBody, PathOf, QueryOf},
};
use axum::{Json, extract::State};
use roost_host::{Host, NoProgress, Request};
use roost_protocol::{AgentListing, CallOutcome, UserGuid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// The list of `roost agents --json`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Agents {
    #[schema(value_type = Vec<Object>)]
    agents: Vec<AgentListing>,
}

/// How to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Asks every file again, also those that failed before.
    #[serde(default)]
    refresh: bool,
}

/// Every agent with its state; what changed a moment ago counts.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(ListQuery), responses((status = 200, body = Agents)))]
pub(crate) async fn list(
    State(host): State<Host>,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Json<Agents>, ErrorAnswer> {
    if query.refresh {
        host.forget_descriptions();
    }
    Ok(Json(Agents { agents: host.agents(&NoProgress).await? }))
}

/// What a caller sends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallBody {
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Map<String, Value>,
    /// Whose memory the agent sees.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    user_guid: Option<UserGuid>,
    /// Signals of the agent before.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    slush: Option<Map<String, Value>>,
    /// Agents of this run so far.
    #[serde(default)]
    breadcrumbs: Vec<String>,
}

/// Runs one agent. A client that leaves ends the call.
#[utoipa::path(post, path = "/v1/agents/{name}/call", tag = "agents", params(("name" = String, Path)),
    request_body = CallBody, responses((status = 200, description = "The agent ran; `error` says when it failed", body = Object)))]
pub(crate) async fn call(
    State(host): State<Host>,
    PathOf(name): PathOf,
    JsonBody(body): JsonBody<CallBody>,
) -> Result<Json<CallOutcome>, ErrorAnswer> {
    let request = Request {
        arguments: body.arguments,
        user: body.user_guid,
        query: None,
        slush: body.slush,
        breadcrumbs: body.breadcrumbs,
        ..Request::default()
    };
    Ok(Json(host.call(&name, &request).await?))
}
