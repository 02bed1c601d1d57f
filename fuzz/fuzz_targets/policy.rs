//! Any text as the policy of a home: refused with a reason or taken, and what it denies is not allowed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_host::Policy;
use std::path::Path;

fuzz_target!(|text: &str| {
    if let Ok(table) = text.parse::<toml::Table>() {
        let _policy = Policy::from_table(table, Some(Path::new("/home/me")));
    }
});
