//! Errors as clients read them: a status, and `{"error":{"message","type","code"}}`.

use crate::engine::Failure;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
    code: &'static str,
}

impl Refusal {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), code: "invalid_request" }
    }

    pub(crate) fn body(status: StatusCode, message: String) -> Self {
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "body_too_large" } else { "invalid_body" };
        Self { status, message, code }
    }

    pub(crate) fn unauthorized() -> Self {
        let message = "the bearer key is missing or wrong".to_owned();
        Self { status: StatusCode::UNAUTHORIZED, message, code: "invalid_api_key" }
    }

    pub(crate) fn not_found() -> Self {
        let message = "there is nothing at this path".to_owned();
        Self { status: StatusCode::NOT_FOUND, message, code: "not_found" }
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "this path takes another method".to_owned();
        Self { status: StatusCode::METHOD_NOT_ALLOWED, message, code: "method_not_allowed" }
    }

    pub(crate) fn busy() -> Self {
        let message = "too many requests wait already".to_owned();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, message, code: "queue_full" }
    }

    pub(crate) fn of_failure(failure: &Failure) -> Self {
        let message = failure.to_string();
        match failure {
            Failure::ContextExceeded { .. } => {
                Self { status: StatusCode::BAD_REQUEST, message, code: "context_length_exceeded" }
            }
            Failure::Grammar => Self { status: StatusCode::BAD_REQUEST, message, code: "invalid_request" },
            Failure::Model(_) => {
                Self { status: StatusCode::INTERNAL_SERVER_ERROR, message, code: "model_error" }
            }
        }
    }

    /// The model's thread is gone, which ends only with the process.
    pub(crate) fn broken_off() -> Self {
        Self::of_failure(&Failure::Model("it ended".to_owned()))
    }

    /// The error as it also stands in a stream that has begun.
    pub(crate) fn value(&self) -> Value {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.message, "type": kind, "code": self.code}})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.value())).into_response();
        let header = match self.status {
            StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, "Bearer")),
            StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, "5")),
            _ => None,
        };
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, axum::http::HeaderValue::from_static(value));
        }
        response
    }
}
