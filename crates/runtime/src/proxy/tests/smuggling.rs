//! Requests that two programs could read in two ways: none of them reaches a server.

use super::stage::*;

/// The head goes before `rest`, which breaks a rule; 400 is the only answer, and no server sees a second request.
async fn check(rest: &str) {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let request = format!("POST http://localhost:{port}/first HTTP/1.1\r\nHost: x\r\n{rest}");
    let answer = stage.exchange(&request).await;
    assert_eq!(status(&answer), "400", "{rest:?}: {answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{rest:?}: {answer}");
}

const INNER: &str = "GET http://localhost:1/inner HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn folded_lines_are_not_understood() {
    check("X-One: a\r\n b\r\n\r\n").await;
    check(&format!("X-One: a\r\n\tTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}")).await;
}

#[tokio::test]
async fn bare_line_feeds_are_not_understood() {
    check("X-One: a\nX-Two: b\r\n\r\n").await;
    check(&format!("\n{INNER}")).await;
    check("X-One: a\r\n\n").await;
}

#[tokio::test]
async fn two_lengths_are_not_understood() {
    check("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!").await;
    check("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello").await;
    check("Content-Length: 5, 5\r\n\r\nhello").await;
    check("Content-Length: +5\r\n\r\nhello").await;
}

#[tokio::test]
async fn a_length_beside_chunks_is_not_understood() {
    check(&format!("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n{INNER}")).await;
}

#[tokio::test]
async fn chunks_with_more_than_a_size_are_not_understood() {
    check(&format!("Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n{INNER}")).await;
    check(&format!("Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n{INNER}")).await;
}

#[tokio::test]
async fn a_tunnel_has_no_body() {
    let stage = Plan::granting(&["localhost:1"]).start();
    let request = "CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd";
    assert_eq!(status(&stage.exchange(request).await), "400");
}

#[tokio::test]
async fn nothing_after_a_refused_tunnel_is_a_request() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let inner = format!("GET http://localhost:{port}/inner HTTP/1.1\nHost: x\n\n");
    let answer =
        stage.exchange(&format!("CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n{inner}")).await;
    assert_eq!(status(&answer), "403");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[tokio::test]
async fn heads_without_end_are_not_read() {
    let stage = Plan::granting(&["localhost:1"]).start();
    let long = "x".repeat(70_000);
    let answer = stage.exchange(&format!("GET http://localhost:1/ HTTP/1.1\r\nX-Long: {long}\r\n\r\n")).await;
    assert!(["400", "431"].contains(&status(&answer)), "{answer}");
}
