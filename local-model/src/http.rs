//! The door: an OpenAI-compatible subset of HTTP on loopback, for whoever bears the key.
//!
//! Only this folder knows status codes. It turns a request into a job and a job's events into an answer.

mod access; // who may ask
mod completions; // asking the model
mod answer; // events as one answer
mod chunks; // events as a stream
mod refusal; // errors as clients read them

use crate::engine::{Engine, Facts};
use crate::limits::BODY_BYTES_MAX;
use crate::prompt::{self, Prompts};
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use refusal::Refusal;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What requests are answered with.
pub(crate) struct Door {
    engine: Engine,
    prompts: Prompts,
    model: String,
    key: String,
    context_tokens: usize,
    started: u64,
    answers: AtomicU64,
}

impl Door {
    pub(crate) fn new(
        engine: Engine,
        facts: Facts,
        model: String,
        key: String,
    ) -> Result<Self, prompt::Error> {
        let prompts = Prompts::new(facts.template, facts.control_texts)?;
        let context_tokens = facts.context_tokens;
        Ok(Self { engine, prompts, model, key, context_tokens, started: now(), answers: AtomicU64::new(0) })
    }

    /// A mark for an answer, different from those of earlier processes too, since conversations outlive them.
    fn next_mark(&self) -> String {
        format!("{:x}-{:x}", self.started, self.answers.fetch_add(1, Ordering::Relaxed))
    }
}

/// Answers requests until the process ends.
pub(crate) async fn serve(listener: tokio::net::TcpListener, door: Door) -> std::io::Result<()> {
    let door = Arc::new(door);
    let routes = Router::new()
        .route("/health", get(health))
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(completions::complete))
        .fallback(async || Refusal::not_found())
        .method_not_allowed_fallback(async || Refusal::method_not_allowed())
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        // Outermost, so that without the key nothing is learnt, not even which paths there are.
        .layer(middleware::from_fn_with_state(Arc::clone(&door), access::require_key))
        .with_state(door);
    axum::serve(listener, routes).await
}

async fn health(State(door): State<Arc<Door>>) -> Json<Value> {
    Json(json!({"status": "ok", "model": door.model, "context_tokens": door.context_tokens}))
}

async fn models(State(door): State<Arc<Door>>) -> Json<Value> {
    let model = json!({"id": door.model, "object": "model", "created": door.started, "owned_by": "local"});
    Json(json!({"object": "list", "data": [model]}))
}

/// Seconds since 1970, as the interface wants them.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
