//! How tables come to be: from nothing, from an older database, by several at once, and not at all where that is right.

use roost_protocol::Tenant;
use roost_storage::{Database, Engine, Faults, Location, Migration, StorageError};
use roost_tests::{ENGINES, Sql, TestDatabase, dump, tables};

/// A table that PostgreSQL accepts, because the server guards it.
macro_rules! guarded {
    ($table:literal, $columns:literal) => {
        concat!(
            "CREATE TABLE ",
            $table,
            " (tenant TEXT NOT NULL, ",
            $columns,
            ");
            ALTER TABLE ",
            $table,
            " ENABLE ROW LEVEL SECURITY;
            ALTER TABLE ",
            $table,
            " FORCE ROW LEVEL SECURITY;
            CREATE POLICY of_tenant ON ",
            $table,
            " USING (tenant = current_setting('roost.tenant', true));"
        )
    };
}

const FIRST: Migration = Migration {
    owner: "notes",
    number: 1,
    sqlite: "CREATE TABLE notes (tenant TEXT NOT NULL, body TEXT NOT NULL);",
    postgres: guarded!("notes", "body TEXT NOT NULL"),
};
const SECOND: Migration = Migration {
    owner: "notes",
    number: 2,
    sqlite: "ALTER TABLE notes ADD COLUMN stars BIGINT; UPDATE notes SET stars = 5;",
    // The owner is subject to the policies too, so what belongs to everybody is a default.
    postgres: "ALTER TABLE notes ADD COLUMN stars BIGINT DEFAULT 5;",
};
const OTHER: Migration = Migration {
    owner: "tags",
    number: 1,
    sqlite: "CREATE TABLE tags (tenant TEXT NOT NULL, tag TEXT NOT NULL);",
    postgres: guarded!("tags", "tag TEXT NOT NULL"),
};
/// Breaks after its first statement.
const BROKEN: Migration = Migration {
    owner: "notes",
    number: 2,
    sqlite: "CREATE TABLE half (tenant TEXT NOT NULL); INSERT INTO notes (tenant, body) VALUES ('acme', 'half'); CREATE TABLE notes (a TEXT);",
    postgres: concat!(guarded!("half", "body TEXT"), "CREATE TABLE notes (a TEXT);"),
};

const ADD: Sql = Sql("INSERT INTO notes (tenant, body) VALUES ('acme', 'first')");

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

async fn open(location: &Location, migrations: &[Migration]) -> Result<Database, StorageError> {
    Database::open(location.clone(), migrations, Faults::default()).await
}

#[tokio::test]
async fn an_older_database_is_brought_up_to_date_once() {
    for engine in ENGINES {
        let older = TestDatabase::new(engine, &[FIRST]).await;
        older.database.write(&acme(), ADD).await.unwrap();
        for _ in 0..2 {
            let database = open(&older.location, &[FIRST, SECOND, OTHER]).await.unwrap();
            let stars = database.read(&acme(), Sql("SELECT stars FROM notes")).await.unwrap();
            assert_eq!(stars.iter().map(|row| row.int(0).unwrap()).collect::<Vec<_>>(), [5], "{engine:?}");
            let list = Sql("SELECT owner, number FROM shared_migrations ORDER BY owner, number");
            let list = database.read(&acme(), list).await.unwrap();
            let list: Vec<(&str, i64)> =
                list.iter().map(|row| (row.text(0).unwrap(), row.int(1).unwrap())).collect();
            assert_eq!(list, [("notes", 1), ("notes", 2), ("tags", 1)]);
        }
    }
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    for engine in ENGINES {
        let newer = TestDatabase::new(engine, &[FIRST, SECOND]).await;
        newer.database.write(&acme(), ADD).await.unwrap();
        let before = (dump(&newer.database, &acme()).await, tables(&newer.database, &acme()).await);
        for known in [&[FIRST, OTHER][..], &[OTHER]] {
            let refused = open(&newer.location, known).await.unwrap_err();
            let expected =
                matches!(&refused, StorageError::Newer { owner, found: 2, .. } if owner == "notes");
            assert!(expected, "{engine:?} {refused:?}");
            assert_eq!(refused.reason().code(), "storage_newer");
        }
        let after = (dump(&newer.database, &acme()).await, tables(&newer.database, &acme()).await);
        assert_eq!(before, after);
    }
}

#[tokio::test]
async fn a_step_that_breaks_in_the_middle_leaves_nothing() {
    for engine in ENGINES {
        let older = TestDatabase::new(engine, &[FIRST]).await;
        older.database.write(&acme(), ADD).await.unwrap();
        let before = (dump(&older.database, &acme()).await, tables(&older.database, &acme()).await);
        // Also the steps of others that came before it in the same start.
        let refused = open(&older.location, &[FIRST, OTHER, BROKEN]).await;
        assert!(matches!(refused, Err(StorageError::Statement { .. })), "{engine:?} {refused:?}");
        let after = (dump(&older.database, &acme()).await, tables(&older.database, &acme()).await);
        assert_eq!(before, after, "{engine:?}");
        open(&older.location, &[FIRST, SECOND, OTHER]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_that_open_at_the_same_moment_apply_each_step_once() {
    for engine in ENGINES {
        for _ in 0..3 {
            // One database is made only to have a place for those that matter.
            let place = TestDatabase::new(engine, &[]).await;
            let location = match &place.location {
                Location::File(path) => Location::File(path.with_file_name("other.db")),
                server @ Location::Server(_) => server.clone(),
            };
            let opening = (0..4).map(|_| {
                let location = location.clone();
                tokio::spawn(async move { open(&location, &[FIRST, SECOND, OTHER]).await })
            });
            let opened = futures::future::join_all(opening).await;
            for database in opened {
                let database = database.unwrap().unwrap();
                let count = Sql("SELECT count(*) FROM shared_migrations");
                let count = database.read(&acme(), count).await.unwrap();
                assert_eq!(count[0].int(0).unwrap(), 3, "{engine:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_table_that_does_not_hold_tenants_apart_is_refused() {
    let place = TestDatabase::new(Engine::Postgres, &[]).await;
    let unguarded = Migration { postgres: "CREATE TABLE notes (tenant TEXT NOT NULL);", ..FIRST };
    let forced = "CREATE TABLE notes (tenant TEXT NOT NULL); ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
        CREATE POLICY of_tenant ON notes USING (true);";
    for migration in [unguarded, Migration { postgres: forced, ..FIRST }] {
        let refused = open(&place.location, &[migration]).await;
        assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    }
    let schemas = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'roost' AND c.relname = 'notes'";
    assert_eq!(place.server().unwrap().sql(schemas), "0");
    open(&place.location, &[FIRST]).await.unwrap();
}
