//! The embedded engine: one file, many readers, one writer at a time.
//!
//! Readers look on their own thread, because what they look for is in memory or a page away.

mod writer; // who writes
mod checkpoints; // carrying the log over

use crate::{
    change::{Change, queued},
    error::StorageError,
    faults::Faults,
    migrations::{self, Migration},
    notice::Notices,
    transaction::{Connection as AnyConnection, Transaction},
    value::{Parameter, Row, Value},
};
use futures::FutureExt as _;
use roost_protocol::Tenant;
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig, types::ValueRef};
use std::{
    collections::BTreeMap,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use writer::Writers;

/// Readers that stay open.
const READERS_KEPT: usize = 8;

/// How long to wait for another process that writes, such as a command beside a running host.
const BUSY_WITHIN: Duration = Duration::from_secs(5);

/// Between two attempts where the engine does not wait by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// Prepared statements a connection keeps: more than there are.
const STATEMENTS_KEPT: usize = 256;

/// Pages in the log before the writer itself carries them over, which others do earlier: only when those cannot.
const LOG_PAGES: &str = "40000";

pub(crate) struct Sqlite {
    path: PathBuf,
    writers: Writers,
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
        use_log(&connection)?;
        // Every answer is on disk before it is given.
        for (pragma, value) in [("synchronous", "full"), ("wal_autocheckpoint", LOG_PAGES)] {
            connection.pragma_update(None, pragma, value).map_err(told)?;
        }
        migrate(&mut connection, known)?;
        Ok(Self {
            path: path.to_owned(),
            writers: Writers::start(path, connection, faults.clone(), notices)?,
            readers: Mutex::default(),
            watcher: Mutex::new(connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?),
            faults,
        })
    }

    /// Makes a change and returns when it is on disk.
    pub(crate) async fn write<C: Change>(&self, tenant: Tenant, change: C) -> Result<C::Output, C::Error> {
        let (waiting, result) = queued(tenant, change);
        self.writers.write(waiting).await?;
        result.await.unwrap_or_else(|_| Err(StorageError::Panicked.into()))
    }

    /// Hands a change to the writer; waits only for room in the queue.
    pub(crate) async fn hand_in<C: Change>(&self, tenant: Tenant, change: C) -> Result<(), StorageError> {
        self.writers.hand_in(queued(tenant, change).0).await
    }

    pub(crate) fn hand_in_now<C: Change>(&self, tenant: Tenant, change: C) -> Result<(), StorageError> {
        self.writers.hand_in_now(queued(tenant, change).0)
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
    // Otherwise a kept statement is planned anew for every value that it is given.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(told)?;
    Ok(connection)
}

/// Writes go to a log from here on. Of several that open a new file at the same moment one makes the change, and the
/// engine does not let the others wait for it.
fn use_log(connection: &Connection) -> Result<(), StorageError> {
    let until = Instant::now() + BUSY_WITHIN;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal").map_err(told) {
            Err(StorageError::Unavailable { .. }) if Instant::now() < until => std::thread::sleep(BUSY_PAUSE),
            done => return done,
        }
    }
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
            Some(Parameter::Texts(_) | Parameter::ManyBytes(_)) | None => {
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

fn lost() -> StorageError {
    StorageError::Unavailable { message: "the connection was lost".to_owned() }
}

fn waited() -> StorageError {
    StorageError::Statement { message: "a look at the database waited for something else".to_owned() }
}
