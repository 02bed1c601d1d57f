//! A question in the usual form, as Anthropic takes it: system apart, results of tools as words of the user.
//!
//! Anthropic refuses keys it does not know, so options are translated one by one and the others left out.

use crate::model::Ask;
use crate::model::completion::text_of;
use serde_json::{Map, Value, json};

/// Anthropic wants a limit on every answer; all models in use allow this one.
const ANSWER_TOKENS_MAX: u64 = 8192;

/// Options that are called the same on both sides.
const SAME_OPTIONS: &[&str] = &["top_p", "top_k", "metadata", "service_tier"];

pub(super) fn request(model: &str, ask: Ask<'_>, stream: bool) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("max_tokens".into(), ANSWER_TOKENS_MAX.into());
    let system = system(ask.messages);
    if !system.is_empty() {
        // Marked to be kept: tools and system stay the same over a conversation, and are most of a request.
        let block = json!({"type": "text", "text": system, "cache_control": {"type": "ephemeral"}});
        body.insert("system".into(), vec![block].into());
    }
    body.insert("messages".into(), messages(ask.messages).into());
    if !ask.tools.is_empty() {
        body.insert("tools".into(), ask.tools.iter().map(tool).collect());
        body.insert("tool_choice".into(), json!({"type": "auto"}));
    }
    if let Some(options) = ask.options {
        add_options(&mut body, options);
    }
    if stream {
        body.insert("stream".into(), true.into());
    }
    Value::Object(body)
}

fn system(messages: &[Value]) -> String {
    let is_system = |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
    let texts = messages.iter().filter(is_system).map(|message| text_of(message.get("content")));
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The conversation in turns: neighbours of the same role become one, because results of tools must stand together.
fn messages(given: &[Value]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in given {
        let (role, blocks) = match message["role"].as_str() {
            Some("user") => ("user", content(&message["content"])),
            Some("assistant") => ("assistant", assistant(message)),
            Some("tool") => ("user", vec![tool_result(message)]),
            _ => continue,
        };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            // Anthropic refuses a message without content.
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn content(given: &Value) -> Vec<Value> {
    match given {
        Value::String(text) => text_block(text).into_iter().collect(),
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(given: &Value) -> Option<Value> {
    match given["type"].as_str()? {
        "text" => text_block(given["text"].as_str()?),
        "image_url" => {
            let url = given["image_url"]["url"].as_str()?;
            let source = match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
                Some((kind, data)) => json!({"type": "base64", "media_type": kind, "data": data}),
                None => json!({"type": "url", "url": url}),
            };
            Some(json!({"type": "image", "source": source}))
        }
        _ => None,
    }
}

/// Anthropic refuses text that is empty or only white space.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn assistant(message: &Value) -> Vec<Value> {
    let mut blocks = content(&message["content"]);
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let (Some(id), Some(name)) = (call["id"].as_str(), call["function"]["name"].as_str()) else {
            continue;
        };
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let input =
            serde_json::from_str(arguments).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
        blocks.push(json!({"type": "tool_use", "id": safe_id(id), "name": name, "input": input}));
    }
    blocks
}

fn tool_result(message: &Value) -> Value {
    let id = safe_id(message["tool_call_id"].as_str().unwrap_or_default());
    json!({"type": "tool_result", "tool_use_id": id, "content": text_of(message.get("content"))})
}

/// An id in Anthropic's alphabet; a call and its result are changed alike.
fn safe_id(id: &str) -> String {
    let safe =
        |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    id.chars().map(safe).collect()
}

fn tool(given: &Value) -> Value {
    let function = &given["function"];
    let schema = if function["parameters"].is_object() {
        function["parameters"].clone()
    } else {
        json!({"type": "object", "properties": {}})
    };
    let description = function["description"].as_str().unwrap_or_default();
    json!({"name": function["name"], "description": description, "input_schema": schema})
}

fn add_options(body: &mut Map<String, Value>, options: &Map<String, Value>) {
    for (key, value) in options {
        match key.as_str() {
            "max_tokens" | "max_completion_tokens" if value.is_u64() => {
                body.insert("max_tokens".into(), value.clone());
            }
            "temperature" => {
                // OpenAI goes up to two.
                let temperature = value.as_f64().map(|given| given.clamp(0.0, 1.0));
                body.insert("temperature".into(), temperature.into());
            }
            "stop" if value.is_string() => {
                body.insert("stop_sequences".into(), vec![value.clone()].into());
            }
            "stop" if value.is_array() => {
                body.insert("stop_sequences".into(), value.clone());
            }
            "tool_choice" if body.contains_key("tools") => {
                body.insert("tool_choice".into(), tool_choice(value));
            }
            same if SAME_OPTIONS.contains(&same) && !value.is_null() => {
                body.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
}

fn tool_choice(given: &Value) -> Value {
    match given.as_str() {
        Some("none") => json!({"type": "none"}),
        Some("required") => json!({"type": "any"}),
        Some(_) => json!({"type": "auto"}),
        None => match given["function"]["name"].as_str() {
            Some(name) => json!({"type": "tool", "name": name}),
            None => json!({"type": "auto"}),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::request;
    use crate::model::Ask;
    use crate::tool_list::ToolList;
    use serde_json::{Value, json};

    fn asked(messages: &[Value], tools: &[Value], options: &Value) -> Value {
        let tools = ToolList::from(tools.to_vec());
        request(
            "claude",
            Ask { messages, tools: &tools, model: None, options: options.as_object(), user: None },
            false,
        )
    }

    #[test]
    fn results_of_tools_stand_together_after_their_calls() {
        let call =
            |id: &str, arguments: &str| json!({"id": id, "function": {"name": "F", "arguments": arguments}});
        let messages = [
            json!({"role": "system", "content": "Be kind."}),
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": null, "tool_calls": [call("a.1", "{\"x\":1}"), call("b", "broken")]}),
            json!({"role": "tool", "tool_call_id": "a.1", "name": "F", "content": "one"}),
            json!({"role": "tool", "tool_call_id": "b", "content": ""}),
            json!({"role": "user", "content": "and?"}),
            json!({"role": "assistant", "content": "  "}),
        ];
        let body = asked(&messages, &[], &Value::Null);
        let expect = json!([
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a_1", "name": "F", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "F", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a_1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "b", "content": ""},
                {"type": "text", "text": "and?"},
            ]},
        ]);
        assert_eq!(body["messages"], expect);
        assert_eq!(body["system"][0]["text"], "Be kind.");
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    }

    #[test]
    fn tools_and_options_are_translated_and_the_others_left_out() {
        let tools = [json!({"type": "function", "function": {"name": "F"}})];
        let options = json!({
            "temperature": 1.5, "max_completion_tokens": 5, "stop": "x", "seed": 1, "top_p": 0.5,
            "tool_choice": {"type": "function", "function": {"name": "F"}}, "response_format": {"type": "text"},
        });
        let expect = json!({
            "model": "claude", "max_tokens": 5, "messages": [], "temperature": 1.0, "stop_sequences": ["x"],
            "top_p": 0.5, "tool_choice": {"type": "tool", "name": "F"},
            "tools": [{"name": "F", "description": "", "input_schema": {"type": "object", "properties": {}}}],
        });
        assert_eq!(asked(&[], &tools, &options), expect);
    }

    #[test]
    fn pictures_are_translated() {
        let picture = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
        let parts =
            json!([picture("data:image/png;base64,AAAA"), picture("https://x/y.png"), {"type": "odd"}]);
        let body = asked(&[json!({"role": "user", "content": parts})], &[], &Value::Null);
        let expect = json!([
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        ]);
        assert_eq!(body["messages"][0]["content"], expect);
    }
}
