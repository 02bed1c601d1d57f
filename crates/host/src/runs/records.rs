//! Runs in the database.

use super::{
    ForkMode, Moment, Origin, Run, RunEvent, RunKind, RunStatus, damaged, run_topic, workspace_name,
};
use roost_protocol::Tenant;
use roost_storage::{Change, Parameter, Row, StorageError, Transaction};
use roost_workspace::Owner;
use serde::{Serialize, de::DeserializeOwned};

/// A run that went on for longer than any can: its node is gone.
const LONGEST_MS: i64 = 20 * 60 * 1000;

/// Writes down that a run began.
pub(super) struct Begin {
    pub(super) run: Run,
    pub(super) events: Vec<RunEvent>,
}

const BEGIN: &str = "INSERT INTO runs
    (id, tenant, workspace, kind, workflow, title, status, principal, snapshot_workspace, snapshot, files,
    started_at, ended_at, source, source_sequence, mode, inputs)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";

impl Change for Begin {
    type Output = ();
    type Error = StorageError;

    fn lane(&self) -> &str {
        &self.run.id
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        begin(transaction, &self.run).await?;
        append_and_tell(transaction, &self.run.id, &self.events).await
    }
}

pub(super) async fn begin(transaction: &mut Transaction, run: &Run) -> Result<(), StorageError> {
    let kind = written(&run.kind)?;
    let files = run.files.as_ref().map(written).transpose()?;
    let inputs = written(&run.inputs)?;
    let mode = run.origin.as_ref().map(|origin| origin.mode.as_str());
    let parameters = [
        Parameter::from(&run.id),
        run.owner.tenant.as_str().into(),
        run.owner.workspace.as_str().into(),
        kind.trim_matches('"').into(),
        Parameter::from(&run.workflow),
        Parameter::from(&run.title),
        run.status.as_str().into(),
        Parameter::from(&run.principal),
        run.moment.owner.workspace.as_str().into(),
        run.moment.sequence.into(),
        files.as_deref().into(),
        run.started_at.into(),
        run.ended_at.into(),
        run.origin.as_ref().map(|origin| origin.run.as_str()).into(),
        run.origin.as_ref().map(|origin| origin.from_sequence).into(),
        mode.into(),
        Parameter::from(&inputs),
    ];
    transaction.execute(BEGIN, &parameters).await.map(drop)
}

const EVENT: &str = "INSERT INTO run_events (run, sequence, tenant, id, type, node, causation, at, payload)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

async fn append(transaction: &mut Transaction, run: &str, events: &[RunEvent]) -> Result<(), StorageError> {
    let tenant = transaction.tenant().clone();
    for event in events {
        let payload = written(&event.payload)?;
        let parameters = [
            run.into(),
            event.sequence.into(),
            tenant.as_str().into(),
            Parameter::from(&event.id),
            Parameter::from(&event.kind),
            event.node.as_deref().into(),
            event.causation.as_deref().into(),
            event.at.into(),
            Parameter::from(&payload),
        ];
        transaction.execute(EVENT, &parameters).await?;
    }
    Ok(())
}

/// The same, told to whoever follows the run.
pub(super) async fn append_and_tell(
    transaction: &mut Transaction,
    run: &str,
    events: &[RunEvent],
) -> Result<(), StorageError> {
    append(transaction, run, events).await?;
    transaction.tell(&run_topic(run));
    Ok(())
}

/// Writes down what happened, and how far the run is; the run itself, too, when it is new.
pub(super) struct WriteRun {
    pub(super) id: String,
    pub(super) run: Option<Run>,
    pub(super) events: Vec<RunEvent>,
    /// The new status, unless the run ended already.
    pub(super) status: Option<RunStatus>,
    pub(super) now: i64,
}

/// A run that ended stays as it is.
pub(super) const STATUS: &str = "UPDATE runs SET status = $2, ended_at = $3
    WHERE id = $1 AND status NOT IN ('completed', 'failed', 'cancelled')";

impl Change for WriteRun {
    type Output = ();
    type Error = StorageError;

    fn lane(&self) -> &str {
        &self.id
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        match (&self.run, self.status) {
            (Some(run), _) => begin(transaction, run).await?,
            (None, Some(status)) => {
                let ended = status.is_final().then_some(self.now);
                let parameters = [Parameter::from(&self.id), status.as_str().into(), ended.into()];
                transaction.execute(STATUS, &parameters).await?;
            }
            (None, None) => {}
        }
        append_and_tell(transaction, &self.id, &self.events).await
    }
}

const ALL_COLUMNS_ONE: &str = "SELECT id, tenant, workspace, kind, workflow, title, status, principal,
    snapshot_workspace, snapshot, files, started_at, ended_at, source, source_sequence, mode, inputs
    FROM runs WHERE id = $1 AND tenant = $2 AND workspace = $3";

pub(super) struct Get {
    pub(super) owner: Owner,
    pub(super) id: String,
}

impl Change for Get {
    type Output = Option<Run>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<Run>, StorageError> {
        get(transaction, &self.owner, &self.id).await
    }
}

pub(super) async fn get(
    transaction: &mut Transaction,
    owner: &Owner,
    id: &str,
) -> Result<Option<Run>, StorageError> {
    let parameters = [id, owner.tenant.as_str(), owner.workspace.as_str()].map(Parameter::from);
    transaction.row(ALL_COLUMNS_ONE, &parameters).await?.map(|row| run(&row)).transpose()
}

pub(super) struct List {
    pub(super) owner: Owner,
    pub(super) before: Option<String>,
    pub(super) runs_max: i64,
}

const LIST: &str = "SELECT id, tenant, workspace, kind, workflow, title, status, principal,
    snapshot_workspace, snapshot, files, started_at, ended_at, source, source_sequence, mode, inputs
    FROM runs WHERE tenant = $1 AND workspace = $2 AND id < $3 ORDER BY id DESC LIMIT $4";

impl Change for List {
    type Output = Vec<Run>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<Run>, StorageError> {
        // Every name is smaller than this one.
        let before = self.before.as_deref().unwrap_or("run_~");
        let parameters = [
            self.owner.tenant.as_str().into(),
            self.owner.workspace.as_str().into(),
            Parameter::from(before),
            self.runs_max.into(),
        ];
        transaction.rows(LIST, &parameters).await?.iter().map(run).collect()
    }
}

pub(super) struct ReadEvents {
    pub(super) run: String,
    pub(super) after: i64,
    pub(super) events_max: i64,
}

const EVENTS: &str = "SELECT sequence, id, type, node, causation, at, payload FROM run_events
    WHERE run = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

impl Change for ReadEvents {
    type Output = Vec<RunEvent>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<RunEvent>, StorageError> {
        events(transaction, &self.run, self.after, self.events_max).await
    }
}

pub(super) async fn events(
    transaction: &mut Transaction,
    run: &str,
    after: i64,
    events_max: i64,
) -> Result<Vec<RunEvent>, StorageError> {
    let parameters = [Parameter::from(run), after.into(), events_max.into()];
    let mut found = Vec::new();
    for row in transaction.rows(EVENTS, &parameters).await? {
        found.push(RunEvent {
            sequence: row.int(0)?,
            id: row.text(1)?.to_owned(),
            kind: row.text(2)?.to_owned(),
            node: row.optional_text(3)?.map(str::to_owned),
            causation: row.optional_text(4)?.map(str::to_owned),
            at: row.int(5)?,
            payload: read(row.text(6)?)?,
        });
    }
    Ok(found)
}

/// Removes one run.
pub(super) struct Remove {
    pub(super) id: String,
}

const REMOVE_EVENTS: &str = "DELETE FROM run_events WHERE run = $1";
const REMOVE: &str = "DELETE FROM runs WHERE id = $1";

impl Change for Remove {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        remove(transaction, &self.id).await
    }
}

async fn remove(transaction: &mut Transaction, id: &str) -> Result<(), StorageError> {
    transaction.execute(REMOVE_EVENTS, &[id.into()]).await?;
    transaction.execute(REMOVE, &[id.into()]).await.map(drop)
}

/// Whether a run still needs a moment.
pub(super) struct IsNeeded(pub(super) Moment);

const NEEDED: &str =
    "SELECT 1 FROM runs WHERE tenant = $1 AND snapshot_workspace = $2 AND snapshot = $3 LIMIT 1";

impl Change for IsNeeded {
    type Output = bool;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<bool, StorageError> {
        let Moment { owner, sequence } = &self.0;
        let parameters =
            [owner.tenant.as_str().into(), owner.workspace.as_str().into(), Parameter::from(*sequence)];
        Ok(transaction.row(NEEDED, &parameters).await?.is_some())
    }
}

/// Removes the oldest runs beyond a number, and marks runs whose node is gone.
pub(super) struct Prune {
    pub(super) owner: Owner,
    pub(super) runs_kept: i64,
}

const GONE: &str = "UPDATE runs SET status = 'failed', ended_at = $1 WHERE tenant = $2 AND workspace = $3
    AND status = 'running' AND kind <> 'workflow' AND started_at < $4";
const TOO_MANY: &str = "SELECT id FROM runs WHERE tenant = $1 AND workspace = $2 AND kind <> 'call'
    AND status IN ('completed', 'failed', 'cancelled') ORDER BY id DESC LIMIT 200 OFFSET $3";

impl Change for Prune {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        let now = jiff::Timestamp::now().as_millisecond();
        let (tenant, workspace) = (self.owner.tenant.as_str(), self.owner.workspace.as_str());
        let gone = [now.into(), tenant.into(), workspace.into(), Parameter::from(now - LONGEST_MS)];
        transaction.execute(GONE, &gone).await?;
        let parameters = [tenant.into(), workspace.into(), Parameter::from(self.runs_kept)];
        for row in transaction.rows(TOO_MANY, &parameters).await? {
            remove(transaction, row.text(0)?).await?;
        }
        Ok(())
    }
}

fn run(row: &Row) -> Result<Run, StorageError> {
    let tenant = Tenant::parse(row.text(1)?).map_err(|_| damaged("the name of a tenant is not one"))?;
    let owner = Owner { tenant: tenant.clone(), workspace: workspace_name(row.text(2)?)? };
    let status = row.text(6)?;
    let status = RunStatus::ALL.into_iter().find(|known| known.as_str() == status);
    let origin = match (row.optional_text(13)?, row.optional_text(15)?) {
        (Some(source), Some(mode)) => Some(Origin {
            run: source.to_owned(),
            from_sequence: row.optional_int(14)?.unwrap_or(0),
            mode: ForkMode::parse(mode).ok_or_else(|| damaged("a fork has no such mode"))?,
        }),
        _ => None,
    };
    let kind: RunKind = read(&format!("\"{}\"", row.text(3)?))?;
    Ok(Run {
        id: row.text(0)?.to_owned(),
        owner,
        kind,
        workflow: row.text(4)?.to_owned(),
        title: row.text(5)?.to_owned(),
        status: status.ok_or_else(|| damaged("the status of a run is not one"))?,
        principal: row.text(7)?.to_owned(),
        moment: Moment {
            owner: Owner { tenant, workspace: workspace_name(row.text(8)?)? },
            sequence: row.int(9)?,
        },
        files: row.optional_text(10)?.map(read).transpose()?,
        started_at: row.int(11)?,
        ended_at: row.optional_int(12)?,
        origin,
        inputs: read(row.text(16)?)?,
    })
}

pub(super) fn written<T: Serialize>(value: &T) -> Result<String, StorageError> {
    serde_json::to_string(value).map_err(|error| StorageError::Statement { message: error.to_string() })
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, StorageError> {
    serde_json::from_str(text).map_err(|_| damaged("what is kept of a run cannot be read"))
}

/// Writes down calls that ended, and removes the oldest beyond a number.
pub(super) struct WriteCalls {
    pub(super) owner: Owner,
    pub(super) runs: Vec<(Run, Vec<RunEvent>)>,
    pub(super) calls_kept: usize,
}

/// The newest call that is too old.
const LAST_KEPT: &str = "SELECT id FROM runs WHERE tenant = $1 AND workspace = $2 AND kind = 'call'
    ORDER BY id DESC LIMIT 1 OFFSET $3";
const OLD_EVENTS: &str = "DELETE FROM run_events WHERE run IN
    (SELECT id FROM runs WHERE tenant = $1 AND workspace = $2 AND kind = 'call' AND id <= $3)";
const OLD_CALLS: &str =
    "DELETE FROM runs WHERE tenant = $1 AND workspace = $2 AND kind = 'call' AND id <= $3";

impl Change for WriteCalls {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        for (run, events) in &self.runs {
            begin(transaction, run).await?;
            append(transaction, &run.id, events).await?;
        }
        let (tenant, workspace) = (self.owner.tenant.as_str(), self.owner.workspace.as_str());
        let kept = i64::try_from(self.calls_kept).unwrap_or(i64::MAX);
        let last = transaction.row(LAST_KEPT, &[tenant.into(), workspace.into(), kept.into()]).await?;
        if let Some(last) = last {
            let old = [tenant, workspace, last.text(0)?].map(Parameter::from);
            transaction.execute(OLD_EVENTS, &old).await?;
            transaction.execute(OLD_CALLS, &old).await?;
        }
        Ok(())
    }
}

/// Changes nothing: whoever waits for it has waited for everything before it.
pub(super) struct Nothing;

impl Change for Nothing {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, _transaction: &mut Transaction) -> Result<(), StorageError> {
        Ok(())
    }
}
