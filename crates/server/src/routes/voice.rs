//! The voice switch, and the voice configuration in its encrypted zip.

use super::twin::Toggle;
use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{Form, JsonBody, JsonOrNothing, QueryOf},
};
use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use roost_host::{
    Host,
    modes::Mode,
    voice::{sealed, unsealed},
};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// Whether answers come with a spoken version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VoiceMode {
    voice_mode: bool,
}

/// What was done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Done {
    /// Always `ok`.
    status: &'static str,
    /// The same for a person.
    message: String,
}

impl Done {
    pub(crate) fn ok(message: impl Into<String>) -> Self {
        Self { status: "ok", message: message.into() }
    }
}

/// How to open the zip.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ConfigQuery {
    /// For the host's owner the host's `VOICE_ZIP_PASSWORD` when missing.
    password: Option<String>,
}

/// Whether answers come with a spoken version.
#[utoipa::path(get, path = "/voice", tag = "modes", responses((status = 200, body = VoiceMode)))]
pub(crate) async fn mode(State(host): State<Host>) -> Json<VoiceMode> {
    Json(VoiceMode { voice_mode: host.modes().voice() })
}

/// Sets the voice switch; flips it when nothing is sent.
#[utoipa::path(post, path = "/voice/toggle", tag = "modes", request_body = Toggle, responses((status = 200, body = VoiceMode)))]
pub(crate) async fn toggle(
    State(host): State<Host>,
    JsonOrNothing(body): JsonOrNothing<Toggle>,
) -> Json<VoiceMode> {
    Json(VoiceMode { voice_mode: host.modes().set(Mode::Voice, body.enabled) })
}

/// The stored voice configuration; empty when there is none.
#[utoipa::path(get, path = "/voice/config", tag = "modes", params(ConfigQuery), responses((status = 200, body = Object)))]
pub(crate) async fn config(
    State(host): State<Host>,
    owner: Option<Owner>,
    QueryOf(query): QueryOf<ConfigQuery>,
) -> Result<Json<Map<String, Value>>, ErrorAnswer> {
    let password = query.password.unwrap_or_else(|| own_password(&host, owner));
    on_disk(move || host.voice().stored(&password)).await.map(Json)
}

/// Stores a voice configuration; `_password` encrypts it and is not stored.
#[utoipa::path(post, path = "/voice/config", tag = "modes", request_body = Object, responses((status = 200, body = Done)))]
pub(crate) async fn save(
    State(host): State<Host>,
    JsonBody(mut config): JsonBody<Map<String, Value>>,
) -> Result<Json<Done>, ErrorAnswer> {
    let password = take_password(&mut config)?;
    on_disk(move || host.voice().store(&config, &password)).await?;
    Ok(Json(Done::ok("the voice configuration is stored in voice.zip")))
}

/// The configuration that is sent, or else the stored one, as `voice.zip`.
#[utoipa::path(post, path = "/voice/export", tag = "modes", request_body = Object,
    responses((status = 200, description = "voice.zip", content_type = "application/zip")))]
pub(crate) async fn export(
    State(host): State<Host>,
    JsonBody(mut config): JsonBody<Map<String, Value>>,
) -> Result<Response, ErrorAnswer> {
    let password = take_password(&mut config)?;
    let zip = on_disk(move || {
        let config = if config.is_empty() { host.voice().stored(&password)? } else { config };
        sealed(&config, &password)
    })
    .await?;
    let headers = [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"voice.zip\""),
    ];
    Ok((headers, zip).into_response())
}

/// A form with a `voice.zip`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the form; its parts are read one by one")]
pub(crate) struct VoiceForm {
    /// The zip.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// Opens it; for the host's owner the host's `VOICE_ZIP_PASSWORD` when missing.
    password: Option<String>,
}

/// Stores the configuration of a `voice.zip` and answers with it.
#[utoipa::path(post, path = "/voice/import", tag = "modes",
    request_body(content = VoiceForm, content_type = "multipart/form-data"), responses((status = 200, body = Object)))]
pub(crate) async fn import(
    State(host): State<Host>,
    owner: Option<Owner>,
    form: Form,
) -> Result<Json<Map<String, Value>>, ErrorAnswer> {
    let zip = form.file("file")?.bytes.clone();
    let password = form.text("password")?.unwrap_or_else(|| own_password(&host, owner));
    let config = on_disk(move || {
        let config = unsealed(&zip, &password)?;
        host.voice().store(&config, &password)?;
        Ok(config)
    })
    .await?;
    Ok(Json(config))
}

/// The password in the host's settings opens the zip for its owner only: everybody on this machine reaches the port.
fn own_password(host: &Host, owner: Option<Owner>) -> String {
    owner.and(host.voice().password()).unwrap_or_default().to_owned()
}

fn take_password(config: &mut Map<String, Value>) -> Result<String, Failure> {
    match config.remove("_password") {
        Some(Value::String(password)) if !password.is_empty() => Ok(password),
        _ => Err(Failure::new(
            Reason::BadRequest,
            "Password required: send `_password` beside the configuration",
        )),
    }
}

/// Runs what waits for the disk where no other request waits for it.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, ErrorAnswer> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?.map_err(ErrorAnswer)
}
