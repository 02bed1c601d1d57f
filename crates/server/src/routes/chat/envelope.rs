//! Answers of `/chat` in the shape each lineage reads, and its errors.

use super::{Profile, request::Session};
use crate::error::ErrorAnswer;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    ChatAnswer, ChatFailure,
    chat::{ModelFailure, ModelProblem, Slots, UnknownLine, log_lines, split_slots},
    modes::Modes,
};
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value, json};

/// What openrappter calls its form of the wire.
const OPENRAPPTER_SCHEMA: &str = "rapp-chat/1.0";

/// An answer with what is repeated of its request.
pub(super) struct Said {
    pub(super) answer: ChatAnswer,
    pub(super) session: Session,
    pub(super) user_guid: String,
}

impl Said {
    /// A fixed sentence that no turn was needed for.
    pub(super) fn greeting(text: &str, session: Session, user_guid: String) -> Self {
        Self { answer: ChatAnswer::fixed(text), session, user_guid }
    }
}

/// The body of a success.
pub(super) fn success(profile: Profile, said: &Said, modes: &Modes) -> Value {
    let answer = &said.answer;
    match profile {
        Profile::V1 => v1(said, modes),
        Profile::Grail => grail(said, modes),
        Profile::Openrappter => openrappter(said, modes),
        Profile::Rev5 => {
            let lines: Vec<String> = answer.logs.iter().map(|log| log.line(UnknownLine::Bare)).collect();
            let response = split_slots(&answer.text).main;
            json!({ "response": response, "agent_logs": lines, "session_id": said.session.value() })
        }
        Profile::Tier2 => tier_two(said),
    }
}

/// The superset: every key that some client reads, with one meaning each.
fn v1(said: &Said, modes: &Modes) -> Value {
    let answer = &said.answer;
    let Slots { main, voice, twin } = split_slots(&answer.text);
    let lines = log_lines(&answer.logs, UnknownLine::Bare);
    let mut body = json!({
        "response": main,
        "assistant_response": main,
        "voice_response": voice,
        "twin_response": twin,
        "session_id": said.session.value(),
        "user_guid": said.user_guid,
        "agent_logs": lines,
        "agent_logs_text": lines,
        "agent_calls": answer.logs.iter().map(roost_host::chat::TurnLog::record).collect::<Vec<_>>(),
        "voice_mode": modes.voice(),
        "twin_mode": modes.twin(),
        "model": answer.model,
        "requested_model": answer.requested_model,
        "usage": answer.usage,
        "tools_left_out": answer.tools_left_out,
        "history_left_out": answer.history_left_out,
    });
    if let Some(offer) = &answer.offer {
        body["offer"] = json!(offer);
    }
    if let Some(run) = &answer.run {
        body["run_id"] = json!(run);
    }
    body
}

/// The 0.6 kernels cut the text only in voice mode, once, at the voice delimiter.
fn grail(said: &Said, modes: &Modes) -> Value {
    let answer = &said.answer;
    let mut body = Map::new();
    let spoken = answer.text.split_once("|||VOICE|||").filter(|_| modes.voice());
    let response = spoken.map_or(answer.text.as_str(), |(response, _)| response.trim());
    body.insert("response".to_owned(), json!(response));
    if let Some((_, voice)) = spoken {
        body.insert("voice_response".to_owned(), json!(voice.trim()));
    }
    body.insert("session_id".to_owned(), said.session.value());
    body.insert("agent_logs".to_owned(), json!(log_lines(&answer.logs, UnknownLine::Bare)));
    body.insert("voice_mode".to_owned(), json!(modes.voice()));
    body.insert("model".to_owned(), json!(answer.model));
    body.insert("requested_model".to_owned(), json!(answer.requested_model));
    Value::Object(body)
}

/// Its parity harness fails any answer that has `assistant_response`.
fn openrappter(said: &Said, modes: &Modes) -> Value {
    let mut body = grail(said, modes);
    let fields = [
        ("agent_logs", json!(log_lines(&said.answer.logs, UnknownLine::Named))),
        ("schema", json!(OPENRAPPTER_SCHEMA)),
        ("status", json!("success")),
        ("content", body["response"].clone()),
        ("sessionId", said.session.value()),
    ];
    for (name, value) in fields {
        body[name] = value;
    }
    body
}

fn tier_two(said: &Said) -> Value {
    let answer = &said.answer;
    let Slots { main, voice, .. } = split_slots(&answer.text);
    let voice = if voice.is_empty() { first_sentence(&main) } else { voice };
    let lines: Vec<String> = answer.logs.iter().map(roost_host::chat::TurnLog::performed_line).collect();
    json!({
        "assistant_response": main,
        "response": main,
        "voice_response": voice,
        "agent_logs": lines.join("\n"),
        "user_guid": said.user_guid,
    })
}

/// The first sentence without markup: what is spoken when the model gave nothing to speak.
fn first_sentence(text: &str) -> String {
    let plain: String = text.chars().filter(|character| !"*_#`>~[]".contains(*character)).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.find(['.', '!', '?']) {
        Some(end) => plain[..=end].to_owned(),
        None => plain,
    }
}

/// The answer to a request that failed.
pub(super) fn error_answer(profile: Profile, failure: ChatFailure) -> Response {
    let upstream = match &failure {
        ChatFailure::Model(failure) => Some(failure.clone()),
        ChatFailure::Other(_) => None,
    };
    let failure: Failure = failure.into();
    let mut response = match profile {
        Profile::Rev5 => {
            let body = json!({ "error": { "code": rev5_code(failure.reason), "step": null } });
            (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response()
        }
        Profile::Openrappter => {
            let status = ErrorAnswer(failure.clone()).status();
            let mut body = error_body(&failure, upstream.as_ref());
            body["schema"] = json!(OPENRAPPTER_SCHEMA);
            body["status"] = json!("error");
            (status, Json(body)).into_response()
        }
        Profile::Tier2 => {
            let status = ErrorAnswer(failure.clone()).status();
            let mut body = error_body(&failure, upstream.as_ref());
            body["details"] = json!(upstream.as_ref().map_or("", |upstream| &upstream.detail));
            (status, Json(body)).into_response()
        }
        Profile::V1 | Profile::Grail => {
            let status = ErrorAnswer(failure.clone()).status();
            (status, Json(error_body(&failure, upstream.as_ref()))).into_response()
        }
    };
    if let Some(ModelFailure { problem: ModelProblem::Limited { retry_after: Some(after) }, .. }) = upstream {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs()));
    }
    response
}

/// `error` is always a string; upstream failures name the model and how the provider put it.
pub(super) fn error_body(failure: &Failure, upstream: Option<&ModelFailure>) -> Value {
    let mut body = json!({ "error": failure.message, "reason": failure.reason, "next": failure.next_step() });
    if let Some(ModelFailure { problem, model, detail, .. }) = upstream {
        body["model"] = json!(model);
        body["detail"] = json!(detail);
        if let ModelProblem::NoCopilotAccess { user } = problem {
            // Clients look for this very text.
            body["error"] = json!(format!("NO_COPILOT_ACCESS:{user}"));
        }
    }
    body
}

fn rev5_code(reason: Reason) -> &'static str {
    match reason {
        Reason::BadRequest => "invalid_request",
        Reason::BodyTooLarge => "request_too_large",
        other => other.code(),
    }
}
