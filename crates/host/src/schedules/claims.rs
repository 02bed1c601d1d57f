//! Who runs a schedule: taken once, by one node, which says so again and again until it is done.

use super::{
    Schedule,
    clock::Clock,
    keeping::Said,
    records::{LANE, ScheduleError, find, new_id, now},
};
use jiff::Timestamp;
use roost_storage::{Change, Parameter, Transaction};

/// Whoever runs a schedule says so again before this is over; then another node may.
pub(super) const LEASE_MS: i64 = 60_000;

/// Entries of the history of one schedule that are kept.
const HISTORY_MAX: i64 = 200;

/// A schedule that is to be run now, by whoever has this.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) schedule: Schedule,
    /// Its entry in the history.
    pub(super) entry: String,
}

/// Takes a schedule to run: the one that is due longest, or one by its name. Whoever takes it is the only one.
pub(super) struct Claim(pub(super) Option<String>);

const DUE_SQLITE: &str =
    "SELECT name FROM schedules WHERE tenant = $1 AND next_run <= $2 AND running_until <= $2
    ORDER BY next_run LIMIT 1";
const DUE_POSTGRES: &str =
    "SELECT name FROM schedules WHERE tenant = $1 AND next_run <= $2 AND running_until <= $2
    ORDER BY next_run LIMIT 1 FOR UPDATE SKIP LOCKED";
const NAMED_SQLITE: &str =
    "SELECT name FROM schedules WHERE tenant = $1 AND name = $3 AND running_until <= $2";
const NAMED_POSTGRES: &str =
    "SELECT name FROM schedules WHERE tenant = $1 AND name = $3 AND running_until <= $2 FOR UPDATE";
const TAKE: &str = "UPDATE schedules SET next_run = $3, running = $4, running_until = $5, last_run = $6
    WHERE tenant = $1 AND name = $2";
const LEFT: &str = "UPDATE schedule_history SET finished_at = $3, error = 'its host ended before it did'
    WHERE tenant = $1 AND schedule = $2 AND finished_at IS NULL";
const BEGIN: &str =
    "INSERT INTO schedule_history (tenant, schedule, id, started_at, success, missed, output, error)
    VALUES ($1, $2, $3, $4, 0, $5, '', '')";

impl Change for Claim {
    type Output = Option<Claimed>;
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<Claimed>, ScheduleError> {
        let at = now();
        let of_tenant = transaction.tenant().clone();
        let tenant = Parameter::from(of_tenant.as_str());
        let engine = transaction.engine();
        let free = match &self.0 {
            None => {
                let sql = engine.pick(DUE_SQLITE, DUE_POSTGRES);
                transaction.returning(sql, &[tenant, at.into()]).await?
            }
            Some(name) => {
                let sql = engine.pick(NAMED_SQLITE, NAMED_POSTGRES);
                transaction.returning(sql, &[tenant, at.into(), name.into()]).await?
            }
        };
        let Some(name) = free.first().map(|row| row.text(0).map(str::to_owned)).transpose()? else {
            return Ok(None);
        };
        let schedule = find(transaction, &name).await?;
        let clock = Clock::parse(&schedule.expression)?;
        let due = schedule.next_run.map(Timestamp::as_millisecond);
        let missed = due.filter(|_| self.0.is_none()).map_or(0, |due| clock.missed(due, at));
        // Run by hand, it stays due when it was.
        let next = if self.0.is_none() { clock.next(at) } else { due };
        let entry = new_id();
        let name = Parameter::from(&name);
        let taken = [tenant, name, next.into(), Parameter::from(&entry), (at + LEASE_MS).into(), at.into()];
        transaction.execute(TAKE, &taken).await?;
        transaction.execute(LEFT, &[tenant, name, at.into()]).await?;
        transaction
            .execute(BEGIN, &[tenant, name, Parameter::from(&entry), at.into(), missed.into()])
            .await?;
        Ok(Some(Claimed { schedule, entry }))
    }
}

/// Says that a run goes on. False when somebody else has it by now.
pub(super) struct Renew {
    pub(super) name: String,
    pub(super) entry: String,
}

const RENEW: &str =
    "UPDATE schedules SET running_until = $4 WHERE tenant = $1 AND name = $2 AND running = $3";

impl Change for Renew {
    type Output = bool;
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<bool, ScheduleError> {
        let tenant = transaction.tenant().clone();
        let of = [tenant.as_str().into(), Parameter::from(&self.name), Parameter::from(&self.entry)];
        let until = (now() + LEASE_MS).into();
        Ok(transaction.execute(RENEW, &[of[0], of[1], of[2], until]).await? > 0)
    }
}

/// Writes down how a run ended.
pub(super) struct Finish {
    pub(super) name: String,
    pub(super) entry: String,
    pub(super) said: Said,
}

const FINISH: &str =
    "UPDATE schedules SET running = '', running_until = 0, run_count = run_count + 1, last_error = $4
    WHERE tenant = $1 AND name = $2 AND running = $3";
const ENDED: &str =
    "UPDATE schedule_history SET finished_at = $4, success = $5, output = $6, error = $7, run = $8
    WHERE tenant = $1 AND schedule = $2 AND id = $3";
const PRUNE: &str = "DELETE FROM schedule_history WHERE tenant = $1 AND schedule = $2 AND id NOT IN
    (SELECT id FROM schedule_history WHERE tenant = $1 AND schedule = $2 ORDER BY started_at DESC, id DESC LIMIT $3)";

impl Change for Finish {
    type Output = ();
    type Error = ScheduleError;

    fn lane(&self) -> &str {
        LANE
    }

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), ScheduleError> {
        let tenant = transaction.tenant().clone();
        let of: [Parameter<'_>; 3] =
            [tenant.as_str().into(), Parameter::from(&self.name), Parameter::from(&self.entry)];
        let Said { output, error, run } = &self.said;
        let is_well = error.is_none();
        let error = error.as_deref().unwrap_or_default();
        transaction.execute(FINISH, &[of[0], of[1], of[2], error.into()]).await?;
        let ended = [
            of[0],
            of[1],
            of[2],
            now().into(),
            i64::from(is_well).into(),
            output.into(),
            error.into(),
            run.as_deref().into(),
        ];
        transaction.execute(ENDED, &ended).await?;
        transaction.execute(PRUNE, &[of[0], of[1], HISTORY_MAX.into()]).await?;
        Ok(())
    }
}

/// When something is due next, in milliseconds since 1970.
pub(super) struct NextDue;

const NEXT_DUE: &str = "SELECT min(CASE WHEN next_run > running_until THEN next_run ELSE running_until END)
    FROM schedules WHERE tenant = $1 AND next_run IS NOT NULL";

impl Change for NextDue {
    type Output = Option<i64>;
    type Error = ScheduleError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<i64>, ScheduleError> {
        let tenant = transaction.tenant().clone();
        let row = transaction.row(NEXT_DUE, &[tenant.as_str().into()]).await?;
        Ok(row.map(|row| row.optional_int(0)).transpose()?.flatten())
    }
}
