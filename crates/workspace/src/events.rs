//! What happened to the files of a workspace, in order and without gaps.

use crate::{Owner, WorkspaceError};
use roost_storage::{Change, Parameter, Transaction};

/// Events of a workspace that stay readable. A reader who was away longer starts with a list.
pub(crate) const EVENTS_KEPT: i64 = 10_000;

/// One write: which file, and which version it has since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Counted from 1.
    pub sequence: i64,
    /// The file.
    pub path: String,
    /// Its version.
    pub version: i64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The run it happened in.
    pub run: Option<String>,
}

/// Events from one point on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// In order; as many as were asked for.
    pub events: Vec<Event>,
    /// The newest event there is.
    pub newest: i64,
    /// True when some that were asked for are no longer kept.
    pub is_cut: bool,
}

pub(crate) struct ReadEvents {
    pub(crate) owner: Owner,
    pub(crate) after: i64,
    pub(crate) events_max: i64,
}

const NEWEST: &str = "SELECT id, sequence FROM workspaces WHERE tenant = $1 AND name = $2";
const AFTER: &str = "SELECT sequence, path, version, at, run FROM events
    WHERE workspace = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

impl Change for ReadEvents {
    type Output = EventPage;
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<EventPage, WorkspaceError> {
        let owner = [self.owner.tenant.as_str().into(), self.owner.workspace.as_str().into()];
        let Some(place) = transaction.row(NEWEST, &owner).await? else {
            return Ok(EventPage { events: Vec::new(), newest: 0, is_cut: false });
        };
        let (workspace, newest) = (place.int(0)?, place.int(1)?);
        let parameters = [workspace, self.after, self.events_max].map(Parameter::from);
        let mut events = Vec::new();
        for row in transaction.rows(AFTER, &parameters).await? {
            events.push(Event {
                sequence: row.int(0)?,
                path: row.text(1)?.to_owned(),
                version: row.int(2)?,
                at: row.int(3)?,
                run: row.optional_text(4)?.map(str::to_owned),
            });
        }
        let first = events.first().map_or(newest + 1, |event| event.sequence);
        Ok(EventPage { is_cut: first > self.after.saturating_add(1), events, newest })
    }
}
