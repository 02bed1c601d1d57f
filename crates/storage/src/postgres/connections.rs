//! Connections to the server: few, kept open, and thrown away as soon as anything about one is in doubt.
//!
//! A pool that asks a connection whether it is alive before and after every use would double the ways to the server and
//! back; here the first statement of a transaction is that question.

use super::{connect, roles, statement::told};
use crate::error::StorageError;
use roost_protocol::Tenant;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, postgres::PgConnectOptions};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long to wait for one that others use.
const FREE_WITHIN: Duration = Duration::from_secs(5);

/// Connections of one node.
#[derive(Clone)]
pub(super) struct Connections {
    options: Arc<PgConnectOptions>,
    /// In no transaction.
    idle: Arc<Mutex<Vec<PgConnection>>>,
    permits: Arc<Semaphore>,
}

/// A connection in a transaction. Dropped, it is closed, and the server takes everything back.
pub(crate) struct Session {
    pub(super) connection: PgConnection,
    idle: Arc<Mutex<Vec<PgConnection>>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    pub(super) fn new(options: PgConnectOptions, connections_max: usize) -> Self {
        Self {
            options: Arc::new(options),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(connections_max)),
        }
    }

    /// One more, as who the URL names, for what is done rarely.
    pub(super) async fn apart(&self) -> Result<PgConnection, StorageError> {
        connect(&self.options).await
    }

    /// Begins a transaction for the rows of one tenant.
    pub(super) async fn begin(&self, tenant: &Tenant) -> Result<Session, StorageError> {
        let free = tokio::time::timeout(FREE_WITHIN, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(permit)) = free else {
            let message = "all connections to the server are in use".to_owned();
            return Err(StorageError::Unavailable { message });
        };
        // One way to the server for both. The name of a tenant holds no quotes: it is checked where it is made.
        let begin = format!("BEGIN; SET LOCAL roost.tenant = '{}'", tenant.as_str());
        let session = |connection| Session { connection, idle: Arc::clone(&self.idle), _permit: permit };
        let kept = lock(&self.idle).pop();
        if let Some(mut connection) = kept
            && connection.execute(sqlx::raw_sql(AssertSqlSafe(begin.as_str()))).await.is_ok()
        {
            return Ok(session(connection));
        }
        // There was none, or the server went away meanwhile. Nothing was asked yet, so a new one is as good.
        let mut connection = connect(&self.options).await?;
        roles::step_down(&mut connection).await.map_err(told)?;
        connection.execute(sqlx::raw_sql(AssertSqlSafe(begin.as_str()))).await.map_err(told)?;
        Ok(session(connection))
    }
}

impl Session {
    pub(super) async fn commit(self) -> Result<(), StorageError> {
        self.end("COMMIT").await
    }

    pub(super) async fn roll_back(self) -> Result<(), StorageError> {
        self.end("ROLLBACK").await
    }

    async fn end(mut self, how: &'static str) -> Result<(), StorageError> {
        self.connection.execute(sqlx::raw_sql(how)).await.map_err(told)?;
        let Self { connection, idle, _permit } = self;
        lock(&idle).push(connection);
        Ok(())
    }
}

fn lock(idle: &Mutex<Vec<PgConnection>>) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
