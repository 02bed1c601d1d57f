//! JSON as Python's library reads it, which is what the published validator and its users mean by JSON.
//!
//! It takes more than the standard: `NaN` and infinities, numbers of any size, half of a surrogate pair, and the last
//! of two equal keys. What a value here cannot hold is replaced by the nearest that can be: numbers beyond all bounds
//! by the largest, half a pair by U+FFFD.

use serde_json::{Map, Number, Value};

/// That library gives up at this depth.
const DEPTH_MAX: usize = 995;

/// Longest number that Python turns from text.
const DIGITS_MAX: usize = 4300;

/// Largest document. A value takes far more room than its text, and a manifest has a few hundred bytes.
const BYTES_MAX: usize = 256 << 10;

/// Reads a document, or says what is wrong with it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.len() > BYTES_MAX {
        return Err(format!("it has more than {BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    if text.starts_with('\u{feff}') {
        return Err("it begins with a byte order mark".to_owned());
    }
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value().ok_or(()).and_then(|value| {
        reader.skip_blanks();
        if reader.at == text.len() { Ok(value) } else { Err(()) }
    });
    value.map_err(|()| {
        if reader.depth > DEPTH_MAX {
            return "it is nested too deeply".to_owned();
        }
        let line =
            text.as_bytes()[..reader.at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("it is not JSON at line {line}")
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    /// Keeps what is open in a list of its own: a deep document must not need a deep stack.
    fn value(&mut self) -> Option<Value> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let mut done = match self.begin()? {
                Begun::Whole(value) => value,
                Begun::Inner(inner) => {
                    open.push(inner);
                    self.depth = open.len();
                    if self.depth > DEPTH_MAX {
                        return None;
                    }
                    continue;
                }
            };
            loop {
                let Some(outer) = open.last_mut() else { return Some(done) };
                let end = outer.take(done);
                self.skip_blanks();
                if self.take(b',') {
                    if let Open::Object(_, key) = outer {
                        *key = self.key()?;
                    }
                    break;
                }
                if !self.take(end) {
                    return None;
                }
                done = open.pop()?.into_value();
            }
        }
    }

    /// A value without others in it, or the beginning of one with others.
    fn begin(&mut self) -> Option<Begun> {
        self.skip_blanks();
        let whole = |value| Some(Begun::Whole(value));
        match self.peek()? {
            b'"' => whole(Value::String(self.string()?)),
            b'[' => {
                self.at += 1;
                self.skip_blanks();
                if self.take(b']') {
                    return whole(Value::Array(Vec::new()));
                }
                Some(Begun::Inner(Open::Array(Vec::new())))
            }
            b'{' => {
                self.at += 1;
                self.skip_blanks();
                if self.take(b'}') {
                    return whole(Value::Object(Map::new()));
                }
                Some(Begun::Inner(Open::Object(Map::new(), self.key()?)))
            }
            first => {
                let rest = &self.text[self.at..];
                if let Some(word) = WORDS.into_iter().find(|word| rest.starts_with(word)) {
                    self.at += word.len();
                    return whole(word_value(word));
                }
                if first == b'-' || first.is_ascii_digit() { whole(self.number()?) } else { None }
            }
        }
    }

    /// `"key":`
    fn key(&mut self) -> Option<String> {
        self.skip_blanks();
        let key = self.string()?;
        self.skip_blanks();
        self.take(b':').then_some(key)
    }

    fn string(&mut self) -> Option<String> {
        if !self.take(b'"') {
            return None;
        }
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(text);
                }
                b'\\' => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                let after = self.at;
                if (0xd800..0xdc00).contains(&high)
                    && self.take(b'\\')
                    && self.take(b'u')
                    && let Some(low) = self.unit().filter(|low| (0xdc00..0xe000).contains(low))
                {
                    return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                }
                // What follows half a pair is read on its own.
                self.at = after;
                char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return None;
        }
        let mut is_whole = true;
        for (mark, may_be_signed) in [(b'.', false), (b'e', true)] {
            let before = self.at;
            let is_there = self.take(mark) || (mark == b'e' && self.take(b'E'));
            if is_there && may_be_signed && !self.take(b'-') {
                self.take(b'+');
            }
            if is_there && self.digits() > 0 {
                is_whole = false;
            } else {
                self.at = before;
            }
        }
        let text = &self.text[start..self.at];
        if is_whole && text.len() > DIGITS_MAX {
            return None;
        }
        let whole = if is_whole { text.parse::<i64>().ok().map(Number::from) } else { None };
        let number = whole.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64));
        Some(number.map_or_else(|| largest(text.starts_with('-')), Value::Number))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }
}

const WORDS: [&str; 6] = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];

fn word_value(word: &str) -> Value {
    match word {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => largest(word.starts_with('-')),
    }
}

/// A list or object whose end was not seen yet.
enum Open {
    Array(Vec<Value>),
    /// With the key whose value comes next.
    Object(Map<String, Value>, String),
}

enum Begun {
    Whole(Value),
    Inner(Open),
}

impl Open {
    /// Adds a value, and says by which character this one ends.
    fn take(&mut self, value: Value) -> u8 {
        match self {
            Self::Array(items) => {
                items.push(value);
                b']'
            }
            Self::Object(fields, key) => {
                fields.insert(std::mem::take(key), value);
                b'}'
            }
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Array(items) => Value::Array(items),
            Self::Object(fields, _) => Value::Object(fields),
        }
    }
}

fn largest(is_negative: bool) -> Value {
    Value::from(if is_negative { f64::MIN } else { f64::MAX })
}

/// True for what Python takes as true.
pub(crate) fn is_truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    #[test]
    fn what_python_takes_is_taken() {
        for (text, expected) in [
            ("{}", json!({})),
            (" [1, -2.5, 1e2, \"a\\u00e9\\n\", true, null] ", json!([1, -2.5, 100.0, "aé\n", true, null])),
            (r#"{"a": 1, "b": 2, "a": 3}"#, json!({ "a": 3, "b": 2 })),
            (r#""\ud83d\ude00""#, json!("😀")),
            (r#""\ud83dx""#, json!("\u{fffd}x")),
            (r#""\ud83d\u0041""#, json!("\u{fffd}A")),
            (r#""\udc00""#, json!("\u{fffd}")),
            ("NaN", json!(f64::MAX)),
            ("[-Infinity]", json!([f64::MIN])),
            ("1e999", json!(f64::MAX)),
            ("-0", json!(0)),
            ("123456789012345678901234567890", json!(123_456_789_012_345_678_901_234_567_890_f64)),
            ("\"\u{7f}\u{2028}\"", json!("\u{7f}\u{2028}")),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(expected), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(995), "]".repeat(995));
        assert!(parse(deep.as_bytes()).is_ok());
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{'a': 1}",
            "{a: 1}",
            "01",
            "1.",
            ".5",
            "+1",
            "- 1",
            "1e",
            "nan",
            "\"a",
            "\"a\nb\"",
            "\"\\x41\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "[1 2]",
            "{} {}",
            "\u{feff}{}",
            "-",
            "True",
            "{\"a\"}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert_eq!(parse(b"{\n\"a\": x}").unwrap_err(), "it is not JSON at line 2");
        assert_eq!(parse("[".repeat(5000).as_bytes()).unwrap_err(), "it is nested too deeply");
        assert!(parse("1".repeat(5000).as_bytes()).is_err());
    }
}
