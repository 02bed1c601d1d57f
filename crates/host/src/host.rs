//! The host: knows the agents of one home, keeps that knowledge current, and runs calls.

mod opening; // from settings to a running host

use crate::{
    book::Book,
    browser_sessions::BrowserSessions,
    call_log::{CallIds, CallLog, CallRecord},
    catalogs::HostCatalogs,
    context::context_text,
    conversations::Conversations,
    converse::Soul,
    folders::{Folders, Visitor},
    gate::Gate,
    knowledge::{Knowledge, Progress, checked},
    library::LibraryState,
    memory::Memories,
    modes::Modes,
    native::{NativeApps, native_named},
    owner::OwnerToken,
    pages::{self, PageMemory},
    perform::{Request, Surroundings, perform},
    program::{Runnable, Source, Workshop},
    roster::{Callable, Roster},
    runs::{Resolved, RunState},
    schedules::ScheduleState,
    settings::{Home, HostSettings},
    shelves::Shelves,
    standing::Standing,
    store::Store,
    tokens::Tokens,
    toolbox::{CurrentToolbox, Toolbox},
    voice::Voice,
};
use roost_apps::{AgentFile, Description};
use roost_chat::Models;
use roost_protocol::{AgentListing, AgentName, AppId, CallOutcome, Failure, Reason, Serving};
use roost_runtime::{Afterwards, Runtime};
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock},
    time::Instant,
};
use tokio::sync::{OnceCell, Semaphore};

/// A running host. Clones are handles of the same one.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: Arc<HostSettings>,
    pub(crate) runtime: Runtime,
    pub(crate) gate: Arc<Gate>,
    workshop: Arc<Workshop>,
    pub(crate) agents: Shelves,
    pub(crate) services: Shelves,
    /// Held while a source is added, removed or synced.
    pub(crate) changing_sources: Arc<tokio::sync::Mutex<()>>,
    pub(crate) memories: Memories,
    call_ids: CallIds,
    pub(crate) call_log: CallLog,
    pub(crate) book: Arc<Book>,
    pub(crate) modes: Modes,
    pub(crate) soul: Soul,
    pub(crate) models: Models,
    pub(crate) turns: Semaphore,
    toolbox: CurrentToolbox,
    conversations: Conversations,
    /// Set once the agents were looked at for the first turn.
    pub(crate) looked_at_agents: OnceCell<()>,
    /// When servers on this machine were last looked for by a turn.
    pub(crate) looked_for_models: Mutex<Option<Instant>>,
    voice: Voice,
    owner: OnceLock<OwnerToken>,
    pub(crate) browsers: BrowserSessions,
    pub(crate) resolved: Arc<Resolved>,
    pub(crate) runs: RunState,
    pub(crate) schedules: ScheduleState,
    pub(crate) store: Arc<Store>,
    pub(crate) folders: Folders,
    pub(crate) native: NativeApps,
    pub(crate) tokens: Tokens,
    pub(crate) catalogs: Result<HostCatalogs, Failure>,
    pub(crate) library: LibraryState,
    pub(crate) pages: PageMemory,
}

impl Host {
    /// The folders of this home.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.inner.settings.home
    }

    /// What runs agents.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// What happened lately.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.inner.book
    }

    /// The switches of every answer.
    #[must_use]
    pub fn modes(&self) -> &Modes {
        &self.inner.modes
    }

    /// Everybody who can be asked for an answer.
    #[must_use]
    pub fn models(&self) -> &Models {
        &self.inner.models
    }

    /// Conversations that this host keeps for its clients.
    #[must_use]
    pub fn conversations(&self) -> &Conversations {
        &self.inner.conversations
    }

    /// The repository whose issues people report to.
    #[must_use]
    pub fn tracker(&self) -> Option<&str> {
        self.inner.settings.tracker.as_deref()
    }

    /// The voice configuration.
    #[must_use]
    pub fn voice(&self) -> &Voice {
        &self.inner.voice
    }

    /// The token of this home's owner, made when there is none yet.
    pub fn owner(&self) -> Result<&OwnerToken, Failure> {
        if let Some(token) = self.inner.owner.get() {
            return Ok(token);
        }
        let token = OwnerToken::of_home(self.home())?;
        Ok(self.inner.owner.get_or_init(|| token))
    }

    /// The agents as they are known now, without looking and without copying.
    #[must_use]
    pub fn roster(&self) -> KnownAgents {
        KnownAgents { with_native: self.inner.with_native(), roster: self.inner.agents.roster() }
    }

    /// The agents as they are known now, without looking.
    #[must_use]
    pub fn known_agents(&self) -> Vec<AgentListing> {
        self.roster().agents().to_vec()
    }

    /// Looks at the folder and at every file that changed, and returns all agents.
    pub async fn agents(&self, progress: &dyn Progress) -> Result<Vec<AgentListing>, Failure> {
        self.inner.agents.refresh(progress).await?;
        Ok(self.known_agents())
    }

    /// Starts to look at what changed in the folder, without waiting for it.
    pub fn look(&self) -> Result<(), Failure> {
        self.inner.agents.start_looking()
    }

    /// Returns when everything decided so far is on disk.
    pub fn flush(&self) -> Result<(), Failure> {
        self.inner.gate.flush()
    }

    /// Forgets what files said, so that the next look asks all of them again.
    pub fn forget_descriptions(&self) {
        self.inner.agents.forget();
        self.inner.services.forget();
    }

    /// The current entry of one agent.
    pub async fn agent(&self, name: &str) -> Result<AgentListing, Failure> {
        match self.inner.agents.current(name).await {
            Ok((roster, callable)) => Ok(roster.listings[callable.listing].clone()),
            Err(failure) => {
                let tool = self.inner.native_tool(name).await.filter(|_| is_unknown(&failure));
                tool.map(|tool| tool.listing(None)).ok_or(failure)
            }
        }
    }

    /// Calls an agent of this home by name.
    pub async fn call(&self, name: &str, request: &Request) -> Result<CallOutcome, Failure> {
        let call =
            |request: Request| async move { self.inner.call(&self.inner.agents, name, &request).await };
        self.inner.as_run(name, request, call).await
    }

    /// Loads one file from anywhere; nothing of the home's folder is needed.
    pub async fn open_file(&self, path: &Path) -> Result<OpenFile, Failure> {
        let file = AgentFile::read(path)?;
        let folder = file.path.parent().unwrap_or(Path::new("/")).to_owned();
        let runnable = self.inner.workshop.prepare(Source::from(&file), folder).await?;
        let loaded = runnable.agent.describe(Afterwards::Keep).await;
        let loaded = loaded.map_err(|failed| self.inner.workshop.refused_to_load(failed, &runnable))?;
        let description = checked(loaded);
        if description.agents.is_empty() {
            let first = description.failures.into_iter().next().map(|class| class.failure);
            return Err(first.unwrap_or_else(|| Failure::plain(Reason::NoAgent)));
        }
        Ok(OpenFile { inner: Arc::clone(&self.inner), file, runnable, description })
    }
}

/// All agents at one moment.
#[derive(Debug)]
pub struct KnownAgents {
    roster: Arc<Roster>,
    /// All of them with the tools of native apps, where there are any.
    with_native: Option<Vec<AgentListing>>,
}

impl KnownAgents {
    /// Every one of them, in the order of the list.
    #[must_use]
    pub fn agents(&self) -> &[AgentListing] {
        self.with_native.as_deref().unwrap_or(&self.roster.listings)
    }
}

/// A file that was loaded on its own.
pub struct OpenFile {
    inner: Arc<Inner>,
    /// The file as it was read.
    pub file: AgentFile,
    runnable: Runnable,
    /// What it said about itself; has at least one agent.
    pub description: Description,
}

impl OpenFile {
    /// Calls one of its agents.
    pub async fn call(&self, name: &AgentName, request: &Request) -> Result<CallOutcome, Failure> {
        let call = |request: Request| async move {
            self.inner.perform(&self.runnable, name, Serving::Current, &request).await
        };
        self.inner.as_run(name.as_str(), request, call).await
    }
}

impl Drop for Inner {
    /// A command ends soon after its host: what it decided must not be lost with it.
    fn drop(&mut self) {
        self.write_down_calls();
        if let Err(failure) = self.gate.flush() {
            tracing::error!(%failure, "record what was decided");
        }
    }
}

impl Inner {
    /// Calls who holds the name.
    pub(crate) async fn call(
        &self,
        among: &Shelves,
        name: &str,
        request: &Request,
    ) -> Result<CallOutcome, Failure> {
        // Not looked for on disk: an agent file that comes to have the name is found by its watch.
        if std::ptr::eq(among, &self.agents)
            && self.agents.roster().find(name).is_none()
            && let Some(tool) = self.native.tools().find(name)
        {
            return self.call_native(tool, request).await;
        }
        let callable = match among.current(name).await {
            Ok((_, callable)) => callable,
            Err(failure) => match self.native_tool(name).await.filter(|_| is_unknown(&failure)) {
                Some(tool) if std::ptr::eq(among, &self.agents) => {
                    return self.call_native(&tool, request).await;
                }
                _ => return Err(failure),
            },
        };
        let runnable = self.runnable_of(among, &callable).await?;
        self.perform(&runnable, &callable.name, callable.serving, request).await
    }

    /// The agents as tools of a model, as they are known now.
    pub(crate) fn toolbox(&self) -> Arc<Toolbox> {
        self.toolbox.of(self.agents.roster(), self.native.tools())
    }

    /// All agents, where tools of native apps are among them.
    fn with_native(&self) -> Option<Vec<AgentListing>> {
        let (roster, tools) = (self.agents.roster(), self.native.tools());
        tools.iter().next()?;
        let native = tools.iter().map(|tool| {
            let holder = roster.find(tool.name.as_str()).map(|holder| holder.file_name.as_str());
            tool.listing(holder)
        });
        Some(roster.listings.iter().cloned().chain(native).collect())
    }

    async fn perform(
        &self,
        runnable: &Runnable,
        name: &AgentName,
        serving: Serving,
        request: &Request,
    ) -> Result<CallOutcome, Failure> {
        self.resolved.learn(&runnable.secrets);
        let context = context_text(&jiff::Zoned::now(), &request.circumstances(), &self.memories);
        let visit =
            self.folders.before(&self.store, &runnable.own, Visitor::of(runnable, name, request)).await;
        let mut performed = perform(runnable, name, serving, request, self.around(&context)).await;
        let report = self.folders.after(&self.store, visit).await;
        if let Ok(outcome) = &mut performed {
            outcome.receipt.workspace = Some(report).filter(|report| !report.is_empty());
        }
        self.written_down(name, &runnable.standing.caller.app, performed)
    }

    /// Notes a call, and keeps it where there is something to explain.
    pub(crate) fn written_down(
        &self,
        name: &AgentName,
        app: &AppId,
        performed: Result<CallOutcome, Failure>,
    ) -> Result<CallOutcome, Failure> {
        self.note_call(name, &performed);
        let outcome = performed?;
        if outcome.error.is_some() || !outcome.receipt.refused.is_empty() {
            self.call_log.keep(&CallRecord {
                time: jiff::Timestamp::now().to_string(),
                agent: outcome.agent.clone(),
                app: app.clone(),
                error: outcome.error.clone().map(|failure| self.resolved.cleared(failure)),
                receipt: outcome.receipt.clone(),
            });
        }
        Ok(outcome)
    }

    /// What went in and came out is nobody's business later; that it happened is.
    fn note_call(&self, name: &AgentName, performed: &Result<CallOutcome, Failure>) {
        let detail = match performed {
            Ok(CallOutcome { error: None, receipt, .. }) => {
                json!({ "agent": name, "call": receipt.call, "duration_us": receipt.duration_us })
            }
            Ok(CallOutcome { error: Some(failure), receipt, .. }) => {
                json!({ "agent": name, "call": receipt.call, "reason": failure.reason, "error": failure.message })
            }
            Err(failure) => json!({ "agent": name, "reason": failure.reason, "error": failure.message }),
        };
        let mut detail = detail;
        self.resolved.redactions().redact_json(&mut detail);
        self.book.note("call", detail);
    }

    pub(crate) fn around<'a>(&'a self, context: &'a str) -> Surroundings<'a> {
        Surroundings { gate: &self.gate, places: self.workshop.places(), call: self.call_ids.next(), context }
    }

    /// Who an app is and what it asks for: an installed app by its id, an agent or a service by name, a file of one of
    /// the two folders, or a file elsewhere.
    pub(crate) async fn standing(&self, app: &str) -> Result<Standing, Failure> {
        if let Some(page) = pages::page_named(app) {
            return self.page_standing(page).await;
        }
        let installed = self.file_of_app(app);
        let app = installed.as_deref().unwrap_or(app);
        if let Some(id) = native_named(app) {
            return self.native_standing(id).await;
        }
        let folders = [&self.agents.own().folder, &self.services.own().folder];
        let in_folder = folders.into_iter().find(|folder| {
            !app.contains('/')
                && folder.path().join(app).is_file()
                && folder.kind().language_of(app).is_some()
        });
        let of_source = app.split_once('/').and_then(|(id, file)| Some((self.agents.source(id)?, file)));
        let file = if let Some(folder) = in_folder {
            folder.read(app)?
        } else if let Some((source, file_name)) = of_source {
            source.folder.read(file_name)?
        } else if app.contains('/') || Path::new(app).is_file() {
            AgentFile::read(Path::new(app))?
        } else {
            match self.agents.file_of(app).await {
                Err(failure) if failure.reason == Reason::UnknownAgent => {
                    self.services.file_of(app).await.map_err(|_| failure)?
                }
                found => found?,
            }
        };
        self.workshop.standing(&Source::from(&file)).await
    }

    /// What is known of the home's own agents folder.
    pub(crate) fn knowledge(&self) -> &Arc<Knowledge> {
        self.agents.own()
    }

    pub(crate) fn workshop(&self) -> &Arc<Workshop> {
        &self.workshop
    }

    /// A file with the rights it has, not yet run.
    pub(crate) async fn program_alone(&self, file: &AgentFile) -> Result<roost_runtime::Program, Failure> {
        let folder = file.path.parent().unwrap_or(Path::new("/")).to_owned();
        self.workshop.program(Source::from(file), folder).await.map(|(program, _)| program)
    }

    /// The program behind a callable agent, prepared on its first call.
    pub(crate) async fn runnable(&self, callable: &Callable) -> Result<Arc<Runnable>, Failure> {
        self.runnable_of(&self.agents, callable).await
    }

    async fn runnable_of(&self, among: &Shelves, callable: &Callable) -> Result<Arc<Runnable>, Failure> {
        let knowledge = among.knowledge_of(callable)?;
        let runnables = &knowledge.runnables;
        if let Some(runnable) = runnables.get(&callable.path, callable.digest, &self.workshop) {
            return Ok(runnable);
        }
        let file = source_of(&knowledge, callable)?;
        let folder = knowledge.folder.path().to_owned();
        // Boxed for the calls that need none of it, which are nearly all.
        let runnable = Box::pin(self.workshop.prepare(file, folder)).await?;
        Ok(runnables.keep(&callable.path, runnable))
    }
}

/// True when no agent file has the name.
fn is_unknown(failure: &Failure) -> bool {
    failure.reason == Reason::UnknownAgent
}

/// The bytes that answer for a name.
fn source_of(knowledge: &Knowledge, callable: &Callable) -> Result<Source, Failure> {
    if callable.serving == Serving::Current
        && let Ok(file) = knowledge.folder.read(&callable.file_name)
        && file.digest == callable.digest
    {
        return Ok(Source::from(&file));
    }
    // The file changed since, or does not load: the kept copy has exactly the bytes that were described.
    let kept = knowledge.kept_source(&callable.digest);
    let bytes = kept.ok_or_else(|| Failure::new(Reason::Unreadable, "the last good version is gone"))?;
    Ok(Source {
        path: callable.path.clone(),
        file_name: callable.file_name.clone(),
        kind: knowledge.folder.kind(),
        language: callable.language,
        digest: callable.digest,
        bytes,
    })
}
