//! What is written down of a turn: every question to the model with its reply, every use of a tool with its answer.

use super::ActiveRun;
use futures::future::BoxFuture;
use roost_chat::{Ask, Model, ModelFailure, OnPiece, Reply, ToolAnswer, ToolCall, Tools};
use serde_json::{Value, json};
use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A model whose replies are written down.
pub(crate) struct RecordedModel<'a> {
    model: &'a dyn Model,
    run: Option<&'a ActiveRun>,
    /// Messages that are written down already.
    written: Mutex<usize>,
}

impl<'a> RecordedModel<'a> {
    pub(crate) fn new(model: &'a dyn Model, run: Option<&'a ActiveRun>) -> Self {
        Self { model, run, written: Mutex::new(0) }
    }

    /// What is asked, without what an earlier question had already.
    fn asked(&self, ask: &Ask<'_>) -> Value {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (*written).min(ask.messages.len());
        *written = ask.messages.len();
        json!({ "from": from, "messages": &ask.messages[from..], "tools": ask.tools.len() })
    }
}

impl Model for RecordedModel<'_> {
    fn reply<'a>(
        &'a self,
        ask: Ask<'a>,
        on_piece: Option<OnPiece<'a>>,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            let Some(run) = self.run else { return self.model.reply(ask, on_piece).await };
            let asked = self.asked(&ask);
            let began = Instant::now();
            let replied = self.model.reply(ask, on_piece).await;
            let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            match &replied {
                Ok(reply) => {
                    let payload = json!({
                        "asked": asked,
                        "message": reply.message,
                        "model": reply.model,
                        "requestedModel": reply.requested_model,
                        "usage": reply.usage,
                        "durationUs": duration_us,
                    });
                    run.note("model.replied", None, payload);
                }
                Err(failure) => {
                    let payload = json!({
                        "asked": asked,
                        "model": failure.model,
                        "error": failure.message,
                        "durationUs": duration_us,
                    });
                    run.note("model.failed", None, payload);
                }
            }
            replied
        })
    }
}

/// Tools whose answers are written down.
pub(crate) struct RecordedTools<'a> {
    tools: &'a dyn Tools,
    run: Option<&'a ActiveRun>,
}

impl<'a> RecordedTools<'a> {
    pub(crate) fn new(tools: &'a dyn Tools, run: Option<&'a ActiveRun>) -> Self {
        Self { tools, run }
    }
}

impl Tools for RecordedTools<'_> {
    fn has(&self, name: &str) -> bool {
        self.tools.has(name)
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let Some(run) = self.run else { return self.tools.run(call).await };
            let called = json!({ "callId": call.id, "arguments": call.arguments });
            run.note("tool.called", Some(&call.name), called);
            let answer = self.tools.run(call).await;
            let mut returned = json!({ "callId": call.id, "record": answer.record });
            match &answer.result {
                Ok(output) => returned["output"] = json!(output),
                Err(message) => returned["error"] = json!(message),
            }
            run.note("tool.returned", Some(&call.name), returned);
            answer
        })
    }
}
