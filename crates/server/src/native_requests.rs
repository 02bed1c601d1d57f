//! Requests that a native app answers: what of them reaches the app, and what of its answer leaves.
//!
//! Whoever asks, the app never sees what proves somebody to the host, and its answer can neither set a cookie nor loosen
//! the rules of the origin that it is served at.

use crate::coded::coded;
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use roost_host::{
    Host,
    native::{PAGE_MESSAGE_BYTES_MAX, PageAnswer, PageRequest, Unanswered},
};
use std::collections::BTreeMap;

/// Headers that are about the connection and not about what is asked, and those that prove somebody to the host.
const NOT_TO_APP: [&str; 12] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "cookie",
    "authorization",
    "expect",
    "service-worker",
];

/// Headers of an answer that would change what the browser allows at the origin, or that are about the connection.
const NOT_FROM_APP: [&str; 24] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "set-cookie",
    "set-cookie2",
    "clear-site-data",
    "content-security-policy",
    "content-security-policy-report-only",
    "permissions-policy",
    "feature-policy",
    "referrer-policy",
    "service-worker-allowed",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
    "report-to",
    "reporting-endpoints",
    "nel",
    "refresh",
    "alt-svc",
];

/// The same, by how they begin.
const NOT_FROM_APP_PREFIXES: [&str; 4] = ["access-control-", "cross-origin-", "proxy-", "sec-"];

/// Lets the app answer; `path` is what stands after its `api`, with or without a slash.
pub(crate) async fn answer(host: &Host, id: &str, path: &str, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, PAGE_MESSAGE_BYTES_MAX).await else {
        let message = format!("a body has at most {} MiB", PAGE_MESSAGE_BYTES_MAX >> 20);
        return coded(StatusCode::PAYLOAD_TOO_LARGE, &message);
    };
    let asked = PageRequest {
        method: parts.method.to_string(),
        path: format!("/{}", path.trim_start_matches('/')),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers_for_app(&parts.headers),
        body: body.to_vec(),
    };
    match host.native_apps().answer_page(id, asked).await {
        Ok(answer) => answered(answer),
        Err(Unanswered::TooLarge(failure)) => coded(StatusCode::PAYLOAD_TOO_LARGE, &failure.message),
        Err(Unanswered::NotReady(failure)) => coded(StatusCode::SERVICE_UNAVAILABLE, &failure.message),
        Err(Unanswered::Failed(failure)) => coded(StatusCode::BAD_GATEWAY, &failure.message),
    }
}

/// The first value of each header that an app may see.
fn headers_for_app(headers: &HeaderMap) -> BTreeMap<String, String> {
    let connection = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let of_connection: Vec<String> =
        connection.flat_map(|names| names.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let is_for_app = |name: &str| {
        !NOT_TO_APP.contains(&name)
            && !name.starts_with("proxy-")
            && !of_connection.iter().any(|listed| listed == name)
    };
    let names = headers.keys().filter(|name| is_for_app(name.as_str()));
    names.filter_map(|name| Some((name.to_string(), headers.get(name)?.to_str().ok()?.to_owned()))).collect()
}

/// The answer with what may leave of it. One that is no answer is the app's failure.
fn answered(answer: PageAnswer) -> Response {
    let status = u16::try_from(answer.status).ok().filter(|status| (200..600).contains(status));
    let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) else {
        return coded(StatusCode::BAD_GATEWAY, "the app answered with a status that is none");
    };
    let mut response = (status, Body::from(answer.body)).into_response();
    let headers = response.headers_mut();
    headers.clear();
    for (name, value) in answer.headers {
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes());
        // What is no header is left out: everything else of the answer may still be good.
        let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) else { continue };
        let is_kept = !NOT_FROM_APP.contains(&name.as_str())
            && !NOT_FROM_APP_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix));
        if is_kept {
            headers.insert(name, value);
        }
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::{answered, headers_for_app};
    use axum::http::{HeaderMap, HeaderName, HeaderValue};
    use roost_host::native::PageAnswer;
    use std::collections::BTreeMap;

    #[test]
    fn an_app_sees_the_first_value_of_what_is_meant_for_it_and_no_proof_of_anybody() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", "a"),
            ("accept", "b"),
            ("authorization", "Bearer owner"),
            ("cookie", "session=1"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("proxy-authorization", "x"),
            ("transfer-encoding", "chunked"),
            ("x-own", "1"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let seen = headers_for_app(&headers);
        assert_eq!(
            seen,
            BTreeMap::from([("accept", "a"), ("x-own", "1")].map(|(a, b)| (a.to_owned(), b.to_owned())))
        );
    }

    #[test]
    fn an_answer_cannot_change_the_rules_of_its_origin() {
        let headers = [
            ("Content-Type", "text/html"),
            ("Set-Cookie", "a=b"),
            ("Access-Control-Allow-Origin", "*"),
            ("Content-Security-Policy", "default-src *"),
            ("Clear-Site-Data", "*"),
            ("Content-Length", "5"),
            ("two words", "1"),
            ("x-line", "a\nb"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let response = answered(PageAnswer { status: 200, headers, body: b"x".to_vec() });
        let left: Vec<&str> = response.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["content-type", "x-content-type-options"]);
        for status in [7, 101, 600, -1, 70_000] {
            let answer = PageAnswer { status, headers: BTreeMap::new(), body: Vec::new() };
            assert_eq!(answered(answer).status(), 502);
        }
    }
}
