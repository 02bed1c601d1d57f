//! GitHub as a login and Copilot see it, on loopback: a person who confirms a code when the story says so.

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use tokio::sync::oneshot;

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub struct GitHub {
    port: u16,
    person: Arc<Person>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Person {
    port: u16,
    has_confirmed: AtomicBool,
    has_copilot: AtomicBool,
}

impl Default for GitHub {
    fn default() -> Self {
        Self::new()
    }
}

impl GitHub {
    /// On a free port of 127.0.0.1.
    #[must_use]
    pub fn new() -> Self {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        listener.set_nonblocking(true).expect("a new socket takes the flag");
        let person =
            Person { port, has_confirmed: AtomicBool::new(false), has_copilot: AtomicBool::new(true) };
        let person = Arc::new(person);
        let (stop, stopped) = oneshot::channel::<()>();
        let asked = Arc::clone(&person);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("the socket listens");
                let app = Router::new()
                    .route("/login/device/code", post(code))
                    .route("/login/oauth/access_token", post(token))
                    .route("/copilot_internal/v2/token", get(session))
                    .route("/user", get(user))
                    .route("/copilot/models", get(models))
                    .route("/copilot/chat/completions", post(complete))
                    .with_state(asked);
                tokio::select! {
                    served = axum::serve(listener, app) => served.expect("it serves until it is stopped"),
                    _ = stopped => {}
                }
            });
        });
        Self { port, person, stop: Some(stop), thread: Some(thread) }
    }

    /// `roost.toml` of a home that signs in here.
    #[must_use]
    pub fn settings(&self) -> String {
        let address = format!("http://127.0.0.1:{}", self.port);
        format!("[models]\ndiscover = false\ngithub_login = \"{address}\"\ngithub_api = \"{address}\"\n")
    }

    /// The person types the code.
    pub fn confirm(&self) {
        self.person.has_confirmed.store(true, Ordering::SeqCst);
    }

    /// The person's account may use Copilot, or not.
    pub fn allow_copilot(&self, allowed: bool) {
        self.person.has_copilot.store(allowed, Ordering::SeqCst);
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn code() -> Json<Value> {
    Json(json!({
        "device_code": "device-1", "user_code": "ABCD-1234",
        "verification_uri": "https://github.com/login/device", "expires_in": 899, "interval": 1,
    }))
}

async fn token(State(person): State<Arc<Person>>) -> Json<Value> {
    Json(if person.has_confirmed.load(Ordering::SeqCst) {
        json!({ "access_token": "ghu_tokenOfTheStory", "token_type": "bearer", "scope": "read:user" })
    } else {
        json!({ "error": "authorization_pending" })
    })
}

async fn session(State(person): State<Arc<Person>>) -> Response {
    if !person.has_copilot.load(Ordering::SeqCst) {
        let body = json!({ "error_details": { "notification_id": "no_copilot_access" } });
        return (StatusCode::FORBIDDEN, Json(body)).into_response();
    }
    let api = format!("http://127.0.0.1:{}/copilot", person.port);
    Json(json!({ "token": "tid=story", "expires_at": 4_102_444_800_u64, "endpoints": { "api": api } }))
        .into_response()
}

async fn user() -> Json<Value> {
    Json(json!({ "login": "octocat" }))
}

async fn models() -> Json<Value> {
    let model = |id: &str, kind: &str| {
        json!({ "id": id, "name": id, "model_picker_enabled": true,
                "capabilities": { "type": kind, "supports": { "tool_calls": true } } })
    };
    Json(json!({ "data": [
        model("gpt-4o", "chat"), model("claude-haiku-4.5", "chat"), model("text-embedding-3", "embeddings"),
    ] }))
}

async fn complete(headers: HeaderMap, body: Bytes) -> Response {
    let is_session = headers.get("authorization").is_some_and(|value| value == "Bearer tid=story");
    if !is_session {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = json!({ "role": "assistant", "content": format!("{} answers", request["model"].as_str().unwrap_or("?")) });
    Json(json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })).into_response()
}
