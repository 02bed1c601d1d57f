//! Shapes that hold what is known and nothing else: bodies and queries of the sibling operations.
//!
//! What is wrong is said in our words: no message repeats what was sent.

use super::{address::Query, refusal::Refusal};
use axum::http::Uri;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData};

/// A JSON object of this shape. A list would otherwise be read as the fields in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyObjects<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyObjects<T> {
            type Value = T;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(OnlyObjects(PhantomData)).map(Self)
    }
}

/// The object in a body. Unknown and repeated names are refused by shapes that say so.
pub(crate) fn object_in<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice::<Object<T>>(bytes).map(|Object(value)| value).map_err(|error| {
        if !error.is_data() {
            return Refusal::invalid("body", "the body is not JSON");
        }
        Refusal::invalid("body", format!("the body is not as it must be: {}", our_words(&error.to_string())))
    })
}

/// What of a message is ours: the names of our fields, and what was expected.
fn our_words(message: &str) -> &str {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    if message.starts_with("missing field") || message.starts_with("duplicate field") {
        return message;
    }
    match message.rfind(", expected ") {
        Some(at) => &message[at + 2..],
        None => "a value is of another kind",
    }
}

/// The query of an address, which has no other names than these.
pub(crate) fn known_query(uri: &Uri, names: &[&str]) -> Result<Query, Refusal> {
    let query = Query::of(uri)?;
    if query.names().any(|name| !names.contains(&name)) {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Refusal::invalid("query", format!("the query has an unknown name; known are: {known}")));
    }
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::{known_query, object_in};
    use axum::{http::Uri, response::IntoResponse as _};
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        path: String,
        #[serde(default)]
        inner: Vec<super::Object<Inner>>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        number: i64,
    }

    fn read(text: &str) -> Result<Shape, String> {
        object_in(text.as_bytes()).map_err(|refusal| format!("{refusal:?}"))
    }

    #[test]
    fn only_objects_with_the_known_names_pass() {
        assert!(read(r#"{"path": "a", "inner": [{"number": 1}]}"#).is_ok());
        for bad in [
            "",
            "null",
            "[]",
            "\"a\"",
            r#"["a"]"#,
            "{}",
            r#"{"path": 1}"#,
            r#"{"path": null}"#,
            r#"{"path": "a", "path": "b"}"#,
            r#"{"path": "a", "secret-word": 1}"#,
            r#"{"path": "a"} x"#,
            r#"{"path": "a", "inner": [[1]]}"#,
            r#"{"path": "a", "inner": [{"number": "secret-word"}]}"#,
            r#"{"path": "\ud800"}"#,
            r#"{"path": "a", "inner": {"secret-word, expected nothing": 1}}"#,
        ] {
            let refused = read(bad).unwrap_err();
            assert!(!refused.contains("secret-word"), "{bad}: {refused}");
        }
    }

    #[test]
    fn a_query_has_no_unknown_names() {
        let uri: Uri = "/x?path=a%2Fb&limit=3".parse().unwrap();
        assert_eq!(known_query(&uri, &["path", "limit"]).unwrap().one("path").unwrap(), Some("a/b"));
        let refused = known_query(&uri, &["path"]).unwrap_err();
        assert_eq!(refused.into_response().status(), 400);
    }
}
