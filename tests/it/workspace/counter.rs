//! Many who change the same file at once: nothing is lost, and every change has a number of its own.

use futures::future::join_all;
use roost_storage::{Database, Engine, Faults, Location};
use roost_tests::{ENGINES, TestDatabase, file_path, owner, text};
use roost_workspace::{Condition, Limits, MIGRATIONS, WorkspaceError, Workspaces, Writer};

const WRITERS: usize = 16;
const TURNS: i64 = 4;

/// Adds one to the counter, as often as it takes.
async fn count_up(workspaces: &Workspaces) {
    let owner = owner("acme", "main");
    loop {
        let file = workspaces.get(&owner, &file_path("counter"), None).await.unwrap();
        let count: i64 = String::from_utf8(file.content).unwrap().parse().unwrap();
        let write = text("counter", Condition::unchanged(&file.info.etag), &(count + 1).to_string());
        match workspaces.write_one(&owner, &Writer::person("anna"), write, None).await {
            Ok(_) => return,
            Err(WorkspaceError::Conflict { current_version }) => {
                assert!(current_version > file.info.version);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Lets all writers count, spread over these nodes, and looks at what came of it on each.
async fn count_on(nodes: &[Workspaces]) {
    let owner = owner("acme", "main");
    let zero = text("counter", Condition::create_only(), "0");
    nodes[0].write_one(&owner, &Writer::person("anna"), zero, None).await.unwrap();
    let writers = (0..WRITERS).map(|writer| {
        let workspaces = nodes[writer % nodes.len()].clone();
        tokio::spawn(async move {
            for _ in 0..TURNS {
                count_up(&workspaces).await;
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let writes = i64::try_from(WRITERS).unwrap() * TURNS;
    for node in nodes {
        let file = node.get(&owner, &file_path("counter"), None).await.unwrap();
        assert_eq!((file.content, file.info.version), (writes.to_string().into_bytes(), writes + 1));
        let history = node.history(&owner, &file_path("counter")).await.unwrap();
        let versions: Vec<i64> = history.iter().map(|revision| revision.version).collect();
        assert_eq!(versions, (1..=writes + 1).rev().collect::<Vec<_>>());
        let page = node.events(&owner, 0, 1000).await.unwrap();
        let events: Vec<(i64, i64)> =
            page.events.iter().map(|event| (event.sequence, event.version)).collect();
        assert_eq!(events, (1..=writes + 1).map(|number| (number, number)).collect::<Vec<_>>());
    }
}

/// Keeps every version, so that a gap would be seen.
const LIMITS: Limits =
    Limits { file_bytes_max: 64, files_max: 4, versions_max: 10_000, workspace_bytes_max: 200 };

async fn further_node(location: &Location) -> Workspaces {
    let database = Database::open(location.clone(), MIGRATIONS, Faults::default()).await.unwrap();
    Workspaces::new(database, LIMITS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_writers_of_one_counter_lose_nothing() {
    for engine in ENGINES {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        count_on(&[database.workspaces(LIMITS)]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_on_three_nodes_lose_nothing() {
    let database = TestDatabase::new(Engine::Postgres, MIGRATIONS).await;
    let (second, third) = tokio::join!(further_node(&database.location), further_node(&database.location));
    count_on(&[database.workspaces(LIMITS), second, third]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_in_two_programs_on_one_file_lose_nothing() {
    let database = TestDatabase::new(Engine::Sqlite, MIGRATIONS).await;
    let second = further_node(&database.location).await;
    count_on(&[database.workspaces(LIMITS), second]).await;
}
