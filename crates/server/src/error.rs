//! Failures as answers: the only place that maps reasons to status codes.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use roost_protocol::{Failure, Reason};
use serde_json::json;

/// A failure on its way to a client.
#[derive(Debug)]
pub(crate) struct ErrorAnswer(pub(crate) Failure);

impl From<Failure> for ErrorAnswer {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        let Self(failure) = self;
        let status = status_of(failure.reason);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(reason = failure.reason.code(), %failure, "a request failed");
        }
        let next = failure.next_step().to_owned();
        let body =
            json!({ "error": failure.message, "reason": failure.reason, "line": failure.line, "next": next });
        (status, Json(body)).into_response()
    }
}

fn status_of(reason: Reason) -> StatusCode {
    match reason {
        Reason::UnknownAgent | Reason::UnknownRoute => StatusCode::NOT_FOUND,
        Reason::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Reason::BadRequest | Reason::BadArguments => StatusCode::BAD_REQUEST,
        Reason::ForeignOrigin
        | Reason::ForeignHost
        | Reason::RightMissing
        | Reason::RightNotAsked
        | Reason::DeniedByPolicy => StatusCode::FORBIDDEN,
        Reason::Busy | Reason::SandboxUnavailable | Reason::GrantsUnusable | Reason::AuditUnusable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Reason::Shadowed | Reason::Disabled => StatusCode::CONFLICT,
        Reason::Internal | Reason::HomeUnusable => StatusCode::INTERNAL_SERVER_ERROR,
        // The rest says that an agent or what it needs does not work: the request was right, its target is not.
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
