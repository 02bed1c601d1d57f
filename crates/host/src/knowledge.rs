//! Keeps what is known of one folder current: what is there, what it said, and what that makes of it.
//!
//! Each file counts as soon as it is described; none waits for another.

use crate::{
    book::Book,
    gate::Generation,
    program::{Runnables, Source, Workshop},
    roster::{FileState, LastReading, Roster},
    vault::VaultState,
};
use futures::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, Shared},
    stream::FuturesUnordered,
};
use roost_apps::{AgentFile, AgentsFolder, Content, Described, Description, Descriptions, Found, Trash};
use roost_protocol::{AgentDescription, AgentName, ClassFailure, Digest, Failure, FileKind, Reason};
use roost_runtime::{Afterwards, Runtime, runners_digest};
use serde_json::json;
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

/// Everything known of one agents folder.
pub(crate) struct Knowledge {
    pub(crate) folder: AgentsFolder,
    workshop: Arc<Workshop>,
    book: Arc<Book>,
    descriptions: Mutex<Descriptions>,
    /// State of the grants and of the vault at the last look: what failed for want of one may work with it.
    given_seen: Mutex<(Generation, VaultState)>,
    files: Mutex<BTreeMap<String, FileState>>,
    roster: RwLock<Arc<Roster>>,
    /// Held from the reading of files to the noting of what was read: an older look must not undo a newer one.
    looking: Mutex<()>,
    publishing: Mutex<()>,
    /// Held from the check that names are free to the listing of who took them.
    admitting: Mutex<()>,
    pub(crate) runnables: Runnables,
    /// Contents being loaded right now; whoever wants to know waits for the same answer.
    loading: Mutex<HashMap<Digest, Loading>>,
    load_permits: Semaphore,
}

type Loading = Shared<BoxFuture<'static, ()>>;

/// A content that loaded, on its way into the folder.
pub(crate) struct Admission<'a> {
    pub(crate) source: &'a Source,
    pub(crate) description: Description,
    pub(crate) trash: &'a Trash,
    pub(crate) time: &'a str,
}

impl Knowledge {
    /// What was known when the cache was last saved; looks at nothing yet.
    pub(crate) async fn open(
        workshop: Arc<Workshop>,
        book: Arc<Book>,
        folder: AgentsFolder,
        cache: &Path,
    ) -> Arc<Self> {
        let mut descriptions =
            Descriptions::open(&cache.join("descriptions.json"), &description_key(&workshop.runtime).await);
        // What the machine was short of then, or the agent was not given, says nothing about now.
        descriptions.forget(|described| {
            matches!(described, Described::Failed(failure)
                if matches!(failure.reason, Reason::StartFailed | Reason::Internal) || failed_for_want_of_rights(failure))
        });
        Arc::new(Self {
            folder,
            given_seen: Mutex::new(given(&workshop)),
            workshop,
            book,
            descriptions: Mutex::new(descriptions),
            files: Mutex::default(),
            roster: RwLock::default(),
            looking: Mutex::default(),
            publishing: Mutex::default(),
            admitting: Mutex::default(),
            runnables: Runnables::default(),
            loading: Mutex::default(),
            load_permits: Semaphore::new(LOADED_AT_ONCE),
        })
    }

    pub(crate) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets what files said, so that the next look asks all of them again.
    pub(crate) fn forget(&self) {
        lock(&self.descriptions).forget(|_| true);
    }

    /// The kept bytes of a version that worked.
    pub(crate) fn kept_source(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        lock(&self.descriptions).source(digest)
    }

    /// A file that failed for want of a right or a secret is asked again once something was granted or set.
    fn reconsider(&self) {
        let now = given(&self.workshop);
        let before = std::mem::replace(&mut *lock(&self.given_seen), now);
        if before != now {
            lock(&self.descriptions).forget(|described| {
                matches!(described, Described::Failed(failure) if failed_for_want_of_rights(failure))
            });
        }
    }

    /// Looks at one file only, so that a file that hangs while it loads cannot delay another's callers.
    pub(crate) async fn look_at(self: &Arc<Self>, file_name: &str) {
        self.reconsider();
        match self.read_and_note(file_name) {
            Some(file) if lock(&self.descriptions).described(&file.digest).is_none() => self.load(file).await,
            _ => self.publish(),
        }
    }

    fn read_and_note(&self, file_name: &str) -> Option<AgentFile> {
        let _one_at_a_time = lock(&self.looking);
        match self.folder.read(file_name) {
            Ok(file) => {
                let content = Ok(Content::Read(file.clone()));
                self.note(&Found { file_name: file_name.to_owned(), language: file.language, content });
                Some(file)
            }
            Err(failure) => {
                self.note_failure(file_name, failure);
                None
            }
        }
    }

    /// Looks at the whole folder and waits until every file is known.
    pub(crate) async fn refresh(self: &Arc<Self>, progress: &dyn Progress) -> Result<(), Failure> {
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
        self.reconsider();
        let pending = {
            let _one_at_a_time = lock(&self.looking);
            let found = self.folder.scan(|file_name| lock(&self.descriptions).seen(file_name))?;
            self.note_all(&found)
        };
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
            let described = match inner.loaded(&Source::from(&file)).await {
                Ok(description) => Described::Loaded(description),
                Err(failure) => Described::Failed(failure),
            };
            inner.note_in_book(&file, &described);
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

    /// Loads a content that is not in the folder; one without agents has failed.
    pub(crate) async fn try_out(&self, source: &Source) -> Result<Description, Failure> {
        let mut description = self.loaded(source).await?;
        if description.agents.is_empty() {
            let first = description.failures.drain(..).next().map(|class| class.failure);
            return Err(first.unwrap_or_else(|| Failure::plain(Reason::NoAgent)));
        }
        Ok(description)
    }

    /// Lets a content in that loaded, unless another file holds one of its names. Says where the content is kept that
    /// it replaced.
    pub(crate) fn admit(&self, admission: Admission<'_>) -> Result<Option<PathBuf>, Failure> {
        let Admission { source, description, trash, time } = admission;
        let _one_at_a_time = lock(&self.admitting);
        let roster = self.roster();
        for agent in &description.agents {
            let holder = roster.find(&agent.name).filter(|holder| holder.file_name != source.file_name);
            if let Some(holder) = holder {
                let message = format!("{} already has an agent {}", holder.file_name, agent.name);
                return Err(Failure::new(Reason::Shadowed, message));
            }
        }
        // Before the file is there: whoever sees it first need not load it again.
        lock(&self.descriptions).set_described(source.digest, Described::Loaded(description.clone()));
        let replaced = self.folder.put(&source.file_name, &source.bytes, trash, time)?;
        if let Some(file) = self.read_and_note(&source.file_name).filter(|file| file.digest == source.digest)
        {
            self.remember(&file, Described::Loaded(description));
            self.mark_shown(&file);
        }
        self.publish();
        self.save();
        Ok(replaced)
    }

    /// Takes over what a content said that is about to be in the folder, so that nobody loads it again.
    pub(crate) fn expect(&self, digest: Digest, description: Description) {
        lock(&self.descriptions).set_described(digest, Described::Loaded(description));
    }

    async fn loaded(&self, source: &Source) -> Result<Description, Failure> {
        let folder = self.folder.path().to_owned();
        let _permit = self.load_permits.acquire().await;
        let runnable = self.workshop.prepare(source.clone(), folder).await?;
        let loaded = runnable.agent.describe(Afterwards::Stop).await;
        let loaded = loaded.map_err(|failed| self.workshop.refused_to_load(failed, &runnable))?;
        self.workshop.record_refusals(&loaded, &runnable);
        let description = checked(loaded);
        Ok(if source.kind == FileKind::Service { without_reserved(description) } else { description })
    }

    fn note_in_book(&self, file: &AgentFile, described: &Described) {
        let detail = match described {
            Described::Loaded(description) => {
                let names: Vec<&str> = description.agents.iter().map(|agent| agent.name.as_str()).collect();
                json!({ "file": file.file_name, "digest": file.digest.short(), "agents": names })
            }
            Described::Failed(failure) => {
                json!({ "file": file.file_name, "reason": failure.reason, "error": failure.message })
            }
        };
        self.book.note("agent_loaded", detail);
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
        let last_good = self.last_good(&descriptions, &found.file_name);
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

    /// What the file holds is described now, unless it holds something else already. Each content is loaded once, for
    /// all files that hold it.
    fn mark_shown(&self, file: &AgentFile) {
        let descriptions = lock(&self.descriptions);
        for (file_name, state) in lock(&self.files).iter_mut() {
            if matches!(&state.content, Ok(reading) if reading.get().digest == file.digest) {
                state.shown = Some(file.digest);
            } else if *file_name != file.file_name {
                continue;
            }
            state.last_good = self.last_good(&descriptions, file_name);
        }
    }

    /// The last version of a file that loaded, unless the file must not hold it any more.
    fn last_good(&self, descriptions: &Descriptions, file_name: &str) -> Option<Digest> {
        descriptions.last_good(file_name).filter(|digest| self.folder.may_hold(file_name, *digest))
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
        // From the reading of the state to the writing of the roster: a slower publisher must not put back an
        // older one.
        let _one_at_a_time = lock(&self.publishing);
        let files = lock(&self.files).clone();
        let descriptions = lock(&self.descriptions);
        let described = |digest: &Digest| descriptions.described(digest);
        let roster = Roster::assemble(&self.folder, &files, &described, &self.workshop.settings.agents);
        drop(descriptions);
        self.runnables.retain_used(&roster);
        *self.roster.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roster);
    }
}

/// A worker's word is not trusted: names and sizes are checked again.
pub(crate) fn checked(loaded: roost_runtime::Loaded) -> Description {
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
            Some(failure) => {
                description.failures.push(ClassFailure { class: agent.class, name: None, failure })
            }
        }
    }
    description
}

/// Names below `/api/` that the host answers itself.
const RESERVED_NAMES: [&str; 5] = ["health", "trigger", "businessinsightbot_function", "binder", "workspace"];

/// The host keeps its own names, whatever a file says.
fn without_reserved(mut description: Description) -> Description {
    let (reserved, free) =
        description.agents.into_iter().partition(|one| RESERVED_NAMES.contains(&&*one.name));
    description.agents = free;
    let refuse = |one: AgentDescription| {
        let message = format!("`{}` belongs to the host: /api/{} is its own address", one.name, one.name);
        let failure = Failure::new(Reason::Shadowed, message).with_next("give the service another `name`");
        ClassFailure { class: one.class, name: Some(one.name), failure }
    };
    let reserved: Vec<AgentDescription> = reserved;
    description.failures.extend(reserved.into_iter().map(refuse));
    description
}

/// True for failures that another grant, policy or sandbox may mend.
fn failed_for_want_of_rights(failure: &Failure) -> bool {
    matches!(
        failure.reason,
        Reason::RightMissing
            | Reason::SandboxUnavailable
            | Reason::SandboxFailed
            | Reason::GrantsUnusable
            | Reason::AuditUnusable
            | Reason::DiskLimit
            | Reason::SecretMissing
            | Reason::VaultUnusable
    )
}

/// What agents were given so far.
fn given(workshop: &Workshop) -> (Generation, VaultState) {
    (workshop.gate.grants().generation(None), workshop.vault.generation())
}

/// What another runner or another interpreter would say about a file may differ.
async fn description_key(runtime: &Runtime) -> String {
    let python = runtime.python().await.map_or("none".to_owned(), |python| python.version.to_string());
    let engine = runtime.engine().await.map_or("none".to_owned(), |engine| engine.version);
    format!("{} python {python} typescript {engine}", runners_digest().short())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
