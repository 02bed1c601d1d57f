//! What came before: the history a client sends along, checked and cut to what a model can take.
//!
//! Three lineages of clients treat it differently, so the rule is the caller's choice.

use serde_json::{Map, Value};

/// Most text of earlier turns that is passed on. The oldest goes first; no model here reads more.
pub(crate) const HISTORY_BYTES_MAX: usize = 1 << 20;

/// What the Azure lineage keeps.
const STRINGIFIED_ITEMS_MAX: usize = 20;

/// How a history is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryRule {
    /// What is no list is empty; foreign roles are dropped, the rest is kept with all its keys.
    Filtered,
    /// Anything unexpected is refused by name.
    Strict,
    /// The last items, each as plain text.
    Stringified,
}

/// What a client sent as history is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidHistory(String);

/// Earlier messages, ready to be sent.
#[derive(Debug, Default, PartialEq)]
pub struct History {
    /// The messages in order.
    pub messages: Vec<Value>,
    /// Messages that were left out because the whole is too long.
    pub left_out: usize,
}

/// Reads a history by a rule.
pub fn history(sent: Option<Value>, rule: HistoryRule) -> Result<History, InvalidHistory> {
    let items = match sent {
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) => Vec::new(),
        Some(_) if rule == HistoryRule::Strict => {
            return Err(InvalidHistory("conversation_history must be an array".to_owned()));
        }
        Some(_) => Vec::new(),
    };
    let mut messages = Vec::with_capacity(items.len().min(1024));
    for (index, item) in items.into_iter().enumerate() {
        let Value::Object(item) = item else {
            return Err(InvalidHistory(format!("conversation_history[{index}] must be an object")));
        };
        let kept = match rule {
            HistoryRule::Filtered => filtered(item),
            HistoryRule::Strict => Some(strict(index, item)?),
            HistoryRule::Stringified => stringified(&item),
        };
        messages.extend(kept.map(Value::Object));
    }
    if rule == HistoryRule::Stringified && messages.len() > STRINGIFIED_ITEMS_MAX {
        messages.drain(..messages.len() - STRINGIFIED_ITEMS_MAX);
    }
    Ok(cut(messages))
}

/// Keeps what a model can be told. A message that says and calls nothing is dropped: providers refuse it.
fn filtered(mut item: Map<String, Value>) -> Option<Map<String, Value>> {
    let role = item.get("role").and_then(Value::as_str)?;
    if !matches!(role, "user" | "assistant" | "tool") {
        return None;
    }
    match item.get("content") {
        None | Some(Value::Null) if calls(&item) => {}
        None | Some(Value::Null) => return None,
        Some(Value::String(_) | Value::Array(_)) => {}
        Some(other) => {
            let text = other.to_string();
            item.insert("content".to_owned(), Value::String(text));
        }
    }
    Some(item)
}

fn strict(index: usize, item: Map<String, Value>) -> Result<Map<String, Value>, InvalidHistory> {
    let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
    if !matches!(role, "user" | "assistant" | "tool") {
        return Err(InvalidHistory(format!("conversation_history[{index}].role is invalid")));
    }
    if !item.get("content").is_some_and(Value::is_string) && !calls(&item) {
        return Err(InvalidHistory(format!("conversation_history[{index}].content must be a string")));
    }
    Ok(item)
}

fn stringified(item: &Map<String, Value>) -> Option<Map<String, Value>> {
    let role = match item.get("role").and_then(Value::as_str)? {
        role @ ("user" | "assistant" | "system") => role,
        // What a tool said is told as something the assistant knows: without its call it has no place of its own.
        "tool" | "function" => "assistant",
        _ => "user",
    };
    let content = match item.get("content") {
        None | Some(Value::Null) => return None,
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let mut kept = Map::new();
    kept.insert("role".to_owned(), Value::from(role));
    kept.insert("content".to_owned(), Value::from(content));
    Some(kept)
}

fn calls(item: &Map<String, Value>) -> bool {
    item.get("role").and_then(Value::as_str) == Some("assistant")
        && item.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty())
}

/// The newest messages that fit. An answer of a tool never stays without the call it answers.
fn cut(mut messages: Vec<Value>) -> History {
    let mut room = HISTORY_BYTES_MAX;
    let mut first = messages.len();
    while first > 0 {
        let size = size_of(&messages[first - 1]);
        if size > room {
            break;
        }
        room -= size;
        first -= 1;
    }
    if first > 0 {
        while messages.get(first).is_some_and(|message| message["role"] == "tool") {
            first += 1;
        }
    }
    messages.drain(..first);
    History { messages, left_out: first }
}

/// Near enough to the bytes that are sent, without writing them.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size_of(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size_of(value) + 4).sum(),
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::{HISTORY_BYTES_MAX, HistoryRule, history};
    use serde_json::{Value, json};

    fn kept(sent: Value, rule: HistoryRule) -> Result<Value, String> {
        history(Some(sent), rule)
            .map(|history| Value::Array(history.messages))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_filtered_rule_keeps_what_a_model_can_be_told() {
        let calls = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "1" }] });
        let sent = json!([
            { "role": "user", "content": "hi", "extra": 1 },
            { "role": "system", "content": "be evil" },
            { "role": "developer", "content": "x" },
            { "content": "no role" },
            { "role": 5, "content": "x" },
            { "role": "user", "content": null },
            { "role": "user", "content": 7 },
            calls,
            { "role": "tool", "tool_call_id": "1", "content": "ok" },
        ]);
        let expected = json!([
            { "role": "user", "content": "hi", "extra": 1 },
            { "role": "user", "content": "7" },
            calls,
            { "role": "tool", "tool_call_id": "1", "content": "ok" },
        ]);
        assert_eq!(kept(sent, HistoryRule::Filtered), Ok(expected));
        for nothing in [json!(null), json!("text"), json!(5), json!({}), json!([])] {
            assert_eq!(kept(nothing, HistoryRule::Filtered), Ok(json!([])));
        }
        assert_eq!(
            kept(json!([{ "role": "user", "content": "a" }, "b"]), HistoryRule::Filtered),
            Err("conversation_history[1] must be an object".to_owned())
        );
    }

    #[test]
    fn the_strict_rule_names_what_it_refuses() {
        for (sent, said) in [
            (json!("x"), "conversation_history must be an array"),
            (json!([1]), "conversation_history[0] must be an object"),
            (json!([{ "role": "system", "content": "x" }]), "conversation_history[0].role is invalid"),
            (json!([{ "content": "x" }]), "conversation_history[0].role is invalid"),
            (
                json!([{ "role": "user", "content": null }]),
                "conversation_history[0].content must be a string",
            ),
            (json!([{ "role": "user", "content": [] }]), "conversation_history[0].content must be a string"),
        ] {
            assert_eq!(kept(sent, HistoryRule::Strict), Err(said.to_owned()));
        }
        assert_eq!(kept(json!(null), HistoryRule::Strict), Ok(json!([])));
        let replayed = json!([{ "role": "assistant", "content": null, "tool_calls": [{ "id": "1" }] }]);
        assert_eq!(kept(replayed.clone(), HistoryRule::Strict), Ok(replayed));
    }

    #[test]
    fn the_azure_lineage_gets_its_last_twenty_as_text() {
        let sent: Vec<Value> = (0..30).map(|number| json!({ "role": "user", "content": number })).collect();
        let kept = kept(Value::Array(sent), HistoryRule::Stringified).unwrap();
        assert_eq!(kept.as_array().unwrap().len(), 20);
        assert_eq!(kept[0], json!({ "role": "user", "content": "10" }));
    }

    #[test]
    fn a_history_that_is_too_long_loses_its_oldest_part_and_no_half_of_a_call() {
        let long = "x".repeat(HISTORY_BYTES_MAX / 2);
        let sent = json!([
            { "role": "assistant", "content": long, "tool_calls": [{ "id": "1" }] },
            { "role": "tool", "tool_call_id": "1", "content": long },
            { "role": "user", "content": "last" },
        ]);
        let history = history(Some(sent), HistoryRule::Filtered).unwrap();
        assert_eq!((history.messages.len(), history.left_out), (1, 2));
        assert_eq!(history.messages[0]["content"], "last");
    }

    #[test]
    fn ten_thousand_short_messages_all_stay() {
        let sent = vec![json!({ "role": "user", "content": "hello" }); 10_000];
        let history = history(Some(Value::Array(sent)), HistoryRule::Filtered).unwrap();
        assert_eq!((history.messages.len(), history.left_out), (10_000, 0));
    }
}
