//! Arguments written as `key=value`, typed by the agent's schema.

use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value};

/// Reads `key=value` words. The schema says what type a value has; a key it does not know stays text.
pub fn arguments_from_words(words: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    for word in words {
        let Some((key, text)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Failure::new(Reason::BadArguments, format!("`{word}` is not key=value")));
        };
        let value = typed(key, text, &schema["properties"][key])?;
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(Failure::new(Reason::BadArguments, format!("`{key}` is given twice")));
        }
    }
    Ok(arguments)
}

fn typed(key: &str, text: &str, property: &Value) -> Result<Value, Failure> {
    let refuse =
        |kind: &str| Failure::new(Reason::BadArguments, format!("`{key}` must be {kind}, not `{text}`"));
    let value = match kind_of(property) {
        Some("integer") => text.parse::<i64>().map(Value::from).map_err(|_| refuse("a whole number"))?,
        Some("number") => number(text).ok_or_else(|| refuse("a number"))?,
        Some("boolean") => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Value::Bool(true),
            "false" | "no" | "off" | "0" => Value::Bool(false),
            _ => return Err(refuse("true or false")),
        },
        Some("array") => array(text, &property["items"]).ok_or_else(|| refuse("a list: a,b,c or JSON"))?,
        Some("object") => {
            serde_json::from_str(text).ok().filter(Value::is_object).ok_or_else(|| refuse("a JSON object"))?
        }
        Some("null") => Value::Null,
        _ => Value::from(text),
    };
    match property["enum"].as_array() {
        Some(allowed) if !allowed.contains(&value) => {
            let names: Vec<String> =
                allowed.iter().map(|one| one.as_str().map_or(one.to_string(), str::to_owned)).collect();
            Err(refuse(&format!("one of {}", names.join(", "))))
        }
        _ => Ok(value),
    }
}

/// The first type that is not null, of a single type or a list of them.
fn kind_of(property: &Value) -> Option<&str> {
    match &property["type"] {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
}

fn array(text: &str, items: &Value) -> Option<Value> {
    if text.starts_with('[') {
        return serde_json::from_str(text).ok().filter(Value::is_array);
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| typed("item", part, items).ok()).collect::<Option<Vec<_>>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::arguments_from_words;
    use serde_json::{Value, json};

    fn read(words: &[&str], properties: Value) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments_from_words(&words, &json!({ "type": "object", "properties": properties }))
            .map(Value::Object)
            .map_err(|failure| failure.message)
    }

    #[test]
    fn values_get_the_type_the_schema_states() {
        let properties = json!({
            "n": { "type": "integer" }, "x": { "type": "number" }, "b": { "type": "boolean" },
            "l": { "type": "array", "items": { "type": "integer" } }, "o": { "type": "object" },
            "s": { "type": "string" }, "m": { "type": ["null", "integer"] }
        });
        let words = ["n=3", "x=2.5", "b=yes", "l=1,2", r#"o={"a":1}"#, "s=007", "m=4", "other=5", "t=a=b"];
        let expected = json!({
            "n": 3, "x": 2.5, "b": true, "l": [1, 2], "o": { "a": 1 }, "s": "007", "m": 4, "other": "5", "t": "a=b"
        });
        assert_eq!(read(&words, properties), Ok(expected));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let properties =
            json!({ "n": { "type": "integer" }, "u": { "type": "string", "enum": ["km", "mi"] } });
        for (word, said) in [
            ("n=three", "`n` must be a whole number, not `three`"),
            ("u=yd", "`u` must be one of km, mi, not `yd`"),
            ("loose", "`loose` is not key=value"),
            ("=x", "`=x` is not key=value"),
        ] {
            assert_eq!(read(&[word], properties.clone()), Err(said.to_owned()));
        }
        assert_eq!(read(&["n=1", "n=2"], properties), Err("`n` is given twice".to_owned()));
    }
}
