//! Who is let in and who is not, header by header.

use super::{Access, FETCH_SITE, Neighbours, Speaker};
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use roost_protocol::Reason;

fn access() -> Access {
    Access { port: 7071, neighbours: Neighbours::default() }
}

fn generous() -> Access {
    let neighbours = Neighbours {
        origins: vec!["https://friend.example".to_owned(), "http://localhost:3000".to_owned()],
        hosts: vec!["box.lan".to_owned()],
        ..Neighbours::default()
    };
    Access { port: 7071, neighbours }
}

fn ask(access: &Access, host: &str, origin: Option<&str>) -> Result<Speaker, Reason> {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
    if let Some(origin) = origin {
        headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
    }
    access.speaker(&Method::POST, &Uri::from_static("/chat"), &headers)
}

fn answer(host: &str, origin: Option<&str>) -> Result<Speaker, Reason> {
    ask(&access(), host, origin)
}

#[test]
fn programs_and_the_own_page_may_speak() {
    for host in ["127.0.0.1:7071", "localhost:7071", "LOCALHOST", "127.0.0.1"] {
        assert_eq!(answer(host, None), Ok(Speaker::Here), "{host}");
    }
    assert_eq!(answer("localhost:7071", Some("http://localhost:7071")), Ok(Speaker::Here));
    assert_eq!(answer("127.0.0.1:7071", Some("http://127.0.0.1:7071")), Ok(Speaker::Here));
}

#[test]
fn rebound_names_are_refused() {
    for host in [
        "evil.example",
        "evil.example:7071",
        "localhost.evil.example",
        "10.0.0.1:7071",
        "0.0.0.0",
        "",
        "box.lan",
        "127.9.9.9",
        "127.0.0.2:7071",
        "[::1]:7071",
        "[::ffff:127.0.0.1]:7071",
        "localhost:07071",
    ] {
        assert_eq!(answer(host, None), Err(Reason::ForeignHost), "{host}");
    }
}

#[test]
fn a_second_host_or_one_in_the_address_is_checked_too() {
    let mut headers = HeaderMap::new();
    headers.append(header::HOST, HeaderValue::from_static("localhost"));
    headers.append(header::HOST, HeaderValue::from_static("evil.example"));
    let path = Uri::from_static("/chat");
    assert_eq!(access().speaker(&Method::GET, &path, &headers), Err(Reason::ForeignHost));
    let whole = Uri::from_static("http://evil.example/chat");
    assert_eq!(access().speaker(&Method::GET, &whole, &HeaderMap::new()), Err(Reason::ForeignHost));
    let mut headers = HeaderMap::new();
    headers.append(header::ORIGIN, HeaderValue::from_static("http://localhost:7071"));
    headers.append(header::ORIGIN, HeaderValue::from_static("https://evil.example"));
    assert_eq!(access().speaker(&Method::GET, &path, &headers), Err(Reason::ForeignOrigin));
}

#[test]
fn pages_from_elsewhere_are_refused() {
    for origin in [
        "https://evil.example",
        "http://evil.example:7071",
        "null",
        "",
        "http://localhost:3000",
        "http://localhost",
        "https://localhost:7071",
        "file://",
        "http://localhost:7071.evil.example",
        "http://localhost:7071/",
        "http://localhost:99999",
        "http://evil@localhost:7071",
        "http://localhost:07071",
        "http://localhost:+7071",
        "http://127.0.0.2:7071",
        "http://127.9.9.9:7071",
        "http://[::1]:7071",
    ] {
        assert_eq!(answer("localhost:7071", Some(origin)), Err(Reason::ForeignOrigin), "{origin}");
    }
}

#[test]
fn what_was_allowed_by_name_is_let_in_exactly() {
    let access = generous();
    let asked = |origin| ask(&access, "localhost:7071", Some(origin));
    for origin in ["https://friend.example", "http://localhost:3000"] {
        assert_eq!(asked(origin), Ok(Speaker::AllowedPage), "{origin}");
    }
    for origin in [
        "https://friend.example.evil",
        "http://friend.example",
        "https://FRIEND.example",
        "https://friend.example:8443",
    ] {
        assert_eq!(asked(origin), Err(Reason::ForeignOrigin), "{origin}");
    }
    assert_eq!(ask(&access, "box.lan:7071", None), Ok(Speaker::Here));
    assert_eq!(ask(&access, "box.lan:7071", Some("http://box.lan:7071")), Ok(Speaker::Here));
    assert_eq!(ask(&access, "other.lan", None), Err(Reason::ForeignHost));
}

#[test]
fn a_page_that_does_not_name_itself_is_known_by_its_browser() {
    let asked = |method: Method, path: &'static str, site: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(FETCH_SITE, HeaderValue::from_static(site));
        access().speaker(&method, &Uri::from_static(path), &headers)
    };
    for site in ["cross-site", "same-site", "something-new"] {
        assert_eq!(asked(Method::GET, "/health", site), Err(Reason::ForeignOrigin), "{site}");
        assert_eq!(asked(Method::POST, "/", site), Err(Reason::ForeignOrigin), "{site}");
        assert_eq!(asked(Method::GET, "/", site), Ok(Speaker::Here), "{site}");
    }
    for site in ["same-origin", "none"] {
        assert_eq!(asked(Method::GET, "/health", site), Ok(Speaker::Here), "{site}");
    }
}
