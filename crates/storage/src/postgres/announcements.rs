//! Notices on their way to all nodes.
//!
//! They are sent after what they tell of is stored, not with it: the server lets only one transaction with a notice
//! commit at a time, on all nodes together. A notice that is lost with its node costs others the time until they look.

use super::{CHANNEL, connect, roles, statement::told};
use crate::{error::StorageError, notice::Notice};
use sqlx::{Executor as _, PgConnection, postgres::PgConnectOptions};
use std::{collections::BTreeSet, time::Duration};
use tokio::sync::mpsc;

/// Notices that may wait; those that come while the server is away for long are lost.
pub(super) const WAITING_MAX: usize = 1024;

/// Between two attempts to reach a server that is away.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

const TELL: &str = "SELECT pg_notify($1, told) FROM unnest($2::text[]) AS told";

/// Sends what comes until nobody can hand anything in any more.
pub(super) async fn announce(options: PgConnectOptions, mut incoming: mpsc::Receiver<Notice>) {
    let mut connection = None;
    let mut notices = Vec::new();
    while incoming.recv_many(&mut notices, WAITING_MAX).await > 0 {
        // Whoever is told twice looks twice.
        let texts: BTreeSet<String> = notices.drain(..).map(|notice| notice.to_text()).collect();
        let texts: Vec<String> = texts.into_iter().collect();
        while let Err(error) = tell(&options, &mut connection, &texts).await {
            connection = None;
            if incoming.is_closed() {
                return;
            }
            tracing::warn!(%error, "other nodes cannot be told of changes");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn tell(
    options: &PgConnectOptions,
    kept: &mut Option<PgConnection>,
    texts: &[String],
) -> Result<(), StorageError> {
    let connection = match kept {
        Some(connection) => connection,
        None => {
            let mut connection = connect(options).await?;
            roles::step_down(&mut connection).await.map_err(told)?;
            // Nothing of it has to survive the server.
            connection.execute("SET synchronous_commit = off").await.map_err(told)?;
            kept.insert(connection)
        }
    };
    let tell = sqlx::query(TELL).bind(CHANNEL).bind(texts);
    connection.execute(tell).await.map(drop).map_err(told)
}
