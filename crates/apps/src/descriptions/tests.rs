//! The cache over several lives of the host, and over everything that can happen to its file.

use super::{Described, Description, Descriptions};
use crate::{
    agent_file::AgentFile,
    folder::{AgentsFolder, Content},
};
use proptest::prelude::*;
use roost_protocol::{AgentDescription, ClassFailure, Digest, Failure, FileKind, Reason};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

const KEY: &str = "runner 1, Python 3.11";

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("agents")).unwrap();
        Self { folder }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache/descriptions.json")
    }

    fn agents(&self) -> PathBuf {
        self.folder.path().join("agents")
    }

    fn open(&self) -> Descriptions {
        Descriptions::open(&self.cache(), KEY)
    }

    fn write(&self, name: &str, text: &str) -> AgentFile {
        fs::write(self.agents().join(name), text).unwrap();
        AgentFile::read_in(&self.agents(), FileKind::Agent, name).unwrap()
    }

    fn source_path(&self, digest: &Digest) -> PathBuf {
        self.folder.path().join("cache/sources").join(digest.to_string())
    }
}

fn loaded(name: &str) -> Described {
    let agent = AgentDescription {
        name: name.to_owned(),
        class: format!("{name}Agent"),
        description: "Does something useful with what it is given, and says so in a sentence.".to_owned(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string", "description": "Which."}}}),
        tool: Some(json!({"type": "function"})),
        has_system_context: true,
    };
    let failure = Failure::new(Reason::ConstructorFailed, "boom").at_line(3);
    let failures = vec![ClassFailure { class: "Other".to_owned(), name: None, failure }];
    Described::Loaded(Description { agents: vec![agent], failures })
}

fn make_old(path: &Path) {
    fs::File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
}

#[test]
fn what_was_described_is_there_in_the_next_life() {
    let home = Home::new();
    let good = home.write("good_agent.py", "x = 1");
    let bad = home.write("bad_agent.py", "x =");
    let mut cache = home.open();
    cache.keep_source(&good).unwrap();
    cache.set_described(good.digest, loaded("Good"));
    cache.set_seen("bad_agent.py", bad.seen());
    cache.set_described(bad.digest, Described::Failed(Failure::plain(Reason::SyntaxError)));
    cache.save().unwrap();

    let cache = home.open();
    assert_eq!(cache.seen("good_agent.py"), Some(good.seen()));
    assert_eq!(cache.last_good("good_agent.py"), Some(good.digest));
    assert_eq!(cache.last_good("bad_agent.py"), None);
    let Some(Described::Loaded(description)) = cache.described(&good.digest) else { panic!() };
    assert_eq!(description.agents[0].tool, Some(json!({"type": "function"})));
    assert_eq!(description.failures[0].failure.line, Some(3));
    assert!(
        matches!(cache.described(&bad.digest), Some(Described::Failed(f)) if f.reason == Reason::SyntaxError)
    );
}

#[test]
fn a_warm_listing_reads_no_file() {
    let home = Home::new();
    home.write("a_agent.py", "x = 1");
    let folder = AgentsFolder::new(home.agents());
    let mut cache = home.open();
    let mut seen = folder.scan(|name| cache.seen(name)).unwrap().remove(0).content.unwrap().seen();
    seen.read_at += Duration::from_secs(1);
    cache.set_seen("a_agent.py", seen);
    cache.save().unwrap();
    let cache = home.open();
    let found = folder.scan(|name| cache.seen(name)).unwrap();
    assert!(matches!(found[0].content, Ok(Content::Unchanged(_))));
}

#[test]
fn a_broken_edit_keeps_the_last_good_version() {
    let home = Home::new();
    let good = home.write("a_agent.py", "x = 1");
    let mut cache = home.open();
    cache.keep_source(&good).unwrap();
    cache.set_described(good.digest, loaded("A"));
    cache.save().unwrap();
    let broken = home.write("a_agent.py", "x =");
    cache.set_seen("a_agent.py", broken.seen());
    cache.set_described(broken.digest, Described::Failed(Failure::plain(Reason::SyntaxError)));
    cache.save().unwrap();

    let cache = home.open();
    let last_good = cache.last_good("a_agent.py").unwrap();
    assert_eq!(cache.source(&last_good).as_deref(), Some(&b"x = 1"[..]));
    assert!(matches!(cache.described(&last_good), Some(Described::Loaded(_))));
}

#[test]
fn another_key_forgets_descriptions_but_not_good_versions() {
    let home = Home::new();
    let file = home.write("a_agent.py", "x = 1");
    let mut cache = home.open();
    cache.keep_source(&file).unwrap();
    cache.set_described(file.digest, loaded("A"));
    cache.save().unwrap();
    let mut other = Descriptions::open(&home.cache(), "runner 2");
    assert!(other.described(&file.digest).is_none());
    assert_eq!(other.last_good("a_agent.py"), Some(file.digest));
    other.save().unwrap();
    assert!(home.open().described(&file.digest).is_none());
}

#[test]
fn a_damaged_or_newer_cache_is_an_empty_one_and_is_replaced() {
    let nested = format!("{{\"format\":1,\"key\":{}", "[".repeat(100_000));
    for content in
        ["", "{", "null", "[]", "\0\0\0", r#"{"format":2,"shape":"new"}"#, r#"{"format":1}"#, nested.as_str()]
    {
        let home = Home::new();
        fs::create_dir_all(home.cache().parent().unwrap()).unwrap();
        fs::write(home.cache(), content).unwrap();
        let file = home.write("a_agent.py", "x = 1");
        let mut cache = home.open();
        assert_eq!(cache.seen("a_agent.py"), None, "{content:.40}");
        cache.set_seen("a_agent.py", file.seen());
        cache.save().unwrap();
        assert_eq!(home.open().seen("a_agent.py"), Some(file.seen()), "{content:.40}");
    }
    let home = Home::new();
    fs::create_dir_all(home.cache()).unwrap();
    assert!(home.open().save().is_err(), "a folder in its place cannot be replaced");
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let home = Home::new();
    let mut cache = home.open();
    cache.save().unwrap();
    assert!(!home.cache().exists());
    let file = home.write("a_agent.py", "x = 1");
    cache.keep_source(&file).unwrap();
    cache.save().unwrap();
    fs::remove_file(home.cache()).unwrap();
    cache.keep_source(&file).unwrap();
    cache.set_seen("a_agent.py", file.seen());
    cache.retain_files(|_| true);
    cache.forget(|_| true);
    cache.save().unwrap();
    assert!(!home.cache().exists());
}

#[test]
fn what_no_file_refers_to_is_dropped() {
    let home = Home::new();
    let mut cache = home.open();
    let old = home.write("a_agent.py", "x = 1");
    cache.keep_source(&old).unwrap();
    cache.set_described(old.digest, loaded("A"));
    let gone = home.write("b_agent.py", "x = 2");
    cache.keep_source(&gone).unwrap();
    cache.set_described(gone.digest, loaded("B"));
    let new = home.write("a_agent.py", "x = 3");
    cache.keep_source(&new).unwrap();
    cache.set_described(new.digest, loaded("A"));
    cache.retain_files(|name| name == "a_agent.py");
    let strange = home.source_path(&old.digest).with_file_name("README");
    let crashed = home.source_path(&old.digest).with_file_name(".new-abc");
    for path in [&strange, &crashed] {
        fs::write(path, "").unwrap();
        make_old(path);
    }
    for digest in [&old.digest, &new.digest] {
        make_old(&home.source_path(digest));
    }
    cache.save().unwrap();
    assert!(cache.described(&old.digest).is_none() && cache.described(&gone.digest).is_none());
    assert!(cache.described(&new.digest).is_some());
    assert!(!home.source_path(&old.digest).exists() && !crashed.exists());
    assert!(home.source_path(&new.digest).exists() && strange.exists());
    // Kept a moment ago, maybe by another process.
    assert!(home.source_path(&gone.digest).exists());
}

#[test]
fn a_source_that_was_tampered_with_is_not_given_out_and_is_repaired() {
    let home = Home::new();
    let file = home.write("a_agent.py", "x = 1");
    let mut cache = home.open();
    cache.keep_source(&file).unwrap();
    fs::write(home.source_path(&file.digest), "x = 2").unwrap();
    assert_eq!(cache.source(&file.digest), None);
    cache.keep_source(&file).unwrap();
    assert!(cache.source(&file.digest).is_some());
    assert_eq!(cache.source(&Digest::of(b"never kept")), None);
}

#[test]
fn a_cache_of_a_whole_registry_opens_in_a_moment() {
    let home = Home::new();
    let file = home.write("a_agent.py", "x = 1");
    let mut cache = home.open();
    for index in 0..350 {
        let digest = Digest::of(format!("{index}").as_bytes());
        cache.set_seen(&format!("n{index}_agent.py"), crate::stamp::Seen { digest, ..file.seen() });
        cache.set_described(digest, loaded(&format!("N{index}")));
    }
    cache.save().unwrap();
    let start = Instant::now();
    let cache = home.open();
    let took = start.elapsed();
    assert!(cache.described(&Digest::of(b"349")).is_some());
    // A few milliseconds when optimised; the bound leaves room for a debug build on a busy machine.
    assert!(took < Duration::from_millis(500), "{took:?}");
}

proptest! {
    #[test]
    fn no_damage_of_the_file_makes_opening_panic(at in 0_usize..2_000, bytes in proptest::collection::vec(any::<u8>(), 0..6)) {
        let home = Home::new();
        let file = home.write("a_agent.py", "x = 1");
        let mut cache = home.open();
        cache.keep_source(&file).unwrap();
        cache.set_described(file.digest, loaded("A"));
        cache.save().unwrap();
        let mut content = fs::read(home.cache()).unwrap();
        let start = at % content.len();
        let end = (start + bytes.len()).min(content.len());
        content.splice(start..end, bytes);
        fs::write(home.cache(), content).unwrap();
        let mut cache = home.open();
        cache.set_seen("b_agent.py", file.seen());
        cache.save().unwrap();
    }
}
