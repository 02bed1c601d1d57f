//! The host: knows the agents of one home, keeps that knowledge current, and runs calls.

use crate::{
    calls::Calls,
    context::context_text,
    knowledge::{Knowledge, NoProgress, Progress, checked},
    memory::Memories,
    perform::{Request, perform},
    program::{self, Runnable, Source},
    roster::{Callable, Roster},
    settings::{Home, HostSettings},
};
use roost_apps::{AgentFile, Description, Stamp};
use roost_protocol::{AgentListing, AgentName, CallOutcome, Failure, Reason, Serving};
use roost_runtime::{Afterwards, Runtime, RuntimeSettings};
use std::{path::Path, sync::Arc};

/// A running host. Clones are handles of the same one.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: Arc<HostSettings>,
    pub(crate) runtime: Runtime,
    knowledge: Arc<Knowledge>,
    memories: Memories,
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
        };
        let runtime = Runtime::new(runtime_settings, Arc::new(Calls)).map_err(unusable)?;
        let settings = Arc::new(settings);
        let knowledge = Knowledge::open(Arc::clone(&settings), runtime.clone()).await;
        let memories = Memories::new(settings.home.data());
        let inner = Inner { settings, runtime, knowledge, memories };
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
        let runnable =
            program::prepare(Source::from(&file), folder, &self.inner.runtime, &self.inner.settings).await?;
        let loaded = runnable.agent.describe(Afterwards::Keep).await?;
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

impl Inner {
    async fn perform(
        &self,
        runnable: &Runnable,
        name: &AgentName,
        serving: Serving,
        request: &Request,
    ) -> Result<CallOutcome, Failure> {
        let context = context_text(&jiff::Zoned::now(), &request.circumstances(), &self.memories);
        perform(runnable, name, serving, request, &context).await
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
        if let Some(runnable) = runnables.get(&callable.path, callable.digest) {
            return Ok(runnable);
        }
        let file = self.source_of(callable)?;
        let folder = self.knowledge.folder.path().to_owned();
        let runnable = program::prepare(file, folder, &self.runtime, &self.settings).await?;
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
