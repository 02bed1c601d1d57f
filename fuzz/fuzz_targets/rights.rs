//! Any text as a right, a native permission or the permissions of a page: what is taken reads back as written and shows
//! what it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_protocol::{Right, from_native, from_page, to_native};

fuzz_target!(|text: &str| {
    if let Ok(right) = text.parse::<Right>() {
        let written = right.to_string();
        assert_eq!(written.parse::<Right>().as_ref(), Ok(&right));
        assert!(right.covers(&right));
        assert!(!written.chars().any(char::is_control));
        assert!(!right.sentence().is_empty());
    }
    if let Ok(ask) = from_native(text) {
        assert_eq!(to_native(&ask), text);
    }
    if let Ok(serde_json::Value::Object(permissions)) = serde_json::from_str(text) {
        let _asks = from_page(&permissions);
    }
});
