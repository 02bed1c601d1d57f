//! Strings and numbers as JSON writes them, with the bounds that a grammar can hold cheaply.
//!
//! Bounds that are left out here stay with whoever checks the arguments: a grammar only makes mistakes rarer.

use super::rules::{Rules, literal};
use crate::limits::{GRAMMAR_REPETITIONS_MAX, INTEGER_ALTERNATIVES_MAX};
use serde_json::{Map, Value};

/// A string of the schema's length or format. Patterns are not followed.
pub(crate) fn string(rules: &mut Rules, schema: &Map<String, Value>) -> String {
    if let Some(text) =
        schema.get("format").and_then(Value::as_str).and_then(|format| formatted(rules, format))
    {
        return text;
    }
    let character = character(rules);
    let minimum = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let maximum = schema.get("maxLength").and_then(Value::as_u64);
    let body = format!("\"\\\"\" {character}{} \"\\\"\"", repetition(minimum, maximum));
    rules.add("string", body)
}

/// How often something stands, without the bounds that would be costly.
pub(crate) fn repetition(minimum: u64, maximum: Option<u64>) -> String {
    let minimum = minimum.min(GRAMMAR_REPETITIONS_MAX);
    match maximum.filter(|maximum| *maximum <= GRAMMAR_REPETITIONS_MAX && *maximum >= minimum) {
        Some(maximum) => format!("{{{minimum},{maximum}}}"),
        None if minimum == 0 => "*".to_owned(),
        None => format!("{{{minimum},}}"),
    }
}

/// An integer: one of a short range, or one with the sign that the bounds allow.
pub(crate) fn integer(rules: &mut Rules, schema: &Map<String, Value>) -> String {
    let minimum = lowest(schema);
    if let (Some(minimum), Some(maximum)) = (minimum, highest(schema))
        && maximum >= minimum
        && maximum.saturating_sub(minimum) < INTEGER_ALTERNATIVES_MAX
    {
        let all: Vec<_> = (minimum..=maximum).map(|number| literal(&number.to_string())).collect();
        return rules.add("integer", all.join(" | "));
    }
    let body = match minimum {
        Some(1..) => "[1-9] [0-9]{0,14}",
        Some(0) => "\"0\" | [1-9] [0-9]{0,14}",
        _ => "\"-\"? (\"0\" | [1-9] [0-9]{0,14})",
    };
    rules.add("integer", body.to_owned())
}

/// A number without an exponent, which models misuse more often than they need it.
pub(crate) fn number(rules: &mut Rules, schema: &Map<String, Value>) -> String {
    let positive = schema.get("minimum").or_else(|| schema.get("exclusiveMinimum")).and_then(Value::as_f64);
    let sign = if positive.is_some_and(|minimum| minimum >= 0.0) { "" } else { "\"-\"? " };
    rules.add("number", format!("{sign}(\"0\" | [1-9] [0-9]{{0,14}}) (\".\" [0-9]{{1,15}})?"))
}

fn lowest(schema: &Map<String, Value>) -> Option<i64> {
    let inclusive = schema.get("minimum").and_then(Value::as_i64);
    inclusive.or_else(|| {
        schema.get("exclusiveMinimum").and_then(Value::as_i64).map(|bound| bound.saturating_add(1))
    })
}

fn highest(schema: &Map<String, Value>) -> Option<i64> {
    let inclusive = schema.get("maximum").and_then(Value::as_i64);
    inclusive.or_else(|| {
        schema.get("exclusiveMaximum").and_then(Value::as_i64).map(|bound| bound.saturating_sub(1))
    })
}

/// One character of a string, or one escape. Escapes of half a surrogate pair are not JSON and are left out.
fn character(rules: &mut Rules) -> String {
    let escape = "[\"\\\\/bfnrt] | \"u\" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2})";
    rules.add("char", format!("[^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" ({escape})"))
}

fn formatted(rules: &mut Rules, format: &str) -> Option<String> {
    let date = "[0-9]{4} \"-\" (\"0\" [1-9] | \"1\" [0-2]) \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01])";
    let time = "([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9]";
    let zone = "(\"Z\" | [+-] [01] [0-9] \":\" [0-5] [0-9])";
    let hex = "[0-9a-f]";
    let body = match format {
        "date" => date.to_owned(),
        "time" => format!("{time} {zone}"),
        "date-time" => format!("{date} \"T\" {time} {zone}"),
        "uuid" => format!("{hex}{{8}} \"-\" {hex}{{4}} \"-\" {hex}{{4}} \"-\" {hex}{{4}} \"-\" {hex}{{12}}"),
        _ => return None,
    };
    Some(rules.add("format", format!("\"\\\"\" {body} \"\\\"\"")))
}
