//! A tool in fewer words: full, compact, brief.
//!
//! Every form is a valid JSON schema that keeps the arguments' names and types and says which are required. It may
//! accept more than the author's schema does, never less, so that no right call becomes impossible.

use crate::tool_definition::{ToolDefinition, cut, first_sentence, function, no_arguments};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// How much is said of a tool, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// A short description, and the arguments' names and types.
    Brief,
    /// The first sentence, and the arguments without their descriptions.
    Compact,
    /// As the author wrote it.
    Full,
}

/// Description of a compact tool: one sentence, as authors write them.
const COMPACT_CHARS: usize = 160;

/// Description of a brief tool: enough to see what it is for.
const BRIEF_CHARS: usize = 80;

/// Choices that are listed in a compact form. Longer lists are mentioned instead: a list that is cut forbids the rest.
const CHOICES_MAX: usize = 12;

/// Characters of the mention of a long list.
const MENTION_CHARS: usize = 60;

/// Arguments of a brief tool beyond the required ones: the first are the ones that matter, and the others may be given.
const BRIEF_ARGUMENTS_MAX: usize = 4;

/// Schemas inside schemas that a compact form follows; what is deeper accepts anything.
const DEPTH_MAX: usize = 4;

/// A form larger than this is pathological: it would push out ten others.
const FORM_BYTES_MAX: usize = 4096;

impl Form {
    /// All forms, in their order.
    pub(super) const ALL: [Self; 3] = [Self::Brief, Self::Compact, Self::Full];

    /// The tool in this form; nothing when it is too large even so.
    pub(super) fn of(self, tool: &ToolDefinition) -> Option<Value> {
        let function = match self {
            Self::Full => tool.function(),
            Self::Compact => {
                let parameters = compact(&tool.parameters, DEPTH_MAX);
                function(&tool.name, &first_sentence(&tool.description, COMPACT_CHARS), or_none(parameters))
            }
            Self::Brief => function(&tool.name, &first_sentence(&tool.description, BRIEF_CHARS), brief(tool)),
        };
        (bytes(&function) <= FORM_BYTES_MAX).then_some(function)
    }
}

/// How long a value is as JSON.
pub(super) fn bytes(value: &Value) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).expect("a JSON value is written, and counting does not fail");
    counter.0
}

/// A schema without what only explains. Keys that refer to other places are dropped with those places.
fn compact(schema: &Value, depth: usize) -> Value {
    let Some(schema) = schema.as_object() else { return json!({}) };
    let mut kept = Map::new();
    if let Some(kind) = schema.get("type") {
        kept.insert("type".to_owned(), kind.clone());
    }
    if depth == 0 {
        return Value::Object(kept);
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let compacted =
            properties.iter().map(|(name, property)| (name.clone(), compact(property, depth - 1)));
        kept.insert("properties".to_owned(), Value::Object(compacted.collect()));
    }
    if let Some(items) = schema.get("items") {
        kept.insert("items".to_owned(), compact(items, depth - 1));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(several)) = schema.get(key) {
            // Several compacted schemas may accept the same value, which `oneOf` forbids.
            let compacted = several.iter().map(|one| compact(one, depth - 1)).collect();
            kept.insert("anyOf".to_owned(), Value::Array(compacted));
        }
    }
    if let Some(Value::Array(required)) = schema.get("required") {
        kept.insert("required".to_owned(), Value::Array(required.clone()));
    }
    if let Some(Value::Array(choices)) = schema.get("enum") {
        if choices.len() <= CHOICES_MAX {
            kept.insert("enum".to_owned(), Value::Array(choices.clone()));
        } else {
            kept.insert("description".to_owned(), Value::String(mention(choices)));
        }
    }
    Value::Object(kept)
}

fn mention(choices: &[Value]) -> String {
    let first: Vec<String> = choices
        .iter()
        .take(CHOICES_MAX)
        .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
        .collect();
    cut(&format!("one of {}", first.join(", ")), MENTION_CHARS)
}

/// The arguments' names and types alone: the required ones, and the first of the others.
fn brief(tool: &ToolDefinition) -> Value {
    let Some(properties) = tool.properties() else { return no_arguments() };
    let required = tool.required();
    let mut others_left = BRIEF_ARGUMENTS_MAX;
    let mut kept = Map::new();
    for (name, property) in properties {
        if !required.contains(&name.as_str()) {
            if others_left == 0 {
                continue;
            }
            others_left -= 1;
        }
        kept.insert(name.clone(), compact(property, 0));
        // Providers refuse a list that does not say of what.
        if property.get("type").is_some_and(|kind| kind == "array") {
            let items = property.get("items").map_or_else(|| json!({}), |items| compact(items, 0));
            kept[name.as_str()]["items"] = items;
        }
    }
    let required: Vec<&str> = required.into_iter().filter(|name| kept.contains_key(*name)).collect();
    let mut schema = json!({"type": "object", "properties": kept});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn or_none(schema: Value) -> Value {
    if schema.as_object().is_some_and(|schema| schema.contains_key("properties")) {
        schema
    } else {
        no_arguments()
    }
}
