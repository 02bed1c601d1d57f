//! Schedules that an app keeps, and what it fires.

use super::{
    connection::{Channel, MESSAGE_BYTES_MAX},
    contract::{self, schedule_service_client::ScheduleServiceClient},
    launch::NativeApp,
    stream::AppStream,
};
use roost_protocol::{Failure, Reason};
use std::{collections::BTreeMap, time::Duration};

/// How long an app may take to answer about schedules.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Schedules of one app that are listed, and so many at once.
const SCHEDULES_MAX: usize = 1000;
const PAGE: i32 = 100;

/// A schedule as it is given to an app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleDraft {
    /// Its name there.
    pub name: String,
    /// When.
    pub expression: String,
    /// What kind of thing it does.
    pub task_type: String,
    /// A program; empty.
    pub command: String,
    /// What it says.
    pub message: String,
    /// JSON for the app.
    pub deliver: String,
    /// More about it.
    pub metadata: BTreeMap<String, String>,
}

/// A schedule as an app tells it. Times are texts, empty when there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct KeptSchedule {
    pub id: String,
    pub name: String,
    pub expression: String,
    pub task_type: String,
    pub command: String,
    pub message: String,
    pub deliver: String,
    pub enabled: bool,
    pub last_run: String,
    pub next_run: String,
    pub run_count: i64,
    pub last_error: String,
    pub created_at: String,
    pub metadata: BTreeMap<String, String>,
}

/// What became of a schedule, as an app tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct ScheduleRun {
    pub id: String,
    pub schedule_name: String,
    pub started_at: String,
    pub finished_at: String,
    pub success: bool,
    pub output: String,
    pub error: String,
}

/// Something that is due now, as an app says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct ScheduleFired {
    pub schedule_id: String,
    pub name: String,
    pub task_type: String,
    pub message: String,
    pub deliver: String,
    pub fired_at: String,
}

/// What an app fires, for as long as it keeps the stream open.
pub struct ScheduleTriggers(AppStream<contract::ScheduleTrigger>);

impl ScheduleTriggers {
    /// The next; nothing when the app ended the stream.
    pub async fn next(&mut self) -> Result<Option<ScheduleFired>, Failure> {
        Ok(self.0.next().await?.map(|one| ScheduleFired {
            schedule_id: one.schedule_id,
            name: one.name,
            task_type: one.task_type,
            message: one.message,
            deliver: one.deliver,
            fired_at: one.fired_at,
        }))
    }
}

impl NativeApp {
    /// Lets the app keep a new schedule.
    pub async fn create_schedule(&self, draft: ScheduleDraft) -> Result<KeptSchedule, Failure> {
        let ScheduleDraft { name, expression, task_type, command, message, deliver, metadata } = draft;
        let metadata = metadata.into_iter().collect();
        let request = contract::CreateScheduleRequest {
            name,
            expression,
            task_type,
            command,
            message,
            deliver,
            metadata,
        };
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Create";
        one(what, self.ask(ANSWER_WITHIN, what, schedules.create(request)).await?)
    }

    /// Lets the app change one.
    pub async fn update_schedule(&self, draft: ScheduleDraft) -> Result<KeptSchedule, Failure> {
        let ScheduleDraft { name, expression, task_type, command, message, deliver, metadata } = draft;
        let metadata = metadata.into_iter().collect();
        let request = contract::UpdateScheduleRequest {
            name,
            expression,
            task_type,
            command,
            message,
            deliver,
            metadata,
        };
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Update";
        one(what, self.ask(ANSWER_WITHIN, what, schedules.update(request)).await?)
    }

    /// One of them.
    pub async fn get_schedule(&self, name: &str) -> Result<KeptSchedule, Failure> {
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Get";
        let asked = schedules.get(contract::GetScheduleRequest { name: name.to_owned() });
        one(what, self.ask(ANSWER_WITHIN, what, asked).await?)
    }

    /// All of them, page by page.
    pub async fn list_schedules(&self) -> Result<Vec<KeptSchedule>, Failure> {
        let mut schedules = client(self.channel()?);
        let mut found = Vec::new();
        loop {
            let offset = i32::try_from(found.len()).unwrap_or(i32::MAX);
            let request = contract::ListSchedulesRequest { limit: PAGE, offset, enabled_only: false };
            let page = self.ask(ANSWER_WITHIN, "ScheduleService.List", schedules.list(request)).await?;
            let is_last = page.schedules.is_empty();
            found.extend(page.schedules.into_iter().map(kept));
            let total = usize::try_from(page.total).unwrap_or_default().min(SCHEDULES_MAX);
            if is_last || found.len() >= total {
                found.truncate(SCHEDULES_MAX);
                return Ok(found);
            }
        }
    }

    /// Lets the app forget one.
    pub async fn delete_schedule(&self, name: &str) -> Result<(), Failure> {
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Delete";
        let asked = schedules.delete(contract::DeleteScheduleRequest { name: name.to_owned() });
        let answer = self.ask(ANSWER_WITHIN, what, asked).await?;
        if answer.success { Ok(()) } else { Err(refused(what, &answer.error)) }
    }

    /// Switches one on.
    pub async fn enable_schedule(&self, name: &str) -> Result<KeptSchedule, Failure> {
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Enable";
        one(what, self.ask(ANSWER_WITHIN, what, schedules.enable(named(name))).await?)
    }

    /// Switches one off.
    pub async fn disable_schedule(&self, name: &str) -> Result<KeptSchedule, Failure> {
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Disable";
        one(what, self.ask(ANSWER_WITHIN, what, schedules.disable(named(name))).await?)
    }

    /// Lets the app do one now, and returns what it says about that.
    pub async fn trigger_schedule(&self, name: &str) -> Result<String, Failure> {
        let mut schedules = client(self.channel()?);
        let what = "ScheduleService.Trigger";
        let answer = self.ask(self.wall(), what, schedules.trigger(named(name))).await?;
        if answer.success { Ok(answer.output) } else { Err(refused(what, &answer.error)) }
    }

    /// What became of one, and how many entries there are.
    pub async fn schedule_history(
        &self,
        name: &str,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<ScheduleRun>, i64), Failure> {
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let request = contract::ScheduleHistoryRequest {
            name: name.to_owned(),
            limit: number(limit),
            offset: number(offset),
        };
        let mut schedules = client(self.channel()?);
        let page = self.ask(ANSWER_WITHIN, "ScheduleService.History", schedules.history(request)).await?;
        let run = |one: contract::ScheduleHistoryEntry| ScheduleRun {
            id: one.id,
            schedule_name: one.schedule_name,
            started_at: one.started_at,
            finished_at: one.finished_at,
            success: one.success,
            output: one.output,
            error: one.error,
        };
        Ok((page.entries.into_iter().take(limit as usize).map(run).collect(), page.total))
    }

    /// Listens for what the app fires.
    pub async fn schedule_triggers(&self) -> Result<ScheduleTriggers, Failure> {
        let mut schedules = client(self.channel()?);
        let opened = schedules.triggers(contract::Empty {});
        // An app says nothing before something is due.
        let stream = self.listen(None, "ScheduleService.Triggers", opened).await?;
        Ok(ScheduleTriggers(stream))
    }
}

fn one(what: &str, answer: contract::ScheduleResponse) -> Result<KeptSchedule, Failure> {
    match answer.schedule {
        Some(schedule) if answer.error.is_empty() => Ok(kept(schedule)),
        _ => Err(refused(what, &answer.error)),
    }
}

fn kept(one: contract::Schedule) -> KeptSchedule {
    KeptSchedule {
        id: one.id,
        name: one.name,
        expression: one.expression,
        task_type: one.task_type,
        command: one.command,
        message: one.message,
        deliver: one.deliver,
        enabled: one.enabled,
        last_run: one.last_run,
        next_run: one.next_run,
        run_count: one.run_count,
        last_error: one.last_error,
        created_at: one.created_at,
        metadata: one.metadata.into_iter().collect(),
    }
}

fn named(name: &str) -> contract::ScheduleNameRequest {
    contract::ScheduleNameRequest { name: name.to_owned() }
}

fn refused(what: &str, error: &str) -> Failure {
    // What an app says is data: one line of it is enough.
    let told: String = error.chars().take(300).flat_map(char::escape_debug).collect();
    let told = if told.is_empty() { "it did not do it and did not say why".to_owned() } else { told };
    Failure::new(Reason::AgentRaised, format!("{what}: {told}"))
}

fn client(channel: Channel) -> ScheduleServiceClient<Channel> {
    ScheduleServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}
