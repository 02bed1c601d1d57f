//! Requests to services, and which part of their answers is sent.
//!
//! A service answers on the host's own origin, so that its pages are put into a sandbox, and it cannot set a cookie or
//! open the host to other pages.

use crate::{error::ErrorAnswer, request::unreadable_body};
use axum::{
    Json,
    body::{Body, Bytes},
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{EndpointAnswer, EndpointBody, EndpointRequest, Host, Served};
use roost_protocol::{EndpointListing, Failure, Reason};
use serde::Serialize;
use serde_json::{Map, Value};

/// Headers a service may set, besides those that begin with `x-`.
const ALLOWED: [HeaderName; 6] = [
    header::CONTENT_TYPE,
    header::CONTENT_DISPOSITION,
    header::CACHE_CONTROL,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LOCATION,
];

/// The host's own headers begin with this.
const OWN_PREFIX: &str = "x-roost-";
const CALL: HeaderName = HeaderName::from_static("x-roost-call");
const LEFT_OUT: HeaderName = HeaderName::from_static("x-roost-left-out");

/// The list of `roost services --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Services {
    services: Vec<EndpointListing>,
}

/// Every service with its state.
#[utoipa::path(get, path = "/v1/services", tag = "services", responses((status = 200, body = Object)))]
pub(crate) async fn list(State(host): State<Host>) -> Result<Json<Services>, ErrorAnswer> {
    Ok(Json(Services { services: host.services().await? }))
}

/// What a service answers at its own address.
#[utoipa::path(method(get, post, put, delete), path = "/api/{name}", tag = "services", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn serve(
    State(host): State<Host>,
    name: Result<Path<String>, PathRejection>,
    method: Method,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let named = name.map(|Path(name)| (name, String::new()));
    answer(&host, named, &method, body).await.unwrap_or_else(|failure| ErrorAnswer(failure).into_response())
}

/// The same with a slash at the end.
#[utoipa::path(method(get, post, put, delete), path = "/api/{name}/", tag = "services", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn serve_root(
    host: State<Host>,
    name: Result<Path<String>, PathRejection>,
    method: Method,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    serve(host, name, method, body).await
}

/// What a service answers below its address.
#[utoipa::path(method(get, post, put, delete), path = "/api/{name}/{*path}", tag = "services", params(("name" = String, Path), ("path" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn serve_below(
    State(host): State<Host>,
    named: Result<Path<(String, String)>, PathRejection>,
    method: Method,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let named = named.map(|Path(named)| named);
    answer(&host, named, &method, body).await.unwrap_or_else(|failure| ErrorAnswer(failure).into_response())
}

async fn answer(
    host: &Host,
    named: Result<(String, String), PathRejection>,
    method: &Method,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    let (name, path) = named.map_err(|rejection| Failure::new(Reason::BadRequest, rejection.body_text()))?;
    let body = body.map_err(|rejection| unreadable_body(&rejection))?;
    let method = match *method {
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        // HEAD is a GET whose body is not sent.
        _ => "GET",
    };
    let request = EndpointRequest { method, path, body: object_in(&body)? };
    let Served { call, answer } = host.serve(&name, request).await?;
    let mut response = match answer.and_then(sent) {
        Ok(response) => response,
        Err(failure) => ErrorAnswer(failure).into_response(),
    };
    if let Ok(call) = HeaderValue::from_str(&call.to_string()) {
        response.headers_mut().insert(CALL, call);
    }
    Ok(response)
}

/// The JSON object of a request; empty when there is none.
fn object_in(body: &[u8]) -> Result<Map<String, Value>, Failure> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(Failure::new(Reason::BadRequest, "the body is not a JSON object")),
        Err(error) => Err(Failure::new(Reason::BadRequest, format!("the body is not JSON: {error}"))),
    }
}

/// What is sent of an answer.
fn sent(answer: EndpointAnswer) -> Result<Response, Failure> {
    let broken = |what: String| Failure::new(Reason::ServiceFailed, format!("the service's answer {what}"));
    let status = StatusCode::from_u16(answer.status).map_err(|error| broken(error.to_string()))?;
    let (bytes, default_type) = match answer.body {
        EndpointBody::Json(text) => (Bytes::from(text), "application/json"),
        EndpointBody::Text(text) => (Bytes::from(text), "text/plain; charset=utf-8"),
        EndpointBody::Bytes(bytes) => (Bytes::from(bytes), "application/octet-stream"),
    };
    let mut headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(default_type)),
        // A browser must not take it for something else, nor let a page of it act as the host's own.
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
    ]);
    let mut left_out = Vec::new();
    for (name, value) in answer.headers {
        let cannot_be_sent = || broken(format!("has a header that cannot be sent: {name:?}"));
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot_be_sent())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| cannot_be_sent())?;
        if may_set(&parsed) {
            headers.insert(parsed, value);
        } else {
            left_out.push(parsed.to_string());
        }
    }
    if let (false, Ok(names)) = (left_out.is_empty(), HeaderValue::from_str(&left_out.join(", "))) {
        headers.insert(LEFT_OUT, names);
    }
    let has_body = !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let body = if has_body { Body::from(bytes) } else { Body::empty() };
    Ok((status, headers, body).into_response())
}

fn may_set(name: &HeaderName) -> bool {
    let is_own = name.as_str().starts_with(OWN_PREFIX) || *name == header::X_CONTENT_TYPE_OPTIONS;
    ALLOWED.contains(name) || (name.as_str().starts_with("x-") && !is_own)
}

#[cfg(test)]
mod tests {
    use super::{may_set, object_in, sent};
    use axum::http::{HeaderName, header};
    use roost_host::{EndpointAnswer, EndpointBody};
    use roost_protocol::Reason;

    #[test]
    fn a_service_cannot_set_what_belongs_to_the_host_or_opens_it() {
        for yes in ["content-type", "etag", "location", "x-total"] {
            assert!(may_set(&HeaderName::from_static(yes)), "{yes}");
        }
        for no in [
            "set-cookie",
            "access-control-allow-origin",
            "content-security-policy",
            "x-content-type-options",
            "x-roost-call",
            "content-length",
            "transfer-encoding",
            "connection",
            "clear-site-data",
            "service-worker-allowed",
        ] {
            assert!(!may_set(&HeaderName::from_static(no)), "{no}");
        }
    }

    #[test]
    fn a_header_that_would_begin_another_is_refused() {
        for (name, value) in [("x-a", "b\r\nset-cookie: c"), ("x-a\r\nb", "c"), ("", "c"), ("x-a", "b\0")] {
            let headers = vec![(name.to_owned(), value.to_owned())];
            let answer = EndpointAnswer { status: 200, headers, body: EndpointBody::Text(String::new()) };
            assert_eq!(sent(answer).unwrap_err().reason, Reason::ServiceFailed, "{name:?} {value:?}");
        }
    }

    #[test]
    fn every_answer_is_kept_in_a_sandbox() {
        let headers = vec![("Content-Type".to_owned(), "text/html".to_owned())];
        let answer = EndpointAnswer { status: 200, headers, body: EndpointBody::Bytes(b"<p>".to_vec()) };
        let response = sent(answer).unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/html");
        assert_eq!(response.headers()[header::CONTENT_SECURITY_POLICY], "sandbox");
        assert_eq!(response.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }

    #[test]
    fn a_body_is_an_object_or_nothing() {
        assert!(object_in(b"").unwrap().is_empty() && object_in(b" null\n").unwrap().is_empty());
        assert_eq!(object_in(br#"{"a": 1}"#).unwrap()["a"], 1);
        for bad in [&b"[1]"[..], b"1", b"{", b"\"x\"", b"\xff"] {
            assert_eq!(object_in(bad).unwrap_err().reason, Reason::BadRequest);
        }
    }
}
