//! Serves recorded exchanges once each, checks the requests, and misbehaves where the record says so.
//!
//! Written on bare sockets, because half an answer, silence and what is not HTTP cannot be had from a server library.

use serde_json::{Map, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Small and odd, so that events and characters are cut in the middle.
const PIECE_BYTES: usize = 7;

/// A server that answers what was recorded. It ends when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    record: Arc<Record>,
    _accepting: JoinSet<()>,
}

struct Record {
    url: String,
    /// What is still expected, in order.
    expected: Mutex<Vec<(String, Value)>>,
    complaints: Mutex<Vec<String>>,
}

struct Request {
    method: String,
    path: String,
    headers: Map<String, Value>,
    body: String,
}

impl Server {
    /// Serves each of these exchanges once, the first that fits a request's method and path.
    pub(crate) async fn of(exchanges: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let expected = exchanges.iter().map(|name| ((*name).to_owned(), read(&format!("{name}.json"))));
        let record = Arc::new(Record {
            url: format!("http://{address}"),
            expected: Mutex::new(
                expected.map(|(name, text)| (name, serde_json::from_str(&text).unwrap())).collect(),
            ),
            complaints: Mutex::default(),
        });
        let mut accepting = JoinSet::new();
        let shared = record.clone();
        accepting.spawn(async move {
            // Answers that never end are dropped with the server.
            let mut answering = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                answering.spawn(answer(stream, shared.clone()));
            }
        });
        Self { address, record, _accepting: accepting }
    }

    pub(crate) fn url(&self) -> String {
        self.record.url.clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every exchange took place, as recorded, and nothing else was asked.
    #[track_caller]
    pub(crate) fn is_done(&self) {
        let complaints = self.record.complaints.lock().unwrap();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        let left: Vec<String> =
            self.record.expected.lock().unwrap().iter().map(|(name, _)| name.clone()).collect();
        assert!(left.is_empty(), "never asked: {left:?}");
    }
}

/// A port on which nobody listens.
pub(crate) async fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exchanges").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

async fn answer(mut stream: TcpStream, record: Arc<Record>) {
    let Some(request) = request(&mut stream).await else { return };
    let found = {
        let mut expected = record.expected.lock().unwrap();
        let fits = |(_, exchange): &(String, Value)| {
            let expected = &exchange["request"];
            // Forms differ only in what they hold.
            let same_form = expected["body"].as_str().is_none_or(|form| form == request.body);
            expected["method"] == request.method.as_str()
                && expected["path"] == request.path.as_str()
                && same_form
        };
        expected.iter().position(fits).map(|position| expected.remove(position))
    };
    let Some((name, exchange)) = found else {
        record.complain(format!("nobody expects {} {} {}", request.method, request.path, request.body));
        return;
    };
    for complaint in differences(&request, &exchange["request"]) {
        record.complain(format!("{name}: {complaint}"));
    }
    // The client may leave at any time; that is its right.
    drop(respond(&mut stream, &exchange["response"], &record.url).await);
}

impl Record {
    fn complain(&self, complaint: String) {
        self.complaints.lock().unwrap().push(complaint);
    }
}

async fn request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let headers: Map<String, Value> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.into()))
        .collect();
    let length =
        headers.get("content-length").and_then(Value::as_str).map_or(0, |text| text.parse().unwrap());
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request {
        method: first.next()?.to_owned(),
        path: first.next()?.to_owned(),
        headers,
        body: String::from_utf8(body).unwrap(),
    })
}

fn differences(request: &Request, expected: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, value) in expected["headers"].as_object().into_iter().flatten() {
        let given = request.headers.get(name).cloned().unwrap_or_default();
        if given != *value {
            complaints.push(format!("header {name} is {given}, not {value}"));
        }
    }
    let same_body = match &expected["body"] {
        Value::Null => request.body.is_empty(),
        Value::String(text) => request.body == *text,
        json => serde_json::from_str::<Value>(&request.body).ok().as_ref() == Some(json),
    };
    if !same_body {
        complaints.push(format!("body is {}, not {}", request.body, expected["body"]));
    }
    complaints
}

async fn respond(stream: &mut TcpStream, response: &Value, url: &str) -> std::io::Result<()> {
    if response["silence"] == true {
        std::future::pending::<()>().await;
    }
    if let Some(name) = response["raw"].as_str() {
        return stream.write_all(read(name).as_bytes()).await;
    }
    let mut head = format!("HTTP/1.1 {} Recorded\r\nconnection: close\r\n", response["status"]);
    let given = response["headers"].as_object().cloned().unwrap_or_default();
    for (name, value) in &given {
        head += &format!("{name}: {}\r\n", value.as_str().unwrap());
    }
    if let Some(kind) = response["flood"].as_str() {
        stream.write_all(format!("{head}content-type: {kind}\r\n\r\n").as_bytes()).await?;
        loop {
            stream.write_all(&[b'x'; 64 << 10]).await?;
        }
    }
    if let Some(name) = response["stream"].as_str() {
        head += "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        // The file ends with one newline, as all files do; an event ends with two.
        return stream_events(stream, &(read(name) + "\n"), response["ends"].as_str()).await;
    }
    let body = match response["text"].as_str() {
        Some(text) => text.to_owned(),
        None => response["body"].to_string().replace("{{server}}", url),
    };
    if !given.contains_key("content-type") {
        head += "content-type: application/json\r\n";
    }
    let length = response["claimed_length"].as_u64().unwrap_or(body.len() as u64);
    stream.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).await
}

async fn stream_events(stream: &mut TcpStream, events: &str, ends: Option<&str>) -> std::io::Result<()> {
    for piece in events.as_bytes().chunks(PIECE_BYTES) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
    }
    match ends {
        Some("silence") => std::future::pending().await,
        Some("cut") => Ok(()),
        _ => stream.write_all(b"0\r\n\r\n").await,
    }
}
