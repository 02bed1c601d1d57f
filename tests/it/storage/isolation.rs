//! Tenants on PostgreSQL: no row of another is ever seen, whoever asks, and whatever broke in the middle.

use futures::future::join_all;
use roost_protocol::Tenant;
use roost_storage::{Change, Database, Engine, Faults, Location, StorageError, Transaction};
use roost_tests::{Postgres, Sql, TestDatabase, file_path, owner, tables, text};
use roost_workspace::{
    Condition, Limits, MIGRATIONS, Once, Prefix, Role, Rule, WorkspaceError, Workspaces, Writer,
};

const TENANTS: [&str; 2] = ["ant", "bee"];

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

/// How a change breaks after it wrote something.
#[derive(Debug, Clone, Copy)]
enum Breaks {
    Panicking,
    Refusing,
    WithAWrongStatement,
}

impl Change for Breaks {
    type Output = ();
    type Error = StorageError;

    fn lane(&self) -> &'static str {
        "main"
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        let tenant = transaction.tenant().clone();
        let rule =
            "INSERT INTO rules (tenant, workspace, prefix, rule) VALUES ($1, 'main', 'broken', 'read')";
        transaction.execute(rule, &[tenant.as_str().into()]).await?;
        match self {
            Self::Panicking => panic!("a change that panics on purpose"),
            Self::Refusing => Err(StorageError::Statement { message: "refused on purpose".to_owned() }),
            Self::WithAWrongStatement => transaction.execute("SELECT wrong", &[]).await.map(drop),
        }
    }
}

/// A row in every table, for each tenant.
async fn fill(workspaces: &Workspaces) {
    for name in TENANTS {
        let owner = owner(name, "main");
        let once = Some(("put".to_owned(), Once { key: "key".to_owned(), digest: [1; 32] }));
        let write = text("a.md", Condition::none(), name);
        workspaces.write_one(&owner, &Writer::person("anna"), write, once).await.unwrap();
        workspaces.take_snapshot(&owner).await.unwrap();
        let prefix = Prefix::parse("b").unwrap();
        workspaces.set_rule(&owner, &prefix, Some(Rule::Propose)).await.unwrap();
        let agent = Writer { role: Role::Agent, ..Writer::person("agent") };
        workspaces.write_one(&owner, &agent, text("b.md", Condition::none(), name), None).await.unwrap();
    }
}

/// Asks for everything without naming a tenant, as a careless statement would.
async fn sees_only_its_own(database: &Database, name: &str) {
    let all = Sql("SELECT tenant, current_setting('roost.tenant', true), current_user::text FROM files
        UNION ALL SELECT tenant, '', '' FROM versions UNION ALL SELECT tenant, '', '' FROM events
        UNION ALL SELECT tenant, '', '' FROM workspaces UNION ALL SELECT tenant, '', '' FROM answers
        UNION ALL SELECT tenant, '', '' FROM pins UNION ALL SELECT tenant, '', '' FROM proposals
        UNION ALL SELECT tenant, '', '' FROM rules");
    let rows = database.read(&tenant(name), all).await.unwrap();
    assert!(rows.len() >= 8);
    for row in rows {
        assert_eq!(row.text(0).unwrap(), name);
        if !row.text(1).unwrap().is_empty() {
            assert_eq!((row.text(1).unwrap(), row.text(2).unwrap()), (name, "roost_tenant"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_that_share_connections_never_see_each_other() {
    let database = TestDatabase::new(Engine::Postgres, MIGRATIONS).await;
    let workspaces = database.workspaces(Limits::default());
    fill(&workspaces).await;
    // Panics are wanted here and would only fill the screen.
    std::panic::set_hook(Box::new(|_| ()));
    let tasks = (0..8).map(|number| {
        let (database, workspaces) = (database.database.clone(), workspaces.clone());
        tokio::spawn(async move {
            let name = TENANTS[number % 2];
            let owner = owner(name, "main");
            for turn in 0..9 {
                let breaks = [Breaks::Panicking, Breaks::Refusing, Breaks::WithAWrongStatement][turn % 3];
                let write = text(&format!("{number}.md"), Condition::none(), name);
                let writer = Writer::person("anna");
                let (written, broken) = tokio::join!(
                    workspaces.write_one(&owner, &writer, write, None),
                    database.write(&owner.tenant, breaks),
                );
                written.unwrap();
                let expected = matches!(
                    (breaks, broken),
                    (Breaks::Panicking, Err(StorageError::Panicked))
                        | (
                            Breaks::Refusing | Breaks::WithAWrongStatement,
                            Err(StorageError::Statement { .. })
                        )
                );
                assert!(expected, "{breaks:?}");
                sees_only_its_own(&database, name).await;
                let other = format!("{}.md", (number + 1) % 8);
                let foreign = workspaces.get(&owner, &file_path(&other), None).await;
                assert_eq!(foreign, Err(WorkspaceError::NotFound));
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    for name in TENANTS {
        let rules = workspaces.rules(&owner(name, "main")).await.unwrap();
        assert!(rules.iter().all(|rule| rule.prefix != "broken"), "what a broken change wrote is gone");
        let listing = workspaces.list(&owner(name, "main"), &Prefix::default()).await.unwrap();
        assert_eq!(listing.files.len(), 5);
    }
}

fn as_tenant(server: &Postgres, name: &str, statements: &str) -> String {
    server.sql(&format!(
        "BEGIN; SET LOCAL search_path = roost; SET LOCAL ROLE roost_tenant; SET LOCAL roost.tenant = '{name}'; {statements}; COMMIT"
    ))
}

#[tokio::test]
async fn the_server_itself_holds_tenants_apart() {
    let database = TestDatabase::new(Engine::Postgres, MIGRATIONS).await;
    fill(&database.workspaces(Limits::default())).await;
    let server = database.server().unwrap();
    let role = "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb FROM pg_roles
        WHERE rolname = 'roost_tenant'";
    assert_eq!(server.sql(role), "f|f|f|f|f");
    let owned = "SELECT count(*) FROM pg_class WHERE relowner = 'roost_tenant'::regrole";
    assert_eq!(server.sql(owned), "0");
    let names = tables(&database.database, &tenant("ant")).await;
    let names: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !name.starts_with("shared_")).collect();
    assert!(names.len() >= 8, "{names:?}");
    for table in names {
        let guarded = format!(
            "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = 'roost.{table}'::regclass"
        );
        assert_eq!(server.sql(&guarded), "t", "{table}");
        let count = format!("SELECT count(*) FROM {table}");
        let all: i64 = server.sql(&format!("SELECT count(*) FROM roost.{table}")).parse().unwrap();
        assert!(all >= 2, "{table} has rows of both");
        let unset = server.sql(&format!("SET ROLE roost_tenant; SELECT count(*) FROM roost.{table}"));
        assert_eq!(unset, "0", "{table} without a tenant");
        assert_eq!(as_tenant(server, "", &count), "0");
        let of_both: i64 =
            TENANTS.iter().map(|name| as_tenant(server, name, &count).parse::<i64>().unwrap()).sum();
        assert_eq!(of_both, all, "{table}");
        let foreign = format!("{count} WHERE tenant = 'bee'");
        assert_eq!(as_tenant(server, "ant", &foreign), "0");
        let before = server.sql(&format!(
            "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM roost.{table} t WHERE tenant = 'bee'"
        ));
        as_tenant(server, "ant", &format!("UPDATE {table} SET tenant = tenant WHERE tenant = 'bee'"));
        as_tenant(server, "ant", &format!("DELETE FROM {table} WHERE tenant = 'bee'"));
        let after = server.sql(&format!(
            "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM roost.{table} t WHERE tenant = 'bee'"
        ));
        assert_eq!(before, after, "{table}");
        for statement in [
            format!("UPDATE {table} SET tenant = 'bee'"),
            format!(
                "INSERT INTO {table} SELECT * FROM (SELECT (jsonb_populate_record(t, '{{\"tenant\": \"bee\"}}')).* FROM {table} t) moved"
            ),
        ] {
            let refusal = server.sql_fails(&format!(
                "BEGIN; SET LOCAL search_path = roost; SET LOCAL ROLE roost_tenant; SET LOCAL roost.tenant = 'ant'; {statement}; COMMIT"
            ));
            assert!(refusal.contains("row-level security"), "{table}: {refusal}");
        }
    }
    let shared = "SET ROLE roost_tenant; DELETE FROM roost.shared_migrations";
    assert!(server.sql_fails(shared).contains("permission denied"));
    let kept = "BEGIN; SET LOCAL roost.tenant = 'ant'; COMMIT; SET ROLE roost_tenant; SELECT count(*) FROM roost.files";
    assert_eq!(server.sql(kept), "0", "a tenant does not outlive its transaction");
}

/// What docs/postgres.md asks of an administrator, and no more.
#[tokio::test]
async fn a_plain_login_that_may_create_in_its_database_is_enough() {
    let server = Postgres::database();
    let login = format!("{}_login", server.name());
    server.sql(&format!(
        "DO $$ BEGIN CREATE ROLE roost_tenant NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
        CREATE ROLE {login} LOGIN; GRANT roost_tenant TO {login}; GRANT CREATE ON DATABASE {} TO {login}",
        server.name()
    ));
    let location = Location::Server(server.login(&login));
    let open = || Database::open(location.clone(), MIGRATIONS, Faults::default());
    let database = open().await.unwrap();
    fill(&Workspaces::new(database.clone(), Limits::default())).await;
    sees_only_its_own(&database, "ant").await;
    assert!(database.check().await.unwrap().is_empty());
    // The owner of the tables is held to the same rules.
    let count = format!("SET ROLE {login}; SELECT count(*) FROM roost.files");
    assert_eq!(server.sql(&count), "0");
    let own = format!("SET ROLE {login}; SET roost.tenant = 'ant'; SELECT DISTINCT tenant FROM roost.files");
    assert_eq!(server.sql(&own), "ant");
    drop(database);
    open().await.unwrap();
    server.sql(&format!("DROP OWNED BY {login} CASCADE; DROP ROLE {login}"));
}

#[tokio::test]
async fn a_table_that_lost_its_guard_is_found() {
    let database = TestDatabase::new(Engine::Postgres, MIGRATIONS).await;
    assert!(database.database.check().await.unwrap().is_empty());
    let server = database.server().unwrap();
    server.sql("ALTER TABLE roost.files NO FORCE ROW LEVEL SECURITY");
    let found = database.database.check().await.unwrap();
    assert!(found.len() == 1 && found[0].contains("files"), "{found:?}");
    let again = Database::open(database.location.clone(), MIGRATIONS, Faults::default()).await;
    assert!(matches!(again, Err(StorageError::Corrupt { .. })), "{again:?}");
}
