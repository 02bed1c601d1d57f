//! What is asked of a model, in the words of the native contract; and a call, in the words of everybody else.

use roost_chat::Ask;
use roost_runtime::{GatewayQuestion, GatewaySaid, GatewayTool};
use serde_json::{Map, Value, json};

/// The question without its name and without whoever asks it.
pub(super) fn of(ask: Ask<'_>) -> GatewayQuestion {
    let option = |names: &[&str]| {
        let options = ask.options?;
        names.iter().find_map(|name| options.get(*name)).and_then(Value::as_f64)
    };
    let (system, said): (Vec<&Value>, Vec<&Value>) =
        ask.messages.iter().partition(|message| message["role"] == "system");
    let system: Vec<String> = system.into_iter().map(|message| text(&message["content"])).collect();
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the largest number")]
    let max_tokens = option(&["max_tokens", "max_completion_tokens"]).unwrap_or_default() as i32;
    GatewayQuestion {
        messages: said.into_iter().map(message).collect(),
        tools: ask.tools.iter().map(tool).collect(),
        max_tokens,
        temperature: option(&["temperature"]).unwrap_or_default(),
        system: system.join("\n\n"),
        ..GatewayQuestion::default()
    }
}

/// A call that an app wants, as every provider of models writes it; nothing when it is none.
pub(super) fn call(content: &str) -> Option<Value> {
    let call: Map<String, Value> = serde_json::from_str(content).ok()?;
    let name = call.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let arguments = match call.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = id.map_or_else(|| format!("call_{}", uuid::Uuid::new_v4().simple()), str::to_owned);
    Some(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
}

fn message(message: &Value) -> GatewaySaid {
    let calls = message["tool_calls"].as_array().filter(|calls| !calls.is_empty());
    let call = |call: &Value| {
        let function = &call["function"];
        json!({ "id": call["id"], "name": function["name"], "arguments": function["arguments"] })
    };
    GatewaySaid {
        role: text(&message["role"]),
        content: text(&message["content"]),
        tool_call_id: text(&message["tool_call_id"]),
        tool_calls: calls
            .map(|calls| Value::from_iter(calls.iter().map(call)).to_string())
            .unwrap_or_default(),
    }
}

fn tool(tool: &Value) -> GatewayTool {
    let function = &tool["function"];
    GatewayTool {
        name: text(&function["name"]),
        description: text(&function["description"]),
        schema: match &function["parameters"] {
            Value::Null => br#"{"type":"object"}"#.to_vec(),
            schema => schema.to_string().into_bytes(),
        },
    }
}

/// A text, which some clients send as a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{call, of};
    use roost_chat::{Ask, ToolList};
    use serde_json::json;

    #[test]
    fn every_message_is_forwarded_with_its_calls_and_results() {
        let messages = [
            json!({ "role": "system", "content": "Be kind." }),
            json!({ "role": "user", "content": [{ "type": "text", "text": "hi" }] }),
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "echo", "arguments": "{}" } },
                { "id": "b", "type": "function", "function": { "name": "echo", "arguments": "{\"x\":1}" } },
            ] }),
            json!({ "role": "tool", "tool_call_id": "a", "content": "one" }),
            json!({ "role": "tool", "tool_call_id": "b", "content": "two" }),
        ];
        let tools = ToolList::from(vec![json!({ "type": "function", "function": { "name": "echo" } })]);
        let options = json!({ "max_tokens": 7, "temperature": 0.5 });
        let ask =
            Ask { messages: &messages, tools: &tools, model: None, options: options.as_object(), user: None };
        let question = of(ask);
        assert_eq!(
            (question.system.as_str(), question.max_tokens, question.temperature),
            ("Be kind.", 7, 0.5)
        );
        let said: Vec<(&str, &str, &str)> = question
            .messages
            .iter()
            .map(|said| (said.role.as_str(), said.content.as_str(), said.tool_call_id.as_str()))
            .collect();
        assert_eq!(
            said,
            [("user", "hi", ""), ("assistant", "", ""), ("tool", "one", "a"), ("tool", "two", "b")]
        );
        assert_eq!(
            question.messages[1].tool_calls,
            r#"[{"id":"a","name":"echo","arguments":"{}"},{"id":"b","name":"echo","arguments":"{\"x\":1}"}]"#
        );
        assert_eq!((question.tools[0].name.as_str(), question.tools.len()), ("echo", 1));
    }

    #[test]
    fn a_call_is_read_with_arguments_as_text_or_as_an_object_and_nothing_else_is_one() {
        let read = |content: &str| call(content).map(|call| call["function"]["arguments"].clone());
        assert_eq!(read(r#"{"id":"1","name":"echo","arguments":"{\"a\":1}"}"#), Some(json!(r#"{"a":1}"#)));
        assert_eq!(read(r#"{"name":"echo","arguments":{"a":1}}"#), Some(json!(r#"{"a":1}"#)));
        assert_eq!(read(r#"{"name":"echo"}"#), Some(json!("{}")));
        for wrong in ["", "[", "[]", "{}", r#"{"name":""}"#, r#"{"name":1}"#] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
