//! JSON as Python prints it: one line, a space after each comma and colon.
//!
//! Models were trained on tool lists and calls that were printed this way, so prompts, grammars and calls all use it.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Prints `value` on one line, with the spaces that Python puts.
pub(crate) fn spaced(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut serializer).expect("a JSON value always prints into memory");
    String::from_utf8(bytes).expect("JSON is printed as UTF-8")
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prints_as_python_does() {
        let value = json!({"a": [1, 2, {}], "ä": "<b>\n"});
        assert_eq!(spaced(&value), r#"{"a": [1, 2, {}], "ä": "<b>\n"}"#);
    }
}
