//! Messages from elsewhere: each begins a turn, and its answer goes back.
//!
//! Conversations do not wait for one another; in one of them everything keeps its order. What an app brings is nobody's
//! command at this machine: it is a message of somebody else, whose memory is their own.

mod desk; // whose turn it is
mod line; // how an app brings and takes messages

pub(super) use self::line::Line;
pub use self::line::OutgoingMessage;

use self::{
    desk::answer_all,
    line::{Letter, Rights, register, tools_of},
};
use super::{launch::LiveApp, state::LeftOut};
use crate::{
    book::Book,
    host::{Host, Inner},
};
use futures::future::OptionFuture;
use roost_apps::native::Capability;
use roost_protocol::{Failure, Reason};
use roost_runtime::CommRequest;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{sleep, timeout},
};

/// Before an app is listened to again that stopped telling; each time in vain waits twice as long.
const AGAIN_FIRST: Duration = Duration::from_millis(100);
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// How often it is looked whether other agents know what can be used here. A file that is being written changes often.
const REGISTER_EVERY: Duration = Duration::from_secs(1);

/// How long an app may take to leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// Messages that wait between an app and the turns they begin; an app with more has to wait.
const LETTERS_MAX: usize = 16;

/// Everything that brings messages now.
pub(super) struct Lines {
    joined: Mutex<Vec<Joined>>,
    book: Arc<Book>,
    /// Who answers; set once the host is open.
    host: OnceLock<Weak<Inner>>,
}

/// One line of one app. Dropping it ends its turns.
struct Joined {
    live: Arc<LiveApp>,
    line: Line,
    rights: Rights,
    name: String,
    task: JoinHandle<()>,
}

impl Joined {
    fn is_called(&self, called: &str) -> bool {
        let provides = &self.live.folder.manifest.provides;
        self.name == called
            || provides.iter().any(|one| matches!(one, Capability::Channel(name) if name == called))
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Lines {
    pub(super) fn new(book: &Arc<Book>) -> Self {
        Self { joined: Mutex::default(), book: Arc::clone(book), host: OnceLock::new() }
    }

    /// Says who answers.
    pub(super) fn answered_by(&self, host: Weak<Inner>) {
        if self.host.set(host).is_err() {
            tracing::error!("who answers messages was told twice");
        }
    }

    /// Lets an app connect with its settings and listens to it, as far as it may; what it may not is told.
    pub(super) async fn take_in(
        &self,
        live: &Arc<LiveApp>,
        line: Line,
        settings: BTreeMap<String, String>,
    ) -> Option<LeftOut> {
        let joined = match self.join(live, line, settings).await {
            Ok(joined) => joined,
            Err(failure) => return Some(LeftOut::new(line.name(), &failure)),
        };
        let mut all = self.lock();
        // Another process of the same app may still be there: it is replaced, never doubled.
        all.retain(|one| one.line != line || one.live.folder.id() != live.folder.id());
        all.push(joined);
        None
    }

    async fn join(
        &self,
        live: &Arc<LiveApp>,
        line: Line,
        settings: BTreeMap<String, String>,
    ) -> Result<Joined, Failure> {
        let rights = line.rights(live);
        if rights == Rights::NONE {
            let message = format!("a {0} needs a right to {0}:send or {0}:receive", line.name());
            return Err(Failure::new(Reason::RightMissing, message));
        }
        let host = self.host.get().cloned().unwrap_or_default();
        let tools = tools_now(&host).unwrap_or_default();
        let name = line.connect(live, settings, tools.clone()).await?;
        // None of these ends by itself, but with whoever holds the task.
        let listening = rights.receive.then(|| {
            let (listening, answering) = (Arc::clone(live), Arc::clone(live));
            let (book, shown, host) = (Arc::clone(&self.book), name.clone(), host.clone());
            let (give, letters) = mpsc::channel(LETTERS_MAX);
            async move {
                tokio::join!(
                    listen(listening, line, give, &book, &shown),
                    answer_all(answering, letters, host, rights),
                );
            }
        });
        let registering = (line == Line::Comm).then(|| keep_registered(Arc::clone(live), host, tools));
        let task = tokio::spawn(async move {
            tokio::join!(OptionFuture::from(listening), OptionFuture::from(registering));
        });
        self.book.note("line", json!({ "app": live.folder.id(), "line": line.name(), "name": name }));
        Ok(Joined { live: Arc::clone(live), line, rights, name, task })
    }

    /// Nobody hears the app any more when this returns; what it has to be told yet is the answer.
    pub(super) fn take_out(&self, live: &Arc<LiveApp>) -> Vec<Line> {
        let mut all = self.lock();
        let (gone, rest): (Vec<Joined>, Vec<Joined>) =
            all.drain(..).partition(|one| Arc::ptr_eq(&one.live, live));
        *all = rest;
        gone.iter().map(|one| one.line).collect()
    }

    /// Says something through an app's channel.
    pub(super) async fn say(&self, app: &str, message: OutgoingMessage) -> Result<String, Failure> {
        let live = self.sending(app, Line::Channel)?;
        live.app.send_to_channel(message.into_channel_message()).await
    }

    /// The app whose channel is called so, by its id, by its manifest or by itself. A name of two is nobody's.
    pub(super) fn channel_called(&self, called: &str) -> Result<String, Failure> {
        let all = self.lock();
        let channels: Vec<&Joined> = all.iter().filter(|one| one.line == Line::Channel).collect();
        let id = |one: &&Joined| one.live.folder.id().to_owned();
        if let Some(found) = channels.iter().find(|one| one.live.folder.id() == called) {
            return Ok(id(found));
        }
        let named: Vec<&Joined> = channels.into_iter().filter(|one| one.is_called(called)).collect();
        let shown: String = called.escape_debug().take(100).collect();
        match named.as_slice() {
            [found] => Ok(id(found)),
            [] => {
                let message = format!("no app with a channel `{shown}` is connected");
                Err(Failure::new(Reason::NativeNotRunning, message))
            }
            [..] => {
                let message = format!("several apps have a channel `{shown}`: say the id of one");
                Err(Failure::new(Reason::BadArguments, message))
            }
        }
    }

    /// Asks something of what an app carries between agents.
    pub(super) async fn carry(&self, app: &str, request: CommRequest) -> Result<(), Failure> {
        let live = self.sending(app, Line::Comm)?;
        live.app.ask_comm(line::completed(request)).await
    }

    fn sending(&self, app: &str, line: Line) -> Result<Arc<LiveApp>, Failure> {
        let all = self.lock();
        let found = all.iter().find(|one| one.line == line && one.live.folder.id() == app);
        let found = found.ok_or_else(|| {
            let message = format!("the native app `{app}` has no {} that is connected", line.name());
            Failure::new(Reason::NativeNotRunning, message)
        })?;
        if !found.rights.send {
            let message = format!("`{}` of `{app}` was not granted {}:send", found.name, line.name());
            return Err(Failure::new(Reason::RightMissing, message));
        }
        Ok(Arc::clone(&found.live))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells an app that is about to be stopped to leave, and does not wait long for it.
pub(super) async fn leave(live: &LiveApp, lines: Vec<Line>) {
    let left = async {
        for line in lines {
            if let Err(failure) = line.disconnect(live).await {
                tracing::debug!(app = live.folder.id(), %failure, "leave");
            }
        }
    };
    if timeout(LEAVE_WITHIN, left).await.is_err() {
        tracing::warn!(app = live.folder.id(), "an app did not leave in time");
    }
}

/// Tells other agents anew what can be used here, whenever that changed.
async fn keep_registered(live: Arc<LiveApp>, host: Weak<Inner>, mut told: Vec<String>) {
    let mut wait = REGISTER_EVERY;
    loop {
        sleep(wait).await;
        // A host that ends has no tools, and nothing to tell of that.
        let Some(tools) = tools_now(&host) else { return };
        if tools == told {
            continue;
        }
        match register(&live, tools.clone()).await {
            Ok(()) => {
                told = tools;
                wait = REGISTER_EVERY;
            }
            Err(failure) => {
                tracing::warn!(app = live.folder.id(), %failure, "tell other agents what can be used here");
                wait = (wait * 2).min(AGAIN_MAX);
            }
        }
    }
}

/// What can be used here now; nothing when nobody answers.
fn tools_now(host: &Weak<Inner>) -> Option<Vec<String>> {
    host.upgrade().map(|inner| tools_of(&Host { inner }))
}

/// Hands on what an app tells, and listens again whenever it stops.
async fn listen(live: Arc<LiveApp>, line: Line, give: mpsc::Sender<Letter>, book: &Book, name: &str) {
    let mut wait = AGAIN_FIRST;
    loop {
        let heard = line.listen(&live, &give).await;
        if heard.count > 0 {
            wait = AGAIN_FIRST;
        }
        let why = heard.failure.map_or_else(|| "it stopped telling".to_owned(), |failure| failure.message);
        book.note("line", json!({ "app": live.folder.id(), "name": name, "again": why }));
        if give.is_closed() {
            return;
        }
        sleep(wait).await;
        wait = (wait * 2).min(AGAIN_MAX);
    }
}
