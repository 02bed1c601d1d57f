//! A server on loopback that answers byte for byte what a test wrote down, and remembers what it was asked.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) path: String,
    /// Every header as `name: value`, the name in lower case.
    pub(super) headers: Vec<String>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// What is sent back.
pub(super) enum Answer {
    /// These bytes, and then the connection ends.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing until the other side leaves.
    Hang(Vec<u8>),
}

impl Answer {
    /// A whole answer with this status, these headers and this body.
    pub(super) fn new(status: u16, headers: &str, body: &[u8]) -> Self {
        let head = format!(
            "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
            body.len()
        );
        Self::Bytes([head.as_bytes(), body].concat())
    }

    pub(super) fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::new(200, "Content-Type: text/plain; charset=utf-8\r\n", body.as_ref())
    }

    pub(super) fn status(status: u16) -> Self {
        Self::new(status, "", b"no")
    }

    pub(super) fn redirect(to: &str) -> Self {
        Self::new(302, &format!("Location: {to}\r\n"), b"")
    }
}

/// A server that runs until this value is dropped.
pub(super) struct CannedServer {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

const LAST_PATH: &str = "/the-last-request";

impl CannedServer {
    pub(super) fn new(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(asked) = read(&stream) else { continue };
                if asked.path == LAST_PATH {
                    return;
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
                let answer = Arc::clone(&answer);
                thread::spawn(move || send(&stream, answer(&asked)));
            }
        });
        Self { port, asked }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }
}

impl Drop for CannedServer {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
            write!(stream, "GET {LAST_PATH} HTTP/1.1\r\n\r\n").ok();
        }
    }
}

fn send(mut stream: &TcpStream, answer: Answer) {
    match answer {
        Answer::Bytes(bytes) => {
            stream.write_all(&bytes).ok();
        }
        Answer::Hang(bytes) => {
            stream.write_all(&bytes).ok();
            stream.read_to_end(&mut Vec::new()).ok();
        }
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push(format!("{}: {}", name.to_ascii_lowercase(), value.trim()));
    }
    Some(Asked { path, headers })
}
