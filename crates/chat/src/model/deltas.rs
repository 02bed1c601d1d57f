//! The pieces of a streamed completion, put together: text in order, calls by place, several choices as one message.
//!
//! Tolerates what servers really send: calls without a place, a place used twice, arguments as objects.

use super::OnPiece;
use super::completion::{Completion, complete_message, text_of, usage};
use super::failed::Trouble;
use serde_json::{Map, Value};

/// More choices or calls than any model makes; a stream that has them is broken.
const PARTS_MAX: usize = 256;

/// What has come of a stream so far.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    choices: Vec<Choice>,
    usage: Value,
    ended: bool,
}

#[derive(Debug, Default)]
struct Choice {
    index: u64,
    text: String,
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    place: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Keys beyond the form, such as signatures that must be sent back.
    more: Map<String, Value>,
}

impl Deltas {
    /// Takes one chunk and gives its text to the listener.
    pub(super) fn add(&mut self, chunk: &Value, on_piece: OnPiece<'_>) -> Result<(), Trouble> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(stream_error(error));
        }
        if chunk["usage"].is_object() {
            self.usage = chunk["usage"].clone();
        }
        for given in chunk["choices"].as_array().into_iter().flatten() {
            self.ended |= given["finish_reason"].is_string();
            let choice = self.choice(given["index"].as_u64().unwrap_or_default())?;
            // A server that sends the last message whole still sends it as one of the choices.
            let delta = if given["delta"].is_object() { &given["delta"] } else { &given["message"] };
            let text = text_of(delta.get("content"));
            if !text.is_empty() {
                on_piece(&text);
                choice.text.push_str(&text);
            }
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                choice.add_call(call)?;
            }
        }
        Ok(())
    }

    /// The stream said that it is complete.
    pub(super) fn done(&mut self) {
        self.ended = true;
    }

    /// The whole reply; a stream that stopped before its end is none.
    pub(super) fn finish(mut self) -> Result<Completion, Trouble> {
        if !self.ended {
            let text: String = self.choices.iter().map(|choice| choice.text.as_str()).collect();
            return Err(Trouble::garbled("stopped in the middle of its answer", text));
        }
        if self.choices.is_empty() {
            return Err(Trouble::garbled("returned no choices", ""));
        }
        self.choices.sort_by_key(|choice| choice.index);
        let text = self.choices.iter().map(|choice| choice.text.as_str()).collect();
        let calls = self.choices.into_iter().flat_map(|choice| choice.calls).map(Call::into_value).collect();
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        complete_message(&mut message, text, calls);
        Ok(Completion { message: Value::Object(message), usage: usage(&self.usage) })
    }

    fn choice(&mut self, index: u64) -> Result<&mut Choice, Trouble> {
        let known = self.choices.iter().position(|choice| choice.index == index);
        let position = match known {
            Some(position) => position,
            None if self.choices.len() == PARTS_MAX => return Err(too_many()),
            None => {
                self.choices.push(Choice { index, ..Choice::default() });
                self.choices.len() - 1
            }
        };
        Ok(&mut self.choices[position])
    }
}

impl Choice {
    fn add_call(&mut self, delta: &Value) -> Result<(), Trouble> {
        let (place, id) = (delta["index"].as_u64(), delta["id"].as_str().unwrap_or_default());
        // The same place with another id is another call: some servers number all calls with zero.
        let same = |call: &Call| {
            let same_place = place.is_none() || call.place.is_none() || call.place == place;
            same_place && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let position = match self.calls.iter().rposition(same) {
            Some(position) => position,
            None if self.calls.len() == PARTS_MAX => return Err(too_many()),
            None => {
                self.calls.push(Call { place, ..Call::default() });
                self.calls.len() - 1
            }
        };
        self.calls[position].add(delta, id);
        Ok(())
    }
}

impl Call {
    fn add(&mut self, delta: &Value, id: &str) {
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
        // Sent once, in parts, or again with every piece.
        let name = delta["function"]["name"].as_str().unwrap_or_default();
        if self.name != name {
            self.name.push_str(name);
        }
        match &delta["function"]["arguments"] {
            Value::String(text) => self.arguments.push_str(text),
            Value::Null => {}
            object => self.arguments.push_str(&object.to_string()),
        }
        for (key, value) in delta.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "index" | "id" | "type" | "function") && !value.is_null() {
                self.more.insert(key.clone(), value.clone());
            }
        }
    }

    fn into_value(self) -> Value {
        let mut function = Map::new();
        function.insert("name".into(), self.name.into());
        // Some models call a function without parameters with nothing at all, which no parser takes.
        let arguments = if self.arguments.is_empty() { "{}".to_owned() } else { self.arguments };
        function.insert("arguments".into(), arguments.into());
        let mut call = Map::new();
        call.insert("id".into(), self.id.into());
        call.insert("type".into(), "function".into());
        call.insert("function".into(), function.into());
        call.extend(self.more);
        Value::Object(call)
    }
}

/// An error that comes instead of the next piece, when the status was already sent.
pub(super) fn stream_error(error: &Value) -> Trouble {
    let number = |key: &str| error[key].as_u64().or_else(|| error[key].as_str()?.parse().ok());
    let status = ["code", "status", "status_code"].into_iter().find_map(number);
    let status =
        status.and_then(|status| u16::try_from(status).ok()).filter(|status| (400..600).contains(status));
    let limited = error.to_string().contains("rate_limit");
    let status = status.unwrap_or(if limited { 429 } else { 500 });
    let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    Trouble::Status { status, text, retry_after: None }
}

fn too_many() -> Trouble {
    Trouble::garbled("streamed more calls than can be held", "")
}

#[cfg(test)]
mod tests {
    use super::Deltas;
    use crate::model::failed::Trouble;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    /// The message of these chunks, and the pieces that were heard.
    fn put_together(chunks: &[Value]) -> Result<(Value, Vec<String>), Trouble> {
        let heard = Mutex::new(Vec::new());
        let mut deltas = Deltas::default();
        for chunk in chunks {
            deltas.add(chunk, &|text| heard.lock().unwrap().push(text.to_owned()))?;
        }
        Ok((deltas.finish()?.message, heard.into_inner().unwrap()))
    }

    fn calls(deltas: &[Value]) -> Value {
        let mut chunks: Vec<Value> = deltas
            .iter()
            .map(|delta| json!({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]}))
            .collect();
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
        let calls = put_together(&chunks).unwrap().0["tool_calls"].take();
        let brief =
            |call: &Value| json!([call["id"], call["function"]["name"], call["function"]["arguments"]]);
        calls.as_array().unwrap().iter().map(brief).collect()
    }

    #[test]
    fn calls_are_put_together_by_place() {
        let merged = calls(&[
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "F", "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{\"x\":"}}),
            json!({"index": 1, "id": "b", "function": {"name": "G", "arguments": "{}"}}),
            json!({"index": 0, "function": {"arguments": "1}"}}),
        ]);
        assert_eq!(merged, json!([["a", "F", "{\"x\":1}"], ["b", "G", "{}"]]));
    }

    #[test]
    fn calls_without_places_or_with_one_place_for_all_stay_apart() {
        let numbered = |index: Value| {
            calls(&[
                json!({"index": index, "id": "a", "function": {"name": "F", "arguments": {"x": 1}}}),
                json!({"index": index, "id": "b", "function": {"name": "F", "arguments": null}}),
                json!({"index": index, "id": "b", "function": {"name": "F", "arguments": "{\"y\":2}"}}),
            ])
        };
        let expect = json!([["a", "F", "{\"x\":1}"], ["b", "F", "{\"y\":2}"]]);
        assert_eq!(numbered(json!(0)), expect);
        assert_eq!(numbered(Value::Null), expect);
    }

    #[test]
    fn names_in_parts_and_calls_without_arguments_are_whole() {
        let merged = calls(&[
            json!({"index": 0, "id": "a", "function": {"name": "get_"}}),
            json!({"index": 0, "function": {"name": "time"}}),
        ]);
        assert_eq!(merged, json!([["a", "get_time", "{}"]]));
    }

    #[test]
    fn several_choices_and_keys_beyond_the_form_are_kept() {
        let call =
            json!({"index": 0, "id": "a", "function": {"name": "F"}, "extra_content": {"signature": "s"}});
        let (message, heard) = put_together(&[
            json!({"choices": [{"index": 1, "delta": {"content": " world", "tool_calls": [call]}}]}),
            json!({"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}),
        ])
        .unwrap();
        assert_eq!(message["content"], "hello world");
        assert_eq!(message["tool_calls"][0]["extra_content"], json!({"signature": "s"}));
        assert_eq!(heard, [" world", "hello"]);
    }

    #[test]
    fn errors_in_a_stream_keep_their_status() {
        let status = |error: Value| match put_together(&[json!({"error": error})]).unwrap_err() {
            Trouble::Status { status, .. } => status,
            other => panic!("{other:?}"),
        };
        assert_eq!(status(json!({"code": 503, "message": "x"})), 503);
        assert_eq!(status(json!({"code": "429", "message": "x"})), 429);
        assert_eq!(status(json!({"type": "rate_limit_error", "message": "x"})), 429);
        assert_eq!(status(json!("something")), 500);
    }

    #[test]
    fn a_stream_that_only_counts_is_no_reply() {
        assert!(put_together(&[json!({"choices": [], "usage": {"prompt_tokens": 1}})]).is_err());
        let many: Vec<Value> =
            (0..300).map(|index| json!({"choices": [{"index": index, "delta": {}}]})).collect();
        assert!(put_together(&many).is_err());
    }
}
