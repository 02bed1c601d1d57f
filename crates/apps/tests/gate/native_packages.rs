//! Native packages: what is read, and every archive that is refused with nothing left behind.

use crate::forge::{tar, tar_entry};
use flate2::{Compression, write::GzEncoder};
use roost_apps::native::{NativeCode, NativePackage, NativeSource, SigningKey, validate_native};
use std::{
    fs::{self, Permissions},
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

pub(crate) const MANIFEST: &[u8] =
    br#"{"id": "com.example.calculator", "name": "Calculator", "version": "1.0.0",
    "provides": ["tool:calculator", "ui"], "permissions": ["network:example.com"]}"#;
pub(crate) const SKILL: &[u8] = b"---\nname: calculator\ndescription: Adds numbers.\n---\nUse it.\n";
pub(crate) const BINARY: &[u8] = b"\x7fELF\x02\x01\x01 a program";

/// Path and content of every file of a good package that is not signed.
pub(crate) fn contents() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("SKILL.md", SKILL.to_vec()),
        ("binary", BINARY.to_vec()),
        ("manifest.json", MANIFEST.to_vec()),
        ("ui/index.html", b"<h1>Hello</h1>".to_vec()),
    ]
}

pub(crate) fn napp(contents: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entries: Vec<Vec<u8>> =
        contents.iter().map(|(path, content)| tar_entry(path.as_bytes(), b'0', content)).collect();
    packed(&tar(&entries))
}

pub(crate) fn packed(tar: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(tar).unwrap();
    gzip.finish().unwrap()
}

pub(crate) fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// A good package, signed by [`key`].
pub(crate) fn signed() -> NativePackage {
    NativePackage::from_napp(&napp(&contents())).unwrap().sign(&key()).unwrap()
}

fn codes(bytes: &[u8]) -> Vec<NativeCode> {
    let errors = NativePackage::from_napp(bytes).map(|_| ()).unwrap_err();
    errors.into_iter().map(|error| error.code).collect()
}

/// The good package with one file put in or replaced.
fn with(path: &'static str, content: &[u8]) -> Vec<u8> {
    let mut contents = contents();
    contents.retain(|(known, _)| *known != path);
    contents.push((path, content.to_vec()));
    napp(&contents)
}

fn without(path: &str) -> Vec<u8> {
    let mut contents = contents();
    contents.retain(|(known, _)| *known != path);
    napp(&contents)
}

#[test]
fn a_good_package_is_told_and_travels_as_the_same_bytes() {
    let package = signed();
    let napp = package.to_napp().unwrap();
    let again = NativePackage::from_napp(&napp).unwrap();
    assert_eq!((&again, &again.to_napp().unwrap()), (&package, &napp));
    assert_eq!(package.napp_name(), "com.example.calculator-1.0.0.napp");
    let report = validate_native(NativeSource::Napp(&napp));
    let told = serde_json::to_value(&report).unwrap();
    assert_eq!((&told["ok"], &told["kind"]), (&true.into(), &"native".into()));
    assert_eq!(told["app"]["permissions"][0]["right"], "network:example.com");
    assert_eq!(told["app"]["binary"]["format"], "elf");
    assert_eq!(told["app"]["signed_by"]["covers"], "tree");
    assert_eq!(told["app"]["files"].as_array().unwrap().len(), 5);
}

#[test]
fn what_travels_must_be_signed_and_every_required_file_is_missed() {
    let unsigned = validate_native(NativeSource::Napp(&napp(&contents())));
    assert_eq!(unsigned.errors[0].code, NativeCode::MissingSignatures);
    assert!(unsigned.errors[0].message.contains("missing signatures.json"));
    for (path, code, words) in [
        ("manifest.json", NativeCode::MissingManifest, "missing manifest.json"),
        ("binary", NativeCode::MissingBinary, "missing binary"),
        ("SKILL.md", NativeCode::MissingSkill, "missing SKILL.md"),
    ] {
        let errors = NativePackage::from_napp(&without(path)).unwrap_err();
        assert!(errors.iter().any(|error| error.code == code && error.message.contains(words)), "{errors:?}");
    }
    assert!(NativePackage::from_napp(&without("ui/index.html")).is_ok());
}

#[test]
fn every_archive_that_lies_is_refused() {
    let tar_of = |entry: Vec<u8>| {
        let mut entries: Vec<Vec<u8>> =
            contents().iter().map(|(path, content)| tar_entry(path.as_bytes(), b'0', content)).collect();
        entries.push(entry);
        packed(&tar(&entries))
    };
    let zeros = vec![0; (5 << 20) + 1];
    for (name, bytes, code) in [
        ("not gzip", b"PK\x03\x04".to_vec(), NativeCode::BadArchive),
        ("envelope", b"NAPP\x01".to_vec(), NativeCode::BadArchive),
        ("empty", Vec::new(), NativeCode::BadArchive),
        ("broken", packed(b"hello"), NativeCode::BadArchive),
        ("bytes after it", [napp(&contents()), b"x".to_vec()].concat(), NativeCode::StrayBytes),
        ("second stream", [napp(&contents()), packed(b"x")].concat(), NativeCode::StrayBytes),
        ("symbolic link", tar_of(tar_entry(b"ui/x", b'2', b"")), NativeCode::Link),
        ("hard link", tar_of(tar_entry(b"ui/x", b'1', b"")), NativeCode::Link),
        ("device", tar_of(tar_entry(b"ui/x", b'3', b"")), NativeCode::SpecialFile),
        ("pipe", tar_of(tar_entry(b"ui/x", b'6', b"")), NativeCode::SpecialFile),
        ("climbs", with("ui/../../evil", b""), NativeCode::Traversal),
        ("absolute", with("/etc/passwd", b""), NativeCode::Traversal),
        ("unknown file", with("run.sh", b""), NativeCode::UnexpectedFile),
        ("hidden file", with(".pid", b"1"), NativeCode::UnexpectedFile),
        ("data", with("data/x", b""), NativeCode::UnexpectedFile),
        (
            "ui as a file",
            {
                let mut c = contents();
                c.pop();
                c.push(("ui", Vec::new()));
                napp(&c)
            },
            NativeCode::UnexpectedFile,
        ),
        ("large page", with("ui/big.js", &zeros), NativeCode::FileTooLarge),
        ("large manifest", with("manifest.json", &zeros), NativeCode::FileTooLarge),
        ("both programs", with("app", BINARY), NativeCode::TwoBinaries),
        ("both skills", with("skill.md", SKILL), NativeCode::DuplicatePath),
        ("same path twice", tar_of(tar_entry(b"binary", b'0', BINARY)), NativeCode::DuplicatePath),
        ("script", with("binary", b"#!/bin/sh\n"), NativeCode::BinaryFormat),
        ("text", with("binary", b"hello"), NativeCode::BinaryFormat),
        ("bad skill", with("SKILL.md", b"hello"), NativeCode::Skill),
        ("bad signatures", with("signatures.json", b"{}"), NativeCode::SignaturesForm),
        ("manifest twice", with("manifest.json", br#"{"id":"a","id":"b"}"#), NativeCode::ManifestJson),
    ] {
        assert!(codes(&bytes).contains(&code), "{name}: {:?}", codes(&bytes));
    }
}

#[test]
fn a_bomb_is_found_before_it_fills_the_memory() {
    // 700 MiB of zeros pack to less than one.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..700 {
        gzip.write_all(&vec![0; 1 << 20]).unwrap();
    }
    assert_eq!(codes(&gzip.finish().unwrap()), [NativeCode::TooManyBytes]);
}

#[test]
fn the_words_of_published_hosts_stand_in_the_messages() {
    let message = |bytes: &[u8]| NativePackage::from_napp(bytes).unwrap_err()[0].message.clone();
    let link = {
        let entries = [tar_entry(b"ui/x", b'2', b"")];
        packed(&tar(&entries))
    };
    for (bytes, words) in [
        (link, "symlinks not allowed"),
        (with("../x", b""), "path traversal"),
        (with("run.sh", b""), "unexpected file"),
        (with("ui/big.js", &vec![0; (5 << 20) + 1]), "file too large"),
        (with("binary", b"#!/bin/sh"), "binary format validation failed: script (shebang"),
    ] {
        assert!(message(&bytes).contains(words), "{words}: {}", message(&bytes));
    }
}

#[test]
fn a_folder_gives_the_files_of_a_package_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path());
    for (path, content) in [("Makefile", "build:"), (".pid", "1"), ("data/secret", "x"), ("src/main.rs", "")]
    {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    symlink("/etc/passwd", folder.path().join("logs")).unwrap();
    let package = NativePackage::from_folder(folder.path()).unwrap();
    let paths: Vec<&str> = package.files().iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["SKILL.md", "binary", "manifest.json", "ui/index.html"]);
    assert!(validate_native(NativeSource::Folder(folder.path())).ok);

    fs::set_permissions(folder.path().join("binary"), Permissions::from_mode(0o600)).unwrap();
    let errors = NativePackage::from_folder(folder.path()).unwrap_err();
    assert!(errors[0].code == NativeCode::NotExecutable && errors[0].message.contains("not executable"));
    fs::remove_file(folder.path().join("binary")).unwrap();
    symlink("/bin/true", folder.path().join("binary")).unwrap();
    assert_eq!(NativePackage::from_folder(folder.path()).unwrap_err()[0].code, NativeCode::Link);
    fs::remove_file(folder.path().join("binary")).unwrap();
    symlink("/etc", folder.path().join("ui/etc")).unwrap();
    assert_eq!(NativePackage::from_folder(folder.path()).unwrap_err()[0].code, NativeCode::Link);
}

#[test]
fn unpacked_files_are_their_owners_alone_and_a_failure_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("app");
    signed().unpack(&target).unwrap();
    for (path, mode) in [("", 0o700), ("ui", 0o700), ("binary", 0o700), ("manifest.json", 0o600)] {
        assert_eq!(fs::metadata(target.join(path)).unwrap().permissions().mode() & 0o777, mode, "{path}");
    }
    assert_eq!(NativePackage::from_folder(&target).unwrap(), signed());
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("ui"), "in the way").unwrap();
    assert!(signed().unpack(&other).is_err());
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
}

fn write_folder(folder: &Path) {
    for (path, content) in contents() {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    fs::set_permissions(folder.join("binary"), Permissions::from_mode(0o700)).unwrap();
}
