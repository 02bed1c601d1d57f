//! Placeholders: filled for one computer and one header, with and without TLS, and nowhere else.

use super::{
    super::{Authority, SecretUse, Trust, authority::tests::server_config_of},
    stage::*,
};
use roost_protocol::{HeaderName, HostPort, Transport};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{net::SocketAddr, sync::Arc};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client::TlsStream};

pub(super) const PLACEHOLDER: &str = "roost-secret-5b1f0c2d9e";
pub(super) const VALUE: &str = "the-real-value";

pub(super) fn secret_for(host: &str) -> SecretUse {
    secret_over(Transport::Tls, host)
}

fn secret_over(transport: Transport, host: &str) -> SecretUse {
    let header = HeaderName::parse("authorization").unwrap();
    SecretUse::new(PLACEHOLDER, VALUE, transport, HostPort::parse(host).unwrap(), &header).unwrap()
}

/// An echo server behind TLS, with a certificate for `localhost` of this authority.
pub(super) async fn tls_echo_server(authority: &Authority) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(server_config_of(authority, "localhost"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    echo(stream).await;
                }
            });
        }
    });
    address
}

/// A proxy for an agent with a secret for the server, which the proxy trusts.
pub(super) async fn tls_stage() -> (Stage, SocketAddr) {
    let real = Authority::new().unwrap();
    let server = tls_echo_server(&real).await;
    let grant = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&grant]);
    plan.secrets = vec![secret_for(&grant)];
    plan.trust = Trust::with_added(real.pem()).unwrap();
    (plan.start(), server)
}

/// TLS in a tunnel, as an agent that trusts only Roost's authority.
async fn agent_tls(stage: &Stage, stream: TcpStream, name: &str) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(stage.authority.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[tokio::test]
async fn a_placeholder_is_filled_in_its_header_only() {
    let server = echo_server().await;
    let grant = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&grant]);
    plan.secrets = vec![secret_over(Transport::PlainText, &grant)];
    let stage = plan.start();
    let request = format!(
        "GET http://{grant}/{PLACEHOLDER} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {PLACEHOLDER}\r\n\
         X-Other: {PLACEHOLDER}\r\nConnection: close\r\n\r\n"
    );
    let answer = stage.exchange(&request).await;
    assert!(answer.contains(&format!("authorization: Bearer {VALUE}\r\n")), "{answer}");
    assert_eq!(answer.matches(VALUE).count(), 1);
    assert_eq!(answer.matches(PLACEHOLDER).count(), 2);
}

#[tokio::test]
async fn a_secret_is_never_sent_in_plain_text_unless_its_right_names_that() {
    let server = echo_server().await;
    let grant = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&grant]);
    plan.secrets = vec![secret_for(&grant)];
    let stage = plan.start();
    let request = format!(
        "GET http://{grant}/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {PLACEHOLDER}\r\nConnection: close\r\n\r\n"
    );
    let answer = stage.exchange(&request).await;
    assert_eq!(status(&answer), "403", "{answer}");
    assert!(!answer.contains(VALUE), "{answer}");
    let refused = stage.refused();
    assert!(refused[0].contains("without encryption"), "{refused:?}");
}

#[tokio::test]
async fn a_placeholder_towards_another_computer_stays_one() {
    let server = echo_server().await;
    let grant = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&grant]);
    plan.secrets = vec![secret_for("api.example")];
    let stage = plan.start();
    let request = format!(
        "GET http://{grant}/ HTTP/1.1\r\nHost: api.example\r\nAuthorization: {PLACEHOLDER}\r\nConnection: close\r\n\r\n"
    );
    let answer = stage.exchange(&request).await;
    assert!(answer.contains(PLACEHOLDER) && !answer.contains(VALUE), "{answer}");
}

#[tokio::test]
async fn a_server_that_repeats_requests_is_not_sent_the_value() {
    let server = echo_server().await;
    let grant = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&grant]);
    plan.secrets = vec![secret_over(Transport::PlainText, &grant)];
    let stage = plan.start();
    let request = format!(
        "TRACE http://{grant}/ HTTP/1.1\r\nHost: x\r\nAuthorization: {PLACEHOLDER}\r\nConnection: close\r\n\r\n"
    );
    assert!(!stage.exchange(&request).await.contains(VALUE));
}

#[tokio::test]
async fn a_placeholder_is_filled_inside_tls() {
    let (stage, server) = tls_stage().await;
    let (head, stream) = stage.tunnel(&format!("localhost:{}", server.port())).await;
    assert_eq!(status(&head), "200");
    let mut stream = agent_tls(&stage, stream, "localhost").await.unwrap();
    let request = format!(
        "GET /one HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {PLACEHOLDER}\r\nX-Other: {PLACEHOLDER}\r\n"
    );
    stream.write_all(format!("{request}\r\n{request}Connection: close\r\n\r\n").as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert_eq!(answer.matches(&format!("authorization: Bearer {VALUE}\r\n")).count(), 2, "{answer}");
    assert_eq!(answer.matches(&format!("x-other: {PLACEHOLDER}\r\n")).count(), 2, "{answer}");
    assert!(!answer.contains("evil.example"), "{answer}");
    let report = stage.proxy.take_report();
    assert_eq!((report.traffic.len(), report.traffic[0].requests), (1, 2));
}

#[tokio::test]
async fn requests_inside_tls_are_as_strict_as_those_outside() {
    let (stage, server) = tls_stage().await;
    let heads = [
        "GET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n",
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    for head in heads {
        let (_, stream) = stage.tunnel(&format!("localhost:{}", server.port())).await;
        let mut stream = agent_tls(&stage, stream, "localhost").await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read_all(&mut stream).await;
        assert_eq!(status(&answer), "400", "{head}: {answer}");
    }
}

#[tokio::test]
async fn a_tunnel_that_ends_here_carries_tls_for_its_computer_only() {
    let (stage, server) = tls_stage().await;
    let target = format!("localhost:{}", server.port());
    let (_, mut stream) = stage.tunnel(&target).await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert_eq!(read_all(&mut stream).await, "");
    let (_, stream) = stage.tunnel(&target).await;
    assert!(agent_tls(&stage, stream, "other.example").await.is_err());
    let refused = stage.refused();
    assert!(refused[0].contains("other than TLS"), "{refused:?}");
    assert!(refused[1].contains("other server name other.example"), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_gets_no_secret() {
    let server = tls_echo_server(&Authority::new().unwrap()).await;
    let grant = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&grant]);
    plan.secrets = vec![secret_for(&grant)];
    let stage = plan.start();
    let (_, stream) = stage.tunnel(&grant).await;
    let mut stream = agent_tls(&stage, stream, "localhost").await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: {PLACEHOLDER}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert_eq!(status(&answer), "502", "{answer}");
    assert!(answer.contains("cannot be trusted") && !answer.contains(VALUE), "{answer}");
}

#[tokio::test]
async fn a_tunnel_without_a_secret_is_not_opened() {
    let real = Authority::new().unwrap();
    let server = tls_echo_server(&real).await;
    let target = format!("localhost:{}", server.port());
    let mut plan = Plan::granting(&[&target]);
    plan.secrets = vec![secret_for("api.example")];
    let stage = plan.start();
    let (_, stream) = stage.tunnel(&target).await;
    let failed = agent_tls(&stage, stream, "localhost").await.unwrap_err();
    assert!(
        failed.to_string().contains("invalid peer certificate"),
        "the real certificate arrives: {failed}"
    );
}
