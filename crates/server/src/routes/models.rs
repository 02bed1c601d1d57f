//! Which models there are, and which one answers.

use crate::{error::ErrorAnswer, request::JsonBody};
use axum::{Json, extract::State};
use roost_host::{Host, chat::ListedModel};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// What can be chosen, and what is used now.
#[utoipa::path(get, path = "/models", tag = "models", responses((status = 200, body = Object)))]
pub(crate) async fn list(State(host): State<Host>) -> Json<Value> {
    // Apps may have models, too.
    host.start_native_apps().await;
    let list = host.models().list().await;
    let models: Vec<Value> = list.models.iter().map(shown).collect();
    Json(json!({ "models": models, "current": list.current }))
}

fn shown(model: &ListedModel) -> Value {
    let mut shown = json!({ "id": model.id, "name": model.name, "provider": model.provider.as_str() });
    if let Some(available) = model.available {
        shown["available"] = json!(available);
    }
    shown
}

/// The model to use from now on; `auto` lets the host choose.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Wanted {
    model: String,
}

/// Chooses a model, until another is chosen.
#[utoipa::path(post, path = "/models/set", tag = "models", request_body = Wanted, responses((status = 200, body = Object)))]
pub(crate) async fn set(
    State(host): State<Host>,
    JsonBody(wanted): JsonBody<Wanted>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.start_native_apps().await;
    let chosen = host.models().set(&wanted.model).await?;
    let mut shown = json!({ "model": chosen.model });
    if chosen.auto {
        shown["auto"] = json!(true);
    }
    Ok(Json(shown))
}
