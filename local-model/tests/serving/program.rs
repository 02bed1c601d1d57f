//! The built program with a client of a few lines, so that the wire is tested as it is.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Longer than any answer here takes on a slow and busy computer, shorter than a forgotten generation.
const PATIENCE: Duration = Duration::from_secs(120);

const KEY: &str = "the key of the tests";

/// The model to test with, where there is one.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment which model to use")]
pub(crate) fn model() -> Option<String> {
    let model = std::env::var("ROOST_TEST_MODEL").ok();
    if model.is_none() {
        // Not by the macro, whose output is hidden when a test passes.
        std::io::stderr().write_all(b"SKIPPED: set ROOST_TEST_MODEL to a GGUF file for this test\n").unwrap();
    }
    model
}

pub(crate) struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(arguments: &[&str], key: Option<&str>) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the program under test is a process")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_roost-local-model"));
        command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(key) = key {
            command.env("ROOST_LOCAL_MODEL_KEY", key);
        }
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// The next line on standard output; absent when there are no more.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line).unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    pub(crate) fn identity(&self) -> u32 {
        self.child.id()
    }

    /// Closes standard input and gives back the exit code.
    pub(crate) fn leave(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().code()
    }

    /// The exit code of a program that gave up by itself.
    pub(crate) fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// A program that is ready to answer.
pub(crate) struct Serving {
    pub(crate) program: Program,
    port: u16,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The data of a stream, without the last line, which must be `[DONE]`.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let mut lines: Vec<_> = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!(lines.pop(), Some("[DONE]"), "{}", self.body);
        lines.into_iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Serving {
    pub(crate) fn start(model: &str) -> Self {
        let mut program = Program::start(&["serve", "--model", model, "--context", "1024"], Some(KEY));
        loop {
            let line = program.line().expect("the program ended before it was ready");
            if let Some(port) = line["port"].as_u64() {
                return Self { program, port: u16::try_from(port).unwrap() };
            }
            assert!(line["loading"].is_number(), "{line}");
        }
    }

    pub(crate) fn ask(&self, request: &Value) -> Reply {
        read_reply(self.begin("POST", "/v1/chat/completions", Some(KEY), &request.to_string()))
    }

    pub(crate) fn get(&self, path: &str, key: Option<&str>) -> Reply {
        read_reply(self.begin("GET", path, key, ""))
    }

    pub(crate) fn get_with_key(&self, path: &str) -> Reply {
        self.get(path, Some(KEY))
    }

    pub(crate) fn post(&self, body: &str) -> Reply {
        read_reply(self.begin("POST", "/v1/chat/completions", Some(KEY), body))
    }

    /// Sends a request and does not wait for the answer.
    pub(crate) fn begin_asking(&self, request: &Value) -> TcpStream {
        self.begin("POST", "/v1/chat/completions", Some(KEY), &request.to_string())
    }

    fn begin(&self, method: &str, path: &str, key: Option<&str>, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{key}content-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A body that is refused may not be read to its end.
        drop(stream.write_all(body.as_bytes()));
        stream
    }
}

pub(crate) fn read_reply(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    // The rest of a refused body can make the connection end with an error, behind the answer.
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer but {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Reply { status, body: if chunked { joined(body) } else { body.to_owned() } }
}

fn joined(mut chunked: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunked.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&rest[..size]);
        chunked = rest[size..].trim_start_matches("\r\n");
    }
    body
}

/// A request of the user, answered the same way every time.
pub(crate) fn request(text: &str, tokens: u64) -> Value {
    json!({"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": tokens})
}
