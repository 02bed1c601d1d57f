//! The smallest client that can test a server: one request, one connection, nothing hidden.

use serde_json::Value;
use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

/// No answer takes this long.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Speaks to one port of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    port: u16,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

/// One part of a form: its name, its file's name when it is one, and its content.
pub type Part<'a> = (&'a str, Option<&'a str>, &'a [u8]);

impl Answer {
    /// The value of the first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("the body is not JSON ({error}): {self:?}"),
        }
    }
}

impl Client {
    /// A client of whatever listens on this port.
    #[must_use]
    pub fn on(port: u16) -> Self {
        Self { port }
    }

    /// A GET request.
    #[track_caller]
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// A POST request with a JSON body.
    #[track_caller]
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// A POST request with a form.
    #[track_caller]
    #[must_use]
    pub fn form(&self, path: &str, parts: &[Part<'_>]) -> Answer {
        self.send("POST", path, &[("Content-Type", FORM_TYPE)], &form_of(parts))
    }

    /// Any request. A `Host` among the headers replaces the right one.
    #[track_caller]
    #[must_use]
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let asked = self.start(method, path, headers, body.len()).and_then(|mut stream| {
            // A server that refuses a body need not read all of it; what counts is what it answers.
            let sent = stream.write_all(body);
            let answer = read_answer(&mut stream);
            match (sent, answer) {
                (Err(error), Err(_)) => Err(error),
                (_, answer) => answer,
            }
        });
        match asked {
            Ok(answer) => answer,
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// Sends the head of a request and leaves the rest to the caller, who may also just leave.
    pub fn start(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body_bytes: usize,
    ) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if method != "GET" {
            head.push_str(&format!("Content-Length: {body_bytes}\r\n"));
        }
        stream.write_all(head.as_bytes())?;
        stream.write_all(b"\r\n")?;
        Ok(stream)
    }
}

const BOUNDARY: &str = "roost-tests-boundary";

/// The content type of a form.
pub const FORM_TYPE: &str = "multipart/form-data; boundary=roost-tests-boundary";

/// A form as it is sent.
#[must_use]
pub fn form_of(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file_name, content) in parts {
        let file_name = file_name.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        let head =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    // A connection that is reset after the whole answer arrived has still answered.
    if let Err(error) = stream.read_to_end(&mut bytes)
        && bytes.is_empty()
    {
        return Err(error);
    }
    let unclear = || io::Error::new(io::ErrorKind::InvalidData, format!("not an answer: {bytes:.200?}"));
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(unclear)?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(unclear)?;
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let bytes = bytes[end + 4..].to_vec();
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Answer { status, headers, body, bytes })
}
