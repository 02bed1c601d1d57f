//! Containers with one trick each: what the strict reader says of a zip, what both rule sets make of a bundle in it,
//! and tars.

use crate::{
    cases::files_of,
    forge::{Around, Entry, deflated, entry, tar, tar_entry, zip, zip_with},
};
use flate2::{Compression, write::GzEncoder};
use roost_apps::{
    BundleSource, ContainerLimits, Files, Refusal, Refused, Rules, Submission, read_tar, read_zip,
    validate_bundle,
};
use serde_json::Value;
use std::{io::Write as _, os::unix::fs::symlink};

/// The entries of a good bundle in its folder.
fn good() -> Vec<Entry> {
    let files = files_of(&Value::Null);
    files.iter().map(|(path, content)| entry(&format!("demo_app/{path}"), content)).collect()
}

fn with(more: Entry) -> Vec<Entry> {
    let mut entries = good();
    entries.push(more);
    entries
}

/// A good bundle whose README was changed.
fn readme(change: impl FnOnce(&mut Entry)) -> Vec<Entry> {
    let mut entries = good();
    change(entries.iter_mut().find(|entry| entry.name.ends_with(b"README.md")).unwrap());
    entries
}

fn around(change: impl FnOnce(&mut Around)) -> Vec<u8> {
    let mut around = Around::default();
    change(&mut around);
    zip_with(&good(), &around)
}

fn refusals(read: Result<Files, Vec<Refused>>) -> Vec<Refusal> {
    read.err().unwrap_or_default().into_iter().map(|refused| refused.refusal).collect()
}

/// What both rule sets say of a zip: the published one first.
#[track_caller]
fn check(name: &str, bytes: &[u8], reference: &[&str], spec: &[&str]) {
    for (rules, expected) in [(Rules::Reference, reference), (Rules::Spec, spec)] {
        let report = validate_bundle(BundleSource::Zip(bytes), &Submission::default(), rules);
        let found: Vec<&str> = report.errors.iter().map(|error| error.code.as_str()).collect();
        assert_eq!(found, expected, "{name} by {rules:?}: {:?}", report.errors);
    }
}

fn named(name: &str) -> Vec<u8> {
    zip(&with(entry(name, b"x")))
}

#[test]
fn paths_that_lead_elsewhere_or_meet_are_refused() {
    check("a good one", &zip(&good()), &[], &[]);
    for (name, reference, spec) in [
        ("/etc/x", &["E_PATH_TRAVERSAL"][..], &["E_PATH_TRAVERSAL"][..]),
        ("../x", &["E_PATH_TRAVERSAL"], &["E_PATH_TRAVERSAL"]),
        ("demo_app/../../x", &["E_PATH_TRAVERSAL"], &["E_PATH_TRAVERSAL"]),
        ("demo_app/..", &["E_PATH_TRAVERSAL"], &["E_PATH_TRAVERSAL"]),
        ("..\\x", &["E_PATH_TRAVERSAL"], &["E_PATH_TRAVERSAL"]),
        ("demo_app/a\\b", &[], &["E_PATH_TRAVERSAL"]),
        ("C:/x", &[], &["E_PATH_TRAVERSAL"]),
        ("c:x", &[], &["E_PATH_TRAVERSAL"]),
        ("\\\\server\\share", &[], &["E_PATH_TRAVERSAL"]),
        ("demo_app/a..b", &[], &[]),
        ("demo_app/...", &[], &[]),
        ("demo_app//x", &[], &["E_BAD_PATH"]),
        ("demo_app/./x", &[], &["E_BAD_PATH"]),
        ("./demo_app/x", &[], &["E_BAD_PATH"]),
        ("demo_app/a\nb", &[], &["E_BAD_PATH"]),
        ("demo_app/x\0.txt", &[], &["E_BAD_PATH"]),
        ("demo_app/README.md", &[], &["E_DUPLICATE_PATH"]),
        ("demo_app/readme.MD", &[], &["E_CASE_TWIN"]),
        ("Demo_app/x", &[], &["E_CASE_TWIN"]),
        ("demo_app", &["E_FILE_AND_FOLDER"], &["E_FILE_AND_FOLDER"]),
        ("demo_app/ui", &["E_FILE_AND_FOLDER"], &["E_FILE_AND_FOLDER"]),
        ("demo_app/README.md/x", &["E_FILE_AND_FOLDER"], &["E_FILE_AND_FOLDER"]),
        ("", &["E_FILE_AND_FOLDER"], &["E_BAD_PATH"]),
        ("__MACOSX/._x", &[], &[]),
        (".DS_Store", &[], &[]),
        ("second/manifest.json", &[], &["E_MANY_ROOTS"]),
        (".hidden/manifest.json", &[], &[]),
    ] {
        check(name, &named(name), reference, spec);
    }
    let long = format!("demo_app/{}", "x".repeat(256));
    check("a name too long", &named(&long), &["E_BAD_PATH"], &["E_BAD_PATH"]);
    check("a name just long", &named(&format!("demo_app/{}", "x".repeat(255))), &[], &[]);
    let mut strange = entry("x", b"");
    strange.name = b"demo_app/\xff".to_vec();
    check("a name of an old system", &zip(&with(strange.clone())), &[], &["E_BAD_PATH"]);
    strange.flags = 0x0800;
    check("a name that is not UTF-8", &zip(&with(strange)), &["E_BAD_PATH"], &["E_BAD_PATH"]);
    let two = [entry("../a", b""), entry("/b", b"")];
    let both: Vec<Entry> = good().into_iter().chain(two).collect();
    check("two of them", &zip(&both), &["E_PATH_TRAVERSAL"; 2], &["E_PATH_TRAVERSAL"; 2]);
}

#[test]
fn only_plain_files_and_folders_are_taken() {
    for (mode, spec) in [
        (0o100_755, &[][..]),
        (0, &[]),
        (0o120_777, &["E_LINK"]),
        (0o020_666, &["E_SPECIAL_FILE"]),
        (0o060_666, &["E_SPECIAL_FILE"]),
        (0o010_666, &["E_SPECIAL_FILE"]),
        (0o140_777, &["E_SPECIAL_FILE"]),
        (0o040_755, &["E_FILE_AND_FOLDER"]),
    ] {
        let mut odd = entry("demo_app/odd", b"/etc/passwd");
        odd.mode = mode;
        check(&format!("mode {mode:o}"), &zip(&with(odd)), &[], spec);
    }
    let mut folder = entry("demo_app/eggs/", b"");
    folder.mode = 0o040_755;
    check("a folder", &zip(&with(folder.clone())), &[], &[]);
    folder.mode = 0o120_777;
    check("a folder that is a link", &zip(&with(folder.clone())), &[], &["E_LINK"]);
    folder.mode = 0o040_755;
    folder.content = b"x".to_vec();
    check("a folder with content", &zip(&with(folder)), &[], &["E_FILE_AND_FOLDER"]);
}

#[test]
fn what_is_said_twice_must_agree() {
    let mismatch = &["E_HEADER_MISMATCH"][..];
    check("the name", &zip(&readme(|entry| entry.local_name = Some(b"x".to_vec()))), mismatch, mismatch);
    check("the method", &zip(&readme(|entry| entry.local_method = Some(0))), &[], mismatch);
    check("a flag", &zip(&readme(|entry| entry.local_flags = Some(1))), &[], mismatch);
    check("the size", &zip(&readme(|entry| entry.local_size = Some(1))), &[], mismatch);
    check(
        "more content than told",
        &zip(&readme(|entry| entry.told_size = Some(3))),
        &["E_BAD_CHECKSUM"],
        mismatch,
    );
    check("less content than told", &zip(&readme(|entry| entry.told_size = Some(30))), &[], mismatch);
    let more = |entry: &mut Entry| {
        let mut packed = deflated(&entry.content);
        packed.extend(b"hidden");
        entry.packed = Some(packed);
    };
    check("bytes after the deflated end", &zip(&readme(more)), &[], mismatch);
    check("another number of entries", &around(|around| around.told_entries = Some(2)), &[], mismatch);
    check(
        "the checksum",
        &zip(&readme(|entry| entry.told_checksum = Some(7))),
        &["E_BAD_CHECKSUM"],
        &["E_BAD_CHECKSUM"],
    );
    let other_name = [b"up".as_slice(), &[9, 0, 1, 0, 0, 0, 0], b"evil"].concat();
    check("a second name", &zip(&readme(|entry| entry.extra = other_name)), &[], mismatch);
}

#[test]
fn methods_and_passwords_that_are_not_known_are_refused() {
    for method in [1, 6, 9, 93, 97, 99] {
        let odd = zip(&readme(|entry| entry.method = method));
        check(&format!("method {method}"), &odd, &["E_COMPRESSION_METHOD"], &["E_COMPRESSION_METHOD"]);
    }
    for flags in [0x0001, 0x0041, 0x2001] {
        check("encrypted", &zip(&readme(|entry| entry.flags = flags)), &["E_ENCRYPTED"], &["E_ENCRYPTED"]);
    }
    let broken = zip(&readme(|entry| entry.packed = Some(b"\xff\xff\xff".to_vec())));
    check("content that cannot be inflated", &broken, &["E_BAD_ZIP"], &["E_BAD_ZIP"]);
    let cut = zip(&readme(|entry| entry.packed = Some(deflated(&entry.content)[..4].to_vec())));
    check("content that is cut off", &cut, &["E_BAD_CHECKSUM"], &["E_BAD_ZIP"]);
    check("stored", &zip(&readme(|entry| entry.method = 0)), &[], &[]);
}

#[test]
fn what_only_the_published_validator_unpacks_passes_by_its_rules_only() {
    // `# Demo` and a line end, packed with bzip2 and with LZMA.
    let bzip2 = b"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x04\x91\x0f\xa0\x00\x00\x01\x55\x00\x00\x10\x48\x00\x04\x00\x02\x02\xa0\x00\x22\x18\x02\x18\x0a\x8a\x72\xe1\x77\x24\x53\x85\x09\x00\x49\x10\xfa\x00";
    let lzma = b"\x09\x04\x05\x00\x5d\x00\x00\x80\x00\x00\x11\x88\x05\x08\x31\xf0\x41\xe3\x1f\xb3\xff\xff\xff\x62\x4c\x00\x00";
    for (method, packed) in [(12, &bzip2[..]), (14, lzma)] {
        let rare = readme(|entry| (entry.method, entry.packed) = (method, Some(packed.to_vec())));
        check(&format!("method {method}"), &zip(&rare), &[], &["E_COMPRESSION_METHOD"]);
        let broken = readme(|entry| (entry.method, entry.packed) = (method, Some(packed[..9].to_vec())));
        let report =
            validate_bundle(BundleSource::Zip(&zip(&broken)), &Submission::default(), Rules::Reference);
        assert!(!report.ok, "method {method}, cut off");
    }
}

#[test]
fn sizes_and_checksums_may_follow_the_content() {
    for (is_signed, is_large, lies) in [
        (true, false, false),
        (false, false, false),
        (true, true, false),
        (false, true, false),
        (true, false, true),
    ] {
        let entries = readme(|entry| {
            entry.flags = 8;
            let checksum = crc32fast::hash(&entry.content) ^ u32::from(lies);
            let sizes = [deflated(&entry.content).len() as u64, entry.content.len() as u64];
            let mut after = if is_signed { b"PK\x07\x08".to_vec() } else { Vec::new() };
            after.extend(checksum.to_le_bytes());
            for size in sizes {
                after.extend(&size.to_le_bytes()[..if is_large { 8 } else { 4 }]);
            }
            entry.after = after;
        });
        let spec: &[&str] = if lies { &["E_HEADER_MISMATCH"] } else { &[] };
        check(&format!("signed {is_signed}, large {is_large}, lies {lies}"), &zip(&entries), &[], spec);
    }
}

#[test]
fn every_byte_belongs_to_an_entry() {
    let stray = &["E_STRAY_BYTES"][..];
    check("before", &around(|around| around.before = b"#!/bin/sh\n".to_vec()), &[], stray);
    let counted = |around: &mut Around| (around.before, around.offsets_count_prefix) = (b"MZ".to_vec(), true);
    check("before, and counted", &around(counted), &[], stray);
    check("after", &around(|around| around.after = b"more".to_vec()), &[], stray);
    check("between entries", &zip(&readme(|entry| entry.after = b"gap".to_vec())), &[], stray);
    check("a comment", &around(|around| around.comment = b"made by hand".to_vec()), &[], &[]);
    let bytes = around(|around| around.comment = zip(&[entry("other/x", b"{}")]));
    // Readers disagree on which end counts; the published validator takes the last.
    check("a zip in the comment", &bytes, &["E_NO_MANIFEST"], &["E_BAD_ZIP"]);
    let mut shared = good();
    shared[1].told_at = Some(0);
    shared[1].name = shared[0].name.clone();
    let overlapping = zip(&shared);
    let found = validate_bundle(BundleSource::Zip(&overlapping), &Submission::default(), Rules::Reference);
    assert!(!found.ok);
    let bytes = zip(&[entry("a", b"same"), Entry { name: b"b".to_vec(), ..entry("a", b"same") }]);
    assert_eq!(refusals(read_zip(&bytes, &ContainerLimits::BUNDLE)), []);
}

#[test]
fn entries_that_share_bytes_are_refused() {
    // Two names in the directory for one content: how a small zip becomes a large folder.
    let first = entry("demo_app/a", b"shared");
    let second = Entry { told_at: Some(0), ..entry("demo_app/a", b"shared") };
    let refused = refusals(read_zip(&zip(&[first, second]), &ContainerLimits::BUNDLE));
    assert_eq!(refused, [Refusal::Duplicate]);
    let mut quoted = zip(&[entry("aaaa", b"shared"), entry("bbbb", b"shared")]);
    // The second entry of the directory is pointed at the first's header, which then has its name.
    let directory = quoted.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    let second = directory + 46 + 4;
    quoted[second + 42..second + 46].copy_from_slice(&[0; 4]);
    assert_eq!(refusals(read_zip(&quoted, &ContainerLimits::BUNDLE)), [Refusal::HeaderMismatch]);
    // A header that lies inside another entry's stored content.
    let inner = zip(&[entry("b", b"x")]);
    let inner_header = inner[..inner.windows(4).position(|part| part == b"PK\x01\x02").unwrap()].to_vec();
    let outer = Entry { method: 0, ..entry("a", &inner_header) };
    let at = u32::try_from(30 + 1).unwrap();
    let mut hidden = entry("b", b"x");
    hidden.told_at = Some(at);
    let refused = refusals(read_zip(&zip(&[outer, hidden]), &ContainerLimits::BUNDLE));
    assert_eq!(refused, [Refusal::Overlap]);
}

#[test]
fn large_numbers_do_not_lie() {
    fn large(entries: u64, size: u64, start: u64, at: u64) -> Vec<u8> {
        let mut record = b"PK\x06\x06".to_vec();
        record.extend(44_u64.to_le_bytes());
        record.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [entries, entries, size, start] {
            record.extend(number.to_le_bytes());
        }
        record.extend(b"PK\x06\x07\0\0\0\0");
        record.extend(at.to_le_bytes());
        record.extend(1_u32.to_le_bytes());
        record
    }
    check(
        "good",
        &around(|a| a.large = Some(|n, size, start| large(n, size, start, start + size))),
        &[],
        &[],
    );
    let mismatch = &["E_HEADER_MISMATCH"][..];
    let lies = |a: &mut Around| a.large = Some(|n, size, start| large(n + 1, size, start, start + size));
    check("entries", &around(lies), &[], mismatch);
    let lies = |a: &mut Around| a.large = Some(|n, size, start| large(n, size, start, start));
    check("place", &around(lies), &[], &["E_BAD_ZIP"]);
    let unused = [1, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    check(
        "numbers that nothing asks for",
        &zip(&readme(|entry| entry.extra = unused.to_vec())),
        &[],
        mismatch,
    );
    let short =
        readme(|entry| (entry.told_size, entry.extra) = (Some(u32::MAX), vec![1, 0, 4, 0, 0, 0, 0, 0]));
    check("a large number cut off", &zip(&short), &["E_BAD_ZIP"], mismatch);
}

#[test]
fn archives_that_are_too_large_are_refused_before_they_are_read() {
    let bomb = vec![0; 21 << 20];
    check("a bomb", &zip(&with(entry("demo_app/zeros", &bomb))), &["E_ZIP_BOMB"], &["E_ZIP_BOMB"]);
    let mut liar = entry("demo_app/zeros", &bomb);
    liar.told_size = Some(1000);
    check("a bomb that lies", &zip(&with(liar)), &["E_BAD_CHECKSUM"], &["E_HEADER_MISMATCH"]);
    let full = vec![0; 5 << 20];
    check("not a zip, at the limit", &full, &["E_BAD_ZIP"], &["E_BUNDLE_TOO_LARGE"]);
    check(
        "not a zip, over the limit",
        &[&full[..], b"x"].concat(),
        &["E_BUNDLE_TOO_LARGE"],
        &["E_BUNDLE_TOO_LARGE"],
    );
    let many: Vec<Entry> =
        (0..5000).map(|number| entry(&format!("demo_app/{number}"), b"")).chain(good()).collect();
    check("many entries", &zip(&many), &[], &["E_TOO_MANY_ENTRIES"]);
    let hidden = zip_with(&many, &Around { told_entries: Some(6), ..Around::default() });
    check("many entries that are not told", &hidden, &[], &["E_TOO_MANY_ENTRIES"]);
    for (name, bytes) in [("nothing", &b""[..]), ("text", b"hello"), ("only an end", b"PK\x05\x06")] {
        check(name, bytes, &["E_BAD_ZIP"], &["E_BAD_ZIP"]);
    }
    check("an empty zip", &zip(&[]), &["E_NO_MANIFEST"], &["E_NO_MANIFEST"]);
}

#[test]
fn a_size_is_believed_only_as_far_as_the_packed_bytes_can_become_it() {
    let zeros = vec![0; 16 << 20];
    let bytes = zip(&with(entry("demo_app/zeros", &zeros)));
    assert!(bytes.len() < zeros.len() / 800, "as tight as it can be, or nearly");
    let read = read_zip(&bytes, &ContainerLimits::BUNDLE).unwrap();
    assert!(read.get("demo_app/zeros").is_some_and(|content| content == zeros));
    let mut boaster = entry("demo_app/letter", b"x");
    boaster.told_size = Some(19 << 20);
    let read = read_zip(&zip(&with(boaster)), &ContainerLimits::BUNDLE);
    assert_eq!(refusals(read), [Refusal::HeaderMismatch]);
}

#[test]
fn a_zip_that_is_cut_off_anywhere_is_refused() {
    let bytes = zip(&good());
    for length in 0..bytes.len() {
        assert!(read_zip(&bytes[..length], &ContainerLimits::BUNDLE).is_err(), "{length}");
    }
}

#[test]
fn a_zip_with_any_byte_changed_gives_the_same_files_or_none() {
    let bytes = zip(&good());
    let files = read_zip(&bytes, &ContainerLimits::BUNDLE).unwrap();
    let mut accepted = 0;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        if let Ok(read) = read_zip(&changed, &ContainerLimits::BUNDLE) {
            // Only times, versions and permissions are not part of what was checked; names stay checked names.
            let contents =
                |files: &Files| files.iter().map(|(_, content)| content.to_vec()).collect::<Vec<_>>();
            assert_eq!(contents(&read), contents(&files), "{at}");
            accepted += 1;
        }
    }
    assert!(accepted > 0);
}

#[test]
fn tars_keep_the_same_rules() {
    let file = |name: &str| tar_entry(name.as_bytes(), b'0', b"content");
    let long = "x".repeat(120);
    let header = format!("{} path={long}\n", long.len() + 10);
    for (name, entries, expected) in [
        ("good", vec![tar_entry(b"a/", b'5', b""), file("a/b"), tar_entry(b"c", 0, b"")], vec![]),
        ("from here", vec![tar_entry(b"./", b'5', b""), file("./b")], vec![]),
        (
            "a long name",
            vec![tar_entry(b"././@LongLink", b'L', format!("{long}\0").as_bytes()), file("x")],
            vec![],
        ),
        ("a long name of another kind", vec![tar_entry(b"p", b'x', header.as_bytes()), file("x")], vec![]),
        ("a comment for all", vec![tar_entry(b"p", b'g', b"13 comment=x\n"), file("x")], vec![]),
        (
            "a new name for all",
            vec![tar_entry(b"p", b'g', b"10 path=x\n"), file("x")],
            vec![Refusal::NotAnArchive],
        ),
        ("climbing", vec![file("../x"), file("/x")], vec![Refusal::Traversal; 2]),
        (
            "a long climbing name",
            vec![tar_entry(b"l", b'L', b"../../x\0"), file("x")],
            vec![Refusal::Traversal],
        ),
        ("a symbolic link", vec![tar_entry(b"x", b'2', b"")], vec![Refusal::Link]),
        ("a hard link", vec![tar_entry(b"x", b'1', b"")], vec![Refusal::Link]),
        ("a device", vec![tar_entry(b"x", b'3', b"")], vec![Refusal::SpecialFile]),
        ("a pipe", vec![tar_entry(b"x", b'6', b"")], vec![Refusal::SpecialFile]),
        ("a file with holes", vec![tar_entry(b"x", b'S', b"")], vec![Refusal::SpecialFile]),
        ("twice", vec![file("x"), file("x")], vec![Refusal::Duplicate]),
        ("twins", vec![file("x"), file("X")], vec![Refusal::CaseTwin]),
        ("a file and a folder", vec![file("x"), file("x/y")], vec![Refusal::FileAndFolder]),
        ("not UTF-8", vec![tar_entry(b"\xff", b'0', b"")], vec![Refusal::BadPath]),
        ("a name for nothing", vec![tar_entry(b"l", b'L', b"x\0")], vec![Refusal::NotAnArchive]),
        ("a folder with content", vec![tar_entry(b"x/", b'5', b"y")], vec![Refusal::FileAndFolder]),
    ] {
        let bytes = tar(&entries);
        assert_eq!(refusals(read_tar(&bytes, &ContainerLimits::BUNDLE)), expected, "{name}");
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&bytes).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(refusals(read_tar(&packed, &ContainerLimits::BUNDLE)), expected, "{name}, packed");
    }
    let bytes = tar(&[file("x")]);
    let limits = ContainerLimits::BUNDLE;
    assert_eq!(read_tar(&bytes, &limits).unwrap().get("x"), Some(&b"content"[..]));
    assert_eq!(refusals(read_tar(&[&bytes[..], b"x"].concat(), &limits)), [Refusal::StrayBytes]);
    assert_eq!(refusals(read_tar(&bytes[..1024], &limits)), [Refusal::NotAnArchive]);
    let mut wrong = bytes.clone();
    wrong[0] = b'y';
    assert_eq!(refusals(read_tar(&wrong, &limits)), [Refusal::NotAnArchive]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![0; 64 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(refusals(read_tar(&packed, &limits)), [Refusal::TooManyBytes]);
    let many: Vec<Vec<u8>> = (0..5000).map(|number| file(&format!("f{number}"))).collect();
    assert_eq!(refusals(read_tar(&tar(&many), &limits)), [Refusal::TooManyEntries]);
}

#[test]
fn folders_keep_the_same_rules() {
    let limits = ContainerLimits { entries_max: 4, content_bytes_max: 10, ..ContainerLimits::BUNDLE };
    let check = |expected: &[Refusal], make: &dyn Fn(&std::path::Path)| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "12345").unwrap();
        make(folder.path());
        assert_eq!(refusals(Files::read_folder(folder.path(), &limits)), expected);
    };
    check(&[], &|_| {});
    check(&[Refusal::Link], &|folder| symlink("/etc/passwd", folder.join("b")).unwrap());
    check(&[Refusal::Link], &|folder| symlink("/etc", folder.join("b")).unwrap());
    check(&[Refusal::CaseTwin], &|folder| std::fs::write(folder.join("A"), "").unwrap());
    check(&[Refusal::TooManyBytes], &|folder| std::fs::write(folder.join("b"), "123456").unwrap());
    check(&[Refusal::Traversal], &|folder| std::fs::write(folder.join("a\\b"), "").unwrap());
    check(&[Refusal::TooManyEntries], &|folder| {
        for name in ["b", "c", "d", "e"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
    });
    check(&[Refusal::SpecialFile], &|folder| {
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    });
    assert_eq!(
        refusals(Files::read_folder(std::path::Path::new("/nowhere/at/all"), &limits)),
        [Refusal::Unreadable]
    );
}
