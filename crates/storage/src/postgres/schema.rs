//! Brings the tables up to date, one node at a time, and makes sure that each is guarded.

use super::{connect, roles, statement::told};
use crate::{
    error::StorageError,
    migrations::{self, Migration},
};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _, postgres::PgConnectOptions};
use std::collections::BTreeMap;

/// Held while tables change. Any number will do, as long as every node has the same.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7071000001)";

/// Tables with rows of tenants which the server does not hold apart for everybody.
const UNGUARDED: &str = "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'roost' AND c.relkind IN ('r', 'p') AND c.relname NOT LIKE 'shared\\_%'
    AND NOT (c.relrowsecurity AND c.relforcerowsecurity
        AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid))
    ORDER BY 1";

pub(super) async fn prepare(options: &PgConnectOptions, known: &[Migration]) -> Result<(), StorageError> {
    let mut connection = connect(options).await?;
    let mut transaction = connection.begin().await.map_err(told)?;
    transaction.execute(LOCK).await.map_err(told)?;
    // A database that was carried to another server has its tables and not the role.
    let is_complete = migrations::missing(known, &applied(&mut transaction).await?)?.is_empty()
        && roles::exist(&mut transaction).await?;
    if !is_complete {
        apply(&mut transaction, known).await?;
    }
    let unguarded = unguarded(&mut transaction).await?;
    if let Some(table) = unguarded.first() {
        let message = format!("the table {table} does not hold tenants apart");
        return Err(StorageError::Corrupt { message });
    }
    transaction.commit().await.map_err(told)?;
    connection.close().await.map_err(told)
}

async fn apply(connection: &mut PgConnection, known: &[Migration]) -> Result<(), StorageError> {
    let begin = "CREATE SCHEMA IF NOT EXISTS roost";
    connection.execute(begin).await.map_err(told)?;
    connection.execute(migrations::LIST).await.map_err(told)?;
    roles::make(connection).await?;
    for migration in migrations::missing(known, &applied(connection).await?)? {
        connection.execute(sqlx::raw_sql(migration.postgres)).await.map_err(told)?;
        let note = sqlx::query(migrations::NOTE).bind(migration.owner).bind(migration.number);
        connection.execute(note).await.map_err(told)?;
    }
    roles::allow(connection).await
}

async fn applied(connection: &mut PgConnection) -> Result<BTreeMap<String, i64>, StorageError> {
    let has_list = "SELECT 1 WHERE to_regclass('roost.shared_migrations') IS NOT NULL";
    if connection.fetch_optional(has_list).await.map_err(told)?.is_none() {
        return Ok(BTreeMap::new());
    }
    let rows = connection.fetch_all(migrations::APPLIED).await.map_err(told)?;
    rows.iter().map(|row| Ok((row.try_get(0).map_err(told)?, row.try_get(1).map_err(told)?))).collect()
}

pub(super) async fn unguarded(connection: &mut PgConnection) -> Result<Vec<String>, StorageError> {
    let rows = connection.fetch_all(UNGUARDED).await.map_err(told)?;
    rows.iter().map(|row| row.try_get(0).map_err(told)).collect()
}
