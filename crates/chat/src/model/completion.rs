//! Chat completions in OpenAI's form, which most providers speak: the request, the reply, and both ways to get it.
//!
//! Providers differ in address, headers and a few `Quirks`; everything about the form itself is here and in `deltas`.

use super::deltas::Deltas;
use super::events::{Event, EventReader};
use super::failed::Trouble;
use super::wire::{Answer, Target, Wire};
use super::{Ask, ModelFailure, OnPiece};
use crate::tool_list::ToolList;
use roost_protocol::ModelUse;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// What the host itself decides; a caller's options cannot change it.
const OWN_KEYS: &[&str] = &["model", "messages", "tools", "stream", "stream_options"];

/// An assistant's message and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Completion {
    pub(crate) message: Value,
    pub(crate) usage: ModelUse,
}

/// Where a provider's form differs from OpenAI's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quirks {
    /// Whether it can be asked to count tokens of a stream; older servers refuse the key.
    pub(super) counts_streams: bool,
}

/// Asks for one completion; streams when somebody listens.
pub(super) async fn complete(
    wire: &Wire,
    target: Target,
    model: &str,
    ask: Ask<'_>,
    on_piece: Option<OnPiece<'_>>,
    quirks: Quirks,
) -> Result<Completion, ModelFailure> {
    let body = request(model, ask, on_piece.is_some(), quirks);
    let completed = match on_piece {
        None => at_once(wire, &target, &body).await,
        Some(on_piece) => in_pieces(wire, &target, &body, on_piece).await,
    };
    completed.map_err(|trouble| trouble.of(model, target.secrets()))
}

async fn at_once(wire: &Wire, target: &Target, body: &Body<'_>) -> Result<Completion, Trouble> {
    whole(&wire.post_json(target, body).await?.json().await?)
}

async fn in_pieces(
    wire: &Wire,
    target: &Target,
    body: &Body<'_>,
    on_piece: OnPiece<'_>,
) -> Result<Completion, Trouble> {
    let answer = wire.post_json(&target.clone().accepting("text/event-stream"), body).await?;
    if !answer.is_json() {
        return streamed(answer, on_piece).await;
    }
    let completion = whole(&answer.json().await?)?;
    announce(&completion, on_piece);
    Ok(completion)
}

/// Gives the text of a reply that came at once to somebody who expects pieces.
pub(super) fn announce(completion: &Completion, on_piece: OnPiece<'_>) {
    if let Some(text) = completion.message["content"].as_str().filter(|text| !text.is_empty()) {
        on_piece(text);
    }
}

/// A request that borrows what may be long.
#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(serialize_with = "with_text")]
    messages: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a ToolList>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A message that only calls is sent with an empty text: some servers refuse one without any.
fn with_text<S: Serializer>(messages: &[Value], serializer: S) -> Result<S::Ok, S::Error> {
    let only_calls = |message: &Value| message.get("tool_calls").is_some() && message["content"].is_null();
    serializer.collect_seq(messages.iter().map(|message| {
        let mut message = Cow::Borrowed(message);
        if only_calls(&message) {
            message.to_mut()["content"] = Value::from("");
        }
        message
    }))
}

fn request<'a>(model: &'a str, ask: Ask<'a>, stream: bool, quirks: Quirks) -> Body<'a> {
    let mut rest = Map::new();
    // These models refuse the key.
    if !ask.tools.is_empty() && !model.contains("o1") {
        rest.insert("tool_choice".into(), "auto".into());
    }
    for (key, value) in ask.options.into_iter().flatten() {
        let needs_tools = key == "tool_choice" || key == "parallel_tool_calls";
        let has_place = !needs_tools || !ask.tools.is_empty();
        if has_place && !OWN_KEYS.contains(&key.as_str()) {
            rest.insert(key.clone(), value.clone());
        }
    }
    if stream {
        rest.insert("stream".into(), true.into());
        if quirks.counts_streams {
            rest.insert("stream_options".into(), json!({"include_usage": true}));
        }
    }
    Body { model, messages: ask.messages, tools: (!ask.tools.is_empty()).then_some(ask.tools), rest }
}

/// The reply in a whole body: all choices as one message.
fn whole(body: &Value) -> Result<Completion, Trouble> {
    let choices = body["choices"].as_array().filter(|choices| !choices.is_empty());
    let messages: Vec<&Map<String, Value>> =
        choices.into_iter().flatten().filter_map(|choice| choice["message"].as_object()).collect();
    let Some(first) = messages.first() else {
        return Err(Trouble::garbled("returned no choices", body.to_string()));
    };
    let text: String = messages.iter().map(|message| text_of(message.get("content"))).collect();
    let calls: Vec<Value> = messages
        .iter()
        .filter_map(|message| message.get("tool_calls")?.as_array())
        .flatten()
        .map(with_text_arguments)
        .collect();
    // Keys that say nothing are left out: some providers refuse them when the message is sent back.
    let said = first.iter().filter(|(_, value)| !value.is_null());
    let mut message: Map<String, Value> = said.map(|(key, value)| (key.clone(), value.clone())).collect();
    message.insert("role".into(), "assistant".into());
    complete_message(&mut message, text, calls);
    Ok(Completion { message: Value::Object(message), usage: usage(&body["usage"]) })
}

/// Sets text and calls; a message of calls alone has no text, and one without calls no empty list of them.
pub(super) fn complete_message(message: &mut Map<String, Value>, text: String, calls: Vec<Value>) {
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    message.insert("content".into(), content);
    if calls.is_empty() {
        message.remove("tool_calls");
    } else {
        message.insert("tool_calls".into(), calls.into());
    }
}

/// A message's text, which some servers send as a list of parts.
pub(super) fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// A call whose arguments are text, as the form has it, also where a server sends an object.
fn with_text_arguments(call: &Value) -> Value {
    let mut call = call.clone();
    if let Some(arguments) = call.pointer_mut("/function/arguments")
        && !arguments.is_string()
    {
        *arguments = if arguments.is_null() { "{}".into() } else { arguments.to_string().into() };
    }
    call
}

/// What one completion cost, as far as the provider says.
pub(super) fn usage(usage: &Value) -> ModelUse {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    ModelUse {
        completions: 1,
        prompt_tokens: count("/prompt_tokens"),
        cached_tokens: count("/prompt_tokens_details/cached_tokens"),
        completion_tokens: count("/completion_tokens"),
    }
}

async fn streamed(mut answer: Answer, on_piece: OnPiece<'_>) -> Result<Completion, Trouble> {
    let mut reader = EventReader::default();
    let mut deltas = Deltas::default();
    while let Some(bytes) = answer.piece().await? {
        let events = reader.feed(&bytes).map_err(|_| too_long())?;
        if take(events, &mut deltas, on_piece)? {
            return deltas.finish();
        }
    }
    let last = reader.end().map_err(|_| too_long())?;
    take(last.into_iter().collect(), &mut deltas, on_piece)?;
    deltas.finish()
}

/// Takes events until the one that says there are no more; answers whether it came.
fn take(events: Vec<Event>, deltas: &mut Deltas, on_piece: OnPiece<'_>) -> Result<bool, Trouble> {
    for event in events {
        if event.data.trim() == "[DONE]" {
            deltas.done();
            return Ok(true);
        }
        let Ok(chunk) = serde_json::from_str(&event.data) else {
            return Err(Trouble::garbled("streamed something that is not JSON", event.data));
        };
        deltas.add(&chunk, on_piece)?;
    }
    Ok(false)
}

pub(super) fn too_long() -> Trouble {
    Trouble::garbled("streamed an event larger than can be held", "")
}

#[cfg(test)]
mod tests {
    use super::{Quirks, request, whole};
    use crate::{model::Ask, tool_list::ToolList};
    use serde_json::{Value, json};

    fn asked(model: &str, tools: &[Value], options: &Value) -> Value {
        let messages = [json!({"role": "user", "content": "hi", "name": "kept"})];
        let tools = ToolList::from(tools.to_vec());
        let ask =
            Ask { messages: &messages, tools: &tools, model: None, options: options.as_object(), user: None };
        serde_json::to_value(request(model, ask, false, Quirks { counts_streams: true })).unwrap()
    }

    #[test]
    fn tools_are_chosen_freely_except_by_o1_and_left_out_when_there_are_none() {
        let tools = [json!({"type": "function"})];
        assert_eq!(asked("gpt-4o", &tools, &Value::Null)["tool_choice"], "auto");
        assert_eq!(asked("o1-mini", &tools, &Value::Null).get("tool_choice"), None);
        assert_eq!(asked("o1-mini", &tools, &Value::Null)["tools"], json!(tools));
        let plain = asked("gpt-4o", &[], &json!({"tool_choice": "none", "parallel_tool_calls": false}));
        let expect =
            json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi", "name": "kept"}]});
        assert_eq!(plain, expect);
    }

    #[test]
    fn a_message_that_only_calls_has_an_empty_text() {
        let messages = [
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}),
            json!({"role": "user", "content": null}),
        ];
        let tools = ToolList::none();
        let ask = Ask { messages: &messages, tools: &tools, model: None, options: None, user: None };
        let body = serde_json::to_value(request("m", ask, false, Quirks { counts_streams: true })).unwrap();
        assert_eq!(
            (&body["messages"][0]["content"], &body["messages"][1]["content"]),
            (&json!(""), &Value::Null)
        );
    }

    #[test]
    fn options_are_passed_on_and_cannot_take_over_the_request() {
        let options = json!({"temperature": 0.2, "model": "other", "stream": true, "messages": [], "tool_choice": "none"});
        let body = asked("m", &[json!({})], &options);
        assert_eq!(body["temperature"], 0.2);
        assert_eq!((&body["model"], &body["tool_choice"]), (&json!("m"), &json!("none")));
        assert_eq!((body.get("stream"), body["messages"].as_array().unwrap().len()), (None, 1));
    }

    #[test]
    fn several_choices_are_one_message() {
        let call =
            |id: &str| json!({"id": id, "type": "function", "function": {"name": "F", "arguments": "{}"}});
        let body = json!({"choices": [
            {"message": {"role": "assistant", "content": "Let me ", "refusal": null, "extra": 1}},
            {"message": {"role": "assistant", "content": "look.", "tool_calls": [call("a")]}},
            {"message": {"role": "assistant", "content": null, "tool_calls": [call("b")]}},
        ]});
        let expect = json!({
            "role": "assistant", "content": "Let me look.", "extra": 1, "tool_calls": [call("a"), call("b")],
        });
        assert_eq!(whole(&body).unwrap().message, expect);
    }

    #[track_caller]
    fn message(given: Value, expect: Value) {
        assert_eq!(whole(&json!({"choices": [{"message": given}]})).unwrap().message, expect);
    }

    #[test]
    fn forms_of_other_servers_become_the_usual_one() {
        message(
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "tool_calls": []}),
            json!({"content": "ab", "role": "assistant"}),
        );
        message(
            json!({"content": "", "tool_calls": [{"id": "1", "function": {"name": "F", "arguments": {"a": 1}}}]}),
            json!({
                "content": null, "role": "assistant",
                "tool_calls": [{"id": "1", "function": {"name": "F", "arguments": "{\"a\":1}"}}],
            }),
        );
    }

    #[test]
    fn a_body_without_choices_is_no_reply() {
        for body in
            [json!({}), json!([]), json!({"choices": []}), json!({"choices": "x"}), json!({"choices": [1]})]
        {
            assert!(whole(&body).is_err(), "{body}");
        }
    }
}
