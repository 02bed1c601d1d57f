//! The wire: one message in, one answer out, at once or as it is written.
//!
//! What clients of each lineage send and expect is in `profile`; what happens in between is the host's.

mod profile; // what peers of each lineage expect
mod request; // what a client sends
mod envelope; // what it gets
pub(crate) mod stream; // the same, as it is written
pub(crate) mod tier_two; // the routes of the Azure lineage

pub use self::profile::Profile;

use self::{
    envelope::{Said, error_answer, success},
    request::{Incoming, Invalid, Message, Session},
};
use axum::{
    Extension,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{ChatFailure, ChatRequest, Host, chat::HistoryRule};
use roost_protocol::{Failure, Reason};
use serde_json::Value;

/// Set by the host's own proxy on requests of agents, so that chats cannot call each other without end.
pub(crate) const DEPTH_HEADER: &str = "x-roost-depth";

/// One message in, one answer out.
#[utoipa::path(post, path = "/chat", tag = "chat", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn chat(
    State(host): State<Host>,
    Extension(of_listener): Extension<Profile>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match Profile::asked(&headers, of_listener) {
        Ok(profile) => answer(&host, profile, &headers, body).await,
        Err(failure) => error_answer(Profile::V1, failure.into()),
    }
}

/// One whole turn in one profile.
async fn answer(
    host: &Host,
    profile: Profile,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let incoming = match Incoming::read(profile, headers, body) {
        Ok(incoming) => incoming,
        Err(Invalid(failure)) => return error_answer(profile, failure.into()),
    };
    if let Some(stored) = incoming.key.as_deref().and_then(|key| host.conversations().replay(key)) {
        return json_bytes(StatusCode::OK, stored);
    }
    let key = incoming.key.clone();
    match run(host, incoming).await {
        Ok(said) => {
            let body = success(profile, &said, host.modes());
            let bytes = serde_json::to_vec(&body).unwrap_or_default();
            if let Some(key) = key
                && let Err(failure) = host.conversations().keep_answer(&key, &bytes)
            {
                return error_answer(profile, failure.into());
            }
            json_bytes(StatusCode::OK, bytes)
        }
        Err(failure) => error_answer(profile, failure),
    }
}

async fn run(host: &Host, incoming: Incoming) -> Result<Said, ChatFailure> {
    let Incoming { message, session, user_guid, .. } = incoming;
    let request = match message {
        Message::Ask(request) => *request,
        Message::Greeting(text) => return Ok(Said::greeting(text, session, user_guid)),
    };
    let request = with_kept_history(request, &session, host)?;
    let answer = host.converse(request, None).await?;
    if let Session::Kept { id, .. } = &session {
        host.append_to_conversation(id, &answer.said)?;
    }
    Ok(Said { answer, session, user_guid })
}

/// With the host's own transcript where the host owns it.
fn with_kept_history(
    mut request: ChatRequest,
    session: &Session,
    host: &Host,
) -> Result<ChatRequest, Failure> {
    if let Session::Kept { id, is_new: false } = session {
        let messages = host.conversations().messages(id)?;
        request.history = roost_host::chat::history(Some(Value::Array(messages)), HistoryRule::Filtered)
            .map_err(|error| bad_request(error.to_string()))?;
    }
    Ok(request)
}

fn json_bytes(status: StatusCode, bytes: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

/// How deep this chat stands, as the host's own proxy says.
fn depth(headers: &HeaderMap) -> u32 {
    let value = headers.get(DEPTH_HEADER).and_then(|value| value.to_str().ok());
    // What cannot be read is refused as too deep rather than taken for a beginning.
    value.map_or(0, |text| text.parse().unwrap_or(u32::MAX))
}

/// A request that is not what the wire takes.
fn bad_request(message: impl Into<String>) -> Failure {
    Failure::new(Reason::BadRequest, message)
}
