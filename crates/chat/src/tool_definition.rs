//! What a model is told of a tool: a name, a description and the JSON schema of its arguments.
//!
//! Authors write all three, so nothing is believed of them: a schema may be missing, of another shape, or huge.

use crate::ranking::Described;
use serde_json::{Map, Value, json};

/// A tool as its author describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// What a model calls it by.
    pub name: String,
    /// What it does, in its author's words.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

impl ToolDefinition {
    /// The parts that say what a tool is for.
    #[must_use]
    pub fn described(&self) -> Described<'_> {
        Described { name: &self.name, description: &self.description, parameters: &self.parameters }
    }

    /// The tool in the form of OpenAI's functions, nothing left out. Providers refuse a schema that is no object,
    /// so such a one becomes the schema of no arguments.
    #[must_use]
    pub fn function(&self) -> Value {
        let parameters = if self.parameters.is_object() { self.parameters.clone() } else { no_arguments() };
        function(&self.name, &self.description, parameters)
    }

    /// The arguments by name, as the schema describes them.
    pub(crate) fn properties(&self) -> Option<&Map<String, Value>> {
        self.parameters.get("properties").and_then(Value::as_object)
    }

    /// The names of the arguments that must be given.
    pub(crate) fn required(&self) -> Vec<&str> {
        let list = self.parameters.get("required").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// A function as OpenAI writes it.
pub(crate) fn function(name: &str, description: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// The schema of a tool without arguments.
pub(crate) fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}})
}

/// What type a schema gives: the first of several, and text when it does not say.
pub(crate) fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("string")
        }
        _ => "string",
    }
}

/// The first sentence of a text, cut at a word when it is longer than `chars_max`. Line breaks become spaces.
pub(crate) fn first_sentence(text: &str, chars_max: usize) -> String {
    let mut sentence = String::new();
    for word in text.split_whitespace() {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
        // A short word before the stop is mostly an abbreviation ("e.g.", "No.").
        if word.ends_with(['.', '!', '?', '。']) && word.chars().count() > 4 {
            break;
        }
        if sentence.len() > chars_max * 4 {
            break;
        }
    }
    cut(&sentence, chars_max)
}

/// A text of at most `chars_max` characters, cut at a word where there is one, with an ellipsis when cut.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    let whole = kept.rfind(' ').filter(|at| *at > kept.len() / 2).map_or(kept.as_str(), |at| &kept[..at]);
    format!("{}…", whole.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{ToolDefinition, cut, first_sentence, type_of};
    use serde_json::json;

    #[test]
    fn first_sentence_ends_at_its_stop_and_not_at_an_abbreviation() {
        let text = "Converts amounts,\n e.g. dollars to euros. Uses daily rates.";
        assert_eq!(first_sentence(text, 160), "Converts amounts, e.g. dollars to euros.");
        assert_eq!(first_sentence("one two three four", 12), "one two…");
        assert_eq!(first_sentence("", 12), "");
    }

    #[test]
    fn cutting_never_splits_a_character() {
        assert_eq!(cut("日本語日本語", 4), "日本語…");
        assert_eq!(cut("short", 5), "short");
    }

    #[test]
    fn a_schema_of_another_shape_becomes_the_schema_of_no_arguments() {
        let tool = ToolDefinition { name: "A".into(), description: String::new(), parameters: json!("none") };
        assert_eq!(tool.function()["function"]["parameters"], json!({"type": "object", "properties": {}}));
        assert!(tool.properties().is_none() && tool.required().is_empty());
    }

    #[test]
    fn the_type_of_an_optional_value_is_not_null() {
        assert_eq!(type_of(&json!({"type": ["null", "integer"]})), "integer");
        assert_eq!(type_of(&json!({})), "string");
    }
}
