//! Looking past the interface: statements as tests need them, and everything that a database holds.

use roost_protocol::Tenant;
use roost_storage::{Change, Database, Engine, Row, StorageError, Transaction};

const TABLES_SQLITE: &str = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
const TABLES_POSTGRES: &str = "SELECT c.relname::text FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'roost' AND c.relkind = 'r' ORDER BY 1";

/// One statement without parameters, and the rows it gives.
#[derive(Debug, Clone, Copy)]
pub struct Sql(pub &'static str);

impl Sql {
    /// A statement that is put together while a test runs.
    #[must_use]
    pub fn made(text: String) -> Self {
        // A test ends soon, and statements live as long as the program everywhere else.
        Self(String::leak(text))
    }
}

impl Change for Sql {
    type Output = Vec<Row>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<Row>, StorageError> {
        transaction.returning(self.0, &[]).await
    }
}

/// The names of all tables.
pub async fn tables(database: &Database, tenant: &Tenant) -> Vec<String> {
    let sql = match database.engine() {
        Engine::Sqlite => TABLES_SQLITE,
        Engine::Postgres => TABLES_POSTGRES,
    };
    let rows = database.read(tenant, Sql(sql)).await.expect("the engine lists its tables");
    rows.iter().map(|row| row.text(0).expect("a table has a name").to_owned()).collect()
}

/// Every row of every table that this tenant sees, in an order of its own: equal when nothing changed.
pub async fn dump(database: &Database, tenant: &Tenant) -> Vec<String> {
    let mut lines = Vec::new();
    for table in tables(database, tenant).await {
        let rows = database.read(tenant, Sql::made(format!("SELECT * FROM {table}"))).await;
        lines.extend(rows.expect("a table can be read").iter().map(|row| format!("{table} {row:?}")));
    }
    lines.sort();
    lines
}
