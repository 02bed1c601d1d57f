//! The body of the same name, driven by libFuzzer.

#![no_main]

#[path = "../bodies/container.rs"]
mod container;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| container::run(bytes));
