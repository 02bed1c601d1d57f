//! A model on loopback that does what its user says, in the form of OpenAI's API: real connections, known answers.
//!
//! What it does follows from the last message alone, so that any number of conversations can run side by side:
//!
//! | Last message of the user | Answer |
//! | --- | --- |
//! | `call NAME {json}`, one or several lines | those calls; then what the tools said |
//! | `again NAME {json}` | the same call whenever there are tools |
//! | `say TEXT` | the text |
//! | `show system`, `show tools`, `show messages` | what it was sent |
//! | `status CODE TEXT` | an error of the provider |
//! | `garbage`, `empty`, `half`, `silence` | no JSON, no choices, a stream that breaks off, nothing at all |
//! | anything else | `heard: ` and the message |

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use tokio::sync::oneshot;

/// Requests that are remembered; a measurement sends far more.
const REMEMBERED_MAX: usize = 256;

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub struct ModelServer {
    port: u16,
    seen: Arc<Seen>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// As they came: most are never looked at.
    requests: Mutex<Vec<Bytes>>,
    /// Requests whose connection is still open although nothing will be answered.
    waiting: AtomicUsize,
}

impl Default for ModelServer {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelServer {
    /// On a free port of 127.0.0.1.
    #[must_use]
    pub fn new() -> Self {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        listener.set_nonblocking(true).expect("a new socket takes the flag");
        let seen = Arc::new(Seen::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let kept = Arc::clone(&seen);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("the socket listens");
                let app = Router::new()
                    .route("/v1/models", get(models))
                    .route("/v1/chat/completions", post(complete))
                    .with_state(kept);
                tokio::select! {
                    served = axum::serve(listener, app) => served.expect("it serves until it is stopped"),
                    _ = stopped => {}
                }
            });
        });
        Self { port, seen, stop: Some(stop), thread: Some(thread) }
    }

    /// What `OPENAI_BASE_URL` is set to.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        let requests = self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        requests.iter().map(|body| serde_json::from_slice(body).expect("only JSON is remembered")).collect()
    }

    /// Requests that were told to stay silent and whose client is still there.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.seen.waiting.load(Ordering::SeqCst)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn models() -> Json<Value> {
    Json(
        json!({ "object": "list", "data": [{ "id": "scripted", "object": "model" }, { "id": "other", "object": "model" }] }),
    )
}

async fn complete(State(seen): State<Arc<Seen>>, body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Asked<'_>>(&body) else {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": { "message": "not JSON" } })))
            .into_response();
    };
    {
        let mut requests = seen.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() < REMEMBERED_MAX {
            requests.push(body.clone());
        }
    }
    answer(&request, &seen).await
}

/// Only what decides about the answer is read: what the rest costs would be measured as the host's.
#[derive(Debug, Deserialize)]
struct Asked<'a> {
    #[serde(default)]
    stream: bool,
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    role: &'a str,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

impl Message<'_> {
    /// The words, when the content is words.
    fn text(&self) -> Option<String> {
        serde_json::from_str(self.content?.get()).ok()
    }
}

async fn answer(request: &Asked<'_>, seen: &Arc<Seen>) -> Response {
    let streams = request.stream;
    let messages = &request.messages;
    let said = messages.iter().rev().find(|message| message.role == "user").and_then(Message::text);
    let said = said.as_deref().unwrap_or_default();
    let results: Vec<String> = messages
        .iter()
        .rev()
        .take_while(|message| message.role == "tool")
        .filter_map(Message::text)
        .collect();
    let (verb, rest) = said.split_once(' ').unwrap_or((said, ""));
    match verb {
        "status" => {
            let (code, text) = rest.split_once(' ').unwrap_or((rest, "refused"));
            let status = code.parse().ok().and_then(|code| StatusCode::from_u16(code).ok());
            let body = json!({ "error": { "message": text } });
            (status.unwrap_or(StatusCode::IM_A_TEAPOT), [(header::RETRY_AFTER, "7")], Json(body))
                .into_response()
        }
        "garbage" => "<html>not what you wanted</html>".into_response(),
        "empty" => Json(json!({ "choices": [] })).into_response(),
        "half" => broken_off(streams),
        "silence" => silent(seen).await,
        "again" if request.tools.is_some() => said_or_called(&calls(said, "again "), streams),
        "call" if results.is_empty() => said_or_called(&calls(said, "call "), streams),
        "call" | "again" => {
            let said: Vec<String> = results.into_iter().rev().collect();
            said_or_called(&words(&format!("tools said: {}", said.join(" / "))), streams)
        }
        "say" => said_or_called(&words(&rest.replace("\\n", "\n")), streams),
        "show" => {
            let shown = match rest {
                "system" => messages.first().and_then(Message::text).unwrap_or_default(),
                "tools" => request.tools.map_or("none", RawValue::get).to_owned(),
                _ => {
                    let lines = messages.iter().map(|message| {
                        format!("{}: {}", message.role, message.content.map_or("nothing", RawValue::get))
                    });
                    lines.collect::<Vec<_>>().join("\n")
                }
            };
            said_or_called(&words(&shown), streams)
        }
        _ => said_or_called(&words(&format!("heard: {said}")), streams),
    }
}

fn words(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

/// One call per line that begins with the verb.
fn calls(said: &str, verb: &str) -> Value {
    let lines = said.lines().filter_map(|line| line.strip_prefix(verb));
    let calls: Vec<Value> = lines
        .enumerate()
        .map(|(index, line)| {
            let (name, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
            json!({ "id": format!("call_{index}"), "type": "function",
                    "function": { "name": name, "arguments": arguments } })
        })
        .collect();
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn said_or_called(message: &Value, streams: bool) -> Response {
    let has_calls = message.get("tool_calls").is_some();
    let finish = if has_calls { "tool_calls" } else { "stop" };
    let usage = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
    if !streams {
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        return Json(
            json!({ "object": "chat.completion", "model": "scripted", "choices": [choice], "usage": usage }),
        )
        .into_response();
    }
    let mut deltas: Vec<Value> = Vec::new();
    if let Some(text) = message["content"].as_str() {
        deltas.extend(text.split_inclusive(' ').map(|piece| json!({ "content": piece })));
    }
    if let Some(calls) = message["tool_calls"].as_array() {
        deltas.extend(calls.iter().enumerate().map(|(index, call)| {
            let mut call = call.clone();
            call["index"] = json!(index);
            json!({ "tool_calls": [call] })
        }));
    }
    let mut text: String = deltas.iter().map(|delta| chunk(delta, &Value::Null)).collect();
    text.push_str(&chunk(&json!({}), &json!(finish)));
    text.push_str(&format!("data: {}\n\n", json!({ "model": "scripted", "choices": [], "usage": usage })));
    text.push_str("data: [DONE]\n\n");
    event_stream(Body::from(text))
}

fn chunk(delta: &Value, finish: &Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    format!(
        "data: {}\n\n",
        json!({ "object": "chat.completion.chunk", "model": "scripted", "choices": [choice] })
    )
}

fn event_stream(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// The beginning of an answer, and then the end of the connection.
fn broken_off(streams: bool) -> Response {
    let begun = if streams {
        chunk(&json!({ "content": "I was about" }), &Value::Null)
    } else {
        "{\"choices\": [".to_owned()
    };
    let pieces = stream::unfold(Some(begun), |begun| async move {
        match begun {
            Some(begun) => Some((Ok(Bytes::from(begun)), None)),
            None => {
                // The beginning is sent before the connection ends.
                tokio::task::yield_now().await;
                Some((Err(std::io::Error::other("cut off")), None))
            }
        }
    });
    event_stream(Body::from_stream(pieces))
}

/// Waits until the client leaves.
async fn silent(seen: &Arc<Seen>) -> Response {
    struct Leaving(Arc<Seen>);
    impl Drop for Leaving {
        fn drop(&mut self) {
            self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
    seen.waiting.fetch_add(1, Ordering::SeqCst);
    let _leaving = Leaving(Arc::clone(seen));
    std::future::pending().await
}
