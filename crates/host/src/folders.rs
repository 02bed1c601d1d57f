//! Agents' folders: real directories whose files have a history.
//!
//! Before a call the folder holds the newest versions; after it, what the call changed has versions of its own. A folder
//! in which nothing changed is not looked at, and an agent that never used its folder costs a look at a number in memory.

mod name; // which workspace a folder belongs to
mod watching; // what changed, without looking
mod tree; // files below a folder, safely
mod content_type; // what a file is
mod known; // what both sides held
mod changes; // what is different in the folder
mod meeting; // both sides made the same
mod requests; // files that agents ask people for
mod plain_files; // files that people put there
mod opening; // folders as people look at them

pub(crate) use name::owner_of;
pub use opening::{AgentFolder, OpenedFolder};
pub(crate) use plain_files::FolderFiles;
pub use requests::FileRequest;
pub(crate) use requests::FileRequests;

use crate::{
    host::Host,
    perform::Request,
    program::Runnable,
    settings::Home,
    store::Store,
    vault::{ResolvedSecret, Vault},
};
use known::Known;
use meeting::{Left, Meeting, Parties};
use roost_protocol::{AgentName, Failure, FolderReport, Reason};
use roost_workspace::{Author, Owner, Redactions, Role, Writer};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::OwnedMutexGuard;
use watching::{Changed, Watching};

/// Rounds of one meeting: each write of another costs one, and so does each part of very many bytes.
const ROUNDS_MAX: usize = 32;

/// How long both sides are believed to be the same when nothing was heard: another node may have stored something.
const MET_FOR: Duration = Duration::from_millis(250);

/// The folders of one home.
pub(crate) struct Folders {
    workspaces: PathBuf,
    /// Where it is noted what both sides held.
    notes: PathBuf,
    watching: OnceLock<Option<Arc<Watching>>>,
    met: Mutex<HashMap<String, Arc<Folder>>>,
    /// How often a folder was looked at.
    looks: AtomicU64,
}

/// One folder.
struct Folder {
    path: PathBuf,
    note: PathBuf,
    owner: Owner,
    /// Set at first, because nobody knows.
    changed: Changed,
    /// False when changes are not heard, so that every call means a look.
    is_watched: AtomicBool,
    /// Calls that run.
    visits: AtomicUsize,
    /// Who changed it without a chance to say so.
    left_by: Mutex<Option<Author>>,
    /// How much was stored, and when, when both sides were last the same.
    met_at: Mutex<Option<(i64, Instant)>>,
    /// Held during a meeting.
    known: Arc<tokio::sync::Mutex<Option<Known>>>,
}

/// Who uses a folder.
pub(crate) struct Visitor {
    /// The app, the run and the agent, as histories show them.
    pub(crate) author: Author,
    /// Values that must not be kept.
    pub(crate) secrets: Arc<[ResolvedSecret]>,
}

impl Visitor {
    /// The agent of a call.
    pub(crate) fn of(runnable: &Runnable, name: &AgentName, request: &Request) -> Self {
        let author = Author {
            principal: runnable.standing.caller.app.to_string(),
            run: request.run.clone(),
            node: Some(name.as_str().to_owned()),
            reason: None,
        };
        Self { author, secrets: Arc::clone(&runnable.secrets) }
    }
}

/// One call that may use its folder.
#[must_use]
pub(crate) struct Visit<'a> {
    folders: &'a Folders,
    /// Absent when there are no workspaces.
    folder: Option<Arc<Folder>>,
    visitor: Visitor,
    report: FolderReport,
}

/// Which way things may go in a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Both,
    /// Somebody is at work in the folder; what is done there is left alone.
    IntoFolder,
}

impl Folders {
    pub(crate) fn new(home: &Home) -> Self {
        Self {
            workspaces: workspaces_of(home),
            notes: home.cache().join("folders"),
            watching: OnceLock::new(),
            met: Mutex::default(),
            looks: AtomicU64::new(0),
        }
    }

    /// Makes the folder hold the newest versions. What changed there since the last call is committed before. A call
    /// takes place whatever comes of it; its report says what did.
    pub(crate) async fn before(&self, store: &Arc<Store>, own_name: &str, visitor: Visitor) -> Visit<'_> {
        let mut visit = Visit { folders: self, folder: None, visitor, report: FolderReport::default() };
        if !store.has_workspaces() {
            return visit;
        }
        let folder = self.folder(own_name);
        let is_alone = folder.visits.fetch_add(1, Ordering::AcqRel) == 0;
        visit.folder = Some(Arc::clone(&folder));
        let direction = if is_alone { Direction::Both } else { Direction::IntoFolder };
        let secrets = Arc::clone(&visit.visitor.secrets);
        let writer = || writer_before(&folder, &secrets);
        let mut report = self.meet(store, &folder, direction, writer).await;
        // Who calls did not write these.
        report.committed.clear();
        visit.report = report;
        visit
    }

    /// Commits what the call changed.
    pub(crate) async fn after(&self, store: &Arc<Store>, mut visit: Visit<'_>) -> FolderReport {
        let mut report = std::mem::take(&mut visit.report);
        let Some(folder) = visit.folder.clone() else { return report };
        self.hear();
        if folder.may_have_changed() {
            let Visitor { author, secrets } = &visit.visitor;
            let writer =
                || Writer { author: author.clone(), role: Role::Agent, redactions: redactions(secrets) };
            report.add(self.meet(store, &folder, Direction::Both, writer).await);
        }
        // Only now: who gives up waiting leaves the rest to the next visit.
        visit.folder = None;
        folder.visits.fetch_sub(1, Ordering::AcqRel);
        report
    }

    /// Commits what changed in any folder while no host looked.
    async fn meet_all(&self, store: &Arc<Store>, secrets: &Arc<[ResolvedSecret]>) {
        let entries = std::fs::read_dir(&self.workspaces);
        let names =
            entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        for name in names {
            let folder = self.folder(&name);
            let is_used = folder.note.exists()
                || std::fs::read_dir(&folder.path).is_ok_and(|mut entries| entries.next().is_some());
            if is_used && folder.visits.load(Ordering::Acquire) == 0 {
                drop(self.meet(store, &folder, Direction::Both, || writer_before(&folder, secrets)).await);
            }
        }
    }

    /// Makes both sides the same where they may differ.
    async fn meet(
        &self,
        store: &Arc<Store>,
        folder: &Arc<Folder>,
        direction: Direction,
        writer: impl FnOnce() -> Writer,
    ) -> FolderReport {
        let known = Arc::clone(&folder.known).lock_owned().await;
        self.hear();
        let met = match self.is_to_meet(store, folder, direction, known.as_ref()).await {
            Ok(false) => return FolderReport::default(),
            Ok(true) => self.meet_now(store, folder, direction, writer(), known).await,
            Err(failure) => Err(failure),
        };
        let report = met.unwrap_or_else(|failure| {
            folder.changed.store(true, Ordering::Release);
            FolderReport { problem: Some(failure.message), ..FolderReport::default() }
        });
        folder.tell(&report);
        report
    }

    async fn is_to_meet(
        &self,
        store: &Store,
        folder: &Folder,
        direction: Direction,
        known: Option<&Known>,
    ) -> Result<bool, Failure> {
        let Some(known) = known else { return Ok(true) };
        if direction == Direction::Both && folder.may_have_changed() {
            return Ok(true);
        }
        if *known == Known::default() && !store.is_there() {
            return Ok(false);
        }
        let stored = store.database().await?.stored()?;
        if folder.is_surely_met(stored) {
            return Ok(false);
        }
        let sequence = store.workspaces().await?.sequence(&folder.owner).await;
        let is_other =
            sequence.map_err(|error| Failure::new(Reason::Internal, error.to_string()))? != known.sequence;
        if !is_other {
            *folder.met_at.lock().unwrap_or_else(PoisonError::into_inner) = Some((stored, Instant::now()));
        }
        Ok(is_other)
    }

    /// Runs to its end even when nobody waits for it any more: half a meeting would only be work for the next.
    async fn meet_now(
        &self,
        store: &Arc<Store>,
        folder: &Arc<Folder>,
        direction: Direction,
        writer: Writer,
        mut known: OwnedMutexGuard<Option<Known>>,
    ) -> Result<FolderReport, Failure> {
        let watching = self.watching().cloned();
        let is_to_look = direction == Direction::Both && (folder.may_have_changed() || watching.is_none());
        self.looks.fetch_add(u64::from(is_to_look), Ordering::Relaxed);
        // Before the look: what changes during it is another change.
        if direction == Direction::Both {
            folder.changed.store(false, Ordering::Release);
        }
        let (store, folder) = (Arc::clone(store), Arc::clone(folder));
        let runtime = tokio::runtime::Handle::current();
        let meeting = move || {
            let before = known.get_or_insert_with(|| Known::read(&folder.note));
            let mut now = before.clone();
            let met =
                runtime.block_on(folder.meet(&store, &mut now, &writer, direction, is_to_look, watching));
            if met.is_err() {
                folder.changed.store(true, Ordering::Release);
            }
            if now != *before {
                if let Err(error) = now.keep(&folder.note) {
                    tracing::warn!(%error, note = %folder.note.display(), "note what a folder holds");
                }
                *before = now;
            }
            met
        };
        let met = tokio::task::spawn_blocking(meeting).await;
        met.unwrap_or_else(|error| Err(Failure::new(Reason::Internal, error.to_string())))
    }

    fn folder(&self, own_name: &str) -> Arc<Folder> {
        let mut met = self.lock();
        if let Some(folder) = met.get(own_name) {
            return Arc::clone(folder);
        }
        let owner = name::owner_of(own_name);
        let folder = Arc::new(Folder {
            path: self.workspaces.join(own_name),
            note: self.notes.join(format!("{}.json", owner.workspace)),
            owner,
            changed: Arc::new(AtomicBool::new(true)),
            is_watched: AtomicBool::new(false),
            visits: AtomicUsize::new(0),
            left_by: Mutex::default(),
            met_at: Mutex::default(),
            known: Arc::default(),
        });
        met.insert(own_name.to_owned(), Arc::clone(&folder));
        folder
    }

    fn hear(&self) {
        if let Some(watching) = self.watching() {
            watching.take_in();
        }
    }

    fn watching(&self) -> Option<&Arc<Watching>> {
        let made = self.watching.get_or_init(|| {
            Watching::new()
                .inspect_err(|error| {
                    tracing::warn!(%error, "changes of agents' folders are not heard; they are looked at after every call");
                })
                .ok()
                .map(Arc::new)
        });
        made.as_ref()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Folder>>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folder {
    /// True when nothing was stored since both sides were the same, and that was a moment ago.
    fn is_surely_met(&self, stored: i64) -> bool {
        let met = *self.met_at.lock().unwrap_or_else(PoisonError::into_inner);
        met.is_some_and(|(then, at)| then == stored && at.elapsed() < MET_FOR)
    }

    fn may_have_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire) || !self.is_watched.load(Ordering::Acquire)
    }

    async fn meet(
        &self,
        store: &Store,
        known: &mut Known,
        writer: &Writer,
        direction: Direction,
        mut is_to_look: bool,
        watching: Option<Arc<Watching>>,
    ) -> Result<FolderReport, Failure> {
        let both = direction == Direction::Both;
        let watching = watching.as_deref().map(|watching| (watching, &self.changed));
        let parties =
            Parties { owner: &self.owner, path: &self.path, limits: store.limits(), writer, watching };
        let mut report = FolderReport::default();
        for _ in 0..ROUNDS_MAX {
            let (mut meeting, is_watched) = Meeting::begin(&parties, known, is_to_look)?;
            if is_to_look {
                self.is_watched.store(is_watched, Ordering::Release);
            }
            if meeting.is_unused() && !store.is_there() {
                meeting.tell_skipped();
                return Ok(meeting.end().0);
            }
            let workspaces = store.workspaces().await?;
            let sequence = workspaces.sequence(&self.owner).await;
            let sequence = sequence.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
            let base = meeting.pull(&workspaces, sequence, both).await?;
            meeting.commit(&workspaces, base).await?;
            let (round, left) = meeting.end();
            report.add(round);
            if left == Left::Nothing || !both {
                return Ok(report);
            }
            is_to_look = true;
        }
        self.changed.store(true, Ordering::Release);
        report.problem = Some("the folder changes faster than it can be compared".to_owned());
        Ok(report)
    }

    /// What a person should know of.
    fn tell(&self, report: &FolderReport) {
        let folder = self.path.display();
        for conflict in &report.conflicts {
            let (path, kept_as) = (&conflict.path, &conflict.kept_as);
            tracing::warn!(%folder, path, kept_as, "a file was changed in the folder and elsewhere; both are kept");
        }
        if let Some(skipped) = report.skipped.first() {
            let count = report.skipped.len();
            tracing::warn!(%folder, path = skipped.path, why = skipped.why, count, more = report.more, "not kept");
        }
        if let Some(problem) = &report.problem {
            tracing::error!(%folder, problem, "compare an agent's folder with its history");
        }
    }

    fn left_by(&self) -> MutexGuard<'_, Option<Author>> {
        self.left_by.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visit<'_> {
    /// A call that was given up changed something too.
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        folder.visits.fetch_sub(1, Ordering::AcqRel);
        self.folders.hear();
        if folder.changed.load(Ordering::Acquire) {
            let reason = Some("the call did not end".to_owned());
            *folder.left_by() = Some(Author { reason, ..self.visitor.author.clone() });
        }
    }
}

/// Who is said to have changed what nobody said to have changed.
fn writer_before(folder: &Folder, secrets: &[ResolvedSecret]) -> Writer {
    let redactions = redactions(secrets);
    match folder.left_by().take() {
        Some(author) => Writer { author, role: Role::Agent, redactions },
        None => Writer { redactions, ..Writer::person("owner").because("changed on disk") },
    }
}

fn redactions(secrets: &[ResolvedSecret]) -> Arc<Redactions> {
    let values = secrets.iter().map(|secret| (secret.name.as_str(), secret.value.expose()));
    Arc::new(Redactions::new(values))
}

/// Where the folders are.
fn workspaces_of(home: &Home) -> PathBuf {
    home.data().join("workspaces")
}

impl Host {
    /// Commits what changed in agents' folders while no host was there to see it.
    pub async fn meet_folders(&self) {
        let secrets = all_secrets(&self.inner.workshop().vault).await;
        self.inner.folders.meet_all(&self.inner.store, &secrets).await;
    }

    /// Files that agents ask people for.
    pub fn file_requests(&self) -> Result<Vec<FileRequest>, Failure> {
        self.inner.workshop().calls.file_requests.list()
    }

    /// Takes a request of an agent off the list.
    pub fn dismiss_file_request(&self, id: &str) -> Result<(), Failure> {
        self.inner.workshop().calls.file_requests.dismiss(id)
    }
}

/// Every value there is: who wrote what was left in a folder is not known.
async fn all_secrets(vault: &Vault) -> Arc<[ResolvedSecret]> {
    let names = vault.list().await.ok().flatten().map(|(_, names)| names).unwrap_or_default();
    let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
    vault.resolve(&names).await.map(|resolved| resolved.secrets.into()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
