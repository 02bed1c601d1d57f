//! Values that are found, and texts that are left alone.

use super::Redactions;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use proptest::prelude::*;
use serde_json::json;
use std::borrow::Cow;

const VALUE: &str = "s3cr3t/\"Value\" é";

fn one(value: &str) -> Redactions {
    Redactions::new([("key", value)])
}

#[track_caller]
fn check(secrets: &[(&str, &str)], text: &str, expect: &str) {
    let redactions = Redactions::new(secrets.iter().copied());
    assert_eq!(redactions.redact(text), expect);
    assert_eq!(*redactions.redact_bytes(text.as_bytes()), *expect.as_bytes());
    assert_eq!(redactions.contains(text), text != expect);
}

#[test]
fn every_place_becomes_the_marker() {
    check(&[("key", "12345678")], "a12345678b 12345678", "a[REDACTED:key]b [REDACTED:key]");
    check(&[("key", VALUE)], VALUE, "[REDACTED:key]");
}

#[test]
fn values_under_8_characters_are_left() {
    check(&[("short", "1234567"), ("also", "ééééééé"), ("none", "")], "1234567 ééééééé", "1234567 ééééééé");
    check(&[("enough", "éééééééé")], "ééééééééé", "[REDACTED:enough]é");
    assert!(Redactions::new([("short", "1234567")]).is_empty());
}

#[test]
fn the_longest_value_goes_first_wherever_it_stands() {
    let secrets = [("inner", "password"), ("outer", "password-and-more"), ("tail", "more-of-it")];
    check(&secrets, "password password-and-more", "[REDACTED:inner] [REDACTED:outer]");
    check(&secrets, "password-and-more-of-it", "[REDACTED:outer]-of-it");
    check(&[("early", "abcdefgh"), ("late", "fghijklmn")], "abcdefghijklmn", "abcde[REDACTED:late]");
}

#[test]
fn one_value_with_two_ids_gets_the_first() {
    check(&[("a", "12345678"), ("b", "12345678")], "12345678", "[REDACTED:a]");
}

#[test]
fn markers_stay_as_they_are() {
    let secrets = [("password", "REDACTED"), ("database-password", "password")];
    check(&secrets, "[REDACTED:password]", "[REDACTED:password]");
    check(&secrets, "[REDACTED:database-password]", "[REDACTED:database-password]");
    check(&secrets, "password [REDACTED:password]", "[REDACTED:database-password] [REDACTED:password]");
}

#[test]
fn brackets_around_a_value_do_not_protect_it() {
    check(&[("key", "12345678")], "[REDACTED:12345678]", "[REDACTED:[REDACTED:key]]");
    check(&[("key", "]12345678")], "[REDACTED:key]12345678", "[REDACTED:key[REDACTED:key]");
}

#[test]
fn a_marker_is_closed_by_its_own_bracket_only() {
    check(&[("a]\"\nb c", "12345678")], "12345678", "[REDACTED:a___b_c]");
    check(&[("env:/API.key-1@home", "12345678")], "12345678", "[REDACTED:env:/API.key-1@home]");
}

#[test]
fn spellings_of_a_value_are_found_in_longer_texts() {
    let basic = STANDARD.encode("user:hunter2hunter2");
    for (text, expect) in [
        (format!("Authorization: Basic {basic}"), "Authorization: Basic dXNlcjp[REDACTED:key]"),
        (format!("x={}", hex::encode("hunter2hunter2")), "x=[REDACTED:key]"),
        (json!({"a": "hunter2hunter2"}).to_string(), r#"{"a":"[REDACTED:key]"}"#),
    ] {
        assert_eq!(one("hunter2hunter2").redact(&text), expect);
    }
    let query = "?q=s3cr3t%2F%22Value%22+%C3%A9&b=1";
    assert_eq!(one(VALUE).redact(query), "?q=[REDACTED:key]&b=1");
}

#[test]
fn bytes_that_are_no_text_are_searched_too() {
    let content = [&b"\xff\xfe"[..], VALUE.as_bytes(), b"\xff\0"].concat();
    let expect = [&b"\xff\xfe"[..], b"[REDACTED:key]", b"\xff\0"].concat();
    assert_eq!(*one(VALUE).redact_bytes(&content), *expect);
}

#[test]
fn json_is_redacted_in_texts_keys_and_numbers() {
    let redactions = Redactions::new([("key", VALUE), ("pin", "12345678")]);
    let mut value = json!({
        "list": [VALUE, 1, true, null, {"deep": format!("a {VALUE}")}],
        VALUE: "kept", "12345678": 1, "a 12345678": -12_345_678.5,
    });
    redactions.redact_json(&mut value);
    let expect = json!({
        "list": ["[REDACTED:key]", 1, true, null, {"deep": "a [REDACTED:key]"}],
        "[REDACTED:key]": "kept", "[REDACTED:pin]": 1, "a [REDACTED:pin]": "-[REDACTED:pin].5",
    });
    assert_eq!(value, expect);
}

#[test]
fn keys_that_become_the_same_keep_their_members() {
    let mut value = json!({"12345678": 1, (hex::encode("12345678")): 2, "other": 3});
    one("12345678").redact_json(&mut value);
    assert_eq!(value, json!({"[REDACTED:key]": 1, "[REDACTED:key] 2": 2, "other": 3}));
}

#[test]
fn a_long_value_is_compared_to_its_end() {
    let value = "-----BEGIN PRIVATE KEY-----\nMIIEvQ+/=\n".repeat(100);
    let text = format!("{}x {value}", &value[..value.len() - 1]);
    assert_eq!(one(&value).redact(&text), format!("{}x [REDACTED:key]", &value[..value.len() - 1]));
    let escaped = serde_json::to_string(&value).unwrap();
    assert_eq!(one(&value).redact(&escaped), "\"[REDACTED:key]\"");
}

#[test]
fn an_empty_set_gives_everything_back_untouched() {
    let none = Redactions::default();
    assert!(none.is_empty());
    assert!(matches!(none.redact(VALUE), Cow::Borrowed(_)));
    assert!(matches!(none.redact_bytes(b"x"), Cow::Borrowed(_)));
    assert!(!none.contains(VALUE));
}

#[test]
fn values_and_ids_are_not_shown_for_debugging() {
    let shown = format!("{:?}", one("12345678"));
    assert_eq!(shown, "Redactions { secrets: 1, .. }");
}

/// The rule as the contract words it: one value after the other, the longest first, each by plain replacing.
fn one_after_the_other(secrets: &[String], text: &str) -> String {
    let mut order: Vec<usize> = (0..secrets.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(secrets[index].len()));
    // Pieces at odd places are markers.
    let mut pieces = vec![text.to_owned()];
    for index in order {
        let marker = format!("[REDACTED:{index}]");
        let mut replaced: Vec<String> = Vec::new();
        for (place, piece) in pieces.into_iter().enumerate() {
            if place % 2 == 1 {
                replaced.push(piece);
                continue;
            }
            for (number, part) in piece.split(secrets[index].as_str()).enumerate() {
                if number > 0 {
                    replaced.push(marker.clone());
                }
                replaced.push(part.to_owned());
            }
        }
        pieces = replaced;
    }
    pieces.concat()
}

fn any_value() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{8,20}", "[a-z0-9+/_-]{8,24}", "[\"\\\\/\n\t<>&'é日🔑 a]{8,12}", "\\PC{8,12}",]
}

fn percent(text: &str, kept: &str, space: &str) -> String {
    let one = |byte: u8| match char::from(byte) {
        ' ' => space.to_owned(),
        character if character.is_ascii_alphanumeric() || kept.contains(character) => character.to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn ascii_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    let one = |character: char| match character {
        ' '..='~' => character.to_string(),
        _ => character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    quoted[1..quoted.len() - 1].chars().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_spelling_of_a_value_is_left(value in any_value(), before in "\\PC{0,8}", after in "\\PC{0,8}") {
        let redactions = one(&value);
        let json = serde_json::to_string(&value).unwrap();
        let nested = serde_json::to_string(&json).unwrap();
        let spellings = [
            value.clone(),
            json[1..json.len() - 1].to_owned(),
            json[1..json.len() - 1].replace('/', "\\/"),
            ascii_json(&value),
            nested[3..nested.len() - 3].to_owned(),
            percent(&value, "-._~", "%20"),
            percent(&value, "-._~", "%20").to_lowercase(),
            percent(&value, "-._~", "+"),
            percent(&value, "-._~!*'()", "%20"),
            hex::encode(&value),
            hex::encode_upper(&value),
            STANDARD.encode(&value),
            STANDARD_NO_PAD.encode(&value),
            URL_SAFE.encode(&value),
            URL_SAFE_NO_PAD.encode(&value),
        ];
        for (index, spelling) in spellings.iter().enumerate() {
            // Lower case is a spelling only of what has no capital letters.
            if index == 6 && value.to_lowercase() != value {
                continue;
            }
            let text = format!("{before}{spelling}{after}");
            let redacted = redactions.redact(&text);
            prop_assert!(redacted.contains("[REDACTED:key]"), "{} in {}", spelling, text);
            prop_assert!(!redacted.contains(spelling.as_str()), "{} in {}", spelling, redacted);
            prop_assert!(!redactions.contains(&redacted));
            prop_assert_eq!(&redactions.redact(&redacted), &redacted);
        }
    }

    #[test]
    fn a_value_inside_longer_base64_is_found(
        value in any_value(),
        before in prop::collection::vec(any::<u8>(), 0..7),
        after in prop::collection::vec(any::<u8>(), 0..7),
    ) {
        let content = [&before[..], value.as_bytes(), &after[..]].concat();
        let known = (before.len() * 8).div_ceil(6)..(before.len() + value.len()) * 8 / 6;
        let redactions = one(&value);
        for encoded in [STANDARD.encode(&content), URL_SAFE_NO_PAD.encode(&content)] {
            let redacted = redactions.redact(&encoded).into_owned();
            prop_assert!(!redacted.contains(&encoded[known.clone()]), "{} from {}", redacted, encoded);
            prop_assert!(redacted.contains("[REDACTED:key]"));
        }
    }

    #[test]
    fn a_value_in_json_is_found_in_the_tree_and_in_its_text(value in any_value(), before in "\\PC{0,8}") {
        let redactions = one(&value);
        let joined = format!("{before}{value}");
        let mut tree = json!({"a": [joined], (joined.clone()): {"b": value}});
        let text = tree.to_string();
        redactions.redact_json(&mut tree);
        for redacted in [tree.to_string(), redactions.redact(&text).into_owned()] {
            prop_assert_eq!(redacted.matches("[REDACTED:key]").count(), 3, "{}", redacted);
            prop_assert!(!redactions.contains(&redacted));
        }
    }

    #[test]
    fn replacing_is_the_same_as_one_value_after_the_other(
        secrets in prop::collection::vec("[xy]{8,11}", 1..4),
        text in "[xy]{0,60}",
    ) {
        let numbered = secrets.iter().enumerate().map(|(index, value)| (index.to_string(), value));
        let redactions = Redactions::new(numbered);
        prop_assert_eq!(redactions.redact(&text), one_after_the_other(&secrets, &text));
    }

    #[test]
    fn text_without_a_value_is_given_back_untouched(
        values in prop::collection::vec("[Q-Z!#]{8,20}", 0..4),
        text in "[a-f é\\[\\]:\n]{0,60}",
    ) {
        let redactions = Redactions::new(values.iter().map(|value| ("key", value)));
        prop_assert!(matches!(redactions.redact(&text), Cow::Borrowed(same) if same == text));
        prop_assert!(!redactions.contains(&text));
        let mut tree = json!({(text.clone()): [text.clone(), 1]});
        redactions.redact_json(&mut tree);
        prop_assert_eq!(tree, json!({(text.clone()): [text, 1]}));
    }
}
