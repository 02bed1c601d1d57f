//! Several nodes on one PostgreSQL: what one writes, the others hear of and read.

use roost_storage::{Database, Engine, Faults};
use roost_tests::{PATIENCE, TestDatabase, owner, text};
use roost_workspace::{Condition, Limits, MIGRATIONS, Workspaces, Writer};
use tokio::{sync::broadcast, time::timeout};

async fn node(database: &TestDatabase) -> Workspaces {
    let opened = Database::open(database.location.clone(), MIGRATIONS, Faults::default()).await.unwrap();
    Workspaces::new(opened, Limits::default())
}

async fn write(node: &Workspaces, path: &str) -> i64 {
    let owner = owner("acme", "main");
    node.write_one(&owner, &Writer::person("anna"), text(path, Condition::none(), path), None).await.unwrap();
    node.usage(&owner).await.unwrap().sequence
}

/// Reads events by their number after each hint, until this one is there.
async fn hear_until(
    node: &Workspaces,
    hints: &mut broadcast::Receiver<roost_storage::Notice>,
    sequence: i64,
) {
    let owner = owner("acme", "main");
    let wait = async {
        loop {
            let page = node.events(&owner, 0, 1000).await.unwrap();
            let numbers: Vec<i64> = page.events.iter().map(|event| event.sequence).collect();
            assert_eq!(numbers, (1..=page.newest).collect::<Vec<_>>());
            let hint = hints.recv().await.unwrap();
            assert_eq!((hint.tenant, &*hint.topic), (owner.tenant.clone(), owner.topic().as_str()));
            if node.events(&owner, sequence - 1, 1).await.unwrap().events.len() == 1 {
                return;
            }
        }
    };
    timeout(PATIENCE, wait).await.expect("the other node hears of a write");
}

#[tokio::test]
async fn a_write_on_one_node_is_heard_on_the_others() {
    let database = TestDatabase::new(Engine::Postgres, MIGRATIONS).await;
    let nodes = [database.workspaces(Limits::default()), node(&database).await, node(&database).await];
    let mut hints: Vec<_> = nodes.iter().map(Workspaces::listen).collect();
    for (number, writer) in nodes.iter().enumerate() {
        let sequence = write(writer, &format!("{number}.md")).await;
        for (reader, hints) in nodes.iter().zip(&mut hints) {
            hear_until(reader, hints, sequence).await;
        }
    }
    // One that goes takes nothing along.
    let [first, second, third] = nodes;
    drop(third);
    let sequence = write(&second, "3.md").await;
    hear_until(&first, &mut hints[0], sequence).await;
    assert_eq!(first.events(&owner("acme", "main"), 0, 1000).await.unwrap().events.len(), 4);
}

#[tokio::test]
async fn a_node_whose_ear_is_cut_off_hears_again() {
    let database = TestDatabase::new(Engine::Postgres, MIGRATIONS).await;
    let (writer, reader) = (database.workspaces(Limits::default()), node(&database).await);
    let mut hints = reader.listen();
    let sequence = write(&writer, "0.md").await;
    hear_until(&reader, &mut hints, sequence).await;
    let server = database.server().unwrap();
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE 'LISTEN%'";
    assert_eq!(server.sql(cut), "2");
    let owner = owner("acme", "main");
    let again = async {
        for number in 1.. {
            write(&writer, &format!("{number}.md")).await;
            // What happened is there whether or not the hint came.
            let page = reader.events(&owner, 0, 1000).await.unwrap();
            assert_eq!(page.events.len(), number + 1);
            if hints.try_recv().is_ok() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, again).await.expect("a node listens again by itself");
}
