//! Anthropic's answer, whole or in events, as a message in the usual form.

use crate::model::OnPiece;
use crate::model::completion::{Completion, complete_message};
use crate::model::failed::Trouble;
use roost_protocol::ModelUse;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// More blocks than any model writes in one answer.
const BLOCKS_MAX: usize = 1024;

/// How Anthropic's errors within a stream would have been sent as a status.
const STATUS_OF_ERRORS: &[(&str, u16)] = &[
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("rate_limit_error", 429),
    ("overloaded_error", 529),
];

/// The reply in a whole body.
pub(super) fn whole(body: &Value) -> Result<Completion, Trouble> {
    let Some(content) = body["content"].as_array() else {
        return Err(Trouble::garbled("returned no content", body.to_string()));
    };
    let mut blocks = Blocks { ended: true, ..Blocks::default() };
    for (index, block) in content.iter().enumerate() {
        blocks.blocks.insert(index as u64, Block::begun(block));
    }
    blocks.count(&body["usage"]);
    blocks.finish()
}

/// What has come of a stream so far.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<u64, Block>,
    usage: Map<String, Value>,
    ended: bool,
}

/// One block of an answer. Thinking and other kinds are not part of a message in the usual form.
#[derive(Debug)]
enum Block {
    Text(String),
    Call { id: String, name: String, input: Value, json: String },
    Other,
}

impl Blocks {
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Takes one event and gives its text to the listener.
    pub(super) fn add(&mut self, event: &Value, on_piece: OnPiece<'_>) -> Result<(), Trouble> {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" if self.blocks.len() == BLOCKS_MAX => {
                return Err(Trouble::garbled("streamed more blocks than can be held", ""));
            }
            "content_block_start" => {
                let block = Block::begun(&event["content_block"]);
                if let Block::Text(text) = &block
                    && !text.is_empty()
                {
                    on_piece(text);
                }
                self.blocks.insert(index, block);
            }
            "content_block_delta" => {
                if let Some(block) = self.blocks.get_mut(&index) {
                    block.add(&event["delta"], on_piece);
                }
            }
            "message_delta" => self.count(&event["usage"]),
            "message_stop" => self.ended = true,
            "error" => return Err(error(&event["error"])),
            // New kinds of events may come at any time, says the documentation.
            _ => {}
        }
        Ok(())
    }

    /// Later counts replace earlier ones.
    fn count(&mut self, usage: &Value) {
        for (key, value) in usage.as_object().into_iter().flatten().filter(|(_, value)| value.is_u64()) {
            self.usage.insert(key.clone(), value.clone());
        }
    }

    pub(super) fn finish(self) -> Result<Completion, Trouble> {
        let (mut text, mut calls) = (String::new(), Vec::new());
        for block in self.blocks.into_values() {
            match block {
                Block::Text(more) => text.push_str(&more),
                Block::Call { id, name, input, json } => calls.push(call(id, name, input, json)),
                Block::Other => {}
            }
        }
        if !self.ended {
            return Err(Trouble::garbled("stopped in the middle of its answer", text));
        }
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        complete_message(&mut message, text, calls);
        Ok(Completion { message: Value::Object(message), usage: usage(&self.usage) })
    }
}

impl Block {
    fn begun(block: &Value) -> Self {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => Self::Text(text("text")),
            Some("tool_use") => {
                let input = block["input"].clone();
                Self::Call { id: text("id"), name: text("name"), input, json: String::new() }
            }
            _ => Self::Other,
        }
    }

    fn add(&mut self, delta: &Value, on_piece: OnPiece<'_>) {
        match self {
            Self::Text(text) => {
                let more = delta["text"].as_str().unwrap_or_default();
                if !more.is_empty() {
                    on_piece(more);
                    text.push_str(more);
                }
            }
            Self::Call { json, .. } => json.push_str(delta["partial_json"].as_str().unwrap_or_default()),
            Self::Other => {}
        }
    }
}

fn call(id: String, name: String, input: Value, streamed: String) -> Value {
    let arguments = match (streamed.is_empty(), input.is_object()) {
        (false, _) => streamed,
        (true, true) => input.to_string(),
        (true, false) => "{}".to_owned(),
    };
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Anthropic counts what it had kept and what it keeps apart from what it read.
fn usage(counted: &Map<String, Value>) -> ModelUse {
    let count = |key: &str| counted.get(key).and_then(Value::as_u64).unwrap_or_default();
    let cached_tokens = count("cache_read_input_tokens");
    ModelUse {
        completions: 1,
        prompt_tokens: count("input_tokens") + cached_tokens + count("cache_creation_input_tokens"),
        cached_tokens,
        completion_tokens: count("output_tokens"),
    }
}

fn error(error: &Value) -> Trouble {
    let kind = error["type"].as_str().unwrap_or_default();
    let status = STATUS_OF_ERRORS.iter().find(|(name, _)| *name == kind).map_or(500, |(_, status)| *status);
    let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    Trouble::Status { status, text, retry_after: None }
}
