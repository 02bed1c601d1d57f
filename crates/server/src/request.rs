//! What a request carries: bodies, queries and paths. Whatever is wrong with them is answered as JSON.
//!
//! A body is read as JSON whatever its content type says, as RAPP clients expect.

use crate::error::ErrorAnswer;
use axum::{
    body::Bytes,
    extract::{
        FromRequest, FromRequestParts, Multipart, Path, Query, Request,
        multipart::MultipartError,
        rejection::{BytesRejection, PathRejection},
    },
    http::{StatusCode, request::Parts},
};
use roost_protocol::{Failure, Reason};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Most parts of a form: no route takes more than four.
const FORM_PARTS_MAX: usize = 16;

/// A body that is a JSON object of this shape.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ErrorAnswer;

    async fn from_request(request: Request, state: &S) -> Result<Self, ErrorAnswer> {
        let bytes = body_of(request, state).await?;
        from_object(object_in(&bytes)?).map(Self)
    }
}

/// The same, where an empty body means an empty object.
#[derive(Debug)]
pub(crate) struct JsonOrNothing<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonOrNothing<T> {
    type Rejection = ErrorAnswer;

    async fn from_request(request: Request, state: &S) -> Result<Self, ErrorAnswer> {
        let bytes = body_of(request, state).await?;
        let object = if bytes.trim_ascii().is_empty() { Map::new() } else { object_in(&bytes)? };
        from_object(object).map(Self)
    }
}

/// The query of the address.
#[derive(Debug)]
pub(crate) struct QueryOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = ErrorAnswer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorAnswer> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(query)| Self(query))
            .map_err(|rejection| ErrorAnswer::new(Reason::BadRequest, rejection.body_text()))
    }
}

/// A name in the address.
#[derive(Debug)]
pub(crate) struct PathOf(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathOf {
    type Rejection = ErrorAnswer;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorAnswer> {
        let read = Path::<String>::from_request_parts(parts, state).await;
        read.map(|Path(name)| Self(name)).map_err(|rejection: PathRejection| {
            ErrorAnswer::new(
                Reason::BadRequest,
                format!("the address is not readable: {}", rejection.body_text()),
            )
        })
    }
}

/// The parts of a form, each in memory: the body's limit is theirs.
#[derive(Debug)]
pub(crate) struct Form {
    parts: Vec<FormPart>,
}

/// One part of a form.
#[derive(Debug)]
pub(crate) struct FormPart {
    name: String,
    pub(crate) file_name: Option<String>,
    pub(crate) bytes: Bytes,
}

impl Form {
    /// The part of this name that is a file.
    pub(crate) fn file(&self, name: &str) -> Result<&FormPart, ErrorAnswer> {
        let part = self.parts.iter().find(|part| part.name == name);
        part.ok_or_else(|| {
            ErrorAnswer::new(Reason::BadRequest, format!("No file: the form has no part `{name}`"))
        })
    }

    /// The text of the part of this name; nothing when it is empty or not there.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ErrorAnswer> {
        let Some(part) = self.parts.iter().find(|part| part.name == name) else { return Ok(None) };
        let text = std::str::from_utf8(&part.bytes)
            .map_err(|_| ErrorAnswer::new(Reason::BadRequest, format!("`{name}` is not UTF-8")))?;
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = ErrorAnswer;

    async fn from_request(request: Request, state: &S) -> Result<Self, ErrorAnswer> {
        let multipart = Multipart::from_request(request, state).await;
        let mut multipart =
            multipart.map_err(|rejection| ErrorAnswer::new(Reason::BadRequest, rejection.body_text()))?;
        let mut parts = Vec::new();
        while let Some(field) = multipart.next_field().await.map_err(|error| bad_form(&error))? {
            if parts.len() == FORM_PARTS_MAX {
                return Err(ErrorAnswer::new(Reason::BadRequest, "the form has too many parts"));
            }
            let name = field.name().unwrap_or_default().to_owned();
            let file_name = field.file_name().map(str::to_owned);
            let bytes = field.bytes().await.map_err(|error| bad_form(&error))?;
            parts.push(FormPart { name, file_name, bytes });
        }
        Ok(Self { parts })
    }
}

fn bad_form(error: &MultipartError) -> ErrorAnswer {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ErrorAnswer(Failure::plain(Reason::BodyTooLarge)),
        _ => ErrorAnswer::new(Reason::BadRequest, format!("the form is not readable: {}", error.body_text())),
    }
}

async fn body_of<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ErrorAnswer> {
    Bytes::from_request(request, state).await.map_err(|rejection| unreadable_body(&rejection).into())
}

/// Why a body could not be read.
pub(crate) fn unreadable_body(rejection: &BytesRejection) -> Failure {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Failure::plain(Reason::BodyTooLarge),
        _ => Failure::new(Reason::BadRequest, rejection.body_text()),
    }
}

fn object_in(bytes: &[u8]) -> Result<Map<String, Value>, ErrorAnswer> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| ErrorAnswer::new(Reason::BadRequest, format!("the body is not JSON: {error}")))?;
    match value {
        // A list would be read as the fields in their order.
        Value::Object(object) => Ok(object),
        _ => Err(ErrorAnswer::new(Reason::BadRequest, "Request body must be a JSON object")),
    }
}

fn from_object<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, ErrorAnswer> {
    serde_json::from_value(Value::Object(object))
        .map_err(|error| ErrorAnswer::new(Reason::BadRequest, error.to_string()))
}
