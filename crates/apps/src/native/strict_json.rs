//! JSON in which every key stands once.
//!
//! Readers disagree about which of two equal keys counts, and some take keys that differ in case for equal. What is
//! signed and then read must mean one thing to all of them.

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use std::{collections::HashSet, fmt};

/// One object, and nothing after it.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice::<Strict>(bytes) {
        Ok(Strict(Value::Object(object))) => Ok(object),
        Ok(_) => Err("it is not an object".to_owned()),
        Err(error) => Err(shown(&error.to_string())),
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = access.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        let mut folded = HashSet::new();
        while let Some(key) = access.next_key::<String>()? {
            let Strict(value) = access.next_value()?;
            if !folded.insert(key.to_lowercase()) {
                return Err(A::Error::custom(format!("duplicate key `{}`", shown(&key))));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// A text from outside as it can be shown: one line, no control characters.
pub(super) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 120;
    text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn every_key_stands_once_at_every_depth() {
        assert!(object(br#"{"a": 1, "b": {"a": [null, true, -1, 2.5, "x"]}}"#).is_ok());
        for bad in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": 1, "A": 2}"#,
            r#"{"x": {"a": 1, "a": 1}}"#,
            r#"{"x": [{"a": 1, "\u0061": 1}]}"#,
        ] {
            assert!(object(bad.as_bytes()).unwrap_err().contains("duplicate key"), "{bad}");
        }
    }

    #[test]
    fn what_is_not_one_object_is_refused() {
        let deep = "[".repeat(100_000);
        for bad in ["", "[]", "1", "{} {}", "{}x", "\u{feff}{}", "{'a': 1}", "{\"a\": NaN}", &deep] {
            assert!(object(bad.as_bytes()).is_err(), "{}", &bad[..bad.len().min(20)]);
        }
        assert!(object(b"{\"a\": \"\xff\"}").is_err());
    }
}
