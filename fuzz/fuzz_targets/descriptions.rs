//! Any bytes as the cache of descriptions: opening never fails, and what is saved afterwards reads back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_apps::Descriptions;

const KEY: &str = "key";

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("the fuzzer has a folder for temporary files");
    let path = folder.path().join("descriptions.json");
    std::fs::write(&path, bytes).expect("the folder takes a file");
    let mut descriptions = Descriptions::open(&path, KEY);
    descriptions.forget(|_| true);
    descriptions.retain_files(|name| !name.is_empty());
    descriptions.save().expect("a cache that was opened can be saved");
    let _again = Descriptions::open(&path, KEY);
});
