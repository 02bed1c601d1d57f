//! Many who write at once, to many files: it is as if they had come one after the other.

use futures::future::join_all;
use roost_tests::{ENGINES, TestDatabase, file_path, owner, text};
use roost_workspace::{Condition, Limits, MIGRATIONS, Prefix, WorkspaceError, Workspaces, Writer};

const WRITERS: usize = 16;
const TURNS: usize = 12;
const FILES: usize = 6;
const VERSIONS_MAX: i64 = 5;

/// Room for files of six bytes each on average, so that some writes do not fit.
const LIMITS: Limits = Limits {
    file_bytes_max: 10,
    files_max: FILES as i64,
    versions_max: VERSIONS_MAX,
    workspace_bytes_max: 6 * FILES as i64,
};

/// Writes to one file after the other: what it saw, whatever is there, or over a version that was never there. How many
/// of them were made.
async fn write_in_turn(workspaces: Workspaces, number: usize) -> i64 {
    let owner = owner("acme", "main");
    let mut made = 0;
    for turn in 0..TURNS {
        let path = format!("{}.md", (number + turn) % FILES);
        let seen = workspaces.get(&owner, &file_path(&path), None).await.unwrap().info;
        let condition = match (number + turn) % 3 {
            0 => Condition::none(),
            1 => Condition::unchanged(&seen.etag),
            _ => Condition::unchanged(&roost_workspace::Etag::random()),
        };
        let is_wrong = (number + turn) % 3 == 2;
        let write = text(&path, condition, &"x".repeat(turn % 12));
        match workspaces.write_one(&owner, &Writer::person("anna"), write, None).await {
            Ok(_) => {
                assert!(!is_wrong, "a version that was never there was written over");
                made += 1;
            }
            Err(WorkspaceError::Conflict { current_version }) => assert!(current_version >= seen.version),
            Err(WorkspaceError::TooLarge { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    made
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_adds_up_after_many_wrote_at_once() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = database.workspaces(LIMITS);
        let owner = owner("acme", "main");
        for file in 0..FILES {
            let first = text(&format!("{file}.md"), Condition::none(), "first");
            workspaces.write_one(&owner, &Writer::person("anna"), first, None).await.unwrap();
        }
        // What was there in this moment is needed, however many versions come after it.
        let moment = workspaces.take_snapshot(&owner).await.unwrap();
        let writers = (0..WRITERS).map(|number| tokio::spawn(write_in_turn(workspaces.clone(), number)));
        let made: i64 = join_all(writers).await.into_iter().map(Result::unwrap).sum();
        let first = i64::try_from(FILES).unwrap();
        let page = workspaces.events(&owner, 0, 10_000).await.unwrap();
        let numbers: Vec<i64> = page.events.iter().map(|event| event.sequence).collect();
        assert_eq!(numbers, (1..=first + made).collect::<Vec<_>>(), "{engine:?}");
        let listing = workspaces.list(&owner, &Prefix::default()).await.unwrap();
        let usage = workspaces.usage(&owner).await.unwrap();
        assert_eq!(usage.bytes, listing.files.iter().map(|file| file.bytes).sum::<i64>());
        assert!(usage.bytes <= LIMITS.workspace_bytes_max, "{engine:?}: {}", usage.bytes);
        for file in &listing.files {
            let of_file = page.events.iter().filter(|event| event.path == file.path.as_str());
            let versions: Vec<i64> = of_file.map(|event| event.version).collect();
            assert_eq!(versions, (1..=file.version).collect::<Vec<_>>());
            let history = workspaces.history(&owner, &file.path).await.unwrap();
            let mut kept: Vec<i64> = history.iter().map(|revision| revision.version).collect();
            kept.sort_unstable();
            let newest = (file.version - VERSIONS_MAX + 1).max(1)..=file.version;
            let pinned = (!newest.contains(&1)).then_some(1);
            assert_eq!(kept, pinned.into_iter().chain(newest).collect::<Vec<_>>(), "{engine:?}");
            let then = workspaces.get_then(&owner, moment, &file.path).await.unwrap();
            assert_eq!(then.content, b"first");
        }
    }
}
