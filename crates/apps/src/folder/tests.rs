//! Scanning a folder that holds every kind of bad input, and scanning it again.

use super::{AgentsFolder, Content, ENTRIES_MAX, Found, Pins};
use crate::stamp::Seen;
use roost_protocol::{Digest, Failure, Reason};
use rustix::fs::{CWD, FileType, Mode};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink, net::UnixListener},
    path::Path,
    time::{Duration, SystemTime},
};

fn scan(folder: &Path) -> Vec<Found> {
    AgentsFolder::new(folder).scan(|_| None).unwrap()
}

fn reason(found: &[Found], name: &str) -> Option<Reason> {
    let entry =
        found.iter().find(|found| found.file_name == name).unwrap_or_else(|| panic!("{name} is not listed"));
    entry.content.as_ref().err().map(|failure: &Failure| failure.reason)
}

#[test]
fn a_missing_folder_is_empty_and_a_file_is_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    assert!(scan(&folder.path().join("none")).is_empty());
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(AgentsFolder::new(file).scan(|_| None).unwrap_err().reason, Reason::Unreadable);
}

#[test]
fn only_agent_names_are_listed_and_they_are_sorted() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "b_agent.py",
        "a_agent.py",
        "ShellAgent.ts",
        "basic_agent.py",
        ".hidden_agent.py",
        "notes.md",
        "A_AGENT.PY",
        "c_agent.py~",
        "x_agent.js",
    ] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::write(folder.path().join("deep/d_agent.py"), "").unwrap();
    let names: Vec<String> = scan(folder.path()).into_iter().map(|found| found.file_name).collect();
    assert_eq!(names, ["ShellAgent.ts", "a_agent.py", "b_agent.py", "x_agent.js"]);
}

#[test]
fn every_bad_input_is_one_line_with_its_reason_and_the_good_file_is_read() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("o_agent.py"), "x").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("good_agent.py"), "x = 1").unwrap();
    fs::write(at("syntax_agent.py"), "def (").unwrap();
    fs::write(at("latin_agent.py"), b"x = '\xe9'").unwrap();
    fs::write(at("nul_agent.py"), b"x = 1\0").unwrap();
    fs::File::create(at("sparse_agent.py")).unwrap().set_len(50 << 20).unwrap();
    fs::create_dir(at("directory_agent.py")).unwrap();
    rustix::fs::mknodat(CWD, at("pipe_agent.py"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = UnixListener::bind(at("socket_agent.py")).unwrap();
    symlink(outside.path().join("o_agent.py"), at("out_agent.py")).unwrap();
    symlink(at("good_agent.py"), at("in_agent.py")).unwrap();
    symlink("good_agent.py", at("relative_agent.py")).unwrap();
    symlink("nowhere", at("dangling_agent.py")).unwrap();
    symlink("loop_agent.py", at("loop_agent.py")).unwrap();
    fs::write(at("with space_agent.py"), "x").unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"b\xffd_agent.py")), "x").unwrap();

    let found = scan(folder.path());
    for (name, expected) in [
        ("good_agent.py", None),
        ("syntax_agent.py", None),
        ("latin_agent.py", None),
        ("nul_agent.py", None),
        ("in_agent.py", None),
        ("relative_agent.py", None),
        ("sparse_agent.py", Some(Reason::FileTooLarge)),
        ("directory_agent.py", Some(Reason::NotAFile)),
        ("pipe_agent.py", Some(Reason::NotAFile)),
        ("socket_agent.py", Some(Reason::NotAFile)),
        ("out_agent.py", Some(Reason::SymlinkOutside)),
        ("dangling_agent.py", Some(Reason::Unreadable)),
        ("loop_agent.py", Some(Reason::Unreadable)),
        ("with space_agent.py", Some(Reason::InvalidFileName)),
        ("b\u{fffd}d_agent.py", Some(Reason::InvalidFileName)),
    ] {
        assert_eq!(reason(&found, name), expected, "{name}");
    }
    assert_eq!(found.len(), 15);
}

#[test]
fn a_known_settled_file_is_not_read_again_and_a_changed_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a_agent.py");
    fs::write(&path, "x = 1").unwrap();
    let first = scan(folder.path()).remove(0).content.unwrap();
    assert!(matches!(first, Content::Read(_)));

    let settled = Seen { read_at: SystemTime::now() + Duration::from_secs(1), ..first.seen() };
    let known = HashMap::from([("a_agent.py".to_owned(), settled)]);
    let agents = AgentsFolder::new(folder.path());
    let look = |known: &HashMap<String, Seen>| {
        agents.scan(|name| known.get(name).copied()).unwrap().remove(0).content.unwrap()
    };
    assert!(matches!(look(&known), Content::Unchanged(seen) if seen == settled));

    let unsettled = Seen { read_at: SystemTime::UNIX_EPOCH, ..settled };
    assert!(matches!(look(&HashMap::from([("a_agent.py".to_owned(), unsettled)])), Content::Read(_)));

    fs::write(&path, "x = 22").unwrap();
    let Content::Read(file) = look(&known) else { panic!("the change was not seen") };
    assert_eq!(&*file.bytes, b"x = 22");
}

#[test]
fn a_known_link_whose_target_moves_out_of_the_folder_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    fs::write(&target, "x").unwrap();
    symlink("target", folder.path().join("a_agent.py")).unwrap();
    let seen = scan(folder.path()).remove(0).content.unwrap().seen();
    let moved = outside.path().join("target");
    fs::rename(&target, &moved)
        .or_else(|_| fs::copy(&target, &moved).map(|_| ()).and_then(|()| fs::remove_file(&target)))
        .unwrap();
    symlink(&moved, &target).unwrap();
    let again = AgentsFolder::new(folder.path()).scan(|_| Some(seen)).unwrap();
    assert_eq!(reason(&again, "a_agent.py"), Some(Reason::SymlinkOutside));
}

#[test]
fn a_folder_beyond_the_limit_is_still_listed() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..ENTRIES_MAX + 5 {
        fs::write(folder.path().join(format!("n{index}.txt")), "").unwrap();
    }
    assert!(scan(folder.path()).is_empty());
}

#[test]
fn a_folder_of_services_has_no_agents_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["notes_service.py", "notes_agent.py", "service.py"] {
        fs::write(folder.path().join(name), "x = 1").unwrap();
    }
    let names = |of: &AgentsFolder| -> Vec<String> {
        of.scan(|_| None).unwrap().into_iter().map(|found| found.file_name).collect()
    };
    assert_eq!(names(&AgentsFolder::of_services(folder.path())), ["notes_service.py"]);
    assert_eq!(names(&AgentsFolder::new(folder.path())), ["notes_agent.py"]);
    let read = AgentsFolder::of_services(folder.path()).read("notes_agent.py");
    assert_eq!(read.unwrap_err().reason, Reason::InvalidFileName);
}

#[test]
fn of_a_pinned_folder_only_the_pinned_content_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    ["same_agent.py", "changed_agent.py", "extra_agent.py"].iter().for_each(|name| write(name, "x = 1"));
    let pinned = ["same_agent.py", "changed_agent.py", "gone_agent.py"];
    let digests = pinned.iter().map(|name| ((*name).to_owned(), Digest::of(b"x = 1"))).collect();
    write("changed_agent.py", "x = 2");
    let pinned = AgentsFolder::pinned(folder.path(), Pins { source: "s".to_owned(), digests });
    let mut seen = Vec::new();
    for found in pinned.scan(|_| None).unwrap() {
        let reason = found.content.err().map(|failure| failure.reason);
        assert_eq!(pinned.read(&found.file_name).err().map(|failure| failure.reason), reason);
        seen.push((found.file_name, reason));
    }
    let refused = |name: &str| (name.to_owned(), Some(Reason::DigestMismatch));
    let expected = [
        refused("changed_agent.py"),
        refused("extra_agent.py"),
        refused("gone_agent.py"),
        ("same_agent.py".to_owned(), None),
    ];
    assert_eq!(seen, expected);
    assert!(
        pinned.may_hold("same_agent.py", Digest::of(b"x = 1"))
            && !pinned.may_hold("same_agent.py", Digest::of(b""))
    );
}
