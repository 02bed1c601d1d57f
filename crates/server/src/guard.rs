//! Who may speak to this host: programs on this machine, and the host's own page.
//!
//! A web page from elsewhere reaches loopback through the person's browser. It shows itself by its `Origin`, and a
//! name that was rebound to this address by its `Host`.

use crate::error::ErrorAnswer;
use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use roost_protocol::{Failure, Reason};
use std::net::IpAddr;

/// Refuses foreign hosts and origins before any route sees the request.
pub(crate) async fn guard(State(port): State<u16>, request: Request, next: Next) -> Response {
    match check(request.headers(), port) {
        Ok(()) => next.run(request).await,
        Err(reason) => ErrorAnswer(Failure::plain(reason)).into_response(),
    }
}

fn check(headers: &HeaderMap, port: u16) -> Result<(), Reason> {
    // Programs that speak HTTP/1.0 send no Host; browsers always do.
    if let Some(host) = headers.get(header::HOST) {
        let host = host.to_str().map_err(|_| Reason::ForeignHost)?;
        if !is_loopback(host_name(host)) {
            return Err(Reason::ForeignHost);
        }
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().map_err(|_| Reason::ForeignOrigin)?;
    let authority = origin.strip_prefix("http://").ok_or(Reason::ForeignOrigin)?;
    let name = host_name(authority);
    let origin_port =
        authority[name.len()..].strip_prefix(':').and_then(|text| text.parse().ok()).unwrap_or(80);
    // Another port on this machine is another program's page.
    if is_loopback(name) && origin_port == port { Ok(()) } else { Err(Reason::ForeignOrigin) }
}

/// The name without the port; brackets of an IPv6 address stay.
fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => authority,
    }
}

fn is_loopback(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::check;
    use axum::http::{HeaderMap, HeaderValue, header};
    use roost_protocol::Reason;

    fn answer(host: &str, origin: Option<&str>) -> Result<(), Reason> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        check(&headers, 7071)
    }

    #[test]
    fn programs_and_the_own_page_may_speak() {
        for host in ["127.0.0.1:7071", "localhost:7071", "LOCALHOST", "[::1]:7071", "127.9.9.9"] {
            assert_eq!(answer(host, None), Ok(()), "{host}");
        }
        assert_eq!(answer("localhost:7071", Some("http://localhost:7071")), Ok(()));
        assert_eq!(answer("127.0.0.1:7071", Some("http://127.0.0.1:7071")), Ok(()));
    }

    #[test]
    fn rebound_names_are_refused() {
        for host in
            ["evil.example", "evil.example:7071", "localhost.evil.example", "10.0.0.1:7071", "0.0.0.0", ""]
        {
            assert_eq!(answer(host, None), Err(Reason::ForeignHost), "{host}");
        }
    }

    #[test]
    fn pages_from_elsewhere_are_refused() {
        for origin in [
            "https://evil.example",
            "http://evil.example:7071",
            "null",
            "http://localhost:3000",
            "http://localhost",
            "https://localhost:7071",
            "file://",
            "http://localhost:7071.evil.example",
        ] {
            assert_eq!(answer("localhost:7071", Some(origin)), Err(Reason::ForeignOrigin), "{origin}");
        }
    }
}
