//! A catalog and the files it names, on loopback: what is published can change, fail, and be private.

use crate::web_server::Asked;
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Ends the thread that listens.
const LAST_PATH: &str = "/the-last-request";

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub struct StoreServer {
    port: u16,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    files: BTreeMap<String, Vec<u8>>,
    /// Answers that are sent as they stand, head and all.
    answers: BTreeMap<String, String>,
    /// Paths that begin like this are there for whoever shows the token.
    gate: Option<(String, String)>,
    /// Everything is answered with this.
    failing: Option<u16>,
    asked: Vec<Asked>,
}

impl Default for StoreServer {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreServer {
    /// On a free port of 127.0.0.1, with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let shared: Arc<Mutex<Shared>> = Arc::default();
        let kept = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(asked) = read(&stream) else { continue };
                if asked.path == LAST_PATH {
                    return;
                }
                let answer = lock(&kept).answer(asked);
                (&stream).write_all(&answer).ok();
            }
        });
        Self { port, shared }
    }

    /// An address on it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Publishes a file, in place of what was there.
    pub fn publish(&self, path: &str, content: impl AsRef<[u8]>) {
        lock(&self.shared).files.insert(path.to_owned(), content.as_ref().to_owned());
    }

    /// Answers a path with exactly this from now on, head and all, or with what is published again.
    pub fn answer(&self, path: &str, answer: Option<&str>) {
        let mut shared = lock(&self.shared);
        match answer {
            Some(answer) => drop(shared.answers.insert(path.to_owned(), answer.to_owned())),
            None => drop(shared.answers.remove(path)),
        }
    }

    /// Everything below this path is there only for whoever shows this token; others get 404.
    pub fn gate(&self, prefix: &str, token: &str) {
        lock(&self.shared).gate = Some((prefix.to_owned(), token.to_owned()));
    }

    /// Answers everything with this status from now on, or works again.
    pub fn fail(&self, status: Option<u16>) {
        lock(&self.shared).failing = status;
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared).asked.clone()
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
            write!(stream, "GET {LAST_PATH} HTTP/1.1\r\n\r\n").ok();
        }
    }
}

impl Shared {
    fn answer(&mut self, asked: Asked) -> Vec<u8> {
        let shown = asked.header("authorization").unwrap_or_default().to_owned();
        let is_closed = |(prefix, token): &(String, String)| {
            asked.path.starts_with(prefix) && shown != format!("Bearer {token}")
        };
        if let Some(answer) = self.answers.get(&asked.path).cloned() {
            self.asked.push(asked);
            return answer.into_bytes();
        }
        let found = self.files.get(&asked.path).filter(|_| !self.gate.as_ref().is_some_and(is_closed));
        let (status, body) = match (self.failing, found) {
            (Some(status), _) => (status, Vec::new()),
            (None, Some(body)) => (200, body.clone()),
            (None, None) => (404, Vec::new()),
        };
        self.asked.push(asked);
        let head = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body].concat()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        headers.push(format!("{}: {}", name.to_ascii_lowercase(), value.trim()));
    }
    Some(Asked { path, headers })
}
