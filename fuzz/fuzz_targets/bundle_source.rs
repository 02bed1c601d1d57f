//! The body of the same name, driven by libFuzzer.

#![no_main]

#[path = "../bodies/bundle_source.rs"]
mod bundle_source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bundle_source::run(bytes));
