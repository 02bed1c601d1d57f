//! Events as a stream of chunks (server-sent events), ending with `[DONE]`.
//!
//! A stream that breaks off holds a line with an error and no `[DONE]`, so that half an answer is never taken for one.

use super::answer::{reason_text, usage_value};
use super::completions::Letterhead;
use super::refusal::Refusal;
use crate::engine::Event;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};
use std::convert::Infallible;
use tokio::sync::mpsc;

pub(crate) fn streamed(events: mpsc::Receiver<Event>, head: Letterhead, with_usage: bool) -> Response {
    let first = chunk(&head, json!({"role": "assistant", "content": ""}), None);
    let state = (events, Chunks { head, with_usage });
    let rest = stream::unfold(Some(state), |state| async {
        let (mut events, chunks) = state?;
        let event = events.recv().await;
        let last = matches!(event, None | Some(Event::Finished { .. } | Event::Failed(_)));
        let text = chunks.text(event);
        Some((text, (!last).then_some((events, chunks))))
    });
    let all = stream::StreamExt::chain(stream::iter([line(&first)]), rest);
    let body = Body::from_stream(stream::StreamExt::map(all, Ok::<_, Infallible>));
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response()
}

struct Chunks {
    head: Letterhead,
    with_usage: bool,
}

impl Chunks {
    /// What is sent for an event; an absent one means that the model's thread is gone.
    fn text(&self, event: Option<Event>) -> String {
        match event {
            Some(Event::Started) => String::new(),
            Some(Event::Text(text)) => self.delta(json!({"content": text})),
            Some(Event::CallBegan { index, name }) => self.delta(json!({"tool_calls": [{
                "index": index, "id": self.head.call_id(index), "type": "function",
                "function": {"name": name, "arguments": ""},
            }]})),
            Some(Event::CallArguments { index, text }) => {
                self.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
            }
            Some(Event::Finished { reason, usage }) => {
                let mut text = line(&chunk(&self.head, json!({}), Some(reason_text(reason))));
                if self.with_usage {
                    let mut last = chunk(&self.head, json!({}), None);
                    last["choices"] = json!([]);
                    last["usage"] = usage_value(usage);
                    text.push_str(&line(&last));
                }
                text.push_str("data: [DONE]\n\n");
                text
            }
            Some(Event::Failed(failure)) => line(&Refusal::of_failure(&failure).value()),
            None => line(&Refusal::broken_off().value()),
        }
    }

    fn delta(&self, delta: Value) -> String {
        line(&chunk(&self.head, delta, None))
    }
}

fn chunk(head: &Letterhead, delta: Value, reason: Option<&str>) -> Value {
    json!({
        "id": head.id(), "object": "chat.completion.chunk", "created": head.created, "model": head.model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": null}],
    })
}

fn line(value: &Value) -> String {
    format!("data: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Failure, FinishReason, Usage};

    /// The data of every event that is sent for `events`.
    async fn check(events: Vec<Event>, with_usage: bool) -> Vec<String> {
        let (sender, receiver) = mpsc::channel(64);
        for event in events {
            sender.send(event).await.unwrap();
        }
        drop(sender);
        let head = Letterhead { mark: "1-0".to_owned(), model: "m".to_owned(), created: 7 };
        let response = streamed(receiver, head, with_usage);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.ends_with("\n\n"));
        let lines = text.trim_end().split("\n\n").map(|line| line.strip_prefix("data: ").unwrap().to_owned());
        lines.collect()
    }

    fn delta(line: &str) -> Value {
        serde_json::from_str::<Value>(line).unwrap()["choices"][0]["delta"].clone()
    }

    const USAGE: Usage = Usage { prompt_tokens: 9, cached_tokens: 4, completion_tokens: 2 };

    #[tokio::test]
    async fn text_comes_in_deltas_and_ends_with_done() {
        let finished = Event::Finished { reason: FinishReason::Stop, usage: USAGE };
        let lines =
            check(vec![Event::Text("a".to_owned()), Event::Text("b".to_owned()), finished], true).await;
        assert_eq!(delta(&lines[0]), json!({"role": "assistant", "content": ""}));
        assert_eq!([delta(&lines[1]), delta(&lines[2])], [json!({"content": "a"}), json!({"content": "b"})]);
        let last: Value = serde_json::from_str(&lines[3]).unwrap();
        assert_eq!(last["choices"][0]["finish_reason"], "stop");
        assert_eq!(last["object"], "chat.completion.chunk");
        let usage: Value = serde_json::from_str(&lines[4]).unwrap();
        assert_eq!(usage["choices"], json!([]));
        assert_eq!(usage["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
        assert_eq!(usage["usage"]["total_tokens"], 11);
        assert_eq!(lines[5], "[DONE]");
        assert_eq!(lines.len(), 6);
    }

    #[tokio::test]
    async fn calls_come_in_deltas() {
        let lines = check(
            vec![
                Event::CallBegan { index: 0, name: "weather".to_owned() },
                Event::CallArguments { index: 0, text: "{}".to_owned() },
                Event::Finished { reason: FinishReason::ToolCalls, usage: USAGE },
            ],
            false,
        )
        .await;
        let began = &delta(&lines[1])["tool_calls"][0];
        assert_eq!(began["id"], "call_1-0_0");
        assert_eq!(began["function"], json!({"name": "weather", "arguments": ""}));
        assert_eq!(delta(&lines[2])["tool_calls"][0], json!({"index": 0, "function": {"arguments": "{}"}}));
        assert!(lines[3].contains("\"finish_reason\":\"tool_calls\""));
        assert_eq!(lines[4], "[DONE]");
    }

    #[tokio::test]
    async fn broken_stream_has_an_error_and_no_done() {
        for events in [vec![Event::Failed(Failure::Model("x".to_owned()))], vec![]] {
            let lines = check(events, false).await;
            let error: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
            assert_eq!(error["error"]["code"], "model_error");
        }
    }
}
