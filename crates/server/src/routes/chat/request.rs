//! What a client sends to `/chat`, read by the rules of its lineage. Everything here is untrusted.

use super::{Profile, bad_request, depth};
use axum::{body::Bytes, extract::rejection::BytesRejection, http::HeaderMap};
use roost_host::{ChatRequest, SessionId, chat::history};
use roost_protocol::{DEFAULT_USER_GUID, Failure, Reason, UserGuid};
use serde_json::{Map, Value, json};

/// Longest key that names a request.
const KEY_BYTES_MAX: usize = 256;

/// A request of the facade that is larger than this is refused there.
const REV5_BYTES_MAX: usize = 1 << 20;

/// A request as it was read.
pub(super) struct Incoming {
    pub(super) message: Message,
    pub(super) session: Session,
    /// Repeated in the answer.
    pub(super) user_guid: String,
    /// The same key means the same request.
    pub(super) key: Option<String>,
}

/// What the message is.
pub(super) enum Message {
    /// Something to answer.
    Ask(Box<ChatRequest>),
    /// Only an identity: the Azure lineage answers with a fixed sentence.
    Greeting(&'static str),
}

/// Which conversation it belongs to.
pub(super) enum Session {
    /// The client keeps the transcript; its id is repeated as it was sent.
    Echoed(Value),
    /// The host keeps it.
    Kept { id: SessionId, is_new: bool },
}

impl Session {
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Echoed(value) => value.clone(),
            Self::Kept { id, .. } => json!(id.as_str()),
        }
    }
}

/// Not a request.
pub(super) struct Invalid(pub(super) Failure);

impl Incoming {
    pub(super) fn read(
        profile: Profile,
        headers: &HeaderMap,
        body: Result<Bytes, BytesRejection>,
    ) -> Result<Self, Invalid> {
        Self::parse(profile, headers, body).map_err(Invalid)
    }

    fn parse(
        profile: Profile,
        headers: &HeaderMap,
        body: Result<Bytes, BytesRejection>,
    ) -> Result<Self, Failure> {
        let body = body.map_err(|rejection| crate::request::unreadable_body(&rejection))?;
        if profile == Profile::Rev5 && body.len() > REV5_BYTES_MAX {
            return Err(Failure::new(Reason::BodyTooLarge, "the request is larger than 1 MiB"));
        }
        let body: Value = serde_json::from_slice(&body)
            .map_err(|error| bad_request(format!("Request body must be a JSON object: {error}")))?;
        let Value::Object(mut body) = body else {
            return Err(bad_request("Request body must be a JSON object"));
        };
        let input = input(profile, &mut body)?;
        let session = session(profile, &mut body)?;
        let user = user(profile, &mut body)?;
        let sent_history = body.remove("conversation_history").or_else(|| body.remove("history"));
        let (message, user) = match profile {
            Profile::Tier2 => identity_in_words(input, sent_history, user)?,
            _ => (Ask { input, history: sent_history.filter(|_| profile != Profile::Rev5) }, user),
        };
        let user_guid = user.as_ref().map_or(DEFAULT_USER_GUID, UserGuid::as_str).to_owned();
        let message = if message.input.is_empty() {
            Message::Greeting("I've loaded your conversation memory. How can I help you today?")
        } else {
            Message::Ask(Box::new(ChatRequest {
                input: message.input,
                history: history(message.history, profile.history_rule())
                    .map_err(|error| bad_request(error.to_string()))?,
                user: user.filter(|user| !user.is_default()),
                model: model(&mut body)?,
                depth: depth(headers),
                ..ChatRequest::default()
            }))
        };
        let key = key(profile, &mut body)?;
        Ok(Self { message, session, user_guid, key })
    }
}

struct Ask {
    input: String,
    history: Option<Value>,
}

fn input(profile: Profile, body: &mut Map<String, Value>) -> Result<String, Failure> {
    let sent = match body.remove("user_input") {
        Some(sent) => sent,
        None => body.remove("message").unwrap_or(Value::String(String::new())),
    };
    let Value::String(text) = sent else { return Err(bad_request("user_input must be a string")) };
    // The facade takes any string as it is.
    let text = if profile == Profile::Rev5 { text } else { text.trim().to_owned() };
    if text.trim().is_empty() {
        return Err(bad_request("user_input is required"));
    }
    Ok(text)
}

fn session(profile: Profile, body: &mut Map<String, Value>) -> Result<Session, Failure> {
    let sent = body.remove("session_id").or_else(|| body.remove("sessionId")).filter(is_truthy);
    if profile != Profile::Rev5 {
        return Ok(Session::Echoed(sent.unwrap_or_else(|| json!(SessionId::new().as_str()))));
    }
    match sent {
        None => Ok(Session::Kept { id: SessionId::new(), is_new: true }),
        Some(Value::String(text)) => Ok(Session::Kept { id: SessionId::parse(&text)?, is_new: false }),
        Some(_) => Err(Failure::plain(Reason::UnknownSession)),
    }
}

/// The identity in the body. The 0.6 kernels never read one; a text that could name a file elsewhere is refused.
fn user(profile: Profile, body: &mut Map<String, Value>) -> Result<Option<UserGuid>, Failure> {
    if matches!(profile, Profile::Grail | Profile::Rev5) {
        return Ok(None);
    }
    match body.remove("user_guid").filter(is_truthy) {
        None => Ok(None),
        Some(Value::String(text)) => UserGuid::parse(&text)
            .map(Some)
            .map_err(|error| bad_request(format!("user_guid is not valid: {error}"))),
        Some(_) => Err(bad_request("user_guid must be a string")),
    }
}

/// In the Azure lineage a message or a first history item that is only a UUID says who speaks.
fn identity_in_words(
    input: String,
    history: Option<Value>,
    user: Option<UserGuid>,
) -> Result<(Ask, Option<UserGuid>), Failure> {
    let identity = |text: &str| -> Option<UserGuid> {
        uuid_like(text.trim()).then(|| UserGuid::parse(text.trim()).ok()).flatten()
    };
    if let Some(said) = identity(&input) {
        return Ok((Ask { input: String::new(), history: None }, Some(said)));
    }
    let first = history.as_ref().and_then(|history| history[0]["content"].as_str()).and_then(identity);
    Ok((Ask { input, history }, user.or(first)))
}

fn uuid_like(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(index, character)| match index {
            8 | 13 | 18 | 23 => character == '-',
            _ => character.is_ascii_hexdigit(),
        })
}

fn model(body: &mut Map<String, Value>) -> Result<Option<String>, Failure> {
    match body.remove("model") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(model)) => Ok(Some(model).filter(|model| !model.is_empty() && model != "auto")),
        Some(_) => Err(bad_request("model must be a string")),
    }
}

fn key(profile: Profile, body: &mut Map<String, Value>) -> Result<Option<String>, Failure> {
    match body.remove("idempotency_key").filter(|_| profile == Profile::Rev5) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(key)) if !key.is_empty() && key.len() <= KEY_BYTES_MAX => Ok(Some(key)),
        Some(_) => Err(bad_request("idempotency_key must be a string of 1 to 256 bytes")),
    }
}

/// What counts as something in the kernels' language.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) => true,
    }
}
