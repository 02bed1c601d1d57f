//! The ways in which programs write a text inside another: as it is, in JSON, in a URL, in base64 and in
//! hexadecimal.
//!
//! Each way is one of some program that exists; spellings that mix two of them (`%2f` beside `%2F`) are not
//! here, nor is base64 broken into lines.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use std::{collections::BTreeSet, fmt::Write as _};

/// Every spelling of a value, the value itself included.
pub(super) fn all(value: &str) -> BTreeSet<String> {
    let mut spellings = BTreeSet::from([value.to_owned()]);
    spellings.extend([hex::encode(value), hex::encode_upper(value)]);
    add_json(&mut spellings, value);
    add_url(&mut spellings, value);
    add_base64(&mut spellings, value.as_bytes());
    spellings
}

#[derive(Clone, Copy)]
enum Digits {
    Lower,
    Upper,
}

const DIGITS: [Digits; 2] = [Digits::Lower, Digits::Upper];

/// Which characters a writer of JSON gives as `\uXXXX` though it need not.
const JSON_ESCAPED: [fn(char) -> bool; 6] = [
    |_| false,
    // Python and everything else that writes ASCII only.
    |character| !character.is_ascii() || character == '\x7f',
    // Go, which keeps HTML safe, and PHP, which can.
    |character| matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
    |character| matches!(character, '<' | '>' | '&' | '\'') || !character.is_ascii(),
    // .NET.
    |character| {
        matches!(character, '<' | '>' | '&' | '\'' | '"' | '+' | '`' | '\x7f') || !character.is_ascii()
    },
    |_| true,
];

fn add_json(spellings: &mut BTreeSet<String>, value: &str) {
    for escaped in JSON_ESCAPED {
        for digits in DIGITS {
            let json = json_escape(value, escaped, digits);
            // PHP and old JavaScript put a backslash before a slash.
            spellings.insert(json.replace('/', "\\/"));
            spellings.insert(json);
        }
    }
    // The arguments of a tool call are JSON inside a string of JSON.
    for escaped in &JSON_ESCAPED[..2] {
        let inner = json_escape(value, *escaped, Digits::Lower);
        spellings.insert(json_escape(&inner, |_| false, Digits::Lower));
    }
}

/// The value as it stands between the quotes of a JSON string.
fn json_escape(value: &str, escaped: fn(char) -> bool, digits: Digits) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            _ if escaped(character) => push_code_units(&mut text, character, digits),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\x08' => text.push_str("\\b"),
            '\x0c' => text.push_str("\\f"),
            '\0'..='\x1f' => push_code_units(&mut text, character, digits),
            _ => text.push(character),
        }
    }
    text
}

fn push_code_units(text: &mut String, character: char, digits: Digits) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        match digits {
            Digits::Lower => write!(text, "\\u{unit:04x}"),
            Digits::Upper => write!(text, "\\u{unit:04X}"),
        }
        .expect("a string takes all text");
    }
}

/// Which bytes besides letters and digits stay as they are in a URL.
const URL_KEPT: [&[u8]; 8] = [
    // RFC 3986, and Python's `quote_plus`.
    b"-._~",
    // Python's `quote`, which is made for paths.
    b"-._~/",
    // JavaScript's `encodeURIComponent`.
    b"-._~!*'()",
    // JavaScript's `encodeURI`.
    b"-._~!*'();,/?:@&=+$#",
    // Forms, as browsers and Java send them.
    b"-._*",
    // PHP's `urlencode`.
    b"-._",
    // A path and a query as browsers leave them when somebody typed them.
    b"-._~!*'();,/:@&=+$%|[]",
    b"-._~!*();,/?:@&=+$%|[]\\^`{}",
];

fn add_url(spellings: &mut BTreeSet<String>, value: &str) {
    for digits in DIGITS {
        for kept in URL_KEPT {
            let keep = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
            for space in ["%20", "+"] {
                spellings.insert(url_escape(value, keep, space, digits));
            }
        }
        spellings.insert(url_escape(value, |_| false, "%20", digits));
    }
}

fn url_escape(value: &str, keep: impl Fn(u8) -> bool, space: &str, digits: Digits) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match digits {
            _ if byte == b' ' => write!(text, "{space}"),
            _ if keep(byte) => write!(text, "{}", char::from(byte)),
            Digits::Lower => write!(text, "%{byte:02x}"),
            Digits::Upper => write!(text, "%{byte:02X}"),
        }
        .expect("a string takes all text");
    }
    text
}

/// Base64 of longer contents that hold the value: it may begin at any of three places within a group of three
/// bytes.
///
/// Characters that also depend on the bytes around the value cannot be known. They stay, and with them at
/// most four bits of the value at each of its ends.
fn add_base64(spellings: &mut BTreeSet<String>, value: &[u8]) {
    for bytes_before in 0..3 {
        let content = [&[0; 2][..bytes_before], value].concat();
        let first_known = (bytes_before * 8).div_ceil(6);
        let known_end = content.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&content);
            let padding = "=".repeat((4 - encoded.len() % 4) % 4);
            // Where the content goes on, where it ends, and where its end is padded.
            let known = encoded[first_known..known_end].to_owned();
            let last = encoded[first_known..].to_owned();
            let padded = format!("{last}{padding}");
            for text in [known, last, padded] {
                for digits in DIGITS {
                    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                    spellings.insert(url_escape(&text, keep, "%20", digits));
                }
                spellings.insert(text.replace('/', "\\/"));
                spellings.insert(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::all;

    #[track_caller]
    fn check(value: &str, expect: &[&str]) {
        let spellings = all(value);
        for text in expect {
            assert!(spellings.contains(*text), "{text} is not among {spellings:#?}");
        }
    }

    #[test]
    fn json_is_spelled_as_different_programs_do() {
        check(
            "a\"b\\c/d\n<é>",
            &[
                r#"a\"b\\c/d\n<é>"#,
                r#"a\"b\\c\/d\n<é>"#,
                r#"a\"b\\c/d\n<\u00e9>"#,
                r#"a\"b\\c\/d\n<\u00E9>"#,
                r#"a\"b\\c/d\n\u003cé\u003e"#,
                r#"a\u0022b\\c/d\n\u003C\u00E9\u003E"#,
                r#"a\\\"b\\\\c/d\\n<é>"#,
                r#"a\\\"b\\\\c/d\\n<\\u00e9>"#,
            ],
        );
        check("🔑", &[r"\ud83d\udd11", r"\uD83D\uDD11"]);
        check("ab", &[r"\u0061\u0062"]);
    }

    #[test]
    fn urls_are_spelled_as_different_programs_do() {
        check(
            "a b/c!é~*",
            &[
                "a%20b%2Fc%21%C3%A9~%2A",
                "a+b%2fc%21%c3%a9~%2a",
                "a%20b/c%21%C3%A9~%2A",
                "a%20b%2Fc!%C3%A9~*",
                "a+b%2Fc%21%C3%A9%7E*",
                "a%20b/c!%C3%A9~*",
                "%61%20%62%2F%63%21%C3%A9%7E%2A",
            ],
        );
    }

    #[test]
    fn base64_is_spelled_at_three_places_in_two_alphabets() {
        check("\u{3e}\u{3f}abc", &["Pj9hYmM", "Pj9hYmM=", "Pj9hYm"]);
        check("??>>", &["Pz8+Pg==", "Pz8-Pg", "Pz8%2BPg%3D%3D", "8/Pj", "8\\/Pj", "8_Pj", "8%2fPj"]);
    }

    #[test]
    fn hexadecimal_has_two_cases() {
        check("key\n", &["6b65790a", "6B65790A"]);
    }

    #[test]
    fn an_ordinary_key_has_few_spellings() {
        let spellings = all("sk-live-4f9a8b7c6d5e4f3a2b1c").len();
        assert!(spellings < 40, "{spellings}");
    }
}
