//! The twin switch.

use crate::request::JsonOrNothing;
use axum::{Json, extract::State};
use roost_host::{Host, modes::Mode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether answers come with the twin's part.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TwinMode {
    twin_mode: bool,
}

/// What a switch is set to.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Toggle {
    /// Flips when missing.
    #[serde(default)]
    pub(crate) enabled: Option<bool>,
}

/// Whether answers come with the twin's part.
#[utoipa::path(get, path = "/twin", tag = "modes", responses((status = 200, body = TwinMode)))]
pub(crate) async fn mode(State(host): State<Host>) -> Json<TwinMode> {
    Json(TwinMode { twin_mode: host.modes().twin() })
}

/// Sets the twin switch; flips it when nothing is sent.
#[utoipa::path(post, path = "/twin/toggle", tag = "modes", request_body = Toggle, responses((status = 200, body = TwinMode)))]
pub(crate) async fn toggle(
    State(host): State<Host>,
    JsonOrNothing(body): JsonOrNothing<Toggle>,
) -> Json<TwinMode> {
    Json(TwinMode { twin_mode: host.modes().set(Mode::Twin, body.enabled) })
}
