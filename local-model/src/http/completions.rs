//! Asks the model: request to job, and the job's events to an answer or a stream.

use super::refusal::Refusal;
use super::{Door, answer, chunks, now};
use crate::engine::{Engine, Event, Job};
use crate::plan::Plan;
use crate::request::{Delivery, Sent};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use std::sync::Arc;

/// What every part of an answer repeats.
#[derive(Debug, Clone)]
pub(crate) struct Letterhead {
    pub(crate) mark: String,
    pub(crate) model: String,
    pub(crate) created: u64,
}

impl Letterhead {
    /// The id of the answer.
    pub(crate) fn id(&self) -> String {
        format!("chatcmpl-{}", self.mark)
    }

    /// The id of a call in the answer.
    pub(crate) fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.mark)
    }
}

pub(crate) async fn complete(
    State(door): State<Arc<Door>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = body.map_err(|rejection| Refusal::body(rejection.status(), rejection.body_text()))?;
    let sent: Sent = serde_json::from_slice(&body)
        .map_err(|error| Refusal::invalid(format!("not a chat completion: {error}")))?;
    drop(body);
    let ask = sent.check().map_err(|refused| Refusal::invalid(refused.to_string()))?;
    let plan = Plan::of(&ask).map_err(|error| Refusal::invalid(error.to_string()))?;
    let prompt = door.prompts.of(&ask).map_err(|error| Refusal::invalid(error.to_string()))?;
    let tokens_max = ask.tokens_max.min(door.context_tokens);
    let (events, mut heard) = Engine::events_channel(tokens_max);
    let job = Job { prompt, plan, sampling: ask.sampling, tokens_max, events };
    door.engine.submit(job).map_err(|_| Refusal::busy())?;
    let head = Letterhead { mark: door.next_mark(), model: door.model.clone(), created: now() };
    // Until the prompt is read, what goes wrong is still a status and not a line in a stream. When the client leaves,
    // this future and with it the receiver are dropped, which the model's thread sees.
    match heard.recv().await {
        Some(Event::Started) => {}
        Some(Event::Failed(failure)) => return Err(Refusal::of_failure(&failure)),
        _ => return Err(Refusal::broken_off()),
    }
    match ask.delivery {
        Delivery::Whole => answer::whole(heard, &head).await,
        Delivery::Streamed { with_usage } => Ok(chunks::streamed(heard, head, with_usage)),
    }
}
