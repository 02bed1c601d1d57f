//! Servers that lie, stall, send elsewhere and answer with what nobody asked for.

use super::{Arrived, Content, Guarded, Wanted, Web, WebLimits};
use crate::catalog::{
    canned_server::{Answer, CannedServer},
    token::Token,
    web_address::{self, Reach},
};
use reqwest::{Client, redirect::Policy};
use roost_protocol::{Failure, Reason};
use std::time::Duration;

/// As the host makes it, without certificates: everything here is on loopback.
pub(crate) fn client() -> Client {
    // Built beside crates that speak TLS, the client wants a provider although it never uses one here. The second test
    // of a process finds the first one's.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder().no_proxy().redirect(Policy::none()).build().unwrap()
}

fn web() -> Web {
    Web::new(client(), WebLimits { total: Duration::from_secs(20), redirects: 3 })
}

fn wanted(url: &str) -> Wanted<'_> {
    Wanted {
        what: "the agent",
        url,
        reach: Reach::Anywhere,
        content: Content::Code,
        bytes_max: 64,
        guarded: None,
        etag: None,
    }
}

async fn get(url: &str) -> Result<Vec<u8>, Failure> {
    match web().get(&wanted(url)).await? {
        Arrived::Body { bytes, .. } => Ok(bytes),
        Arrived::Unchanged => panic!("nothing was known before"),
    }
}

#[track_caller]
fn refused(result: Result<Vec<u8>, Failure>, reason: Reason, case: &str) {
    let failure = result.expect_err(case);
    assert_eq!(failure.reason, reason, "{case}: {}", failure.message);
    assert!(failure.message.starts_with("the agent: "), "{case}: {}", failure.message);
}

#[tokio::test]
async fn hostile_answers_are_refused_each_with_its_reason() {
    let many = "x".repeat(70 << 10);
    let huge = "x".repeat(2 << 20);
    let answers: Vec<(&str, Vec<u8>, Reason)> = vec![
        ("status 404", b"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n".into(), Reason::FetchMissing),
        ("status 410", b"HTTP/1.1 410 x\r\nContent-Length: 0\r\n\r\n".into(), Reason::FetchMissing),
        ("status 500", b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n".into(), Reason::FetchRefused),
        ("status 403", b"HTTP/1.1 403 x\r\nContent-Length: 0\r\n\r\n".into(), Reason::FetchDenied),
        ("status 204", b"HTTP/1.1 204 x\r\n\r\n".into(), Reason::FetchGarbled),
        ("status 206", b"HTTP/1.1 206 x\r\nContent-Length: 1\r\n\r\nx".into(), Reason::FetchGarbled),
        ("304 without a question", b"HTTP/1.1 304 x\r\n\r\n".into(), Reason::FetchGarbled),
        ("a body cut off", b"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nhalf".into(), Reason::FetchCutOff),
        (
            "pieces cut off",
            b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".into(),
            Reason::FetchCutOff,
        ),
        (
            "too long, announced",
            b"HTTP/1.1 200 x\r\nContent-Length: 65\r\n\r\n".into(),
            Reason::FetchTooLarge,
        ),
        (
            "too long, not announced",
            format!("HTTP/1.1 200 x\r\n\r\n{}", "y".repeat(65)).into_bytes(),
            Reason::FetchTooLarge,
        ),
        (
            "a page instead of code",
            b"HTTP/1.1 200 x\r\nContent-Type: Text/HTML; charset=utf-8\r\nContent-Length: 1\r\n\r\nx".into(),
            Reason::FetchGarbled,
        ),
        (
            "a picture",
            b"HTTP/1.1 200 x\r\nContent-Type: image/png\r\nContent-Length: 1\r\n\r\nx".into(),
            Reason::FetchGarbled,
        ),
        (
            "packed",
            b"HTTP/1.1 200 x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx".into(),
            Reason::FetchGarbled,
        ),
        (
            "many headers",
            format!("HTTP/1.1 200 x\r\nX: {many}\r\nContent-Length: 0\r\n\r\n").into_bytes(),
            Reason::FetchGarbled,
        ),
        ("huge headers", format!("HTTP/1.1 200 x\r\nX: {huge}\r\n\r\n").into_bytes(), Reason::FetchGarbled),
        (
            "two lengths",
            b"HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy".into(),
            Reason::FetchGarbled,
        ),
        (
            "a length that is none",
            b"HTTP/1.1 200 x\r\nContent-Length: -1\r\n\r\nxy".into(),
            Reason::FetchGarbled,
        ),
        ("not HTTP", b"SSH-2.0-OpenSSH\r\n".into(), Reason::FetchGarbled),
        ("nothing", Vec::new(), Reason::FetchGarbled),
        ("sent nowhere", b"HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n".into(), Reason::FetchRedirected),
    ];
    for (case, answer, reason) in answers {
        let server = CannedServer::new(move |_| Answer::Bytes(answer.clone()));
        refused(get(&server.url("/a.py")).await, reason, case);
    }
}

#[tokio::test]
async fn an_answer_that_stalls_ends_when_the_time_is_over() {
    for stall in [&b""[..], b"HTTP/1.1 200 x\r\n", b"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nhalf"] {
        let server = CannedServer::new(move |_| Answer::Hang(stall.to_vec()));
        let web = Web::new(client(), WebLimits { total: Duration::from_millis(200), redirects: 1 });
        let result = web.get(&wanted(&server.url("/a.py"))).await.map(|_| Vec::new());
        refused(result, Reason::FetchSlow, &String::from_utf8_lossy(stall));
    }
}

#[tokio::test]
async fn nobody_listening_is_told_as_that() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a.py", listener.local_addr().unwrap());
    drop(listener);
    refused(get(&url).await, Reason::FetchUnreachable, &url);
}

#[tokio::test]
async fn redirects_are_followed_a_few_times_and_never_to_forbidden_places() {
    let server = CannedServer::new(|asked| match asked.path.as_str() {
        "/once" => Answer::redirect("/end"),
        "/end" => Answer::ok("here"),
        "/loop" => Answer::redirect("/loop"),
        "/http" => Answer::redirect("http://example.invalid/a.py"),
        "/file" => Answer::redirect("file:///etc/passwd"),
        "/password" => Answer::redirect("http://me:word@127.0.0.1/a.py"),
        _ => Answer::status(404),
    });
    assert_eq!(get(&server.url("/once")).await.unwrap(), b"here");
    for path in ["/loop", "/http", "/file", "/password"] {
        refused(get(&server.url(path)).await, Reason::FetchRedirected, path);
    }
    assert_eq!(
        server.paths().iter().filter(|path| *path == "/loop").count(),
        4,
        "once and three times again"
    );
}

#[tokio::test]
async fn an_address_from_elsewhere_does_not_name_this_machine() {
    let server = CannedServer::new(|_| Answer::ok("x"));
    let url = server.url("/a.py");
    let result = web().get(&Wanted { reach: Reach::Elsewhere, ..wanted(&url) }).await.map(|_| Vec::new());
    refused(result, Reason::AddressRefused, "loopback");
    assert!(server.paths().is_empty());
}

#[tokio::test]
async fn a_token_goes_below_its_prefix_and_nowhere_else() {
    let other = CannedServer::new(|_| Answer::ok("x"));
    let away = other.url("/ada/apps/a.py");
    let server = CannedServer::new(move |asked| match asked.path.as_str() {
        "/ada/apps/a.py" => Answer::ok("x"),
        "/ada/apps/inside" => Answer::redirect("/ada/apps/a.py"),
        "/ada/apps/outside" => Answer::redirect("/ada/other/a.py"),
        "/ada/apps/above" => Answer::redirect("../apps2/a.py"),
        "/ada/apps/away" => Answer::redirect(&away),
        _ => Answer::status(404),
    });
    let token = Token::parse("ghp_hiddenWord").unwrap();
    let prefix = web_address::parse(&server.url("/ada/apps/"), Reach::Anywhere).unwrap();
    let guarded = Some(Guarded { token: &token, prefix: &prefix });
    let get = async |path: &str| {
        let url = server.url(path);
        web().get(&Wanted { guarded, ..wanted(&url) }).await.map(|_| Vec::new())
    };
    get("/ada/apps/a.py").await.unwrap();
    get("/ada/apps/inside").await.unwrap();
    for path in ["/ada/apps/outside", "/ada/apps/above", "/ada/apps/away"] {
        refused(get(path).await, Reason::FetchRedirected, path);
    }
    for path in ["/ada/apps2/a.py", "/ada/", "/ada/apps/../other/a.py", "/ada/apps/%2e%2e/other/a.py"] {
        refused(get(path).await, Reason::AddressRefused, path);
    }
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    for asked in server.asked() {
        assert!(asked.path.starts_with("/ada/apps/"), "{asked:?}");
        assert_eq!(asked.header("authorization"), Some("Bearer ghp_hiddenWord"));
    }
}

#[tokio::test]
async fn what_is_known_is_asked_for_by_its_mark_and_nothing_packed_is_asked_for() {
    let server = CannedServer::new(|asked| match asked.header("if-none-match") {
        Some("\"one\"") => Answer::Bytes(b"HTTP/1.1 304 x\r\n\r\n".into()),
        _ => Answer::new(200, "ETag: \"one\"\r\n", b"body"),
    });
    let url = server.url("/index.json");
    let Arrived::Body { bytes, etag } = web().get(&wanted(&url)).await.unwrap() else { panic!("a body") };
    assert_eq!((bytes.as_slice(), etag.as_deref()), (&b"body"[..], Some("\"one\"")));
    let again = web().get(&Wanted { etag: Some("\"one\""), ..wanted(&url) }).await.unwrap();
    assert!(matches!(again, Arrived::Unchanged));
    assert!(
        server.asked().iter().all(|asked| asked.header("accept-encoding").is_none()),
        "{:?}",
        server.asked()
    );
}
