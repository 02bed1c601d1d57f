//! Exports that are damaged, and exports that were made to do harm.

use super::archive::{Parcel, open};
use crate::{Limit, Limits, Redactions, WorkspaceError, Writer};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    io::{Cursor, Write as _},
    sync::Arc,
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn sha256(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

fn version(number: i64, content: &[u8]) -> Value {
    json!({
        "version": number, "removed": false, "contentType": "text/plain", "updatedAt": "2026-01-02T03:04:05Z",
        "sha256": sha256(content), "bytes": content.len(), "author": { "principal": "anna" },
    })
}

fn removal(number: i64) -> Value {
    let mut removal = version(number, b"");
    removal["removed"] = json!(true);
    removal["contentType"] = json!("");
    removal
}

fn manifest(files: &Value) -> Value {
    json!({ "format": "roost-workspace/1", "exportedAt": "2026-01-02T03:04:05Z", "files": files })
}

fn small() -> Value {
    manifest(&json!([
        { "path": "a.md", "versions": [version(3, b"one"), removal(4), version(5, b"two")] },
        { "path": "b/c.bin", "versions": [version(1, &[0, 159, 146, 150])] },
    ]))
}

const BODIES: [&[u8]; 3] = [b"one", b"two", &[0, 159, 146, 150]];

/// A zip with this list and these contents.
fn zipped(manifest: &Value, bodies: &[&[u8]]) -> Vec<u8> {
    let mut entries = vec![("manifest.json".to_owned(), manifest.to_string().into_bytes())];
    entries.extend(bodies.iter().map(|body| (format!("bodies/{}", sha256(body)), body.to_vec())));
    zip_of(&entries, CompressionMethod::Deflated)
}

fn zip_of(entries: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let options = SimpleFileOptions::default().compression_method(method);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(name.as_str(), options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(bytes: &[u8]) -> Result<Parcel, WorkspaceError> {
    open(bytes, &Limits::default(), &Writer::person("ben"))
}

/// A content and its reason.
type Written = (Option<Vec<u8>>, String);

/// Everything of it that would be written.
fn written(parcel: &Parcel) -> Vec<(String, Vec<Written>)> {
    let versions = |file: &super::archive::ParcelFile| {
        let content = |content: &Option<Arc<Vec<u8>>>| content.as_ref().map(|content| content.to_vec());
        file.versions.iter().map(|one| (content(&one.content), one.reason.clone())).collect()
    };
    parcel.files.iter().map(|file| (file.path.to_string(), versions(file))).collect()
}

#[track_caller]
fn check(what: &str, bytes: &[u8]) {
    match read(bytes) {
        Err(WorkspaceError::NotAnExport(why)) => assert!(!why.contains("secret-word"), "{what}: {why}"),
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn an_export_is_read_with_its_history() {
    let parcel = read(&zipped(&small(), &BODIES)).unwrap();
    let said = "imported, written by anna at 2026-01-02T03:04:05Z".to_owned();
    let one = (Some(b"one".to_vec()), said.clone());
    let two = (Some(b"two".to_vec()), said.clone());
    let binary = (Some(vec![0, 159, 146, 150]), said.clone());
    let expected =
        vec![("a.md".to_owned(), vec![one, (None, said), two]), ("b/c.bin".to_owned(), vec![binary])];
    assert_eq!(written(&parcel), expected);
}

#[test]
fn every_damaged_byte_is_noticed_or_means_nothing() {
    let good = zipped(&small(), &BODIES);
    let expected = written(&read(&good).unwrap());
    for at in 0..good.len() {
        for change in [1, 0x20, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= change;
            match read(&bad) {
                Err(WorkspaceError::NotAnExport(_)) => {}
                Ok(parcel) => assert_eq!(written(&parcel), expected, "byte {at} ^ {change}"),
                Err(other) => panic!("byte {at} ^ {change}: {other}"),
            }
        }
    }
    for length in 0..good.len() {
        check("cut off", &good[..length]);
    }
}

#[test]
fn entries_that_no_export_has_are_refused() {
    let entry = |name: &str, content: &[u8]| (name.to_owned(), content.to_vec());
    let list = || entry("manifest.json", manifest(&json!([])).to_string().as_bytes());
    let body = || entry(&format!("bodies/{}", sha256(b"x")), b"x");
    let deflated = CompressionMethod::Deflated;
    assert!(read(&zip_of(&[list()], CompressionMethod::Stored)).is_ok());
    check("no list", &zip_of(&[body()], deflated));
    check("empty", &zip_of(&[], deflated));
    check("a content too many", &zip_of(&[list(), body()], deflated));
    for name in [
        "secret-word",
        "../manifest.json",
        "/manifest.json",
        "bodies/",
        "bodies/abc",
        "MANIFEST.JSON",
        "bodies/../../secret-word",
        "manifest.json/",
    ] {
        check(name, &zip_of(&[list(), entry(name, b"")], deflated));
    }
    let upper = format!("bodies/{}", sha256(b"x").to_uppercase());
    check("upper case", &zip_of(&[list(), entry(&upper, b"x")], deflated));
    let mut before = b"#!/bin/sh\n".to_vec();
    before.extend(zip_of(&[list()], deflated));
    check("something before it", &before);
    check("not a zip", b"secret-word");
    let mut link = ZipWriter::new(Cursor::new(Vec::new()));
    link.add_symlink("manifest.json", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    check("a link", &link.finish().unwrap().into_inner());
    let mut sealed = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().with_aes_encryption(zip::AesMode::Aes256, "p");
    sealed.start_file("manifest.json", options).unwrap();
    sealed.write_all(manifest(&json!([])).to_string().as_bytes()).unwrap();
    check("encrypted", &sealed.finish().unwrap().into_inner());
}

#[test]
fn an_entry_that_is_there_twice_is_refused() {
    // The writer refuses to make one, so two names of the same length are made the same afterwards.
    let first = format!("bodies/{}", sha256(b"one"));
    let second = format!("bodies/{}", sha256(b"two"));
    let text = |bytes: &[u8], from: &str, to: &str| {
        let mut bytes = bytes.to_vec();
        while let Some(at) = bytes.windows(from.len()).position(|window| window == from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        bytes
    };
    let list = manifest(&json!([]));
    let entries = [
        ("manifest.json".to_owned(), list.to_string().into_bytes()),
        (first.clone(), b"one".to_vec()),
        (second.clone(), b"one".to_vec()),
    ];
    check("twice", &text(&zip_of(&entries, CompressionMethod::Stored), &second, &first));
}

#[test]
fn a_list_that_makes_no_sense_is_refused() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut list = small();
        change(&mut list);
        zipped(&list, &BODIES)
    };
    check("another format", &with(&|list| list["format"] = json!("roost-workspace/2")));
    check("no time", &with(&|list| list["exportedAt"] = json!("secret-word")));
    check("more", &with(&|list| list["secret-word"] = json!(1)));
    check("more of a file", &with(&|list| list["files"][0]["secret-word"] = json!(1)));
    check("more of a version", &with(&|list| list["files"][0]["versions"][0]["secret-word"] = json!(1)));
    check("more of an author", &with(&|list| list["files"][1]["versions"][0]["author"]["x"] = json!(1)));
    for path in ["../secret-word", "/a", "a//b", "a/", "", "a\u{0}b", "a\\b", "a/../b"] {
        check(path, &with(&|list| list["files"][0]["path"] = json!(path)));
    }
    check("twice", &with(&|list| list["files"][0]["path"] = json!("b/c.bin")));
    check("unsorted", &with(&|list| list["files"][0]["path"] = json!("c")));
    check("no versions", &with(&|list| list["files"][0]["versions"] = json!([])));
    check("backwards", &with(&|list| list["files"][0]["versions"][2]["version"] = json!(3)));
    check("version 0", &with(&|list| list["files"][1]["versions"][0]["version"] = json!(0)));
    check("removed twice", &with(&|list| list["files"][0]["versions"][0] = removal(3)));
    check("removed with a content", &with(&|list| list["files"][0]["versions"][2]["removed"] = json!(true)));
    check("another length", &with(&|list| list["files"][0]["versions"][0]["bytes"] = json!(2)));
    check("longer", &with(&|list| list["files"][0]["versions"][0]["bytes"] = json!(4)));
    check("no length", &with(&|list| list["files"][0]["versions"][0]["bytes"] = json!(-1)));
    check("another hash", &with(&|list| list["files"][0]["versions"][0]["sha256"] = json!(sha256(b"three"))));
    check("no hash", &with(&|list| list["files"][0]["versions"][0]["sha256"] = json!("secret-word")));
    check(
        "long words",
        &with(&|list| list["files"][0]["versions"][0]["contentType"] = json!("x".repeat(2000))),
    );
    let twice = small().to_string().replacen("\"format\"", "\"format\":\"roost-workspace/1\",\"format\"", 1);
    check(
        "a name twice",
        &zip_of(&[("manifest.json".to_owned(), twice.into_bytes())], CompressionMethod::Stored),
    );
    let mut swapped = vec![("manifest.json".to_owned(), small().to_string().into_bytes())];
    swapped.extend(
        BODIES
            .iter()
            .zip([b"eno", b"two"].iter().map(|body| body.to_vec()).chain([BODIES[2].to_vec()]))
            .map(|(body, content)| (format!("bodies/{}", sha256(body)), content)),
    );
    check("another content", &zip_of(&swapped, CompressionMethod::Deflated));
}

#[test]
fn what_is_too_large_is_refused_before_it_is_inflated() {
    let large = vec![0; 4 << 20];
    let list = manifest(&json!([{ "path": "a", "versions": [version(1, &large)] }]));
    let bomb = zipped(&list, &[&large]);
    assert!(bomb.len() < 100_000);
    let refused = read(&bomb).unwrap_err();
    let expected = WorkspaceError::TooLarge { limit: Limit::FileBytes, max: 1 << 20, provided: 4 << 20 };
    assert_eq!(refused, expected);
    // One that lies about its size is cut off where it said it would end.
    let mut lying = version(1, &large);
    lying["bytes"] = json!(10);
    check("a lie", &zipped(&manifest(&json!([{ "path": "a", "versions": [lying] }])), &[&large]));
    // The same content many times is as much as all of them.
    let one = vec![0; 1 << 20];
    let same = version(1, &one);
    let versions = (1..=300).map(|number| {
        let mut version = same.clone();
        version["version"] = json!(number);
        version
    });
    let versions: Vec<Value> = versions.collect();
    let list = manifest(&json!([{ "path": "a", "versions": versions }]));
    let refused = read(&zipped(&list, &[&one])).unwrap_err();
    assert!(matches!(refused, WorkspaceError::TooLarge { limit: Limit::TransferBytes, .. }), "{refused}");
}

#[test]
fn secrets_are_taken_out_of_what_comes_in() {
    let secret = "s3cr3t-value-1";
    let content = format!("key={secret}\n");
    let list = manifest(&json!([{ "path": "a", "versions": [version(1, content.as_bytes())] }]));
    let redactions = Arc::new(Redactions::new([("KEY", secret)]));
    let writer = Writer { redactions, ..Writer::person("ben") };
    let parcel = open(&zipped(&list, &[content.as_bytes()]), &Limits::default(), &writer).unwrap();
    assert_eq!(written(&parcel)[0].1[0].0.as_deref(), Some(&b"key=[REDACTED:KEY]\n"[..]));
    let list = manifest(&json!([{ "path": format!("a/{secret}"), "versions": [version(1, b"")] }]));
    let refused = open(&zipped(&list, &[b""]), &Limits::default(), &writer).unwrap_err();
    assert_eq!(refused, WorkspaceError::SecretInPath);
}
