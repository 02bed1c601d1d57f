//! The routes of the Azure lineage: the same turn and the same calls under other names.

use super::{Profile, answer, bad_request};
use crate::{
    error::{ErrorAnswer, agent_failed},
    request::unreadable_body,
};
use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use roost_host::{Host, Request};
use serde_json::{Map, Value, json};

/// One message in, one answer out, in the shape of the Azure lineage.
#[utoipa::path(post, path = "/api/businessinsightbot_function", tag = "chat", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn insight(
    State(host): State<Host>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    answer(&host, Profile::Tier2, &headers, body).await
}

/// One agent with an action, without a model.
#[utoipa::path(post, path = "/api/trigger/copilot-studio", tag = "chat", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn copilot_studio(
    State(host): State<Host>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ErrorAnswer> {
    let body = body.map_err(|rejection| unreadable_body(&rejection))?;
    let mut body: Map<String, Value> =
        serde_json::from_slice(&body).map_err(|error| bad_request(error.to_string()))?;
    let agent = match body.remove("agent") {
        Some(Value::String(agent)) if !agent.is_empty() => agent,
        _ => return Err(bad_request("agent must be a string").into()),
    };
    let mut arguments = match body.remove("parameters") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(parameters)) => parameters,
        Some(_) => return Err(bad_request("parameters must be an object").into()),
    };
    match body.remove("action") {
        None | Some(Value::Null) => {}
        Some(action @ Value::String(_)) => {
            arguments.insert("action".to_owned(), action);
        }
        Some(_) => return Err(bad_request("action must be a string").into()),
    }
    let outcome = host.call(&agent, &Request { arguments, ..Request::default() }).await?;
    if let Some(failure) = outcome.error {
        return Ok(agent_failed(failure, &outcome.receipt));
    }
    let shown = json!({ "type": "message", "text": outcome.output });
    let body = json!({ "status": "success", "response": outcome.output, "copilot_studio_format": shown });
    Ok(Json(body).into_response())
}
