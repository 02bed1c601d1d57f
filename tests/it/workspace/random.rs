//! Random operations of three owners in one database, each compared with a model that cannot be wrong in the same way.

use super::model::{Model, Must, Step, length};
use proptest::{
    collection, option,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use roost_storage::Engine;
use roost_tests::{TestDatabase, file_path, owner};
use roost_workspace::{
    Condition, Content, Done, Edit, Etag, FileInfo, IfMatch, Limits, MIGRATIONS, Once, Owner, Prefix,
    WorkspaceError, Workspaces, Write, Writer,
};
use std::cell::Cell;

/// Small enough that random operations meet every one of them.
const LIMITS: Limits = Limits { file_bytes_max: 24, files_max: 4, versions_max: 3, workspace_bytes_max: 60 };

/// Names that are easily mistaken for each other.
const PATHS: [&str; 6] = ["a", "a/b", "a.md", "A.md", "a_b", "b/c.md"];

/// Names that a join of tenant and workspace would mistake for each other, and two workspaces of one tenant.
const OWNERS: [(&str, &str); 3] = [("ab", "c"), ("a", "bc"), ("a", "b")];

#[derive(Debug, Clone, Copy)]
enum Wish {
    Nothing,
    Current,
    Former,
    OfOtherFile,
    OfOtherOwner,
    Exist,
    NotExist,
}

#[derive(Debug, Clone)]
enum Operation {
    Write { path: usize, wish: Wish, content: Option<Vec<u8>>, key: Option<u8> },
    Several(Vec<(usize, Wish, Option<Vec<u8>>)>),
    Restore { path: usize, version: i64, wish: Wish },
    Undelete { path: usize },
    Rename { from: usize, to: usize, wish: Wish },
    Edit { path: usize, line: usize, wish: Wish },
    TakeSnapshot,
    DropSnapshot(usize),
    Get { path: usize, version: Option<i64> },
    List(&'static str),
    Events { after: i64, max: i64 },
}

fn wishes() -> impl Strategy<Value = Wish> {
    use Wish::{Current, Exist, Former, NotExist, Nothing, OfOtherFile, OfOtherOwner};
    prop_oneof![
        4 => Just(Nothing), 4 => Just(Current), 1 => Just(Former), 1 => Just(OfOtherFile),
        1 => Just(OfOtherOwner), 1 => Just(Exist), 1 => Just(NotExist)
    ]
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[a-z\n]{0,20}".prop_map(String::into_bytes),
        1 => collection::vec(any::<u8>(), 0..26)
    ]
}

fn operations() -> impl Strategy<Value = (usize, Operation)> {
    let path = || 0..PATHS.len();
    let maybe_content = || prop_oneof![3 => contents().prop_map(Some), 1 => Just(None)];
    let operation = prop_oneof![
        10 => (path(), wishes(), maybe_content(), option::weighted(0.3, 0..3u8))
            .prop_map(|(path, wish, content, key)| Operation::Write { path, wish, content, key }),
        2 => collection::vec((path(), wishes(), maybe_content()), 1..4).prop_map(Operation::Several),
        2 => (path(), 0..8i64, wishes())
            .prop_map(|(path, version, wish)| Operation::Restore { path, version, wish }),
        1 => path().prop_map(|path| Operation::Undelete { path }),
        2 => (path(), path(), wishes()).prop_map(|(from, to, wish)| Operation::Rename { from, to, wish }),
        1 => (path(), 0..3usize, wishes()).prop_map(|(path, line, wish)| Operation::Edit { path, line, wish }),
        2 => Just(Operation::TakeSnapshot),
        1 => any::<usize>().prop_map(Operation::DropSnapshot),
        2 => (path(), option::of(-1..9i64)).prop_map(|(path, version)| Operation::Get { path, version }),
        1 => prop::sample::select(vec!["", "a", "a.", "a/", "A", "b/c.md", "_", "%", "b/c.mdx"])
            .prop_map(Operation::List),
        1 => (0..12i64, 1..5i64).prop_map(|(after, max)| Operation::Events { after, max }),
    ];
    (0..OWNERS.len(), operation)
}

/// One owner's workspace, and what it should be.
struct Place {
    owner: Owner,
    model: Model,
}

struct Story<'a> {
    workspaces: &'a Workspaces,
    places: Vec<Place>,
}

impl Story<'_> {
    /// What a wish means now, for the engine and for the model.
    fn condition(&self, at: usize, path: &str, wish: Wish) -> (Condition, Must) {
        let tag = |place: usize, path: &str, back: usize| {
            let versions = self.places[place].model.files.get(path)?;
            versions.iter().rev().nth(back)?.etag.clone()
        };
        let found = match wish {
            Wish::Nothing => return (Condition::none(), Must::Nothing),
            Wish::NotExist => return (Condition::create_only(), Must::NotExist),
            Wish::Exist => {
                let any = IfMatch::parse(["*"]).unwrap();
                return (Condition::of_headers(Some(any), None), Must::Exist);
            }
            Wish::Current => tag(at, path, 0),
            Wish::Former => tag(at, path, 1),
            Wish::OfOtherFile => PATHS.iter().find_map(|other| tag(at, other, 0).filter(|_| *other != path)),
            Wish::OfOtherOwner => tag((at + 1) % OWNERS.len(), path, 0),
        };
        let etag = found.unwrap_or_else(Etag::random);
        (Condition::unchanged(&etag), Must::HaveTag(etag))
    }

    async fn write(&mut self, at: usize, path: &str, wish: Wish, content: Option<Vec<u8>>, key: Option<u8>) {
        let (condition, must) = self.condition(at, path, wish);
        let operation = format!("write {path}");
        // Everything that the request asks for, in a form that fits.
        let mut digest = [0_u8; 32];
        let asked = format!("{content:?}");
        asked.bytes().enumerate().for_each(|(index, byte)| {
            digest[index % 32] = byte.wrapping_add(digest[index % 32].wrapping_mul(31));
        });
        let once = key.map(|key| (operation.clone(), Once { key: key.to_string(), digest }));
        let write = Write { path: file_path(path), condition, content: content.clone().map(text) };
        let place = &mut self.places[at];
        let done =
            self.workspaces.write_one(&place.owner, &Writer::person("anna"), write, once.clone()).await;
        if let Some((operation, once)) = &once
            && let Some((before, outcome)) = place.model.answers.get(&(operation.clone(), once.key.clone()))
        {
            if *before == digest {
                let done = done.unwrap();
                assert!(done.replayed && done.value == *outcome, "{done:?} {outcome:?}");
            } else {
                assert_eq!(done.unwrap_err(), WorkspaceError::KeyMismatch);
            }
            return;
        }
        let step = Step { path: path.to_owned(), must, content, reason: None };
        let done = done.map(|answered| {
            assert!(!answered.replayed);
            answered.value
        });
        place.compare(&[step], done.clone().map(|done| vec![done]));
        if let (Some((operation, once)), Ok(done)) = (once, done) {
            place.model.answers.insert((operation, once.key), (digest, done));
        }
    }

    async fn several(&mut self, at: usize, wanted: Vec<(usize, Wish, Option<Vec<u8>>)>) {
        let (mut writes, mut steps) = (Vec::new(), Vec::new());
        for (path, wish, content) in wanted {
            let path = PATHS[path];
            let (condition, must) = self.condition(at, path, wish);
            writes.push(Write { path: file_path(path), condition, content: content.clone().map(text) });
            steps.push(Step { path: path.to_owned(), must, content, reason: None });
        }
        let place = &mut self.places[at];
        let done = self.workspaces.write(&place.owner, &Writer::person("anna"), writes, None).await;
        place.compare(&steps, done.map(|answered| answered.value));
    }

    async fn restore(&mut self, at: usize, path: &str, version: i64, wish: Wish) {
        let (condition, must) = self.condition(at, path, wish);
        let place = &mut self.places[at];
        let writer = Writer::person("anna");
        let done = self.workspaces.restore(&place.owner, &writer, &file_path(path), version, condition).await;
        let Some(content) = place.model.readable(&LIMITS, path, version).map(<[u8]>::to_vec) else {
            assert_eq!(done, Err(WorkspaceError::NotFound));
            return;
        };
        let reason = Some(format!("restored version {version}"));
        let step = Step { path: path.to_owned(), must, content: Some(content), reason };
        place.compare(&[step], done.map(|done| vec![done]));
    }

    async fn undelete(&mut self, at: usize, path: &str) {
        let place = &mut self.places[at];
        let done = self.workspaces.undelete(&place.owner, &Writer::person("anna"), &file_path(path)).await;
        let newest = place.model.newest_version(path);
        if place.model.live(path).is_some() {
            assert_eq!(done, Err(WorkspaceError::Conflict { current_version: newest }));
            return;
        }
        let last = (1..=newest)
            .rev()
            .find_map(|version| Some((version, place.model.readable(&LIMITS, path, version)?.to_vec())));
        let Some((version, content)) = last else {
            assert_eq!(done, Err(WorkspaceError::NotFound));
            return;
        };
        let reason = Some(format!("restored version {version}"));
        let step = Step { path: path.to_owned(), must: Must::NotExist, content: Some(content), reason };
        place.compare(&[step], done.map(|done| vec![done]));
    }

    async fn rename(&mut self, at: usize, from: &str, to: &str, wish: Wish) {
        let (condition, must) = self.condition(at, from, wish);
        let place = &mut self.places[at];
        let writer = Writer::person("anna");
        let done =
            self.workspaces.rename(&place.owner, &writer, &file_path(from), &file_path(to), &condition).await;
        let Some((_, _, content)) = place.model.live(from) else {
            assert_eq!(done, Err(WorkspaceError::NotFound));
            return;
        };
        let (content, reason) = (content.to_vec(), Some(format!("moved from {from}")));
        let steps = [
            Step { path: from.to_owned(), must, content: None, reason: reason.clone() },
            Step { path: to.to_owned(), must: Must::NotExist, content: Some(content), reason },
        ];
        place.compare(&steps, done.map(|done| vec![done]));
    }

    async fn edit(&mut self, at: usize, path: &str, line: usize, wish: Wish) {
        let (condition, must) = self.condition(at, path, wish);
        let place = &mut self.places[at];
        let edits = [Edit::Insert { line, text: "line\n".to_owned() }];
        let writer = Writer::person("anna");
        let done = self.workspaces.edit(&place.owner, &writer, &file_path(path), &edits, &condition).await;
        let Some((version, newest, content)) = place.model.live(path) else {
            assert_eq!(done, Err(WorkspaceError::NotFound));
            return;
        };
        if matches!(&must, Must::HaveTag(tag) if newest.etag.as_ref() != Some(tag))
            || matches!(must, Must::NotExist)
        {
            assert_eq!(done, Err(WorkspaceError::Conflict { current_version: version }));
            return;
        }
        let Ok(old) = std::str::from_utf8(content) else {
            assert_eq!(done, Err(WorkspaceError::NotText));
            return;
        };
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        if line > lines.len() {
            assert!(matches!(done, Err(WorkspaceError::Edit(_))), "{done:?}");
            return;
        }
        // Edits are proved on their own; here it matters that the outcome is written once, on the right version.
        let new = roost_workspace::apply(old, &edits).unwrap().into_bytes();
        let step = Step { path: path.to_owned(), must, content: Some(new), reason: None };
        place.compare(&[step], done.map(|done| vec![done]));
    }

    async fn perform(&mut self, at: usize, operation: Operation) {
        match operation {
            Operation::Write { path, wish, content, key } => {
                self.write(at, PATHS[path], wish, content, key).await;
            }
            Operation::Several(writes) => self.several(at, writes).await,
            Operation::Restore { path, version, wish } => self.restore(at, PATHS[path], version, wish).await,
            Operation::Undelete { path } => self.undelete(at, PATHS[path]).await,
            Operation::Rename { from, to, wish } => self.rename(at, PATHS[from], PATHS[to], wish).await,
            Operation::Edit { path, line, wish } => self.edit(at, PATHS[path], line, wish).await,
            Operation::TakeSnapshot => {
                let place = &mut self.places[at];
                let moment = self.workspaces.take_snapshot(&place.owner).await.unwrap();
                assert_eq!(moment, place.model.sequence());
                if moment > 0 {
                    let now = place.model.live_files();
                    place.model.pins.insert(moment, now);
                }
            }
            Operation::DropSnapshot(index) => {
                let place = &mut self.places[at];
                let pins: Vec<i64> = place.model.pins.keys().copied().collect();
                // Also one that nobody has.
                let moment = pins.get(index % (pins.len() + 1)).copied().unwrap_or(1000);
                self.workspaces.drop_snapshot(&place.owner, moment).await.unwrap();
                place.model.pins.remove(&moment);
            }
            Operation::Get { path, version } => {
                self.places[at].compare_file(self.workspaces, PATHS[path], version).await;
            }
            Operation::List(prefix) => self.places[at].compare_list(self.workspaces, prefix).await,
            Operation::Events { after, max } => {
                self.places[at].compare_events(self.workspaces, after, max).await;
            }
        }
    }
}

impl Place {
    /// Makes the steps in the model too, and compares the outcome. An operation may tell only of its last step.
    fn compare(&mut self, steps: &[Step], done: Result<Vec<Done>, WorkspaceError>) {
        let expected = self.model.make(&LIMITS, steps);
        let (expected, done) = match (expected, done) {
            (Ok(expected), Ok(done)) => (expected, done),
            (expected, done) => {
                assert_eq!(done.map(drop), expected.map(drop), "{steps:?}");
                return;
            }
        };
        let infos: Vec<FileInfo> = done.into_iter().map(made).collect();
        let skipped = steps.len() - infos.len();
        for ((step, version), info) in steps.iter().zip(expected).skip(skipped).zip(&infos) {
            assert_eq!((info.path.as_str(), info.version), (step.path.as_str(), version));
            assert_eq!(info.bytes, step.content.as_deref().map_or(0, length));
        }
        self.model.learn(&infos);
    }

    async fn compare_file(&self, workspaces: &Workspaces, path: &str, version: Option<i64>) {
        let found = workspaces.get(&self.owner, &file_path(path), version).await;
        let expected = match version {
            None => self.model.live(path).map(|(_, _, content)| content),
            Some(version) => self.model.readable(&LIMITS, path, version),
        };
        match expected {
            None => assert_eq!(found, Err(WorkspaceError::NotFound), "{path} {version:?}"),
            Some(content) => {
                let found = found.unwrap();
                assert_eq!(found.content, content, "{path} {version:?}");
                let number = version.unwrap_or_else(|| self.model.newest_version(path));
                assert_eq!(found.info.version, number);
                let of_model = &self.model.files[path][usize::try_from(number).unwrap() - 1];
                assert_eq!(Some(&found.info.etag), of_model.etag.as_ref());
                assert_eq!(found.info.updated_at, of_model.updated_at);
            }
        }
    }

    async fn compare_list(&self, workspaces: &Workspaces, prefix: &str) {
        let Ok(parsed) = Prefix::parse(prefix) else { return };
        let listing = workspaces.list(&self.owner, &parsed).await.unwrap();
        let found: Vec<(&str, i64, i64)> =
            listing.files.iter().map(|file| (file.path.as_str(), file.version, file.bytes)).collect();
        let live = self.model.live_files();
        let expected = live.iter().filter(|(path, _)| path.starts_with(prefix));
        let expected: Vec<(&str, i64, i64)> =
            expected.map(|(path, (version, content))| (path.as_str(), *version, length(content))).collect();
        assert_eq!((found, listing.sequence), (expected, self.model.sequence()), "{prefix:?}");
    }

    async fn compare_events(&self, workspaces: &Workspaces, after: i64, max: i64) {
        let page = workspaces.events(&self.owner, after, max).await.unwrap();
        let found: Vec<(i64, String, i64)> =
            page.events.into_iter().map(|event| (event.sequence, event.path, event.version)).collect();
        let all = (1..)
            .zip(&self.model.events)
            .map(|(sequence, (path, version))| (sequence, path.clone(), *version));
        let expected: Vec<(i64, String, i64)> =
            all.skip(usize::try_from(after).unwrap()).take(usize::try_from(max).unwrap()).collect();
        assert_eq!((found, page.newest, page.is_cut), (expected, self.model.sequence(), false));
    }

    async fn compare_history(&self, workspaces: &Workspaces, path: &str) {
        let history = workspaces.history(&self.owner, &file_path(path)).await;
        let newest = self.model.newest_version(path);
        let kept = (1..=newest).rev().filter(|version| self.model.keeps(&LIMITS, path, *version));
        let expected: Vec<(i64, bool, i64, Option<String>)> = kept
            .map(|version| {
                let of_model = &self.model.files[path][usize::try_from(version).unwrap() - 1];
                let bytes = of_model.content.as_deref().map_or(0, length);
                (version, of_model.content.is_none(), bytes, of_model.reason.clone())
            })
            .collect();
        if expected.is_empty() {
            assert_eq!(history, Err(WorkspaceError::NotFound));
            return;
        }
        let found: Vec<(i64, bool, i64, Option<String>)> = history
            .unwrap()
            .into_iter()
            .map(|revision| (revision.version, revision.removed, revision.bytes, revision.author.reason))
            .collect();
        assert_eq!(found, expected, "{path}");
    }

    /// Every answer that can be asked for.
    async fn compare_all(&self, workspaces: &Workspaces) {
        assert_eq!(workspaces.usage(&self.owner).await.unwrap(), self.model.usage(&LIMITS));
        self.compare_list(workspaces, "").await;
        self.compare_events(workspaces, 0, 1000).await;
        for path in PATHS {
            self.compare_history(workspaces, path).await;
            self.compare_file(workspaces, path, None).await;
            for version in 0..=self.model.newest_version(path) + 1 {
                self.compare_file(workspaces, path, Some(version)).await;
            }
        }
        for (moment, then) in &self.model.pins {
            let entries = workspaces.list_then(&self.owner, *moment).await.unwrap();
            let found: Vec<(&str, i64)> =
                entries.iter().map(|entry| (entry.path.as_str(), entry.version)).collect();
            let expected: Vec<(&str, i64)> =
                then.iter().map(|(path, (version, _))| (path.as_str(), *version)).collect();
            assert_eq!(found, expected, "at {moment}");
            for (path, (version, content)) in then {
                let file = workspaces.get_then(&self.owner, *moment, &file_path(path)).await.unwrap();
                assert_eq!((file.info.version, &file.content), (*version, content), "{path} at {moment}");
            }
        }
    }
}

fn text(bytes: Vec<u8>) -> Content {
    Content { bytes, content_type: "text/plain".to_owned() }
}

fn made(done: Done) -> FileInfo {
    match done {
        Done::Made(info) => info,
        Done::Proposed(_) => panic!("a person does not propose"),
    }
}

fn compare_with_model(engine: Engine, cases: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let database = runtime.block_on(TestDatabase::new(engine, MIGRATIONS));
    let workspaces = runtime.block_on(async { database.workspaces(LIMITS) });
    let case = Cell::new(0);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let strategy = collection::vec(operations(), 1..60);
    let outcome = TestRunner::new(config).run(&strategy, |operations| {
        case.set(case.get() + 1);
        let places = OWNERS.map(|(tenant, workspace)| Place {
            owner: owner(&format!("t{}{tenant}", case.get()), workspace),
            model: Model::default(),
        });
        let mut story = Story { workspaces: &workspaces, places: places.into() };
        runtime.block_on(async {
            for (at, operation) in operations {
                story.perform(at, operation).await;
            }
            for place in &story.places {
                place.compare_all(&workspaces).await;
            }
        });
        Ok(())
    });
    let sound = runtime.block_on(database.database.check()).unwrap();
    assert!(sound.is_empty(), "{sound:?}");
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn random_operations_end_as_in_a_model_in_the_embedded_database() {
    compare_with_model(Engine::Sqlite, 96);
}

#[test]
fn random_operations_end_as_in_a_model_on_postgresql() {
    compare_with_model(Engine::Postgres, 8);
}
