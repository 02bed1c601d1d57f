//! Events put together to one answer.

use super::completions::Letterhead;
use super::refusal::Refusal;
use crate::engine::{Event, FinishReason, Usage};
use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Waits for the end and answers with everything.
pub(crate) async fn whole(mut events: mpsc::Receiver<Event>, head: &Letterhead) -> Result<Response, Refusal> {
    let mut answer = Answer::default();
    while let Some(event) = events.recv().await {
        match event {
            Event::Started => {}
            Event::Text(text) => answer.text.push_str(&text),
            Event::CallBegan { name, .. } => answer.calls.push((name, String::new())),
            Event::CallArguments { text, .. } => {
                if let Some((_, arguments)) = answer.calls.last_mut() {
                    arguments.push_str(&text);
                }
            }
            Event::Failed(failure) => return Err(Refusal::of_failure(&failure)),
            Event::Finished { reason, usage } => {
                return Ok(Json(answer.value(head, reason, usage)).into_response());
            }
        }
    }
    Err(Refusal::broken_off())
}

#[derive(Default)]
struct Answer {
    text: String,
    calls: Vec<(String, String)>,
}

impl Answer {
    fn value(&self, head: &Letterhead, reason: FinishReason, usage: Usage) -> Value {
        let content =
            if self.text.is_empty() && !self.calls.is_empty() { Value::Null } else { json!(self.text) };
        let mut message = json!({"role": "assistant", "content": content});
        if !self.calls.is_empty() {
            let calls = self.calls.iter().enumerate().map(|(index, (name, arguments))| {
                json!({"id": head.call_id(index), "type": "function",
                       "function": {"name": name, "arguments": arguments}})
            });
            message["tool_calls"] = calls.collect();
        }
        json!({
            "id": head.id(), "object": "chat.completion", "created": head.created, "model": head.model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason_text(reason), "logprobs": null}],
            "usage": usage_value(usage),
        })
    }
}

pub(crate) fn reason_text(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
    }
}

pub(crate) fn usage_value(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    })
}
