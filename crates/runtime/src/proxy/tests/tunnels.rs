//! CONNECT: what may pass inside, and who may begin.

use super::{
    super::hello::tests::{encrypted_extension, extension, hello_with, name_extension},
    stage::*,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A tunnel to a listener of ours through a name. The listener's port stands for "another port".
async fn tunnel_to(name: &str) -> (Stage, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stage = Plan::granting(&[&format!("{name}:{port}"), &format!("127.0.0.1:{port}")])
        .name(name, &[&["127.0.0.1"]])
        .start();
    let (head, agent) = stage.tunnel(&format!("{name}:{port}")).await;
    assert_eq!(status(&head), "200", "{head}");
    let (server, _) = listener.accept().await.unwrap();
    (stage, agent, server)
}

/// Whether these first bytes, sent piece by piece, reach the server.
async fn passes(name: &str, pieces: &[&[u8]]) -> (bool, Vec<String>) {
    let (stage, mut agent, mut server) = tunnel_to(name).await;
    let all = pieces.concat();
    for piece in pieces {
        // The proxy may have closed already.
        if agent.write_all(piece).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    agent.shutdown().await.ok();
    let mut seen = Vec::new();
    while let Ok(1..) = server.read_buf(&mut seen).await {}
    assert!(seen.is_empty() || seen == all);
    (!seen.is_empty(), stage.refused())
}

#[tokio::test]
async fn tls_for_the_computer_of_the_tunnel_passes() {
    for name in ["a.example", "A.EXAMPLE", "a.example."] {
        let (passed, refused) = passes("a.example", &[&hello_with(&[name_extension(name)])]).await;
        assert!(passed && refused.is_empty(), "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn tls_for_another_computer_is_refused() {
    for name in ["b.example", "sub.a.example", "a.example.evil", "127.0.0.1", "a.example\0"] {
        let (passed, refused) = passes("a.example", &[&hello_with(&[name_extension(name)])]).await;
        assert!(!passed, "{name}");
        assert!(refused[0].contains("other server name"), "{refused:?}");
    }
}

#[tokio::test]
async fn another_name_is_found_in_pieces_too() {
    let hello = hello_with(&[extension(43, &[0; 700]), name_extension("b.example")]);
    let (head, tail) = hello.split_at(300);
    assert!(!passes("a.example", &[head, tail]).await.0);
    let bytes: Vec<&[u8]> = hello.chunks(1).collect();
    assert!(!passes("a.example", &bytes).await.0);
    let hello = hello_with(&[name_extension("a.example")]);
    let bytes: Vec<&[u8]> = hello.chunks(1).collect();
    assert!(passes("a.example", &bytes).await.0);
}

#[tokio::test]
async fn an_encrypted_hello_is_refused_whatever_its_outer_name() {
    let outer = |name: &str| hello_with(&[name_extension(name), encrypted_extension()]);
    let (passed, refused) = passes("a.example", &[&outer("a.example")]).await;
    assert!(!passed && refused[0].contains("encrypted client hello"), "{refused:?}");
    assert!(!passes("a.example", &[&outer("front.example")]).await.0);
    assert!(!passes("a.example", &[&hello_with(&[encrypted_extension()])]).await.0);
}

#[tokio::test]
async fn a_hello_without_a_name_passes() {
    assert!(passes("a.example", &[&hello_with(&[])]).await.0);
}

#[tokio::test]
async fn a_hello_that_ends_in_the_middle_is_refused() {
    let hello = hello_with(&[name_extension("a.example")]);
    let (passed, refused) = passes("a.example", &[&hello[..hello.len() - 1]]).await;
    assert!(!passed);
    assert!(refused[0].contains("hides its server name"), "{refused:?}");
}

#[tokio::test]
async fn other_ports_carry_any_protocol() {
    for first in [b"hello".as_slice(), b"\x00", b"\x16", b"GET / HTTP/1.1\r\n\r\n"] {
        let (passed, refused) = passes("a.example", &[first]).await;
        assert!(passed && refused.is_empty(), "{first:?}");
    }
}

#[tokio::test]
async fn on_other_ports_the_server_may_speak_first() {
    let (_stage, mut agent, mut server) = tunnel_to("a.example").await;
    server.write_all(b"220 mail.example").await.unwrap();
    let mut greeting = [0; 16];
    agent.read_exact(&mut greeting).await.unwrap();
    assert_eq!(&greeting, b"220 mail.example");
    agent.write_all(b"HELO").await.unwrap();
    let mut answer = [0; 4];
    server.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HELO");
}

#[tokio::test]
async fn one_side_may_end_before_the_other() {
    let (_stage, mut agent, mut server) = tunnel_to("a.example").await;
    agent.write_all(b"all I have to say").await.unwrap();
    agent.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, "all I have to say");
    server.write_all(b"and the answer").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut agent).await, "and the answer");
}

#[tokio::test]
async fn a_refused_tunnel_answers_like_a_refused_request() {
    let stage = Plan::granting(&[]).start();
    let answer = stage.exchange("CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(status(&answer), "403");
    assert!(answer.contains("x-roost-refused: network:evil.example:443\r\n"), "{answer}");
    assert!(
        answer.ends_with("Roost: not allowed: connect to evil.example:443. Next: ask a person\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn bytes_of_a_tunnel_are_counted_while_it_lasts() {
    let (stage, mut agent, mut server) = tunnel_to("a.example").await;
    agent.write_all(b"12345").await.unwrap();
    server.read_exact(&mut [0; 5]).await.unwrap();
    server.write_all(b"123").await.unwrap();
    agent.read_exact(&mut [0; 3]).await.unwrap();
    let row = stage.proxy.take_report().traffic.remove(0);
    assert_eq!((row.requests, row.sent_bytes, row.received_bytes), (1, 5, 3));
    assert_eq!(stage.proxy.take_report(), super::super::Report::default());
    agent.write_all(b"6").await.unwrap();
    server.read_exact(&mut [0; 1]).await.unwrap();
    let row = stage.proxy.take_report().traffic.remove(0);
    assert_eq!((row.requests, row.sent_bytes, row.received_bytes), (0, 1, 0));
}
