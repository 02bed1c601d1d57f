//! What the tests have in common: servers, a resolver that can change its mind, and a proxy with grants.

use super::super::*;
use roost_protocol::HostPort;
use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Grants as a list, which is how the gate sees them.
pub(super) struct Grants(Vec<HostPort>);

impl Doorkeeper for Grants {
    fn may_reach(&self, target: &HostPort) -> Verdict {
        verdict(self.0.iter().any(|granted| granted.covers(target)))
    }

    fn may_reach_private(&self, address: IpAddr, port: u16) -> Verdict {
        verdict(self.0.iter().any(|granted| names_address(granted, address, port)))
    }
}

fn verdict(is_allowed: bool) -> Verdict {
    if is_allowed { Verdict::Allowed } else { Verdict::Refused { next: "ask a person".to_owned() } }
}

/// Answers in turn; the last answer stays.
#[derive(Default)]
pub(super) struct Names {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(super) fn with(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolution<'a> {
        let mut asked = self.asked.lock().unwrap();
        let times = asked.iter().filter(|earlier| *earlier == name).count();
        asked.push(name.to_owned());
        let answers = self.answers.get(name);
        let answer = answers.and_then(|answers| answers.get(times).or(answers.last())).cloned();
        Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

/// A proxy and how to reach it.
pub(super) struct Stage {
    pub(super) proxy: Proxy,
    pub(super) address: SocketAddr,
    pub(super) names: Arc<Names>,
    pub(super) authority: Authority,
}

/// Everything that differs between tests.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) grants: Vec<String>,
    pub(super) names: Names,
    pub(super) secrets: Vec<SecretUse>,
    pub(super) trust: Trust,
}

impl Plan {
    pub(super) fn granting(grants: &[&str]) -> Self {
        let names = Names::default().with("localhost", &[&["127.0.0.1"]]);
        Self { grants: grants.iter().map(|grant| (*grant).to_owned()).collect(), names, ..Self::default() }
    }

    pub(super) fn name(mut self, name: &str, answers: &[&[&str]]) -> Self {
        self.names = self.names.with(name, answers);
        self
    }

    pub(super) fn start(self) -> Stage {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (names, authority) = (Arc::new(self.names), Authority::new().unwrap());
        let settings = Settings {
            doorkeeper: Arc::new(Grants(
                self.grants.iter().map(|grant| HostPort::parse(grant).unwrap()).collect(),
            )),
            secrets: self.secrets,
            authority: authority.clone(),
            trust: self.trust,
            resolver: names.clone(),
        };
        Stage { proxy: Proxy::serve(listener, settings).unwrap(), address, names, authority }
    }
}

impl Stage {
    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads everything that comes back until the end.
    pub(super) async fn exchange(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_all(&mut stream).await
    }

    pub(super) async fn get(&self, uri: &str) -> String {
        self.exchange(&format!("GET {uri} HTTP/1.1\r\nHost: ignored\r\nConnection: close\r\n\r\n")).await
    }

    /// Opens a tunnel; the answer's head, and the stream after it.
    pub(super) async fn tunnel(&self, target: &str) -> (String, TcpStream) {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = read_head(&mut stream).await;
        (head, stream)
    }

    /// What was refused, in words.
    pub(super) fn refused(&self) -> Vec<String> {
        self.proxy.take_report().refused.into_iter().map(|refusal| refusal.what).collect()
    }
}

/// Until the end; what came before a reset counts too.
pub(super) async fn read_all<S: tokio::io::AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut bytes = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut bytes).await {}
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Byte by byte, so that nothing after the head is taken.
pub(super) async fn read_head<S: tokio::io::AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => bytes.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A web server that answers every request with the head and body it got, and keeps connections.
pub(super) async fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream));
        }
    });
    address
}

/// Serves one connection of an echo server.
pub(super) async fn echo<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(stream: S) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut seen, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            seen.push_str(&line);
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        seen.push_str(&String::from_utf8_lossy(&body));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", seen.len());
        stream.write_all(format!("{head}{seen}").as_bytes()).await.unwrap();
    }
}

/// A server that answers every connection with the same bytes after a first head, and closes.
pub(super) async fn canned_server(answer: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

pub(super) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}
