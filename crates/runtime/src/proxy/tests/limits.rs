//! How many, how long, and that everything ends with the proxy.

use super::{super::Report, stage::*};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// As in `front`; written again here, so that a change of it is noticed.
const CONNECTIONS: usize = 64;

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_place() {
    let server = echo_server().await;
    let uri = format!("http://localhost:{}/", server.port());
    let stage = Plan::granting(&[&format!("localhost:{}", server.port())]).start();
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        // An answered request shows that the connection has its place.
        let mut stream = stage.connect().await;
        stream.write_all(format!("GET {uri} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        assert_eq!(status(&read_head(&mut stream).await), "200");
        open.push(stream);
    }
    let mut waiting = stage.connect().await;
    waiting
        .write_all(format!("GET {uri} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    // Others are served in the meantime, several times over.
    for stream in &mut open[..8] {
        read_echo(stream).await;
        stream.write_all(format!("GET {uri} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        assert_eq!(status(&read_head(stream).await), "200");
    }
    assert!(waiting.try_read(&mut [0]).is_err(), "the connection beyond the limit has no answer yet");
    drop(open.pop());
    assert_eq!(status(&read_all(&mut waiting).await), "200");
}

/// The body of an echo server's answer.
async fn read_echo(stream: &mut TcpStream) {
    assert!(read_head(stream).await.starts_with("GET / HTTP/1.1"));
}

#[tokio::test]
async fn a_slow_connection_holds_nobody_up() {
    let server = echo_server().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let grants = [format!("localhost:{}", server.port()), format!("localhost:{silent_port}")];
    let stage = Plan::granting(&[&grants[0], &grants[1]]).start();
    let mut half_a_head = stage.connect().await;
    half_a_head.write_all(b"GET http://localhost").await.unwrap();
    let mut without_answer = stage.connect().await;
    let request = format!("GET http://localhost:{silent_port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    without_answer.write_all(request.as_bytes()).await.unwrap();
    let _held = silent.accept().await.unwrap();
    let answer = stage.get(&format!("http://localhost:{}/", server.port())).await;
    assert_eq!(status(&answer), "200");
}

#[tokio::test]
async fn dropping_the_proxy_ends_every_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let (_, mut agent) = stage.tunnel(&format!("localhost:{port}")).await;
    let (mut tunnel_end, _) = listener.accept().await.unwrap();
    let mut request = stage.connect().await;
    request
        .write_all(format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let (mut request_end, _) = listener.accept().await.unwrap();
    read_head(&mut request_end).await;
    let address = stage.address;
    drop(stage);
    for stream in [&mut agent, &mut tunnel_end, &mut request, &mut request_end] {
        assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
    }
    // The agent still holds its own end of the listener in the real world; here the proxy had the only one.
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn silent_connections_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let mut idle = stage.connect().await;
    assert_eq!(read_all(&mut idle).await, "", "no request at all");
    let (_, mut agent) = stage.tunnel(&format!("localhost:{port}")).await;
    let _server = listener.accept().await.unwrap();
    assert_eq!(read_all(&mut agent).await, "", "a tunnel that nobody uses");
}

#[tokio::test]
async fn an_agent_that_leaves_ends_its_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let mut agent = stage.connect().await;
    agent
        .write_all(format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    read_head(&mut server).await;
    drop(agent);
    assert!(matches!(server.read(&mut [0]).await, Ok(0) | Err(_)));
}

#[tokio::test]
async fn a_proxy_that_was_not_used_has_nothing_to_report() {
    let stage = Plan::granting(&[]).start();
    assert_eq!(stage.proxy.take_report(), Report::default());
}
