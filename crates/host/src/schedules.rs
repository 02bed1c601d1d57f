//! Things that are done at set times: by the host's own scheduler, and by native apps that are schedulers.
//!
//! A schedule of an app is called `APP/NAME`, one of the host `NAME` or `built-in/NAME`. What a schedule does is say a
//! message, which is answered like any other and recorded as a run. Programs are never run.

mod clock; // when something is due
mod records; // the host's own, in the database
mod claims; // who runs one
mod delivery; // where an answer goes
mod keeping; // doing what is due

use crate::{
    host::Host,
    native::{new_schedule, of_app},
    store::local_owner,
};
use clock::Clock;
use jiff::Timestamp;
use records::{Choose, Chosen, Existing, Get, History, List, Put, Remove, ScheduleError, Switch};
use roost_protocol::{Failure, Reason};
use roost_storage::Change;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tokio::sync::Notify;

/// The host's own scheduler.
pub const BUILT_IN: &str = "built-in";

/// A schedule that says a message.
const TASK_AGENT: &str = "agent";

const NAME_BYTES_MAX: usize = 100;
const MESSAGE_BYTES_MAX: usize = 32 << 10;
const METADATA_MAX: usize = 32;

/// Entries of a history that are shown at once.
const HISTORY_PAGE_MAX: u32 = 200;

/// Something that is done at set times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Schedule {
    /// What tells it from others of the same name.
    pub id: String,
    /// Its name; of an app's schedule with the app's id before it.
    pub name: String,
    /// Who keeps it: `built-in`, or an app.
    pub scheduler: String,
    /// When: cron with six fields, seconds first.
    pub expression: String,
    /// Always `agent`, unless an app says otherwise.
    pub task_type: String,
    /// A program that an app wants to be run; it is not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// What is said.
    pub message: String,
    /// JSON that says where the answer goes; empty when nowhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deliver: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// When it was last run.
    pub last_run: Option<Timestamp>,
    /// When it is due.
    pub next_run: Option<Timestamp>,
    /// How often it was run.
    pub run_count: i64,
    /// What went wrong the last time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_error: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// More about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// True while it is run.
    #[serde(default)]
    pub running: bool,
}

/// A schedule to be kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewSchedule {
    /// Its name; with an app's id before it, that app keeps it.
    pub name: String,
    /// When: cron with six fields, seconds first.
    pub expression: String,
    /// `agent`, which is also what is meant when it is empty.
    pub task_type: String,
    /// Must be empty: programs are not run.
    pub command: String,
    /// What is said.
    pub message: String,
    /// JSON that says where the answer goes; empty when nowhere.
    pub deliver: String,
    /// More about it.
    pub metadata: BTreeMap<String, String>,
}

/// What became of a schedule, once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Its name.
    pub id: String,
    /// Of which schedule.
    pub schedule_name: String,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended; absent while it goes on.
    pub finished_at: Option<Timestamp>,
    /// Whether it went well.
    pub success: bool,
    /// How many times passed unseen before, for which this one stands too.
    #[serde(default)]
    pub missed: i64,
    /// What was answered.
    pub output: String,
    /// What went wrong.
    pub error: String,
    /// The run it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Every schedule there is.
#[derive(Debug, Serialize)]
pub struct ScheduleList {
    /// By name.
    pub schedules: Vec<Schedule>,
    /// Schedulers that did not say what they have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<UnansweredScheduler>,
}

/// A scheduler that did not answer.
#[derive(Debug, Serialize)]
pub struct UnansweredScheduler {
    /// Which app.
    pub scheduler: String,
    /// Why.
    pub reason: Failure,
}

/// Who keeps schedules.
#[derive(Debug, Serialize)]
pub struct SchedulerList {
    /// All of them; `built-in` first.
    pub schedulers: Vec<String>,
    /// Who gets new ones.
    pub default: String,
}

/// What the host knows of its own scheduler.
#[derive(Debug, Default)]
pub(crate) struct ScheduleState {
    changed: Notify,
}

/// The schedules of a host.
#[derive(Clone, Copy)]
pub struct Schedules<'a> {
    host: &'a Host,
}

impl Host {
    /// Things that are done at set times.
    #[must_use]
    pub fn schedules(&self) -> Schedules<'_> {
        Schedules { host: self }
    }
}

/// Who keeps the schedule of a name, and what it is called there.
enum Place<'a> {
    BuiltIn(&'a str),
    App(&'a str, &'a str),
}

impl<'a> Place<'a> {
    fn parse(name: &'a str) -> Result<Self, Failure> {
        let place = match name.split_once('/') {
            None => Self::BuiltIn(name),
            Some((BUILT_IN, name)) => Self::BuiltIn(name),
            Some((app, name)) => Self::App(app, name),
        };
        let (Self::BuiltIn(own) | Self::App(_, own)) = place;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if own.is_empty() || own.len() > NAME_BYTES_MAX || !own.bytes().all(is_plain) {
            let message = "the name of a schedule has letters, digits, `.`, `-` and `_`, at most 100";
            return Err(Failure::new(Reason::BadArguments, message));
        }
        Ok(place)
    }
}

impl Schedules<'_> {
    /// All of them. A scheduler that does not answer hides no other.
    pub async fn list(self) -> Result<ScheduleList, Failure> {
        let mut schedules = match self.is_empty() {
            true => Vec::new(),
            false => self.read(List).await?,
        };
        let mut unanswered = Vec::new();
        for live in self.native().all() {
            match live.app.list_schedules().await {
                Ok(listed) => schedules.extend(listed.into_iter().map(|one| of_app(live.folder.id(), one))),
                Err(reason) => {
                    unanswered.push(UnansweredScheduler { scheduler: live.folder.id().to_owned(), reason });
                }
            }
        }
        Ok(ScheduleList { schedules, unanswered })
    }

    /// Keeps a new one, where its name says, else where new ones are kept.
    pub async fn add(self, mut new: NewSchedule) -> Result<Schedule, Failure> {
        if !new.name.contains('/') {
            new.name = format!("{}/{}", self.chosen().await?, new.name);
        }
        self.put(new, Existing::None).await
    }

    /// Changes one.
    pub async fn update(self, new: NewSchedule) -> Result<Schedule, Failure> {
        self.put(new, Existing::One).await
    }

    async fn put(self, new: NewSchedule, existing: Existing) -> Result<Schedule, Failure> {
        check(&new)?;
        match Place::parse(&new.name)? {
            Place::BuiltIn(name) => {
                let new = NewSchedule { name: name.to_owned(), ..new };
                let put = self.write(Put { new, existing }).await?;
                self.host.inner.schedules.changed.notify_one();
                Ok(put)
            }
            Place::App(app, name) => {
                let (app, name) = (app.to_owned(), name.to_owned());
                let live = self.native().find(&app)?;
                let draft = new_schedule(name, new);
                let kept = match existing {
                    Existing::None => live.app.create_schedule(draft).await?,
                    Existing::One => live.app.update_schedule(draft).await?,
                };
                Ok(of_app(&app, kept))
            }
        }
    }

    /// One of them.
    pub async fn get(self, name: &str) -> Result<Schedule, Failure> {
        match Place::parse(name)? {
            Place::BuiltIn(name) if self.is_empty() => Err(unknown(name)),
            Place::BuiltIn(name) => self.read(Get(name.to_owned())).await,
            Place::App(app, name) => Ok(of_app(app, self.native().find(app)?.app.get_schedule(name).await?)),
        }
    }

    /// Removes one with its history.
    pub async fn remove(self, name: &str) -> Result<(), Failure> {
        match Place::parse(name)? {
            Place::BuiltIn(name) => self.write(Remove(name.to_owned())).await,
            Place::App(app, name) => self.native().find(app)?.app.delete_schedule(name).await,
        }
    }

    /// Switches one on: from now on, whatever passed meanwhile.
    pub async fn enable(self, name: &str) -> Result<Schedule, Failure> {
        match Place::parse(name)? {
            Place::BuiltIn(name) => self.switch(name, true).await,
            Place::App(app, name) => {
                Ok(of_app(app, self.native().find(app)?.app.enable_schedule(name).await?))
            }
        }
    }

    /// Switches one off.
    pub async fn disable(self, name: &str) -> Result<Schedule, Failure> {
        match Place::parse(name)? {
            Place::BuiltIn(name) => self.switch(name, false).await,
            Place::App(app, name) => {
                Ok(of_app(app, self.native().find(app)?.app.disable_schedule(name).await?))
            }
        }
    }

    async fn switch(self, name: &str, on: bool) -> Result<Schedule, Failure> {
        let switched = self.write(Switch { name: name.to_owned(), on }).await?;
        self.host.inner.schedules.changed.notify_one();
        Ok(switched)
    }

    /// What became of one, newest first, and how many entries there are.
    pub async fn history(
        self,
        name: &str,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<HistoryEntry>, i64), Failure> {
        let limit = limit.min(HISTORY_PAGE_MAX);
        match Place::parse(name)? {
            Place::BuiltIn(name) => {
                let name = name.to_owned();
                self.read(History { name, limit: limit.into(), offset: offset.into() }).await
            }
            Place::App(app, name) => {
                let live = self.native().find(app)?;
                let (entries, total) = live.app.schedule_history(name, limit, offset).await?;
                let entries = entries.into_iter().map(|entry| HistoryEntry {
                    schedule_name: format!("{app}/{}", entry.schedule_name),
                    id: entry.id,
                    started_at: entry.started_at.parse().ok(),
                    finished_at: entry.finished_at.parse().ok(),
                    success: entry.success,
                    missed: 0,
                    output: entry.output,
                    error: entry.error,
                    run: None,
                });
                Ok((entries.collect(), total))
            }
        }
    }

    /// Who keeps schedules, and who gets new ones.
    pub async fn schedulers(self) -> Result<SchedulerList, Failure> {
        let apps = self.native().all().into_iter().map(|live| live.folder.id().to_owned());
        let schedulers = std::iter::once(BUILT_IN.to_owned()).chain(apps).collect();
        Ok(SchedulerList { schedulers, default: self.chosen().await? })
    }

    /// Lets new schedules go to this one.
    pub async fn choose(self, scheduler: &str) -> Result<SchedulerList, Failure> {
        if scheduler != BUILT_IN {
            self.native().find(scheduler)?;
        }
        self.write(Choose(scheduler.to_owned())).await?;
        self.schedulers().await
    }

    async fn chosen(self) -> Result<String, Failure> {
        let chosen = if self.is_empty() { None } else { self.read(Chosen).await? };
        Ok(chosen.unwrap_or_else(|| BUILT_IN.to_owned()))
    }

    /// True when nothing was ever kept, so that no database need be made to see that.
    fn is_empty(self) -> bool {
        !self.host.inner.store.is_there()
    }

    async fn read<C: Change<Error = ScheduleError>>(self, look: C) -> Result<C::Output, Failure> {
        let database = self.host.inner.store.database().await?;
        Ok(database.read(&local_owner().tenant, look).await?)
    }

    async fn write<C: Change<Error = ScheduleError>>(self, change: C) -> Result<C::Output, Failure> {
        let database = self.host.inner.store.database().await?;
        Ok(database.write(&local_owner().tenant, change).await?)
    }

    fn native(&self) -> &crate::native::Schedulers {
        self.host.inner.native.schedulers()
    }
}

/// What is kept must be something that can be done.
fn check(new: &NewSchedule) -> Result<(), Failure> {
    let wrong = |message: &str| Err(Failure::new(Reason::BadArguments, message));
    if new.task_type == "bash" || !new.command.is_empty() {
        return Err(Failure::plain(Reason::TaskRefused));
    }
    if !new.task_type.is_empty() && new.task_type != TASK_AGENT {
        return wrong("the task of a schedule is `agent`");
    }
    if new.message.trim().is_empty() || new.message.len() > MESSAGE_BYTES_MAX {
        return wrong("a schedule says a message, of at most 32 KiB");
    }
    let is_short = |text: &String| text.len() <= 1000;
    if new.deliver.len() > 1000
        || new.metadata.len() > METADATA_MAX
        || !new.metadata.iter().all(|(key, value)| is_short(key) && is_short(value))
    {
        return wrong("what is kept with a schedule is too much");
    }
    if new.message.contains('\0') || new.deliver.contains('\0') {
        return wrong("a message is text");
    }
    // Whoever keeps it, what is never due is a mistake.
    Clock::parse(&new.expression).map(drop)
}

fn unknown(name: &str) -> Failure {
    let shown: String = name.escape_debug().take(NAME_BYTES_MAX).collect();
    Failure::new(Reason::UnknownSchedule, format!("there is no schedule `{shown}`"))
}
