//! Native apps with a network: they reach the computers they were granted, and no other program of this machine.

use crate::native_running::{app_folder, call, host, started};
use roost_host::native::NativePhase;
use roost_protocol::NetworkMode;
use roost_tests::{TestHome, WebServer, until};
use serde_json::{Value, json};
use std::{
    fs,
    io::ErrorKind,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
};

const APP: &str = "com.example.reaching";

/// Other programs of this machine: a stream and datagrams, each at a path and under a name without one.
struct OtherPrograms {
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    wanted: Value,
    _folder: tempfile::TempDir,
}

impl OtherPrograms {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let name = |kind: &str| format!("roost-test-{}-{kind}", std::process::id());
        let hidden = |kind: &str| SocketAddr::from_abstract_name(name(kind)).unwrap();
        let (stream, datagram) = (path("stream"), path("datagram"));
        let streams =
            vec![UnixListener::bind(&stream).unwrap(), UnixListener::bind_addr(&hidden("stream")).unwrap()];
        let datagrams = vec![
            UnixDatagram::bind(&datagram).unwrap(),
            UnixDatagram::bind_addr(&hidden("datagram")).unwrap(),
        ];
        streams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        datagrams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        let wanted = json!({
            "do": "reach programs", "stream": stream, "datagram": datagram,
            "abstract": name("stream"), "abstract_datagram": name("datagram"),
        });
        Self { streams, datagrams, wanted, _folder: folder }
    }

    fn nobody_came(&self) {
        for listener in &self.streams {
            assert_eq!(listener.accept().map(drop).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        for socket in &self.datagrams {
            assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_with_a_network_reaches_no_unix_socket_of_another_program() {
    let others = OtherPrograms::new();
    for (permission, network) in [
        (None, NetworkMode::None),
        (Some("network:example.com"), NetworkMode::Hosts),
        (Some("network:*"), NetworkMode::Any),
    ] {
        let home = TestHome::new();
        let allowed: Vec<&str> = permission.into_iter().collect();
        let host = host(&home, &format!("[local]\nallow = {allowed:?}\n")).await;
        let folder = app_folder(&home, APP, "Reaching", &json!({ "permissions": allowed }));
        started(&host, &folder).await.unwrap();
        let outcome = call(&host, "echo", others.wanted.clone()).await.unwrap();
        assert_eq!(outcome.output, "[]", "{permission:?}: {:?}", outcome.error);
        assert_eq!(outcome.receipt.enforcement.network, network);
        let refused: Vec<&str> = outcome.receipt.refused.iter().map(|one| one.what.as_str()).collect();
        assert!(refused.contains(&"connect to another program"), "{permission:?}: {refused:?}");
        others.nobody_came();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_reaches_the_computers_it_was_granted_and_its_receipt_says_so() {
    let (server, other) = (WebServer::new(), WebServer::new());
    let [granted, foreign] = [&server, &other].map(|server| format!("127.0.0.1:{}", server.port()));
    let home = TestHome::new();
    let right = format!("network:{granted}");
    let host = host(&home, &format!("[local]\nallow = [\"{right}\"]\n")).await;
    let folder = app_folder(&home, APP, "Reaching", &json!({ "permissions": [right] }));
    started(&host, &folder).await.unwrap();
    let reach = |target: &str| json!({ "do": "reach a computer", "target": target });

    let outcome = call(&host, "echo", reach(&granted)).await.unwrap();
    assert!(outcome.output.contains("served /"), "{} {:?}", outcome.output, outcome.receipt.refused);
    assert!(outcome.receipt.environment.iter().any(|name| name == "HTTPS_PROXY"));
    let traffic = &outcome.receipt.traffic;
    assert_eq!((traffic.len(), traffic[0].port), (1, server.port()), "{traffic:?}");

    let outcome = call(&host, "echo", reach(&foreign)).await.unwrap();
    assert!(!outcome.output.contains("served"), "{}", outcome.output);
    let refused = &outcome.receipt.refused;
    assert!(refused.iter().any(|one| one.what.contains(&other.port().to_string())), "{refused:?}");
    assert_eq!(other.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_with_every_network_needs_no_proxy_and_one_without_has_no_variables_of_it() {
    let server = WebServer::new();
    let home = TestHome::new();
    let policy = "[local]\nallow = [\"network:*\"]\n";
    let every = host(&home, policy).await;
    let folder = app_folder(&home, APP, "Reaching", &json!({ "permissions": ["network:outbound"] }));
    started(&every, &folder).await.unwrap();
    let target = format!("127.0.0.1:{}", server.port());
    let wanted = json!({ "do": "reach a computer", "target": target });
    let outcome = call(&every, "echo", wanted.clone()).await.unwrap();
    assert!(outcome.output.contains("served"), "{} {:?}", outcome.output, outcome.receipt.refused);
    assert!(!outcome.receipt.environment.iter().any(|name| name.contains("PROXY")));
    every.native_apps().stop_all().await;
    drop(every);

    let home = TestHome::new();
    let none = host(&home, "").await;
    let folder = app_folder(&home, APP, "Reaching", &json!({ "permissions": ["network:outbound"] }));
    started(&none, &folder).await.unwrap();
    let outcome = call(&none, "echo", wanted).await.unwrap();
    assert!(outcome.output.starts_with("failed"), "{}", outcome.output);
    assert!(!outcome.receipt.environment.iter().any(|name| name.contains("PROXY")));
    assert_eq!(server.asked().len(), 1);
    until("it still runs", || none.native_apps().state(APP).unwrap().phase == NativePhase::Running);
    assert!(fs::exists(folder.join("binary")).unwrap());
}
