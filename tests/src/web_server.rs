//! A web server on loopback that answers what it was asked, sends on where it is told to, and remembers all of it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path with its query.
    pub path: String,
    /// Every header as `name: value`, the name in lower case.
    pub headers: Vec<String>,
}

impl Asked {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A server that runs until this value is dropped.
///
/// `/…` is answered with `served …`, and `/to/ADDRESS` with a redirect to `http://ADDRESS/`.
#[derive(Debug)]
pub struct WebServer {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// Ends the thread that listens.
const LAST_PATH: &str = "/the-last-request";

impl Default for WebServer {
    fn default() -> Self {
        Self::new()
    }
}

impl WebServer {
    /// On a free port of 127.0.0.1.
    #[must_use]
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Some((asked, answer)) = read(&stream) {
                    if asked.path == LAST_PATH {
                        return;
                    }
                    // Before the answer: who has it may look at once.
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
                    (&stream).write_all(answer.as_bytes()).ok();
                }
            }
        });
        Self { port, asked }
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// An address on it, with the host written like this.
    #[must_use]
    pub fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
            write!(stream, "GET {LAST_PATH} HTTP/1.1\r\n\r\n").ok();
        }
    }
}

/// One request and what it is answered with; nothing for whoever only connects.
fn read(stream: &TcpStream) -> Option<(Asked, String)> {
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
    let asked = Asked { path, headers };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut Vec::new()).ok()?;
    let body = format!("served {}", asked.path);
    let head = match asked.path.strip_prefix("/to/") {
        Some(place) => format!("HTTP/1.1 302 Found\r\nLocation: http://{place}/"),
        None => "HTTP/1.1 200 OK\r\nContent-Type: text/plain".to_owned(),
    };
    let rest = format!("Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    Some((asked, format!("{head}\r\n{rest}")))
}
