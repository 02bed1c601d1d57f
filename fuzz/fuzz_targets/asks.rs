//! Any bytes as an agent file, read for what it asks: no panic, and every ask is a right that reads back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_apps::{PythonVersion, asks};
use roost_protocol::{Language, Right};

fuzz_target!(|bytes: &[u8]| {
    for language in [Language::Python, Language::TypeScript] {
        if let Ok(found) = asks(language, bytes, PythonVersion::NEWEST) {
            for ask in &found.asks {
                assert_eq!(ask.right.to_string().parse::<Right>().as_ref(), Ok(&ask.right));
            }
        }
    }
});
