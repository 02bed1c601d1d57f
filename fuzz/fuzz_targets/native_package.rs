//! The body of the same name, driven by libFuzzer.

#![no_main]

#[path = "../bodies/native_package.rs"]
mod native_package;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| native_package::run(bytes));
