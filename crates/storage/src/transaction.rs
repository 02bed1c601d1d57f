//! Statements that belong together: the same calls on both engines.
//!
//! Statements number their parameters `$1`, `$2`, ….

use crate::{
    error::StorageError,
    faults::Faults,
    notice::Notice,
    postgres, sqlite,
    value::{Parameter, Row},
};
use roost_protocol::Tenant;

/// Which engine a statement is written for, where the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// One file, one writer.
    Sqlite,
    /// A server for many nodes.
    Postgres,
}

impl Engine {
    /// One of two statements.
    #[must_use]
    pub fn pick(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}

pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(postgres::Session),
}

/// An open transaction for the rows of one tenant.
pub struct Transaction {
    pub(crate) connection: Connection,
    pub(crate) tenant: Tenant,
    pub(crate) faults: Faults,
    pub(crate) notices: Vec<Notice>,
    /// Whether anything was written since the mark was last cleared.
    pub(crate) wrote: bool,
    /// Whether a statement failed since the mark was last cleared.
    pub(crate) broken: bool,
    /// Whether that was because another node was faster.
    pub(crate) clashed: bool,
}

impl Transaction {
    pub(crate) fn new(connection: Connection, tenant: Tenant, faults: Faults) -> Self {
        Self { connection, tenant, faults, notices: Vec::new(), wrote: false, broken: false, clashed: false }
    }

    /// Which engine runs the statements.
    #[must_use]
    pub fn engine(&self) -> Engine {
        match self.connection {
            Connection::Sqlite(_) => Engine::Sqlite,
            Connection::Postgres(_) => Engine::Postgres,
        }
    }

    /// Whose rows they are.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// All rows of a statement that only reads.
    pub async fn rows(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        let done = match self.faults.step() {
            Ok(()) => match &mut self.connection {
                Connection::Sqlite(connection) => sqlite::rows(connection, sql, parameters),
                Connection::Postgres(session) => postgres::rows(session, sql, parameters).await,
            },
            Err(error) => Err(error),
        };
        self.remember(&done);
        done
    }

    /// The first row of a statement that only reads.
    pub async fn row(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, StorageError> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    /// Runs a statement that writes, and tells how many rows it touched.
    pub async fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, StorageError> {
        self.wrote = true;
        let done = match self.faults.step() {
            Ok(()) => match &mut self.connection {
                Connection::Sqlite(connection) => sqlite::execute(connection, sql, parameters),
                Connection::Postgres(session) => postgres::execute(session, sql, parameters).await,
            },
            Err(error) => Err(error),
        };
        self.remember(&done);
        done
    }

    /// Runs a statement that writes and returns rows.
    pub async fn returning(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        self.wrote = true;
        self.rows(sql, parameters).await
    }

    /// Remembers what a failed statement means for the rest.
    fn remember<T>(&mut self, done: &Result<T, StorageError>) {
        self.broken |= done.is_err();
        self.clashed |= matches!(done, Err(StorageError::Clash));
    }

    /// Tells everybody who listens, on every node, once this is stored.
    pub fn tell(&mut self, topic: &str) {
        let told = self.notices.iter().any(|notice| &*notice.topic == topic);
        if !told {
            self.notices.push(Notice { tenant: self.tenant.clone(), topic: topic.into() });
        }
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Transaction").field("engine", &self.engine()).finish_non_exhaustive()
    }
}
