//! Schedules of the host's own scheduler in the database, and what became of them.

use super::{HistoryEntry, NewSchedule, Schedule, TASK_AGENT, clock::Clock};
use jiff::Timestamp;
use roost_protocol::{Failure, Reason};
use roost_storage::{Change, Parameter, Row, StorageError, Transaction};

/// Schedules of one home; each is a row that is looked at.
const SCHEDULES_MAX: i64 = 1000;

/// Why a change of schedules was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScheduleError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Refused(#[from] Failure),
}

impl From<ScheduleError> for Failure {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Storage(error) => error.into(),
            ScheduleError::Refused(failure) => failure,
        }
    }
}

/// All changes of schedules are made in turn.
pub(super) const LANE: &str = "schedules";

const ONE: &str = "SELECT id, name, expression, message, deliver, metadata, created_at, next_run, last_run,
    run_count, last_error, running_until FROM schedules WHERE tenant = $1 AND name = $2";
const ALL: &str = "SELECT id, name, expression, message, deliver, metadata, created_at, next_run, last_run,
    run_count, last_error, running_until FROM schedules WHERE tenant = $1 ORDER BY name";

fn schedule(row: &Row) -> Result<Schedule, StorageError> {
    let next_run = row.optional_int(7)?;
    Ok(Schedule {
        id: row.text(0)?.to_owned(),
        name: row.text(1)?.to_owned(),
        scheduler: super::BUILT_IN.to_owned(),
        expression: row.text(2)?.to_owned(),
        task_type: TASK_AGENT.to_owned(),
        command: String::new(),
        message: row.text(3)?.to_owned(),
        deliver: row.text(4)?.to_owned(),
        // What was written here is read back; what a person changed by hand is left out.
        metadata: serde_json::from_str(row.text(5)?).unwrap_or_default(),
        enabled: next_run.is_some(),
        last_run: row.optional_int(8)?.map(moment),
        next_run: next_run.map(moment),
        run_count: row.int(9)?,
        last_error: row.text(10)?.to_owned(),
        created_at: Some(moment(row.int(6)?)),
        running: row.int(11)? > now(),
    })
}

pub(super) async fn find(transaction: &mut Transaction, name: &str) -> Result<Schedule, ScheduleError> {
    let tenant = transaction.tenant().clone();
    let row = transaction.row(ONE, &[tenant.as_str().into(), name.into()]).await?;
    Ok(row.as_ref().map(schedule).transpose()?.ok_or_else(|| super::unknown(name))?)
}

/// Keeps a new schedule, or another content of one that is there.
pub(super) struct Put {
    pub(super) new: NewSchedule,
    pub(super) existing: Existing,
}

/// What is expected to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    None,
    One,
}

const INSERT: &str =
    "INSERT INTO schedules (tenant, name, id, expression, message, deliver, metadata, created_at,
    next_run, last_run, run_count, last_error, running, running_until)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, 0, '', '', 0)";
const CHANGE: &str =
    "UPDATE schedules SET expression = $3, message = $4, deliver = $5, metadata = $6, next_run = $7
    WHERE tenant = $1 AND name = $2";
const COUNT: &str = "SELECT count(*) FROM schedules WHERE tenant = $1";

impl Change for Put {
    type Output = Schedule;
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<Schedule, ScheduleError> {
        let NewSchedule { name, expression, message, deliver, metadata, .. } = &self.new;
        let clock = Clock::parse(expression)?;
        let tenant = transaction.tenant().clone();
        let tenant = Parameter::from(tenant.as_str());
        let metadata = serde_json::to_string(metadata).unwrap_or_default();
        let found = find(transaction, name).await;
        let at = now();
        match (self.existing, found) {
            (Existing::None, Ok(_)) => {
                let message = format!("there is already a schedule `{name}`");
                return Err(Failure::new(Reason::AlreadyExists, message).into());
            }
            (Existing::One, found) => {
                let next_run = found?.enabled.then(|| clock.next(at)).flatten();
                let parameters = [
                    tenant,
                    name.into(),
                    expression.into(),
                    message.into(),
                    deliver.into(),
                    Parameter::from(&metadata),
                    next_run.into(),
                ];
                transaction.execute(CHANGE, &parameters).await?;
            }
            (Existing::None, Err(_)) => {
                let count = transaction.row(COUNT, &[tenant]).await?.map_or(Ok(0), |row| row.int(0))?;
                if count >= SCHEDULES_MAX {
                    let message = format!("there are {SCHEDULES_MAX} schedules already");
                    return Err(Failure::new(Reason::Busy, message).into());
                }
                let id = new_id();
                let parameters = [
                    tenant,
                    name.into(),
                    Parameter::from(&id),
                    expression.into(),
                    message.into(),
                    deliver.into(),
                    Parameter::from(&metadata),
                    at.into(),
                    clock.next(at).into(),
                ];
                transaction.execute(INSERT, &parameters).await?;
            }
        }
        find(transaction, name).await
    }
}

/// One schedule.
pub(super) struct Get(pub(super) String);

impl Change for Get {
    type Output = Schedule;
    type Error = ScheduleError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Schedule, ScheduleError> {
        find(transaction, &self.0).await
    }
}

/// All of them, by name.
pub(super) struct List;

impl Change for List {
    type Output = Vec<Schedule>;
    type Error = ScheduleError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<Schedule>, ScheduleError> {
        let tenant = transaction.tenant().clone();
        let rows = transaction.rows(ALL, &[tenant.as_str().into()]).await?;
        Ok(rows.iter().map(schedule).collect::<Result<_, _>>()?)
    }
}

/// Switches one on, from now on, or off.
pub(super) struct Switch {
    pub(super) name: String,
    pub(super) on: bool,
}

const SWITCH: &str = "UPDATE schedules SET next_run = $3 WHERE tenant = $1 AND name = $2";

impl Change for Switch {
    type Output = Schedule;
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<Schedule, ScheduleError> {
        let found = find(transaction, &self.name).await?;
        if found.enabled != self.on {
            let next = if self.on { Clock::parse(&found.expression)?.next(now()) } else { None };
            let tenant = transaction.tenant().clone();
            let parameters = [tenant.as_str().into(), Parameter::from(&self.name), next.into()];
            transaction.execute(SWITCH, &parameters).await?;
        }
        find(transaction, &self.name).await
    }
}

/// Removes one with its history.
pub(super) struct Remove(pub(super) String);

const REMOVE: &str = "DELETE FROM schedules WHERE tenant = $1 AND name = $2";
const REMOVE_HISTORY: &str = "DELETE FROM schedule_history WHERE tenant = $1 AND schedule = $2";

impl Change for Remove {
    type Output = ();
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), ScheduleError> {
        find(transaction, &self.0).await?;
        let tenant = transaction.tenant().clone();
        let parameters = [tenant.as_str().into(), Parameter::from(&self.0)];
        transaction.execute(REMOVE_HISTORY, &parameters).await?;
        transaction.execute(REMOVE, &parameters).await?;
        Ok(())
    }
}

/// What became of one, newest first, and how many entries there are.
pub(super) struct History {
    pub(super) name: String,
    pub(super) limit: i64,
    pub(super) offset: i64,
}

const HISTORY: &str = "SELECT id, schedule, started_at, finished_at, success, missed, output, error, run
    FROM schedule_history WHERE tenant = $1 AND schedule = $2 ORDER BY started_at DESC, id DESC LIMIT $3 OFFSET $4";
const HISTORY_COUNT: &str = "SELECT count(*) FROM schedule_history WHERE tenant = $1 AND schedule = $2";

impl Change for History {
    type Output = (Vec<HistoryEntry>, i64);
    type Error = ScheduleError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Self::Output, ScheduleError> {
        find(transaction, &self.name).await?;
        let tenant = transaction.tenant().clone();
        let of = [tenant.as_str().into(), Parameter::from(&self.name)];
        let page = [of[0], of[1], self.limit.into(), self.offset.into()];
        let rows = transaction.rows(HISTORY, &page).await?;
        let total = transaction.row(HISTORY_COUNT, &of).await?.map_or(Ok(0), |row| row.int(0))?;
        Ok((rows.iter().map(entry).collect::<Result<_, _>>()?, total))
    }
}

fn entry(row: &Row) -> Result<HistoryEntry, StorageError> {
    Ok(HistoryEntry {
        id: row.text(0)?.to_owned(),
        schedule_name: row.text(1)?.to_owned(),
        started_at: Some(moment(row.int(2)?)),
        finished_at: row.optional_int(3)?.map(moment),
        success: row.flag(4)?,
        missed: row.int(5)?,
        output: row.text(6)?.to_owned(),
        error: row.text(7)?.to_owned(),
        run: row.optional_text(8)?.map(str::to_owned),
    })
}

/// Which scheduler new schedules go to; nothing where nobody chose one.
pub(super) struct Chosen;

const CHOSEN: &str = "SELECT scheduler FROM schedule_choice WHERE tenant = $1";

impl Change for Chosen {
    type Output = Option<String>;
    type Error = ScheduleError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<String>, ScheduleError> {
        let tenant = transaction.tenant().clone();
        let row = transaction.row(CHOSEN, &[tenant.as_str().into()]).await?;
        Ok(row.map(|row| row.text(0).map(str::to_owned)).transpose()?)
    }
}

/// Chooses it.
pub(super) struct Choose(pub(super) String);

const CHOOSE: &str = "INSERT INTO schedule_choice (tenant, scheduler) VALUES ($1, $2)
    ON CONFLICT (tenant) DO UPDATE SET scheduler = excluded.scheduler";

impl Change for Choose {
    type Output = ();
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), ScheduleError> {
        let tenant = transaction.tenant().clone();
        transaction.execute(CHOOSE, &[tenant.as_str().into(), Parameter::from(&self.0)]).await?;
        Ok(())
    }
}

pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn moment(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

pub(super) fn new_id() -> String {
    format!("sch_{}", uuid::Uuid::now_v7().simple())
}
