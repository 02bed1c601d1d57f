//! The shared engine: a PostgreSQL server that any number of nodes use at once.
//!
//! The server holds tenants apart: statements run as a role that owns nothing, under row-level security, with the tenant
//! set for one transaction only. Changes of one lane are gathered while the one before is under way and share a
//! transaction, as in the embedded engine; lanes run side by side.

mod connections; // ways to the server
mod lanes; // who is stored together with whom
mod announcements; // notices on their way to all nodes
mod roles; // who the statements run as
mod schema; // tables, and that they are guarded
mod statement; // parameters, rows and errors

use crate::{
    change::{Change, Ended, Waiting, queued},
    error::StorageError,
    faults::Faults,
    migrations::Migration,
    notice::{Notice, Notices},
    transaction::{Connection, Transaction},
};
use connections::Connections;
pub(crate) use connections::Session;
use lanes::Lanes;
use roost_protocol::Tenant;
use sqlx::{
    Connection as _,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use statement::told;
pub(crate) use statement::{execute, rows};
use std::{str::FromStr as _, time::Duration};
use tokio::{sync::mpsc, task::JoinHandle};

/// Connections of one node: lanes and readers, below what a server gives to a few nodes by default.
const CONNECTIONS_MAX: usize = 20;

/// How long to wait for a connection.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);

/// Changes that may wait; who comes later waits before the queue.
const QUEUE_MAX: usize = 1024;

/// How often a change is tried again after it met one of another node.
const CLASHES_MAX: usize = 10;

/// Everything of ours is in one schema.
const SCHEMA: &str = "roost";

/// Where notices are sent.
const CHANNEL: &str = "roost";

pub(crate) struct PostgresServer {
    store: Store,
    queue: mpsc::Sender<Box<dyn Waiting>>,
    listening: JoinHandle<()>,
}

/// What a batch needs.
#[derive(Clone)]
pub(crate) struct Store {
    connections: Connections,
    announcements: mpsc::Sender<Notice>,
    faults: Faults,
}

impl PostgresServer {
    pub(crate) async fn open(
        url: &str,
        known: &[Migration],
        faults: Faults,
        notices: Notices,
    ) -> Result<Self, StorageError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| StorageError::Unavailable {
                message: "the URL of the database is not one".to_owned(),
            })?
            .options([("search_path", SCHEMA)])
            .application_name("roost");
        schema::prepare(&options, known).await?;
        // Only to listen, which connects again by itself.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECTED_WITHIN)
            .after_connect(|connection, _| Box::pin(roles::step_down(connection)))
            .connect_with(options.clone())
            .await
            .map_err(told)?;
        let mut listener = PgListener::connect_with(&pool).await.map_err(told)?;
        listener.listen(CHANNEL).await.map_err(told)?;
        let (announcements, to_announce) = mpsc::channel(announcements::WAITING_MAX);
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let store =
            Store { connections: Connections::new(options.clone(), CONNECTIONS_MAX), announcements, faults };
        // Both end by themselves: the one when everything handed in is stored, the other when all of it is told.
        tokio::spawn(Lanes::new(store.clone(), CONNECTIONS_MAX / 2).work(waiting));
        tokio::spawn(announcements::announce(options, to_announce));
        let listening = tokio::spawn(pass_on(listener, notices));
        Ok(Self { store, queue, listening })
    }

    /// Makes a change and returns when it is stored.
    pub(crate) async fn write<C: Change>(&self, tenant: Tenant, change: C) -> Result<C::Output, C::Error> {
        let (waiting, result) = queued(tenant, change);
        self.send(waiting).await?;
        result.await.unwrap_or_else(|_| Err(StorageError::Panicked.into()))
    }

    /// Returns when the change has its place in the queue.
    pub(crate) async fn hand_in<C: Change>(&self, tenant: Tenant, change: C) -> Result<(), StorageError> {
        self.send(queued(tenant, change).0).await
    }

    pub(crate) fn hand_in_now<C: Change>(&self, tenant: Tenant, change: C) -> Result<(), StorageError> {
        let (waiting, _) = queued(tenant, change);
        self.queue.try_send(waiting).map_err(|_| StorageError::too_much())
    }

    async fn send(&self, change: Box<dyn Waiting>) -> Result<(), StorageError> {
        let sent = self.queue.send(change).await;
        sent.map_err(|_| StorageError::Unavailable { message: "it was closed".to_owned() })
    }

    pub(crate) async fn read<C: Change>(&self, tenant: Tenant, look: &C) -> Result<C::Output, C::Error> {
        let mut transaction = self.store.begin(tenant).await?;
        let result = look.apply(&mut transaction).await;
        roll_back(transaction).await;
        result
    }

    /// Whether the server still guards every table.
    pub(crate) async fn check(&self) -> Result<Vec<String>, StorageError> {
        let mut connection = self.store.connections.apart().await?;
        let found = schema::unguarded(&mut connection).await?;
        connection.close().await.map_err(told)?;
        Ok(found)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Carries notices of all nodes to who listens here.
async fn pass_on(mut listener: PgListener, notices: Notices) {
    loop {
        match listener.recv().await {
            Ok(told) => {
                if let Some(notice) = Notice::of_text(told.payload()) {
                    notices.pass_on(notice);
                }
            }
            // It connects again by itself; whoever listens looks by the clock meanwhile.
            Err(error) => {
                tracing::warn!(%error, "the database's notices are interrupted");
                tokio::time::sleep(announcements::PAUSE).await;
            }
        }
    }
}

impl Store {
    async fn begin(&self, tenant: Tenant) -> Result<Transaction, StorageError> {
        let session = self.connections.begin(&tenant).await?;
        Ok(Transaction::new(Connection::Postgres(session), tenant, self.faults.clone()))
    }

    /// Stores changes of one tenant together, or each alone when one of them stands in the way.
    async fn store(&self, batch: Vec<Box<dyn Waiting>>) {
        let mut batch = batch;
        match self.attempt(&mut batch).await {
            Ok(()) => batch.into_iter().for_each(|change| change.finish(Ok(()))),
            // Whether it was stored is not known, so nobody is told that it was, and nothing is tried twice.
            Err(Lost::Entirely(error)) => {
                batch.into_iter().for_each(|change| change.finish(Err(error.clone())));
            }
            Err(Lost::Together) => {
                for change in batch {
                    self.store_alone(change).await;
                }
            }
        }
    }

    async fn store_alone(&self, mut change: Box<dyn Waiting>) {
        let mut stored =
            Err(StorageError::Unavailable { message: "other nodes were always faster".to_owned() });
        for _ in 0..CLASHES_MAX {
            match self.attempt(std::slice::from_mut(&mut change)).await {
                Ok(()) => stored = Ok(()),
                Err(Lost::Entirely(error)) => stored = Err(error),
                Err(Lost::Together) => continue,
            }
            break;
        }
        change.finish(stored);
    }

    async fn attempt(&self, batch: &mut [Box<dyn Waiting>]) -> Result<(), Lost> {
        let Some(first) = batch.first() else { return Ok(()) };
        let mut transaction = self.begin(first.tenant().clone()).await.map_err(Lost::Entirely)?;
        match attempt_within(&mut transaction, batch).await {
            Ok(Ended::Well) => self.commit(transaction).await.map_err(Lost::Entirely),
            Ok(Ended::Badly) => {
                roll_back(transaction).await;
                Ok(())
            }
            Err(lost) => {
                roll_back(transaction).await;
                Err(lost)
            }
        }
    }

    async fn commit(&self, transaction: Transaction) -> Result<(), StorageError> {
        transaction.faults.step()?;
        if let Connection::Postgres(session) = transaction.connection {
            session.commit().await?;
        }
        for notice in transaction.notices {
            // Whoever is not told looks by the clock.
            self.announcements.try_send(notice).ok();
        }
        Ok(())
    }
}

/// Does all of them; whether the transaction is to be kept.
async fn attempt_within(
    transaction: &mut Transaction,
    batch: &mut [Box<dyn Waiting>],
) -> Result<Ended, Lost> {
    let alone = batch.len() == 1;
    run_together(transaction, batch).await?;
    for change in batch.iter_mut().filter(|change| !change.is_done()) {
        (transaction.wrote, transaction.broken, transaction.clashed) = (false, false, false);
        let told_before = transaction.notices.len();
        if change.run(transaction).await == Ended::Well {
            // The server would take back such a transaction at its end, and say nothing.
            if transaction.broken {
                let message = "a change went on after a statement failed".to_owned();
                return Err(Lost::Entirely(StorageError::Statement { message }));
            }
            continue;
        }
        transaction.notices.truncate(told_before);
        if transaction.clashed || (!alone && (transaction.broken || transaction.wrote)) {
            return Err(Lost::Together);
        }
        if alone {
            return Ok(Ended::Badly);
        }
    }
    Ok(Ended::Well)
}

/// Does what can be done at once, for the first kind of change in the batch. Most batches have only one.
async fn run_together(transaction: &mut Transaction, batch: &mut [Box<dyn Waiting>]) -> Result<(), Lost> {
    batch.iter_mut().for_each(|change| change.begin_again());
    let is_alone = batch.len() == 1;
    let Some((first, others)) = batch.split_first_mut() else { return Ok(()) };
    let Err(error) = first.run_together(others, transaction).await else { return Ok(()) };
    let may_be_tried_again = transaction.clashed || !is_alone;
    Err(if may_be_tried_again { Lost::Together } else { Lost::Entirely(error) })
}

/// A connection that cannot even do this is closed, and the server does it by itself.
async fn roll_back(transaction: Transaction) {
    if let Connection::Postgres(session) = transaction.connection {
        session.roll_back().await.ok();
    }
}

/// Why a batch did not work as a whole.
enum Lost {
    /// One of them stands in the way, or another node does: each is to be tried alone.
    Together,
    /// Nobody's change can be stored.
    Entirely(StorageError),
}

/// A connection of its own, as who the URL names.
async fn connect(options: &PgConnectOptions) -> Result<sqlx::PgConnection, StorageError> {
    let connecting = sqlx::PgConnection::connect_with(options);
    let connected = tokio::time::timeout(CONNECTED_WITHIN, connecting).await;
    connected
        .map_err(|_| StorageError::Unavailable { message: "the server does not answer".to_owned() })?
        .map_err(told)
}
