//! What a tool says of itself, piece by piece, each with how much it counts.
//!
//! Reads any JSON as a schema and stops at limits, so that one hundred-kilobyte schema costs no more than a long one.

use super::Described;
use serde_json::Value;

/// How much a word counts by where it stands. Names are chosen with care, descriptions of parameters at length.
const NAME: f32 = 3.0;
const FIRST_SENTENCE: f32 = 2.0;
const DESCRIPTION: f32 = 1.2;
const PARAMETER_NAME: f32 = 0.6;
const CHOICE: f32 = 0.6;
const PARAMETER_DESCRIPTION: f32 = 0.35;

/// Bytes of one tool's text that are read: ten times an ordinary tool, so that only pathological ones are cut.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Schemas inside schemas that are followed; deeper ones describe data, not purpose.
const DEPTH_MAX: usize = 4;

/// Gives every piece of text to `each`, with its weight.
pub(super) fn read<'a>(tool: &Described<'a>, mut each: impl FnMut(&'a str, f32)) {
    let mut left = TEXT_BYTES_MAX;
    let mut give = |text: &'a str, weight: f32| {
        let text = beginning(text, left);
        left -= text.len();
        if !text.is_empty() {
            each(text, weight);
        }
    };
    give(tool.name, NAME);
    let end = tool.description.find(". ").map_or(tool.description.len(), |at| at + 1);
    give(&tool.description[..end], FIRST_SENTENCE);
    give(&tool.description[end..], DESCRIPTION);
    read_schema(tool.parameters, DEPTH_MAX, &mut give);
}

fn read_schema<'a>(schema: &'a Value, depth: usize, give: &mut impl FnMut(&'a str, f32)) {
    if depth == 0 {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        give(name, PARAMETER_NAME);
        if let Some(description) = property.get("description").and_then(Value::as_str) {
            give(description, PARAMETER_DESCRIPTION);
        }
        let choices = property.get("enum").and_then(Value::as_array);
        for choice in choices.into_iter().flatten().filter_map(Value::as_str) {
            give(choice, CHOICE);
        }
        read_schema(property, depth - 1, give);
        if let Some(items) = property.get("items") {
            read_schema(items, depth - 1, give);
        }
    }
}

/// The longest beginning of a text that is no longer than this and splits no character.
pub(super) fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::{Described, TEXT_BYTES_MAX, read};
    use serde_json::json;

    #[test]
    fn every_part_of_a_tool_is_read() {
        let parameters = json!({"properties": {"when": {"description": "A day", "enum": ["today", 3]},
            "list": {"items": {"properties": {"inner": {"properties": 5}}}}}});
        let tool =
            Described { name: "Tides", description: "Shows tides. For sailors.", parameters: &parameters };
        let mut pieces = Vec::new();
        read(&tool, |text, _| pieces.push(text));
        assert_eq!(
            pieces,
            ["Tides", "Shows tides.", " For sailors.", "when", "A day", "today", "list", "inner"]
        );
    }

    #[test]
    fn a_huge_schema_is_read_up_to_the_limit() {
        let parameters = json!({"properties": {"a": {"description": "é".repeat(100_000)}}});
        let tool = Described { name: "Huge", description: "", parameters: &parameters };
        let mut bytes = 0;
        read(&tool, |text, _| bytes += text.len());
        assert!(bytes <= TEXT_BYTES_MAX && bytes > TEXT_BYTES_MAX - 8);
    }
}
