//! The form of failures below `/api/v1/`, as clients of native apps expect it: `{"code", "message"}`.
//!
//! Routes there are written as all others are; their failures get this form on the way out.

use crate::error::ErrorAnswer;
use axum::{
    Json,
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use roost_protocol::Failure;
use serde_json::json;

/// Where this form is used.
const TOP: &str = "/api/v1/";

/// The reason, for those who look for it.
const REASON: HeaderName = HeaderName::from_static("roost-reason");

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// Whether failures at this address have this form.
pub(crate) fn is_coded(path: &str) -> bool {
    path.starts_with(TOP)
}

/// A failure with a status of its own.
pub(crate) fn coded(status: StatusCode, message: &str) -> Response {
    let mut response = (status, Json(json!({ "code": status.as_u16(), "message": message }))).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A failure of the host. What is neither the asker's nor a part's fault is a plain failed call.
pub(crate) fn coded_failure(failure: &Failure) -> Response {
    let status = match ErrorAnswer(failure.clone()).status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let mut response = coded(status, &failure.message);
    response.headers_mut().insert(REASON, HeaderValue::from_static(failure.reason.code()));
    response.extensions_mut().insert(failure.reason);
    response
}

/// Gives failures of routes this form, and says of JSON how it is encoded.
pub(crate) async fn as_coded(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        return coded_failure(&failure);
    }
    let headers = response.headers_mut();
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
        headers.insert(header::CONTENT_TYPE, JSON);
    }
    response
}
