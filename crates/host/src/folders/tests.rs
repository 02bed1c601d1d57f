//! A folder and its workspace through every kind of difference, without any agent.

use super::{Folders, Visitor};
use crate::{
    settings::{Home, StoreSettings},
    store::Store,
};
use roost_protocol::FolderReport;
use roost_workspace::{Author, Condition, Content, FilePath, Limits, Owner, Prefix, Rule, Write, Writer};
use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};
use tempfile::TempDir;

struct Place {
    _root: TempDir,
    home: Home,
    store: Arc<Store>,
    folders: Folders,
}

const OWN: &str = "notes_agent";

impl Place {
    fn new() -> Self {
        Self::with(Limits { file_bytes_max: 100, files_max: 5, ..Limits::default() })
    }

    fn with(limits: Limits) -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = Home::new(root.path().to_owned(), None);
        let store = store(&home, limits);
        let folders = Folders::new(&home);
        let place = Self { _root: root, home, store, folders };
        fs::create_dir_all(place.path("")).unwrap();
        place
    }

    /// The same home after its host ended.
    fn again(&mut self) {
        self.store = store(&self.home, *self.store.limits());
        self.folders = Folders::new(&self.home);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.data().join("workspaces").join(OWN).join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    async fn call(&self, perform: impl FnOnce()) -> FolderReport {
        let visit = self.folders.before(&self.store, OWN, visitor()).await;
        perform();
        self.folders.after(&self.store, visit).await
    }

    /// A write over the network.
    async fn put(&self, name: &str, content: Option<&str>) {
        let content = content
            .map(|text| Content { bytes: text.as_bytes().to_vec(), content_type: "text/plain".to_owned() });
        let write = Write { path: path(name), condition: Condition::none(), content };
        let workspaces = self.store.workspaces().await.unwrap();
        workspaces.write_one(&owner(), &Writer::person("tok_1"), write, None).await.unwrap();
    }

    async fn kept(&self, name: &str) -> Option<String> {
        let workspaces = self.store.workspaces().await.unwrap();
        let file = workspaces.get(&owner(), &path(name), None).await.ok()?;
        Some(String::from_utf8(file.content).unwrap())
    }

    async fn names(&self) -> Vec<String> {
        let listing =
            self.store.workspaces().await.unwrap().list(&owner(), &Prefix::default()).await.unwrap();
        listing.files.into_iter().map(|file| file.path.as_str().to_owned()).collect()
    }

    /// Version, principal, node and reason, newest first.
    async fn log(&self, name: &str) -> Vec<(i64, String, Option<String>, Option<String>)> {
        let history = self.store.workspaces().await.unwrap().history(&owner(), &path(name)).await;
        let row = |revision: roost_workspace::Revision| {
            let Author { principal, node, reason, .. } = revision.author;
            (revision.version, principal, node, reason)
        };
        history.unwrap_or_default().into_iter().map(row).collect()
    }

    fn looks(&self) -> u64 {
        self.folders.looks.load(Ordering::Relaxed)
    }
}

fn store(home: &Home, limits: Limits) -> Arc<Store> {
    Arc::new(Store::new(home.root().to_owned(), StoreSettings { limits, ..StoreSettings::default() }))
}

fn visitor() -> Visitor {
    let author = Author {
        principal: "notes_agent.py".to_owned(),
        node: Some("Notes".to_owned()),
        ..Author::default()
    };
    Visitor { author, secrets: Arc::default() }
}

fn owner() -> Owner {
    super::name::owner_of(OWN)
}

fn path(name: &str) -> FilePath {
    FilePath::of_folder(name).unwrap()
}

fn told(report: &FolderReport) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(
        report
            .committed
            .iter()
            .map(|file| format!("{}{}{}", if file.removed { "-" } else { "+" }, file.path, file.version)),
    );
    words.extend(report.conflicts.iter().map(|file| format!("!{}", file.path)));
    words.extend(report.skipped.iter().map(|file| format!("?{} ({})", file.path, file.why)));
    words.extend(report.problem.clone());
    words.join(" ")
}

#[tokio::test]
async fn an_agent_that_never_uses_its_folder_opens_no_database() {
    let place = Place::new();
    for _ in 0..3 {
        assert!(place.call(|| {}).await.is_empty());
    }
    assert_eq!(place.looks(), 1);
    assert!(!place.home.root().join("roost.db").exists());
}

#[tokio::test]
async fn what_a_call_changes_has_versions_and_an_unchanged_folder_is_not_looked_at() {
    let place = Place::new();
    assert_eq!(told(&place.call(|| place.write("a/b.md", "one")).await), "+a/b.md1");
    assert_eq!(place.log("a/b.md").await, [(1, "notes_agent.py".to_owned(), Some("Notes".to_owned()), None)]);
    let looks = place.looks();
    for _ in 0..5 {
        assert!(place.call(|| drop(fs::read(place.path("a/b.md")))).await.is_empty());
    }
    assert_eq!(place.looks(), looks);
    assert!(place.call(|| place.write("a/b.md", "one")).await.is_empty(), "the same content is no change");
    assert_eq!(told(&place.call(|| place.write("a/b.md", "two")).await), "+a/b.md2");
    assert_eq!(told(&place.call(|| fs::remove_dir_all(place.path("a")).unwrap()).await), "-a/b.md3");
    assert!(place.names().await.is_empty());
}

#[tokio::test]
async fn changes_that_leave_the_same_stamp_are_found() {
    let place = Place::new();
    for number in 0..20 {
        let report = place.call(|| place.write("a.md", &format!("{number:04}"))).await;
        assert_eq!(told(&report), format!("+a.md{}", number + 1));
    }
}

#[tokio::test]
async fn what_is_written_elsewhere_is_there_before_the_call() {
    let mut place = Place::new();
    place.put("x/new.md", Some("by token")).await;
    assert!(place.call(|| assert_eq!(place.text("x/new.md").as_deref(), Some("by token"))).await.is_empty());
    place.put("x/new.md", Some("again")).await;
    assert!(place.call(|| assert_eq!(place.text("x/new.md").as_deref(), Some("again"))).await.is_empty());
    place.put("x/new.md", None).await;
    assert!(place.call(|| assert!(!place.path("x").exists())).await.is_empty());
    place.put("lost.md", Some("1")).await;
    place.call(|| {}).await;
    fs::remove_dir_all(place.path("")).unwrap();
    place.again();
    assert!(place.call(|| assert_eq!(place.text("lost.md").as_deref(), Some("1"))).await.is_empty());
    assert_eq!(place.names().await, ["lost.md"], "a folder that was lost was not emptied");
}

#[tokio::test]
async fn what_a_person_changes_on_disk_is_committed_before_the_call() {
    let mut place = Place::new();
    place.call(|| place.write("a.md", "one")).await;
    place.write("a.md", "by hand");
    assert!(place.call(|| {}).await.is_empty());
    let by_hand = (2, "owner".to_owned(), None, Some("changed on disk".to_owned()));
    assert_eq!(place.log("a.md").await[0], by_hand);
    // While no host runs.
    place.write("a.md", "in the night");
    place.write("b.md", "new");
    place.again();
    place.folders.meet_all(&place.store, &Arc::default()).await;
    assert_eq!(place.kept("a.md").await.as_deref(), Some("in the night"));
    assert_eq!(place.names().await, ["a.md", "b.md"]);
    fs::remove_file(place.path("a.md")).unwrap();
    place.again();
    place.call(|| {}).await;
    assert_eq!(place.names().await, ["b.md"]);
}

#[tokio::test]
async fn a_conflict_keeps_both() {
    let place = Place::new();
    place.call(|| place.write("a.md", "one")).await;
    let visit = place.folders.before(&place.store, OWN, visitor()).await;
    place.put("a.md", Some("theirs")).await;
    place.write("a.md", "mine");
    let report = place.folders.after(&place.store, visit).await;
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    let aside = report.conflicts[0].kept_as.clone();
    assert!(aside.starts_with("a.md.conflict-2"));
    for (name, text) in [("a.md", "theirs"), (aside.as_str(), "mine")] {
        assert_eq!(place.text(name).as_deref(), Some(text));
        assert_eq!(place.kept(name).await.as_deref(), Some(text));
    }
    assert!(place.call(|| {}).await.is_empty());
    // The same content on both sides is none.
    let visit = place.folders.before(&place.store, OWN, visitor()).await;
    place.put("a.md", Some("same")).await;
    place.write("a.md", "same");
    assert!(place.folders.after(&place.store, visit).await.is_empty());
    // Removed there, changed here; and changed there, removed here.
    let visit = place.folders.before(&place.store, OWN, visitor()).await;
    place.put("a.md", None).await;
    place.write("a.md", "still mine");
    let report = place.folders.after(&place.store, visit).await;
    assert_eq!(place.kept(&report.conflicts[0].kept_as).await.as_deref(), Some("still mine"));
    assert_eq!(place.kept("a.md").await, None);
    let visit = place.folders.before(&place.store, OWN, visitor()).await;
    place.put(&aside, Some("theirs again")).await;
    fs::remove_file(place.path(&aside)).unwrap();
    assert!(place.folders.after(&place.store, visit).await.conflicts.is_empty());
    assert_eq!(place.text(&aside).as_deref(), Some("theirs again"));
}

#[tokio::test]
async fn nothing_but_plain_files_that_fit_is_kept() {
    let place = Place::new();
    let outside = place.home.root().join("outside.txt");
    fs::write(&outside, "secret").unwrap();
    let report = place
        .call(|| {
            symlink(&outside, place.path("link.md")).unwrap();
            symlink(place.home.root(), place.path("linked")).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                place.path("pipe"),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            place.write("new\nline.md", "x");
            place.write("large.md", &"x".repeat(101));
            place.write(".roost-own", "x");
            for number in 0..7 {
                place.write(&format!("n{number}.md"), "x");
            }
        })
        .await;
    assert_eq!(place.names().await, ["n0.md", "n1.md", "n2.md", "n3.md", "n4.md"]);
    let mut skipped: Vec<String> =
        report.skipped.iter().map(|file| format!("{}: {}", file.path, file.why)).collect();
    skipped.sort();
    assert_eq!(
        skipped,
        [
            "large.md: more than maxFileBytes allows",
            "link.md: a link, not a file",
            "linked: a link, not a file",
            "n5.md: more than maxFiles allows",
            "n6.md: more than maxFiles allows",
            "new\\nline.md: a path has a character that is not allowed",
            "pipe: a pipe, not a file",
        ]
    );
    // A file that gives way to a link is gone from the folder; what the link names is never touched.
    place
        .call(|| {
            (0..7).for_each(|number| fs::remove_file(place.path(&format!("n{number}.md"))).unwrap());
            symlink(&outside, place.path("n0.md")).unwrap();
        })
        .await;
    assert_eq!(place.kept("n0.md").await, None);
    place.put("linked/x.md", Some("x")).await;
    place.put("n0.md", Some("back")).await;
    place.call(|| {}).await;
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    assert!(!place.home.root().join("x.md").exists());
    assert_eq!(
        place.kept("linked/x.md").await.as_deref(),
        Some("x"),
        "what cannot be on disk was not removed"
    );
}

#[tokio::test]
async fn rules_for_agents_hold_in_folders_too() {
    let place = Place::new();
    place.put("FIXED.md", Some("I am")).await;
    let workspaces = place.store.workspaces().await.unwrap();
    for (prefix, rule) in [("FIXED", Rule::Read), ("ASKED", Rule::Propose)] {
        workspaces.set_rule(&owner(), &Prefix::parse(prefix).unwrap(), Some(rule)).await.unwrap();
    }
    let report = place
        .call(|| {
            place.write("FIXED.md", "I am not");
            place.write("ASKED.md", "obey");
            place.write("fine.md", "x");
        })
        .await;
    assert_eq!(report.committed.len(), 1, "{report:?}");
    assert_eq!(report.skipped.len(), 2);
    assert_eq!(place.text("FIXED.md").as_deref(), Some("I am"));
    assert_eq!(place.text("ASKED.md"), None);
    let proposals = workspaces.proposals(&owner()).await.unwrap();
    assert_eq!(proposals.len(), 1, "{proposals:?} {report:?}");
    assert!(place.call(|| {}).await.is_empty());
}

#[tokio::test]
async fn two_calls_at_once_lose_and_double_nothing() {
    let place = Place::new();
    let first = place.folders.before(&place.store, OWN, visitor()).await;
    place.write("first.md", "1");
    let second = place.folders.before(&place.store, OWN, visitor()).await;
    assert_eq!(place.log("first.md").await, [], "somebody is still at work");
    place.put("third.md", Some("3")).await;
    place.write("second.md", "2");
    assert_eq!(told(&place.folders.after(&place.store, second).await), "+first.md1 +second.md1");
    place.write("first.md", "1b");
    assert_eq!(told(&place.folders.after(&place.store, first).await), "+first.md2");
    assert_eq!(place.text("third.md").as_deref(), Some("3"));
    assert!(place.call(|| {}).await.is_empty());
}

#[tokio::test]
async fn what_a_call_that_was_given_up_wrote_is_said_to_be_its_own() {
    let place = Place::new();
    let visit = place.folders.before(&place.store, OWN, visitor()).await;
    place.write("a.md", "half");
    drop(visit);
    place.call(|| {}).await;
    let log = place.log("a.md").await;
    assert_eq!((log[0].1.as_str(), log[0].3.as_deref()), ("notes_agent.py", Some("the call did not end")));
}

#[tokio::test]
async fn a_database_that_was_lost_gets_the_files_again() {
    let mut place = Place::new();
    place.call(|| place.write("a.md", "one")).await;
    place.call(|| place.write("a.md", "two")).await;
    place.again();
    for ending in ["", "-wal", "-shm"] {
        fs::remove_file(place.home.root().join(format!("roost.db{ending}"))).ok();
    }
    place.put("other.md", Some("x")).await;
    place.put("other.md", Some("y")).await;
    place.put("other.md", Some("z")).await;
    place.call(|| {}).await;
    assert_eq!(place.text("a.md").as_deref(), Some("two"));
    assert_eq!(place.names().await, ["a.md", "other.md"]);
}

#[tokio::test]
async fn a_store_that_cannot_be_used_does_not_stop_a_call() {
    let place = Place::new();
    fs::write(
        place.home.root().join("roost.db"),
        "not a database, but long enough to be read as one".repeat(100),
    )
    .unwrap();
    let report = place.call(|| place.write("a.md", "one")).await;
    assert!(report.problem.is_some(), "{report:?}");
    fs::remove_file(place.home.root().join("roost.db")).unwrap();
    place.call(|| {}).await;
    assert_eq!(place.kept("a.md").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn many_bytes_come_in_several_writes() {
    let place = Place::with(Limits::default());
    let content = "x".repeat(1 << 20);
    let report =
        place.call(|| (0..40).for_each(|number| place.write(&format!("{number:02}.txt"), &content))).await;
    assert_eq!((report.committed.len(), report.more), (FolderReport::NAMED_MAX, 8), "{report:?}");
    assert_eq!(place.names().await.len(), 40);
}
