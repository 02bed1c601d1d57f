//! The host: knows the agents of one home, keeps that knowledge current, and runs calls.

use crate::{
    call_log::{CallIds, CallLog, CallRecord},
    calls::Calls,
    context::context_text,
    gate::Gate,
    knowledge::{Knowledge, NoProgress, Progress, checked},
    memory::Memories,
    perform::{Request, Surroundings, perform},
    program::{Runnable, Source, Workshop},
    roster::{Callable, Roster},
    settings::{Home, HostSettings},
    standing::Standing,
};
use roost_apps::{AgentFile, Description, Stamp};
use roost_protocol::{AgentListing, AgentName, CallOutcome, Failure, Reason, Serving};
use roost_runtime::{Afterwards, HostCalls, Runtime, RuntimeSettings};
use std::{path::Path, sync::Arc};

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
    knowledge: Arc<Knowledge>,
    memories: Memories,
    call_ids: CallIds,
    pub(crate) call_log: CallLog,
}

impl Host {
    /// Opens a home. Starts no process; must be called within a tokio runtime.
    pub async fn open(settings: HostSettings) -> Result<Self, Failure> {
        let unusable = |error: std::io::Error| {
            Failure::new(Reason::HomeUnusable, format!("{}: {error}", settings.home.root().display()))
        };
        let cache = settings.home.cache();
        std::fs::create_dir_all(&cache).map_err(unusable)?;
        let runtime_settings = RuntimeSettings {
            cache: cache.clone(),
            logs: settings.home.logs(),
            data: settings.home.data(),
            surface: settings.surface.clone(),
            pool: settings.pool.clone(),
            left_out: settings.sandbox.left_out.clone(),
        };
        let gate = Arc::new(Gate::open(settings.home.root(), Arc::clone(&settings.policy))?);
        let calls = Arc::new(Calls::new(Arc::clone(&gate)));
        let host_calls: Arc<dyn HostCalls> = Arc::clone(&calls) as _;
        let runtime = Runtime::new(runtime_settings, host_calls).map_err(unusable)?;
        let settings = Arc::new(settings);
        let workshop = Arc::new(Workshop {
            runtime: runtime.clone(),
            settings: Arc::clone(&settings),
            gate: Arc::clone(&gate),
            calls,
        });
        let knowledge = Knowledge::open(Arc::clone(&workshop)).await;
        let memories = Memories::new(settings.home.data());
        let call_log = CallLog::new(&settings.home.logs());
        let call_ids = CallIds::default();
        let inner = Inner { settings, runtime, gate, workshop, knowledge, memories, call_ids, call_log };
        Ok(Self { inner: Arc::new(inner) })
    }

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

    /// The agents as they are known now, without looking.
    #[must_use]
    pub fn known_agents(&self) -> Vec<AgentListing> {
        self.inner.knowledge.roster().listings.clone()
    }

    /// Looks at the folder and at every file that changed, and returns all agents.
    pub async fn agents(&self, progress: &dyn Progress) -> Result<Vec<AgentListing>, Failure> {
        self.inner.knowledge.refresh(progress).await?;
        Ok(self.known_agents())
    }

    /// Starts to look at what changed in the folder, without waiting for it.
    pub fn look(&self) -> Result<(), Failure> {
        self.inner.knowledge.start_looking().map(drop)
    }

    /// Returns when everything decided so far is on disk.
    pub fn flush(&self) -> Result<(), Failure> {
        self.inner.gate.flush()
    }

    /// Forgets what files said, so that the next look asks all of them again.
    pub fn forget_descriptions(&self) {
        self.inner.knowledge.forget();
    }

    /// The current entry of one agent.
    pub async fn agent(&self, name: &str) -> Result<AgentListing, Failure> {
        let (roster, callable) = self.inner.current(name).await?;
        Ok(roster.listings[callable.listing].clone())
    }

    /// Calls an agent of this home by name.
    pub async fn call(&self, name: &str, request: &Request) -> Result<CallOutcome, Failure> {
        let (_, callable) = self.inner.current(name).await?;
        let runnable = self.inner.runnable(&callable).await?;
        self.inner.perform(&runnable, &callable.name, callable.serving, request).await
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
        self.inner.perform(&self.runnable, name, Serving::Current, request).await
    }
}

impl Drop for Inner {
    /// A command ends soon after its host: what it decided must not be lost with it.
    fn drop(&mut self) {
        if let Err(failure) = self.gate.flush() {
            tracing::error!(%failure, "record what was decided");
        }
    }
}

impl Inner {
    async fn perform(
        &self,
        runnable: &Runnable,
        name: &AgentName,
        serving: Serving,
        request: &Request,
    ) -> Result<CallOutcome, Failure> {
        let context = context_text(&jiff::Zoned::now(), &request.circumstances(), &self.memories);
        let outcome = perform(runnable, name, serving, request, self.around(&context)).await?;
        if outcome.error.is_some() || !outcome.receipt.refused.is_empty() {
            self.call_log.keep(&CallRecord {
                time: jiff::Timestamp::now().to_string(),
                agent: outcome.agent.clone(),
                app: runnable.standing.caller.app.clone(),
                error: outcome.error.clone(),
                receipt: outcome.receipt.clone(),
            });
        }
        Ok(outcome)
    }

    fn around<'a>(&'a self, context: &'a str) -> Surroundings<'a> {
        Surroundings { gate: &self.gate, places: self.workshop.places(), call: self.call_ids.next(), context }
    }

    /// Who an app is and what it asks for: an agent by name, a file of the agents folder, or a file elsewhere.
    pub(crate) async fn standing(&self, app: &str) -> Result<Standing, Failure> {
        let file = if !app.contains('/') && self.knowledge.folder.path().join(app).is_file() {
            self.knowledge.folder.read(app)?
        } else if app.contains('/') || Path::new(app).is_file() {
            AgentFile::read(Path::new(app))?
        } else {
            let file_name = self.file_of(app).await?;
            self.knowledge.folder.read(&file_name)?
        };
        self.workshop.standing(&Source::from(&file)).await
    }

    pub(crate) fn workshop(&self) -> &Workshop {
        &self.workshop
    }

    /// A file with the rights it has, not yet run.
    pub(crate) async fn program_alone(&self, file: &AgentFile) -> Result<roost_runtime::Program, Failure> {
        let folder = file.path.parent().unwrap_or(Path::new("/")).to_owned();
        self.workshop.program(Source::from(file), folder).await.map(|(program, _)| program)
    }

    /// The file that holds an agent of this name, whether it can be called or not.
    async fn file_of(&self, name: &str) -> Result<String, Failure> {
        self.knowledge.refresh(&NoProgress).await?;
        let roster = self.knowledge.roster();
        let found = roster.listings.iter().find(|listing| listing.name == name);
        found.map(|listing| listing.file.clone()).ok_or_else(|| unknown(name, &roster))
    }

    /// The agent of this name, after its file was looked at: what changed a moment ago counts.
    async fn current(&self, name: &str) -> Result<(Arc<Roster>, Callable), Failure> {
        let roster = self.knowledge.roster();
        if let Some(callable) = roster.find(name) {
            if callable.is_current() {
                return Ok((Arc::clone(&roster), callable.clone()));
            }
            self.knowledge.look_at(&callable.file_name).await;
        }
        let roster = self.knowledge.roster();
        if let Some(callable) = roster.find(name) {
            return Ok((Arc::clone(&roster), callable.clone()));
        }
        // The file may be new, or the agent may have moved to another one.
        self.knowledge.refresh(&NoProgress).await?;
        let roster = self.knowledge.roster();
        match roster.find(name) {
            Some(callable) => Ok((Arc::clone(&roster), callable.clone())),
            None => Err(unknown(name, &roster)),
        }
    }

    /// The program behind a callable agent, prepared on its first call.
    async fn runnable(&self, callable: &Callable) -> Result<Arc<Runnable>, Failure> {
        let runnables = &self.knowledge.runnables;
        if let Some(runnable) = runnables.get(&callable.path, callable.digest, &self.gate) {
            return Ok(runnable);
        }
        let file = self.source_of(callable)?;
        let folder = self.knowledge.folder.path().to_owned();
        let runnable = self.workshop.prepare(file, folder).await?;
        Ok(runnables.keep(&callable.path, runnable))
    }

    fn source_of(&self, callable: &Callable) -> Result<Source, Failure> {
        if callable.serving == Serving::Current
            && let Ok(file) = self.knowledge.folder.read(&callable.file_name)
            && file.digest == callable.digest
        {
            return Ok(Source::from(&file));
        }
        // The file changed since, or does not load: the kept copy has exactly the bytes that were described.
        let kept = self.knowledge.kept_source(&callable.digest);
        let bytes = kept.ok_or_else(|| Failure::new(Reason::Unreadable, "the last good version is gone"))?;
        Ok(Source {
            path: callable.path.clone(),
            file_name: callable.file_name.clone(),
            language: callable.language,
            digest: callable.digest,
            bytes,
        })
    }
}

impl Callable {
    fn is_current(&self) -> bool {
        let Some(reading) = &self.reading else { return false };
        Stamp::of(&self.path).is_ok_and(|stamp| reading.get().is_current(&stamp))
    }
}

fn unknown(name: &str, roster: &Roster) -> Failure {
    if let Some(listing) = roster.listings.iter().find(|listing| listing.name == name) {
        let reason = listing.reason.clone().unwrap_or_else(|| Failure::plain(Reason::UnknownAgent));
        return reason;
    }
    let lower = name.to_lowercase();
    let near = roster.listings.iter().find(|listing| {
        let other = listing.name.to_lowercase();
        other.contains(&lower) || lower.contains(&other)
    });
    let message = format!("no agent is called `{name}`");
    match near {
        Some(near) => Failure::new(Reason::UnknownAgent, format!("{message}; did you mean `{}`?", near.name)),
        None => Failure::new(Reason::UnknownAgent, message),
    }
}
