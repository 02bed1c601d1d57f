//! The way in: where the database is, and what can be done with it.
//!
//! What talks to a server is boxed: its state has kilobytes, and callers would carry room for it, and copy it, also
//! where the database is a file.

use crate::{
    change::Change,
    error::StorageError,
    faults::Faults,
    migrations::Migration,
    notice::{Notice, Notices},
    postgres::PostgresServer,
    sqlite::Sqlite,
    transaction::Engine,
};
use roost_protocol::Tenant;
use std::{path::PathBuf, sync::Arc};
use tokio::sync::broadcast;

/// Where a database is.
#[derive(Debug, Clone)]
pub enum Location {
    /// A file of this machine.
    File(PathBuf),
    /// A PostgreSQL server, by its URL.
    Server(String),
}

/// An open database. Clones are handles of the same one; what was handed in is stored before the last one is gone.
#[derive(Clone)]
pub struct Database {
    engine: Arc<Kind>,
    notices: Notices,
}

enum Kind {
    Sqlite(Sqlite),
    Postgres(PostgresServer),
}

impl Database {
    /// Opens it and brings its tables up to date. Must be called within a tokio runtime.
    pub async fn open(
        location: Location,
        migrations: &[Migration],
        faults: Faults,
    ) -> Result<Self, StorageError> {
        let notices = Notices::new();
        let engine = match location {
            Location::File(path) => Kind::Sqlite(Sqlite::open(&path, migrations, faults, notices.clone())?),
            Location::Server(url) => {
                let open = PostgresServer::open(&url, migrations, faults, notices.clone());
                Kind::Postgres(Box::pin(open).await?)
            }
        };
        Ok(Self { engine: Arc::new(engine), notices })
    }

    /// Which engine it is.
    #[must_use]
    pub fn engine(&self) -> Engine {
        match &*self.engine {
            Kind::Sqlite(_) => Engine::Sqlite,
            Kind::Postgres(_) => Engine::Postgres,
        }
    }

    /// Makes a change and returns when it is on disk.
    pub async fn write<C: Change>(&self, tenant: &Tenant, change: C) -> Result<C::Output, C::Error> {
        match &*self.engine {
            Kind::Sqlite(sqlite) => sqlite.write(tenant.clone(), change).await,
            Kind::Postgres(server) => server.write(tenant.clone(), change).await,
        }
    }

    /// Hands a change in and returns as soon as it has its place in the queue. A failure is logged.
    pub async fn hand_in<C: Change>(&self, tenant: &Tenant, change: C) -> Result<(), StorageError> {
        match &*self.engine {
            Kind::Sqlite(sqlite) => sqlite.hand_in(tenant.clone(), change).await,
            Kind::Postgres(server) => server.hand_in(tenant.clone(), change).await,
        }
    }

    /// The same without waiting for a place in the queue; there is none when too much waits.
    pub fn hand_in_now<C: Change>(&self, tenant: &Tenant, change: C) -> Result<(), StorageError> {
        match &*self.engine {
            Kind::Sqlite(sqlite) => sqlite.hand_in_now(tenant.clone(), change),
            Kind::Postgres(server) => server.hand_in_now(tenant.clone(), change),
        }
    }

    /// Looks at rows, all of one moment. Meant for a few rows that are found by a key.
    pub async fn read<C: Change>(&self, tenant: &Tenant, look: C) -> Result<C::Output, C::Error> {
        match &*self.engine {
            Kind::Sqlite(sqlite) => sqlite.read(tenant.clone(), &look),
            Kind::Postgres(server) => Box::pin(server.read(tenant.clone(), &look)).await,
        }
    }

    /// Looks at many rows, without keeping others from their work.
    pub async fn scan<C: Change>(&self, tenant: &Tenant, look: C) -> Result<C::Output, C::Error> {
        let (engine, tenant) = (Arc::clone(&self.engine), tenant.clone());
        match &*self.engine {
            Kind::Sqlite(_) => {
                let scan = move || match &*engine {
                    Kind::Sqlite(sqlite) => sqlite.read(tenant, &look),
                    Kind::Postgres(_) => Err(StorageError::Panicked.into()),
                };
                tokio::task::spawn_blocking(scan).await.unwrap_or_else(|_| Err(StorageError::Panicked.into()))
            }
            Kind::Postgres(server) => Box::pin(server.read(tenant, &look)).await,
        }
    }

    /// Hears what changes tell, on whichever node they are made.
    #[must_use]
    pub fn listen(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// A number that is another one after every change. Of changes on other nodes it knows a moment later.
    pub fn stored(&self) -> Result<i64, StorageError> {
        match &*self.engine {
            Kind::Sqlite(sqlite) => sqlite.stored(),
            Kind::Postgres(_) => Ok(self.notices.passed_on()),
        }
    }

    /// What is wrong with the database itself; nothing when it is sound.
    pub async fn check(&self) -> Result<Vec<String>, StorageError> {
        let engine = Arc::clone(&self.engine);
        match &*self.engine {
            Kind::Sqlite(_) => {
                let check = move || match &*engine {
                    Kind::Sqlite(sqlite) => sqlite.check(),
                    Kind::Postgres(_) => Err(StorageError::Panicked),
                };
                tokio::task::spawn_blocking(check).await.unwrap_or(Err(StorageError::Panicked))
            }
            Kind::Postgres(server) => Box::pin(server.check()).await,
        }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Database").field("engine", &self.engine()).finish_non_exhaustive()
    }
}
