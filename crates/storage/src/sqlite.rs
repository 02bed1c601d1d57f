//! The embedded engine: one file, many readers, one thread that writes.
//!
//! The writer takes whatever waits, does it inside one transaction and answers everybody after a single flush to disk, so
//! that many small changes cost little more than one. Each has a savepoint of its own: one that is refused takes nobody
//! else with it.

mod checkpoints; // carrying the log over

use crate::{
    change::{Change, Coming, Ended, Waiting, queued},
    error::StorageError,
    faults::Faults,
    migrations::{self, Migration},
    notice::Notices,
    transaction::{Connection as AnyConnection, Transaction},
    value::{Parameter, Row, Value},
};
use checkpoints::Checkpoints;
use futures::FutureExt as _;
use roost_protocol::Tenant;
use rusqlite::{Connection, ErrorCode, OpenFlags, types::ValueRef};
use std::{
    collections::BTreeMap,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::mpsc;

/// Changes that share one flush: enough to make it cheap, few enough that nobody waits long.
const BATCH_MAX: usize = 64;

/// Changes that may wait; who comes later waits before the queue.
const QUEUE_MAX: usize = 1024;

/// Readers that stay open.
const READERS_KEPT: usize = 8;

/// How long to wait for another process that writes, such as a command beside a running host.
const BUSY_WITHIN: Duration = Duration::from_secs(5);

/// Prepared statements a connection keeps: more than there are.
const STATEMENTS_KEPT: usize = 256;

/// Pages in the log before the writer itself carries them over, which others do earlier: only when those cannot.
const LOG_PAGES: &str = "40000";

pub(crate) struct Sqlite {
    path: PathBuf,
    /// Absent only while the engine is ended.
    queue: Option<mpsc::Sender<Box<dyn Waiting>>>,
    writer: Option<JoinHandle<()>>,
    readers: Mutex<Vec<Connection>>,
    /// Sees whether anybody stored anything. It never writes itself.
    watcher: Mutex<Connection>,
    faults: Faults,
}

impl Sqlite {
    pub(crate) fn open(
        path: &Path,
        known: &[Migration],
        faults: Faults,
        notices: Notices,
    ) -> Result<Self, StorageError> {
        make(path)?;
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Every answer is on disk before it is given.
        for (pragma, value) in
            [("journal_mode", "wal"), ("synchronous", "full"), ("wal_autocheckpoint", LOG_PAGES)]
        {
            connection.pragma_update(None, pragma, value).map_err(told)?;
        }
        migrate(&mut connection, known)?;
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let checkpoints = Checkpoints::start(path)?;
        let writer = Writer { connection: Some(connection), checkpoints, faults: faults.clone(), notices };
        let writer = std::thread::Builder::new()
            .name("database".to_owned())
            .spawn(move || writer.work(waiting))
            .map_err(|error| StorageError::Unavailable { message: error.to_string() })?;
        Ok(Self {
            path: path.to_owned(),
            queue: Some(queue),
            writer: Some(writer),
            readers: Mutex::default(),
            watcher: Mutex::new(connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?),
            faults,
        })
    }

    /// Hands a change to the writer; waits only for room in the queue.
    pub(crate) async fn hand_in<C: Change>(
        &self,
        tenant: Tenant,
        change: C,
    ) -> Result<Coming<C>, StorageError> {
        let (waiting, result) = queued(tenant, change);
        let queue = self.queue.as_ref().ok_or_else(ended)?;
        queue.send(waiting).await.map_err(|_| ended())?;
        Ok(result)
    }

    pub(crate) fn hand_in_now<C: Change>(&self, tenant: Tenant, change: C) -> Result<(), StorageError> {
        let (waiting, _) = queued(tenant, change);
        self.queue.as_ref().ok_or_else(ended)?.try_send(waiting).map_err(|_| StorageError::too_much())
    }

    /// Reads on this thread: what is read is in memory, or a page away.
    pub(crate) fn read<C: Change>(&self, tenant: Tenant, look: &C) -> Result<C::Output, C::Error> {
        let kept = self.readers().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        run(&connection, "BEGIN")?;
        let mut transaction =
            Transaction::new(AnyConnection::Sqlite(connection), tenant, self.faults.clone());
        let result = look.apply(&mut transaction).now_or_never();
        if let AnyConnection::Sqlite(connection) = transaction.connection
            && run(&connection, "COMMIT").is_ok()
        {
            let mut readers = self.readers();
            if readers.len() < READERS_KEPT {
                readers.push(connection);
            }
        }
        result.unwrap_or_else(|| Err(waited().into()))
    }

    /// A number that is another one after every change, by this process or another.
    pub(crate) fn stored(&self) -> Result<i64, StorageError> {
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        rows(&watcher, "PRAGMA data_version", &[])?.first().map_or(Err(lost()), |row| row.int(0))
    }

    /// What the engine finds wrong with the file; nothing when it is sound.
    pub(crate) fn check(&self) -> Result<Vec<String>, StorageError> {
        let connection = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut found = Vec::new();
        for row in rows(&connection, "PRAGMA integrity_check(10)", &[])? {
            found.push(row.text(0)?.to_owned());
        }
        found.retain(|line| line != "ok");
        Ok(found)
    }

    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sqlite {
    /// What was handed in is stored before the engine is gone.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            writer.join().ok();
        }
    }
}

struct Writer {
    /// Absent only while a transaction has it.
    connection: Option<Connection>,
    checkpoints: Checkpoints,
    faults: Faults,
    notices: Notices,
}

/// Why a batch did not work as a whole.
enum Lost {
    /// The engine took everything back because of one of them: each is to be tried alone.
    Together,
    /// Nobody's change can be stored.
    Entirely(StorageError),
}

impl Writer {
    fn work(mut self, mut waiting: mpsc::Receiver<Box<dyn Waiting>>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while waiting.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            let changes = batch.len();
            self.store(&mut batch);
            if let Some(connection) = &self.connection {
                self.checkpoints.after(changes, connection);
            }
        }
    }

    fn store(&mut self, batch: &mut Vec<Box<dyn Waiting>>) {
        match self.attempt(batch) {
            Ok(()) => batch.drain(..).for_each(|change| change.finish(Ok(()))),
            Err(Lost::Entirely(error)) => {
                batch.drain(..).for_each(|change| change.finish(Err(error.clone())));
            }
            Err(Lost::Together) => {
                for mut change in batch.drain(..) {
                    let stored = match self.attempt(std::slice::from_mut(&mut change)) {
                        Ok(()) => Ok(()),
                        Err(Lost::Entirely(error)) => Err(error),
                        Err(Lost::Together) => Err(lost()),
                    };
                    change.finish(stored);
                }
            }
        }
    }

    /// Does all of them inside one transaction.
    fn attempt(&mut self, batch: &mut [Box<dyn Waiting>]) -> Result<(), Lost> {
        let Some(first) = batch.first() else { return Ok(()) };
        let Some(connection) = self.connection.take() else { return Err(Lost::Entirely(lost())) };
        let mut transaction =
            Transaction::new(AnyConnection::Sqlite(connection), first.tenant().clone(), self.faults.clone());
        let done = attempt_within(&mut transaction, batch);
        let notices = std::mem::take(&mut transaction.notices);
        if let AnyConnection::Sqlite(connection) = transaction.connection {
            if done.is_err() && !connection.is_autocommit() {
                run(&connection, "ROLLBACK").ok();
            }
            self.connection = Some(connection);
        }
        done?;
        notices.into_iter().for_each(|notice| self.notices.pass_on(notice));
        Ok(())
    }
}

fn attempt_within(transaction: &mut Transaction, batch: &mut [Box<dyn Waiting>]) -> Result<(), Lost> {
    let statement = |transaction: &Transaction, sql: &'static str| match &transaction.connection {
        AnyConnection::Sqlite(connection) => run(connection, sql),
        AnyConnection::Postgres(_) => Err(lost()),
    };
    let is_open = |transaction: &Transaction| matches!(&transaction.connection, AnyConnection::Sqlite(connection) if !connection.is_autocommit());
    statement(transaction, "BEGIN IMMEDIATE").map_err(Lost::Entirely)?;
    let several = batch.len() > 1;
    for change in batch {
        transaction.tenant = change.tenant().clone();
        let told_before = transaction.notices.len();
        statement(transaction, "SAVEPOINT one").map_err(Lost::Entirely)?;
        let ended = change.run(transaction).now_or_never().unwrap_or(Ended::Badly);
        if ended == Ended::Badly {
            transaction.notices.truncate(told_before);
            // A full disk makes the engine take back the whole transaction by itself.
            if !is_open(transaction) {
                return if several { Err(Lost::Together) } else { Ok(()) };
            }
            statement(transaction, "ROLLBACK TO one").map_err(Lost::Entirely)?;
        }
        statement(transaction, "RELEASE one").map_err(Lost::Entirely)?;
    }
    transaction.faults.step().map_err(Lost::Entirely)?;
    statement(transaction, "COMMIT").map_err(Lost::Entirely)
}

/// Makes the file where there is none: others have no business in it. The engine gives its other files the same rights.
fn make(path: &Path) -> Result<(), StorageError> {
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StorageError::ReadOnly { message: error.to_string() })
        }
        _ => Ok(()),
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StorageError> {
    let connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(told)?;
    connection.busy_timeout(BUSY_WITHIN).map_err(told)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    Ok(connection)
}

fn migrate(connection: &mut Connection, known: &[Migration]) -> Result<(), StorageError> {
    let has_list = "SELECT 1 FROM sqlite_master WHERE name = 'shared_migrations'";
    let applied = |connection: &Connection| -> Result<BTreeMap<String, i64>, StorageError> {
        if rows(connection, has_list, &[])?.is_empty() {
            return Ok(BTreeMap::new());
        }
        let list = rows(connection, migrations::APPLIED, &[])?;
        list.iter().map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?))).collect()
    };
    // Most starts have nothing to do and take no lock.
    if migrations::missing(known, &applied(connection)?)?.is_empty() {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(told)?;
    for migration in migrations::missing(known, &applied(&transaction)?)? {
        transaction.execute_batch(migrations::LIST).map_err(told)?;
        transaction.execute_batch(migration.sqlite).map_err(told)?;
        let parameters = [Parameter::from(migration.owner), Parameter::from(migration.number)];
        execute(&transaction, migrations::NOTE, &parameters)?;
    }
    transaction.commit().map_err(told)
}

fn run(connection: &Connection, sql: &'static str) -> Result<(), StorageError> {
    let mut statement = connection.prepare_cached(sql).map_err(told)?;
    statement.raw_execute().map(drop).map_err(told)
}

pub(crate) fn execute(
    connection: &Connection,
    sql: &'static str,
    parameters: &[Parameter<'_>],
) -> Result<u64, StorageError> {
    let mut statement = connection.prepare_cached(sql).map_err(told)?;
    bind(&mut statement, parameters)?;
    statement.raw_execute().map(|count| count as u64).map_err(told)
}

pub(crate) fn rows(
    connection: &Connection,
    sql: &'static str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, StorageError> {
    let mut statement = connection.prepare_cached(sql).map_err(told)?;
    bind(&mut statement, parameters)?;
    let columns = statement.column_count();
    let mut found = statement.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = found.next().map_err(told)? {
        let values: Result<Vec<Value>, StorageError> =
            (0..columns).map(|column| value(row.get_ref(column).map_err(told)?)).collect();
        rows.push(Row(values?));
    }
    Ok(rows)
}

fn bind(
    statement: &mut rusqlite::CachedStatement<'_>,
    parameters: &[Parameter<'_>],
) -> Result<(), StorageError> {
    // SQLite counts `$3` as a name and numbers names as they appear.
    for index in 1..=statement.parameter_count() {
        let number =
            statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let parameter = number.and_then(|number| parameters.get(number.wrapping_sub(1)));
        let bound = match parameter {
            Some(Parameter::Int(value)) => statement.raw_bind_parameter(index, value),
            Some(Parameter::Text(value)) => statement.raw_bind_parameter(index, value),
            Some(Parameter::Bytes(value)) => statement.raw_bind_parameter(index, value),
            None => {
                let message = format!("parameter {index} of a statement has no value");
                return Err(StorageError::Statement { message });
            }
        };
        bound.map_err(told)?;
    }
    Ok(())
}

fn value(found: ValueRef<'_>) -> Result<Value, StorageError> {
    Ok(match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text)
                .map_err(|_| StorageError::Corrupt { message: "a text is not UTF-8".to_owned() })?;
            Value::Text(text.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
        ValueRef::Real(_) => {
            return Err(StorageError::Statement { message: "a column holds a fraction".to_owned() });
        }
    })
}

fn told(error: rusqlite::Error) -> StorageError {
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StorageError::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StorageError::ReadOnly { message }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StorageError::Corrupt { message },
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory,
        ) => StorageError::Unavailable { message },
        _ => StorageError::Statement { message },
    }
}

fn ended() -> StorageError {
    StorageError::Unavailable { message: "it was closed".to_owned() }
}

fn lost() -> StorageError {
    StorageError::Unavailable { message: "the connection was lost".to_owned() }
}

fn waited() -> StorageError {
    StorageError::Statement { message: "a look at the database waited for something else".to_owned() }
}
