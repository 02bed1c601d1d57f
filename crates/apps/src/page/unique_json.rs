//! JSON in which no key stands twice: where two readers would see two values, nothing is read.

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads a document. Nesting is limited by the parser itself.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice::<Unique>(bytes) {
        Ok(Unique(value)) => Ok(value),
        Err(error) if error.is_data() => Err(error.to_string()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfAnyKind).map(Self)
    }
}

struct OfAnyKind;

impl<'de> Visitor<'de> for OfAnyKind {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a JSON value")
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

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let Unique(value) = object.next_value()?;
            if values.contains_key(&key) {
                let key: String = key.chars().take(60).flat_map(char::escape_default).collect();
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        assert_eq!(
            parse(br#"{"a": [1, 2.5, null, true, "x"], "b": {}}"#).unwrap(),
            json!({"a": [1, 2.5, null, true, "x"], "b": {}})
        );
        for bad in [r#"{"a": 1, "a": 2}"#, r#"{"x": [{"a": 1, "a": 1}]}"#, r#"{"a": 1, "\u0061": 2}"#] {
            assert!(parse(bad.as_bytes()).unwrap_err().contains("stands twice"), "{bad}");
        }
        let deep = "[".repeat(100_000);
        for bad in ["", "{", "{} {}", "\u{feff}{}", &deep] {
            assert!(parse(bad.as_bytes()).unwrap_err().starts_with("it is not JSON"), "{bad:.20}");
        }
    }
}
