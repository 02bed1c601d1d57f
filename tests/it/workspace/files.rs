//! What becomes of a file: versions, conditions, removal, history and moments, the same on both engines.

use roost_storage::Engine;
use roost_tests::{ENGINES, TestDatabase, file_path, owner, removal, text};
use roost_workspace::{
    Condition, Done, FileInfo, Limits, MIGRATIONS, Prefix, WorkspaceError, Workspaces, Write, Writer,
};

async fn put(workspaces: &Workspaces, write: Write) -> Result<FileInfo, WorkspaceError> {
    let done = workspaces.write_one(&owner("acme", "main"), &Writer::person("anna"), write, None).await?;
    match done.value {
        Done::Made(info) => Ok(info),
        Done::Proposed(_) => panic!("a person does not propose"),
    }
}

async fn on_both(story: impl AsyncFn(Engine, Workspaces)) {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let limits = Limits { file_bytes_max: 64, files_max: 4, versions_max: 3, workspace_bytes_max: 200 };
        story(engine, database.workspaces(limits)).await;
    }
}

#[tokio::test]
async fn versions_count_on_through_removal() {
    on_both(async |engine, workspaces| {
        let owner = owner("acme", "main");
        let free = Condition::none;
        assert_eq!(put(&workspaces, text("a.md", free(), "one")).await.unwrap().version, 1, "{engine:?}");
        let second = put(&workspaces, text("a.md", free(), "two")).await.unwrap();
        assert_eq!(second.version, 2);
        let stale = put(&workspaces, text("a.md", Condition::create_only(), "x")).await;
        assert_eq!(stale, Err(WorkspaceError::Conflict { current_version: 2 }));
        let third = put(&workspaces, removal("a.md", Condition::unchanged(&second.etag))).await.unwrap();
        assert_eq!(third.version, 3);
        let path = file_path("a.md");
        assert_eq!(workspaces.get(&owner, &path, None).await, Err(WorkspaceError::NotFound));
        assert_eq!(workspaces.get(&owner, &path, Some(3)).await, Err(WorkspaceError::NotFound));
        assert_eq!(workspaces.get(&owner, &path, Some(2)).await.unwrap().content, b"two");
        let gone = put(&workspaces, text("a.md", Condition::unchanged(&second.etag), "x")).await;
        assert_eq!(gone, Err(WorkspaceError::Conflict { current_version: 0 }));
        assert_eq!(put(&workspaces, removal("a.md", free())).await, Err(WorkspaceError::NotFound));
        assert_eq!(put(&workspaces, text("a.md", free(), "four")).await.unwrap().version, 4);
        let listing = workspaces.list(&owner, &Prefix::default()).await.unwrap();
        assert_eq!((listing.files.len(), listing.sequence), (1, 4));
        assert_eq!(workspaces.sequence(&owner).await, Ok(4), "{engine:?}");
        let history = workspaces.history(&owner, &path).await.unwrap();
        assert_eq!(history.iter().map(|revision| revision.version).collect::<Vec<_>>(), [4, 3, 2]);
        let events = workspaces.events(&owner, 1, 100).await.unwrap();
        assert_eq!(events.events.iter().map(|event| event.version).collect::<Vec<_>>(), [2, 3, 4]);
    })
    .await;
}

#[tokio::test]
async fn a_pinned_moment_stays_readable_whatever_happens_later() {
    on_both(async |engine, workspaces| {
        let owner = owner("acme", "main");
        let write = async |path: &str, content: &str| {
            put(&workspaces, text(path, Condition::none(), content)).await.unwrap();
        };
        write("a.md", "a1").await;
        write("b.md", "b1").await;
        put(&workspaces, removal("b.md", Condition::none())).await.unwrap();
        write("a.md", "a2").await;
        let moment = workspaces.take_snapshot(&owner).await.unwrap();
        assert_eq!(workspaces.take_snapshot(&owner).await.unwrap(), moment);
        for round in 0..10 {
            write("a.md", &format!("later {round}")).await;
            write("b.md", &format!("later {round}")).await;
        }
        put(&workspaces, removal("a.md", Condition::none())).await.unwrap();
        let then = workspaces.list_then(&owner, moment).await.unwrap();
        let then: Vec<_> = then.iter().map(|entry| (entry.path.as_str(), entry.version)).collect();
        assert_eq!(then, [("a.md", 2)], "{engine:?}");
        assert_eq!(workspaces.get_then(&owner, moment, &file_path("a.md")).await.unwrap().content, b"a2");
        let usage = workspaces.usage(&owner).await.unwrap();
        workspaces.drop_snapshot(&owner, moment).await.unwrap();
        let after = workspaces.usage(&owner).await.unwrap();
        assert!(after.versions < usage.versions, "{engine:?} {usage:?} {after:?}");
        assert!(workspaces.list_then(&owner, moment).await.unwrap().is_empty());
    })
    .await;
}

/// A version that a moment needs is kept although its neighbour is gone, also when the limit is raised later.
#[tokio::test]
async fn a_moment_outlives_a_change_of_the_limits() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let owner = owner("acme", "main");
        let few = database.workspaces(Limits { versions_max: 2, ..Limits::default() });
        put(&few, text("a.md", Condition::none(), "needed")).await.unwrap();
        let moment = few.take_snapshot(&owner).await.unwrap();
        for content in ["2", "3", "4"] {
            put(&few, text("a.md", Condition::none(), content)).await.unwrap();
        }
        let more = database.workspaces(Limits { versions_max: 4, ..Limits::default() });
        put(&more, text("a.md", Condition::none(), "5")).await.unwrap();
        let then = more.get_then(&owner, moment, &file_path("a.md")).await.unwrap();
        assert_eq!((then.content, then.info.version), (b"needed".to_vec(), 1), "{engine:?}");
    }
}
