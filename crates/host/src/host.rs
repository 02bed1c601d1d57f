//! The host: knows the agents of one home, keeps that knowledge current, and runs calls.

use crate::{
    calls::Calls,
    context::context_text,
    memory::Memories,
    perform::{Request, perform},
    program::{self, Runnable, Source},
    roster::{Callable, FileState, LastReading, Roster},
    settings::{Home, HostSettings},
};
use futures::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, Shared},
    stream::FuturesUnordered,
};
use roost_apps::{AgentFile, AgentsFolder, Content, Described, Description, Descriptions, Found, Stamp};
use roost_protocol::{AgentListing, AgentName, CallOutcome, Digest, Failure, Reason, Serving};
use roost_runtime::{Afterwards, Runtime, RuntimeSettings, runners_digest};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};
use tokio::sync::Semaphore;

/// Files loaded side by side: enough to keep every core busy while some of them hang until their time is up.
const LOADED_AT_ONCE: usize = 16;

/// A description longer than this is data, not a description.
const DESCRIPTION_BYTES_MAX: usize = 64 << 10;

/// A running host. Clones are handles of the same one.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: HostSettings,
    pub(crate) runtime: Runtime,
    folder: AgentsFolder,
    memories: Memories,
    descriptions: Mutex<Descriptions>,
    files: Mutex<BTreeMap<String, FileState>>,
    roster: RwLock<Arc<Roster>>,
    runnables: Mutex<HashMap<(PathBuf, Digest), Arc<Runnable>>>,
    /// Contents being loaded right now; whoever wants to know waits for the same answer.
    loading: Mutex<HashMap<Digest, Loading>>,
    load_permits: Semaphore,
}

type Loading = Shared<BoxFuture<'static, ()>>;

/// Told while files are looked at.
pub trait Progress: Send + Sync {
    /// So many of so many files are done.
    fn described(&self, done: usize, of: usize);
}

/// Nobody looks.
pub struct NoProgress;

impl Progress for NoProgress {
    fn described(&self, _: usize, _: usize) {}
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
        let descriptions =
            Descriptions::open(&cache.join("descriptions.json"), &description_key(&runtime).await);
        let inner = Inner {
            folder: AgentsFolder::new(settings.home.agents()),
            memories: Memories::new(settings.home.data()),
            descriptions: Mutex::new(descriptions),
            files: Mutex::default(),
            roster: RwLock::default(),
            runnables: Mutex::default(),
            loading: Mutex::default(),
            load_permits: Semaphore::new(LOADED_AT_ONCE),
            runtime,
            settings,
        };
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
        self.inner.roster().listings.clone()
    }

    /// Looks at the folder and at every file that changed, and returns all agents.
    pub async fn agents(&self, progress: &dyn Progress) -> Result<Vec<AgentListing>, Failure> {
        self.inner.refresh(progress).await?;
        Ok(self.known_agents())
    }

    /// Starts to look at what changed in the folder, without waiting for it.
    pub fn look(&self) -> Result<(), Failure> {
        self.inner.start_looking().map(drop)
    }

    /// Forgets what files said, so that the next look asks all of them again.
    pub fn forget_descriptions(&self) {
        lock(&self.inner.descriptions).forget(|_| true);
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
    pub(crate) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read().unwrap_or_else(PoisonError::into_inner))
    }

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
    async fn current(self: &Arc<Self>, name: &str) -> Result<(Arc<Roster>, Callable), Failure> {
        let roster = self.roster();
        if let Some(callable) = roster.find(name) {
            if callable.is_current() {
                return Ok((Arc::clone(&roster), callable.clone()));
            }
            self.look_at(&callable.file_name).await;
        }
        let roster = self.roster();
        if let Some(callable) = roster.find(name) {
            return Ok((Arc::clone(&roster), callable.clone()));
        }
        // The file may be new, or the agent may have moved to another one.
        self.refresh(&NoProgress).await?;
        let roster = self.roster();
        match roster.find(name) {
            Some(callable) => Ok((Arc::clone(&roster), callable.clone())),
            None => Err(unknown(name, &roster)),
        }
    }

    /// Looks at one file only, so that a file that hangs while it loads cannot delay another's callers.
    async fn look_at(self: &Arc<Self>, file_name: &str) {
        match self.folder.read(file_name) {
            Ok(file) => {
                self.note(&Found {
                    file_name: file_name.to_owned(),
                    language: file.language,
                    content: Ok(Content::Read(file.clone())),
                });
                if lock(&self.descriptions).described(&file.digest).is_none() {
                    self.load(file).await;
                } else {
                    self.publish();
                }
            }
            Err(failure) => {
                self.note_failure(file_name, failure);
                self.publish();
            }
        }
    }

    /// Looks at the whole folder and waits until every file is known.
    async fn refresh(self: &Arc<Self>, progress: &dyn Progress) -> Result<(), Failure> {
        let mut loading: FuturesUnordered<Loading> = self.start_looking()?.into_iter().collect();
        let of = loading.len();
        let mut done = 0;
        while loading.next().await.is_some() {
            done += 1;
            progress.described(done, of);
        }
        if of == 0 {
            self.save();
        }
        Ok(())
    }

    /// Looks at the folder and starts to load what changed; each file counts as soon as it is described.
    pub(crate) fn start_looking(self: &Arc<Self>) -> Result<Vec<Loading>, Failure> {
        let found = {
            let descriptions = lock(&self.descriptions);
            self.folder.scan(|file_name| descriptions.seen(file_name))?
        };
        let pending = self.note_all(&found);
        self.publish();
        Ok(pending.into_iter().map(|file| self.load(file)).collect())
    }

    /// Loads some content in a worker, once however many ask, and takes over what it says.
    fn load(self: &Arc<Self>, file: AgentFile) -> Loading {
        let digest = file.digest;
        let mut loading = lock(&self.loading);
        if let Some(already) = loading.get(&digest) {
            return already.clone();
        }
        let inner = Arc::clone(self);
        // A task of its own: a caller that leaves must not stop what others wait for.
        let task = tokio::spawn(async move {
            let described = inner.describe(&file).await;
            inner.remember(&file, described);
            inner.mark_shown(&file);
            inner.publish();
            let is_last = {
                let mut loading = lock(&inner.loading);
                loading.remove(&file.digest);
                loading.is_empty()
            };
            // One save for a whole batch: each is a whole file and a sync.
            if is_last {
                inner.save();
            }
        });
        let shared = task.map(drop).boxed().shared();
        loading.insert(digest, shared.clone());
        shared
    }

    async fn describe(&self, file: &AgentFile) -> Described {
        let folder = self.folder.path().to_owned();
        let described = async {
            let _permit = self.load_permits.acquire().await;
            let runnable =
                program::prepare(Source::from(file), folder, &self.runtime, &self.settings).await?;
            runnable.agent.describe(Afterwards::Stop).await
        };
        match described.await {
            Ok(loaded) => Described::Loaded(checked(loaded)),
            Err(failure) => Described::Failed(failure),
        }
    }

    fn remember(&self, file: &AgentFile, described: Described) {
        let mut descriptions = lock(&self.descriptions);
        if matches!(&described, Described::Loaded(description) if !description.agents.is_empty())
            && let Err(error) = descriptions.keep_source(file)
        {
            tracing::warn!(%error, file = file.file_name, "keep a copy of an agent that works");
        }
        descriptions.set_described(file.digest, described);
    }

    fn save(&self) {
        let present: BTreeSet<String> = lock(&self.files).keys().cloned().collect();
        let mut descriptions = lock(&self.descriptions);
        descriptions.retain_files(|file_name| present.contains(file_name));
        if let Err(error) = descriptions.save() {
            tracing::warn!(%error, "save what agents said about themselves");
        }
    }

    /// Takes over what a scan found; returns the files that have to be described.
    fn note_all(&self, found: &[Found]) -> Vec<AgentFile> {
        let names: BTreeSet<String> = found.iter().map(|found| found.file_name.clone()).collect();
        lock(&self.files).retain(|file_name, _| names.contains(file_name));
        let mut pending = Vec::new();
        for found in found {
            let digest = found.content.as_ref().ok().map(Content::digest);
            let is_known = digest.is_none_or(|digest| lock(&self.descriptions).described(&digest).is_some());
            if !is_known {
                match &found.content {
                    Ok(Content::Read(file)) => pending.push(file.clone()),
                    // Known before and forgotten since: it has to be read again.
                    _ => pending.extend(self.folder.read(&found.file_name).ok()),
                }
            }
            self.note(found);
        }
        pending
    }

    fn note(&self, found: &Found) {
        let mut descriptions = lock(&self.descriptions);
        if let Ok(content) = &found.content {
            descriptions.set_seen(&found.file_name, content.seen());
        }
        let last_good = descriptions.last_good(&found.file_name);
        let described = |digest: &Digest| descriptions.described(digest).is_some();
        let mut files = lock(&self.files);
        let before = files.remove(&found.file_name);
        let content = found.content.as_ref().map_err(Clone::clone).map(|content| {
            let seen = content.seen();
            match before.as_ref().map(|before| &before.content) {
                Some(Ok(reading)) => {
                    reading.set(seen);
                    Arc::clone(reading)
                }
                _ => Arc::new(LastReading::new(seen)),
            }
        });
        let now = content.as_ref().ok().map(|reading| reading.get().digest).filter(described);
        let shown = now.or(before.and_then(|before| before.shown));
        files.insert(
            found.file_name.clone(),
            FileState { language: found.language, content, shown, last_good },
        );
    }

    /// What the file holds is described now, unless it holds something else already.
    fn mark_shown(&self, file: &AgentFile) {
        let last_good = lock(&self.descriptions).last_good(&file.file_name);
        if let Some(state) = lock(&self.files).get_mut(&file.file_name) {
            state.last_good = last_good;
            if matches!(&state.content, Ok(reading) if reading.get().digest == file.digest) {
                state.shown = Some(file.digest);
            }
        }
    }

    fn note_failure(&self, file_name: &str, failure: Failure) {
        let mut files = lock(&self.files);
        let is_gone = !self.folder.path().join(file_name).exists();
        if is_gone {
            files.remove(file_name);
        } else if let Some(state) = files.get_mut(file_name) {
            state.content = Err(failure);
        }
    }

    fn publish(&self) {
        let files = lock(&self.files).clone();
        let descriptions = lock(&self.descriptions);
        let described = |digest: &Digest| descriptions.described(digest);
        let roster = Roster::assemble(self.folder.path(), &files, &described, &self.settings.agents);
        drop(descriptions);
        *self.roster.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roster);
        // Bytes that nobody can call any more need no workers.
        let roster = self.roster();
        lock(&self.runnables).retain(|(path, digest), _| roster.uses(path, digest));
    }

    /// The program behind a callable agent, prepared on its first call.
    async fn runnable(&self, callable: &Callable) -> Result<Arc<Runnable>, Failure> {
        let key = (callable.path.clone(), callable.digest);
        if let Some(runnable) = lock(&self.runnables).get(&key) {
            return Ok(Arc::clone(runnable));
        }
        let file = self.source_of(callable)?;
        let folder = self.folder.path().to_owned();
        let runnable = Arc::new(program::prepare(file, folder, &self.runtime, &self.settings).await?);
        Ok(Arc::clone(lock(&self.runnables).entry(key).or_insert(runnable)))
    }

    fn source_of(&self, callable: &Callable) -> Result<Source, Failure> {
        if callable.serving == Serving::Current
            && let Ok(file) = self.folder.read(&callable.file_name)
            && file.digest == callable.digest
        {
            return Ok(Source::from(&file));
        }
        // The file changed since, or does not load: the kept copy has exactly the bytes that were described.
        let kept = lock(&self.descriptions).source(&callable.digest);
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

/// What another runner or another interpreter would say about a file may differ.
async fn description_key(runtime: &Runtime) -> String {
    let python = runtime.python().await.map_or("none".to_owned(), |python| python.version.to_string());
    let engine = runtime.engine().await.map_or("none".to_owned(), |engine| engine.version);
    format!("{} python {python} typescript {engine}", runners_digest().short())
}

/// A worker's word is not trusted: names and sizes are checked again.
fn checked(loaded: roost_runtime::Loaded) -> Description {
    let mut description = Description { agents: Vec::new(), failures: loaded.failures };
    for agent in loaded.agents {
        let refusal = match AgentName::parse(&agent.name) {
            Err(invalid) => Some(Failure::new(Reason::InvalidName, invalid.to_string())),
            Ok(_) if !agent.parameters.is_object() => Some(Failure::plain(Reason::InvalidSchema)),
            Ok(_) if agent.description.len() > DESCRIPTION_BYTES_MAX => {
                Some(Failure::new(Reason::InvalidMetadata, "the description is over 64 KiB"))
            }
            Ok(_) => None,
        };
        match refusal {
            None => description.agents.push(agent),
            Some(failure) => description.failures.push(roost_protocol::ClassFailure {
                class: agent.class,
                name: None,
                failure,
            }),
        }
    }
    description
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
