//! Plain HTTP: what passes, what is refused, and what the server gets to see.

use super::stage::*;
use roost_protocol::{RefusedBy, Right};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn an_allowed_request_reaches_its_server_and_is_counted() {
    let server = echo_server().await;
    let stage = Plan::granting(&[&format!("localhost:{}", server.port())]).start();
    let answer = stage.get(&format!("http://localhost:{}/path?query=1", server.port())).await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("GET /path?query=1 HTTP/1.1\r\n"), "{answer}");
    assert!(answer.contains(&format!("host: localhost:{}\r\n", server.port())), "{answer}");
    let report = stage.proxy.take_report();
    let row = &report.traffic[0];
    assert_eq!((row.host.as_str(), row.port, row.requests), ("localhost", server.port(), 1));
    assert!(row.sent_bytes > 20 && row.received_bytes > row.sent_bytes);
    assert!(report.refused.is_empty());
}

#[tokio::test]
async fn a_refused_request_says_why_and_what_next() {
    let stage = Plan::granting(&["good.example"]).start();
    let answer = stage.get("http://evil.example/").await;
    assert_eq!(status(&answer), "403");
    assert!(answer.contains("x-roost-refused: network:evil.example:80\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/plain"), "{answer}");
    let body = "Roost: not allowed: connect to evil.example:80. Next: ask a person\n";
    assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
    let refused = &stage.proxy.take_report().refused[0];
    assert_eq!(refused.what, "connect to evil.example:80");
    assert_eq!(refused.right, Some("network:evil.example:80".parse::<Right>().unwrap()));
    assert_eq!((refused.by, refused.count), (RefusedBy::Proxy, 1));
}

#[tokio::test]
async fn a_refused_name_is_never_looked_up() {
    let stage = Plan::granting(&["good.example"]).start();
    stage.get("http://stolen-data.evil.example/").await;
    stage.tunnel("stolen-data.evil.example:443").await;
    assert!(stage.names.asked().is_empty());
}

#[tokio::test]
async fn requests_on_one_connection_are_decided_one_by_one() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let ask = |uri: &str| format!("GET {uri} HTTP/1.1\r\nHost: x\r\n\r\n");
    let all = [
        ask(&format!("http://localhost:{port}/one")),
        ask(&format!("http://localhost:{port}/two")),
        ask("http://evil.example/"),
        ask(&format!("http://localhost:{port}/three")),
    ];
    let answer = stage.exchange(&all.concat()).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 403").count(), 1, "{answer}");
    assert!(!answer.contains("/three"));
    assert_eq!(stage.proxy.take_report().traffic[0].requests, 2);
    assert_eq!(stage.names.asked(), ["localhost"], "the second request uses the connection of the first");
}

#[tokio::test]
async fn the_line_of_a_request_decides_and_not_its_host_header() {
    let server = echo_server().await;
    let stage = Plan::granting(&[&format!("localhost:{}", server.port())]).start();
    let request = format!(
        "GET http://localhost:{}/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        server.port()
    );
    let answer = stage.exchange(&request).await;
    assert_eq!(status(&answer), "200");
    assert!(!answer.contains("evil.example"), "{answer}");
}

#[tokio::test]
async fn requests_that_are_not_for_a_proxy_are_not_understood() {
    let stage = Plan::granting(&["good.example", "localhost:1"]).start();
    let lines = [
        "GET / HTTP/1.1",
        "GET http://user:password@good.example/ HTTP/1.1",
        "GET https://good.example/ HTTP/1.1",
        "GET ftp://good.example/ HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET http://good.example:99999/ HTTP/1.1",
        "CONNECT good.example HTTP/1.1",
        "CONNECT user@good.example:443 HTTP/1.1",
        "CONNECT *.good.example:443 HTTP/1.1",
    ];
    for line in lines {
        let answer = stage.exchange(&format!("{line}\r\nHost: good.example\r\n\r\n")).await;
        assert_eq!(status(&answer), "400", "{line}: {answer}");
    }
    let answer = stage.exchange("GET / HTTP/1.1\r\nHost: good.example\r\n\r\n").await;
    assert!(answer.contains("not a web server"), "{answer}");
    assert!(stage.names.asked().is_empty());
}

#[tokio::test]
async fn a_change_to_another_protocol_is_refused_both_ways() {
    let server = canned_server(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: upgrade\r\n\r\nraw".to_owned(),
    )
    .await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let head = format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n");
    let asked = stage.exchange(&format!("{head}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n")).await;
    assert_eq!(status(&asked), "400", "{asked}");
    let unasked = stage.exchange(&format!("{head}Connection: close\r\n\r\n")).await;
    assert_eq!(status(&unasked), "502", "{unasked}");
    let preface = stage.exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert_ne!(status(&preface), "200");
}

#[tokio::test]
async fn headers_for_proxies_and_of_one_connection_are_not_passed_on() {
    let server = echo_server().await;
    let stage = Plan::granting(&[&format!("localhost:{}", server.port())]).start();
    let request = format!(
        "GET http://localhost:{}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic eA==\r\n\
         Proxy-Connection: keep-alive\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\nX-Kept: 1\r\n\r\n",
        server.port()
    );
    let answer = stage.exchange(&request).await.to_lowercase();
    assert!(answer.contains("x-kept: 1"), "{answer}");
    for name in ["proxy-", "x-mine", "te: "] {
        assert!(!answer.contains(name), "{name} in {answer}");
    }
}

#[tokio::test]
async fn bodies_pass_in_both_framings() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let head = format!("POST http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    let plain = stage.exchange(&format!("{head}Content-Length: 5\r\n\r\nhello")).await;
    assert!(plain.ends_with("hello"), "{plain}");
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let chunking = canned_server(answer.to_owned()).await.port();
    let stage = Plan::granting(&[&format!("localhost:{chunking}")]).start();
    let head = format!("POST http://localhost:{chunking}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    let chunked =
        stage.exchange(&format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")).await;
    assert_eq!(status(&chunked), "200");
    assert!(chunked.contains("abc"), "{chunked}");
}

#[tokio::test]
async fn a_client_that_sends_all_before_it_reads_still_learns_why() {
    let stage = Plan::granting(&[]).start();
    let mut stream = stage.connect().await;
    let part = "x".repeat(9_000);
    let head = "POST http://evil.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..100 {
        // Fails when the proxy has closed the connection without reading.
        stream.write_all(part.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), "403");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_not_a_refusal() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let stage = Plan::granting(&[&format!("localhost:{gone}"), "unknown.example"]).start();
    assert_eq!(status(&stage.get(&format!("http://localhost:{gone}/")).await), "502");
    assert_eq!(status(&stage.get("http://unknown.example/").await), "502");
    assert_eq!(stage.proxy.take_report(), super::super::Report::default());
}

#[tokio::test]
async fn answers_without_a_body_stay_as_they_are() {
    let cases = [
        ("HEAD", "200 OK\r\nContent-Length: 1234", "content-length: 1234"),
        ("GET", "304 Not Modified\r\nContent-Length: 1234\r\nETag: \"x\"", "etag: \"x\""),
        ("GET", "204 No Content\r\nX-One: 1", "x-one: 1"),
        ("GET", "200 OK\r\nConnection: close\r\nX-One: 1\r\nContent-Length: 0", "x-one: 1"),
    ];
    for (method, head, expected) in cases {
        let port = canned_server(format!("HTTP/1.1 {head}\r\n\r\n")).await.port();
        let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
        let request =
            format!("{method} http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = stage.exchange(&request).await;
        assert_eq!(status(&answer), &head[..3], "{answer}");
        assert!(answer.contains(expected) && answer.ends_with("\r\n\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_arrives_whole() {
    let body = "x".repeat(200_000);
    let port = canned_server(format!("HTTP/1.0 200 OK\r\n\r\n{body}")).await.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let answer = stage.get(&format!("http://localhost:{port}/")).await;
    assert_eq!(answer.matches('x').count(), body.len());
}

#[tokio::test]
async fn a_server_that_ended_a_kept_connection_is_asked_again() {
    let port = canned_server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned()).await.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let mut agent = stage.connect().await;
    for _ in 0..3 {
        let request = format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
        agent.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(status(&read_head(&mut agent).await), "200");
        agent.read_exact(&mut [0; 2]).await.unwrap();
    }
    assert_eq!(stage.proxy.take_report().traffic[0].requests, 3);
}
