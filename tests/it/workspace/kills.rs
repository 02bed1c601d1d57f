//! A program that writes is killed at random moments, or its server is: whatever it was told to be stored is there, and
//! nothing is there in part.

use roost_storage::{Database, Engine, Faults, Location};
use roost_tests::{Cluster, PATIENCE, TestDatabase, file_path, owner, written_content};
use roost_workspace::{Limits, MIGRATIONS, Prefix, Workspaces};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, hash_map::RandomState},
    hash::BuildHasher as _,
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Events that stay readable.
const EVENTS_KEPT: i64 = 10_000;

/// What was promised: by file and version, how the content begins.
#[derive(Default)]
struct Promises {
    of_files: BTreeMap<String, BTreeMap<i64, String>>,
    count: usize,
}

impl Promises {
    /// Takes a line of the program; one that the kill cut short promises nothing.
    fn take(&mut self, line: &str) {
        let Some(whole) = line.strip_suffix('\n') else { return };
        let mut words = whole.split(' ');
        let (path, version, beginning) =
            (words.next().unwrap(), words.next().unwrap().parse().unwrap(), words.next().unwrap());
        let before = self.of_files.entry(path.to_owned()).or_default().insert(version, beginning.to_owned());
        assert_eq!(before, None, "version {version} of {path} was given twice");
        self.count += 1;
    }
}

/// The program, while it writes.
struct Writing {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Writing {
    fn start(location: &Location) -> Self {
        #[expect(clippy::disallowed_methods, reason = "tests start what they kill")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_workspace_writer"));
        match location {
            Location::File(path) => command.arg(path),
            Location::Server(url) => command.arg(url),
        };
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines }
    }

    fn hear(&mut self, promises: &mut Promises, lines: usize) {
        let mut line = String::new();
        for _ in 0..lines {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the writer ended by itself");
            promises.take(&line);
        }
    }

    /// Ends it without a warning, and hears what it still said.
    fn kill(mut self, promises: &mut Promises) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            promises.take(&line);
            line.clear();
        }
    }
}

/// Opens the database as the next start would, and looks at everything.
async fn look_through(location: &Location, promises: &Promises) {
    let database = Database::open(location.clone(), MIGRATIONS, Faults::default()).await.unwrap();
    let wrong = database.check().await.unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    let workspaces = Workspaces::new(database, Limits::default());
    let owner = owner("acme", "main");
    let listing = workspaces.list(&owner, &Prefix::default()).await.unwrap();
    let mut newest_of = BTreeMap::new();
    for file in &listing.files {
        let revisions = workspaces.history(&owner, &file.path).await.unwrap();
        newest_of.insert(file.path.as_str().to_owned(), file.version);
        let numbers: Vec<i64> = revisions.iter().map(|revision| revision.version).collect();
        let oldest = (file.version - Limits::default().versions_max + 1).max(1);
        assert_eq!(numbers, (oldest..=file.version).rev().collect::<Vec<_>>(), "{}", file.path.as_str());
        for revision in revisions {
            let content = workspaces.get(&owner, &file.path, Some(revision.version)).await.unwrap().content;
            assert_eq!(<[u8; 32]>::from(Sha256::digest(&content)), revision.sha256);
            let beginning = String::from_utf8(
                content[..content.iter().position(|byte| *byte == b'\n').unwrap()].to_vec(),
            );
            assert_eq!(content, written_content(&beginning.unwrap()));
        }
    }
    for (path, versions) in &promises.of_files {
        let newest = newest_of.get(path).copied().unwrap_or(0);
        let (promised, _) = versions.last_key_value().unwrap();
        assert!(newest >= *promised, "{path} has version {newest}, and {promised} was promised");
        for (version, beginning) in versions.range(newest - Limits::default().versions_max + 1..) {
            let file = workspaces.get(&owner, &file_path(path), Some(*version)).await.unwrap();
            assert_eq!(file.content, written_content(beginning), "{path} {version}");
        }
    }
    let usage = workspaces.usage(&owner).await.unwrap();
    assert_eq!(usage.sequence, newest_of.values().sum::<i64>(), "every write has a number of its own");
    assert_eq!(usage.files, i64::try_from(listing.files.len()).unwrap());
    assert_eq!(usage.bytes, listing.files.iter().map(|file| file.bytes).sum::<i64>());
    let first = (usage.sequence - EVENTS_KEPT).max(0);
    let page = workspaces.events(&owner, first, EVENTS_KEPT).await.unwrap();
    let numbers: Vec<i64> = page.events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (first + 1..=usage.sequence).collect::<Vec<_>>());
}

/// A number below `end` that is another one every time.
fn random(end: usize) -> usize {
    usize::try_from(RandomState::new().hash_one(0) % u64::try_from(end).unwrap()).unwrap()
}

async fn kill_until(engine: Engine, writes: usize, writes_between: usize) {
    let database = TestDatabase::new(engine, MIGRATIONS).await;
    let mut promises = Promises::default();
    while promises.count < writes {
        let mut writing = Writing::start(&database.location);
        writing.hear(&mut promises, 1 + random(writes_between));
        writing.kill(&mut promises);
        look_through(&database.location, &promises).await;
    }
}

#[tokio::test]
async fn ten_thousand_writes_survive_kills_at_random_moments() {
    kill_until(Engine::Sqlite, 10_000, 2_500).await;
}

#[tokio::test]
async fn writes_to_postgresql_survive_kills_at_random_moments() {
    kill_until(Engine::Postgres, 500, 250).await;
}

/// How many writes there were, as a program beside the writer sees it.
async fn count_writes(location: &Location) -> i64 {
    let database = Database::open(location.clone(), MIGRATIONS, Faults::default()).await.unwrap();
    Workspaces::new(database, Limits::default()).usage(&owner("acme", "main")).await.unwrap().sequence
}

#[tokio::test]
async fn writes_to_postgresql_survive_a_server_that_is_cut_off() {
    let cluster = Cluster::own();
    let location = Location::Server(cluster.url().to_owned());
    let mut promises = Promises::default();
    let mut writing = Writing::start(&location);
    for _ in 0..2 {
        writing.hear(&mut promises, 20 + random(100));
        cluster.stop_immediately();
        cluster.start();
        // The same program goes on with the server that came back.
        let before = count_writes(&location).await;
        let goes_on = async { while count_writes(&location).await < before + 20 {} };
        tokio::time::timeout(PATIENCE, goes_on).await.expect("the writer finds the server again");
    }
    writing.kill(&mut promises);
    look_through(&location, &promises).await;
}
