//! The body of the same name, driven by libFuzzer.

#![no_main]

#[path = "../bodies/bundle_manifest.rs"]
mod bundle_manifest;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bundle_manifest::run(bytes));
