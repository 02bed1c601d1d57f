//! What the agent reads when its request gets no further. The only place that knows status codes.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    Response, StatusCode,
    body::Incoming,
    header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue},
};
use roost_protocol::Refusal;

/// What is sent back: the body of a real server, or a text of ours.
pub(super) type Body = Either<Incoming, Full<Bytes>>;

/// Why a request got no further.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Not allowed.
    Refused(Box<Refusal>),
    /// Not a request that is passed on.
    Malformed(&'static str),
    /// Allowed, and nobody answered as they should.
    Unreachable(String),
    /// Allowed, and nobody answered in time.
    TooSlow(String),
}

/// Carries the right that would have helped, for programs.
const REFUSED_HEADER: HeaderName = HeaderName::from_static("x-roost-refused");

impl Stopped {
    /// The answer. The connection ends with it: what follows may be part of what was not understood.
    pub(super) fn response(&self) -> Response<Body> {
        let (status, line) = match self {
            Self::Refused(refusal) => (StatusCode::FORBIDDEN, refused_line(refusal)),
            Self::Malformed(why) => (StatusCode::BAD_REQUEST, format!("Roost: not understood: {why}.")),
            Self::Unreachable(what) => (StatusCode::BAD_GATEWAY, format!("Roost: {what}.")),
            Self::TooSlow(what) => (StatusCode::GATEWAY_TIMEOUT, format!("Roost: {what}.")),
        };
        let mut line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        line.push('\n');
        let mut response = Response::new(Either::Right(Full::new(Bytes::from(line))));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if let Self::Refused(refusal) = self {
            let right =
                refusal.right.as_ref().and_then(|right| HeaderValue::try_from(right.to_string()).ok());
            headers.insert(REFUSED_HEADER, right.unwrap_or(HeaderValue::from_static("none")));
        }
        response
    }
}

fn refused_line(refusal: &Refusal) -> String {
    let next = if refusal.next.is_empty() { String::new() } else { format!(" Next: {}", refusal.next) };
    format!("Roost: not allowed: {}.{next}", refusal.what)
}
