//! Sources: agents that come from elsewhere, brought on request, pinned by their digests, and loaded beside the home's own.
//!
//! Nothing is brought unless a person asks: a source is what it was at its last sync. Its files are another's work, so
//! that the gate treats them as it treats what a catalog brings.

mod address; // where agents come from
mod git; // reading a repository
mod manifest; // what was brought
mod store; // whole or not at all

pub use self::address::{NewSource, SourceKind};

use self::{
    address::{Address, is_id},
    git::{Fetched, Git},
    manifest::Manifest,
    store::{Steps, Store},
};
use crate::{
    host::{Host, Inner},
    knowledge::{Knowledge, NoProgress},
};
use roost_apps::{AgentsFolder, Content, Pins};
use roost_protocol::{AgentListing, AgentState, Digest, Failure, Reason};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, io, path::PathBuf, sync::Arc};
use tokio::sync::OwnedMutexGuard;

/// Most agent files of one source: the whole registry has fewer.
const FILES_MAX: usize = 500;

/// One connected source, as every surface lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceListing {
    /// Its name here.
    pub id: String,
    /// Where it is.
    pub url: String,
    /// What kind of place that is; absent when its manifest cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SourceKind>,
    /// The branch, tag or commit that was asked for.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The commit its files are of.
    pub commit: Option<String>,
    /// The folder that was asked for.
    pub folder: Option<String>,
    /// Its agents that can be called.
    pub agents: Vec<String>,
    /// The files it brought.
    pub files: Vec<String>,
    /// `ready`, or `failed` when what it brought is not what lies there.
    pub state: AgentState,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
    /// When it was brought, UTC.
    pub synced_at: Option<String>,
}

/// What adding or syncing a source changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceChange {
    /// The source as it is now.
    pub repo: SourceListing,
    /// The commit before.
    pub commit_before: Option<String>,
    /// New files.
    pub added: Vec<String>,
    /// Files with other content than before; what was granted to them is asked anew.
    pub changed: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
}

impl Host {
    /// Every connected source.
    pub async fn sources(&self) -> Result<Vec<SourceListing>, Failure> {
        self.inner.agents.refresh(&NoProgress).await?;
        let agents = self.inner.agents.listings();
        let listed = self.inner.store().list();
        Ok(listed.into_iter().map(|(id, manifest)| listing(id, manifest, &agents)).collect())
    }

    /// Connects a source and brings its agents.
    pub async fn add_source(&self, asked: &NewSource) -> Result<SourceChange, Failure> {
        let turn = self.turn().await;
        let address = Address::parse(asked, self.home().root())?;
        if self.inner.store().path(&address.id).exists() {
            let message = format!("the source is already connected as {}", address.id);
            return Err(Failure::new(Reason::AlreadyExists, message)
                .with_next(format!("roost repos sync {}", address.id)));
        }
        self.bring(&address, None, turn).await
    }

    /// Brings what a source has now.
    pub async fn sync_source(&self, id: &str) -> Result<SourceChange, Failure> {
        let turn = self.turn().await;
        let before = self.inner.manifest(id)?;
        let address = Address::parse(&before.asked, self.home().root())?;
        self.bring(&Address { id: before.id.clone(), ..address }, Some(&before), turn).await
    }

    /// Forgets a source and removes what it brought.
    pub async fn remove_source(&self, id: &str) -> Result<(), Failure> {
        let turn = self.turn().await;
        let store = self.inner.store();
        if !is_id(id) || !store.path(id).is_dir() {
            return Err(unknown(id));
        }
        let (inner, id) = (Arc::clone(&self.inner), id.to_owned());
        to_its_end(async move {
            let _turn = turn;
            let removed = id.clone();
            on_disk(move || store.remove(&removed, &Steps::all())).await?;
            inner.open_sources().await;
            fs::remove_dir_all(inner.cache_of(&id)).ok();
            Ok(())
        })
        .await
    }

    /// Sources are changed one at a time.
    async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.inner.changing_sources).lock_owned().await
    }

    /// Where the file of an agent lies.
    #[must_use]
    pub fn path_of(&self, agent: &AgentListing) -> PathBuf {
        let folder = agent.source.as_ref().map(|id| self.inner.store().path(id));
        folder.unwrap_or_else(|| self.home().agents().to_owned()).join(&agent.file)
    }

    async fn bring(
        &self,
        address: &Address,
        before: Option<&Manifest>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<SourceChange, Failure> {
        let (commit, files) = self.inner.read_from(address).await?;
        if files.is_empty() {
            let message = format!("there are no agent files in {}", address.asked.url);
            return Err(Failure::new(Reason::SourceUnavailable, message)
                .with_next("name the folder that has them with `--folder`"));
        }
        let whole = (address.id.clone(), address.kind, address.asked.clone());
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let manifest = Manifest::new(whole, commit, now, &files);
        let (inner, store, put) = (Arc::clone(&self.inner), self.inner.store(), manifest.clone());
        let repo = to_its_end(async move {
            let _turn = turn;
            let manifest = put.clone();
            on_disk(move || store.put(&put, &files, &Steps::all())).await?;
            inner.open_sources().await;
            // It is there now: what can still fail is an agent of it, and then the listing says so.
            if let Some(knowledge) = inner.agents.source(&manifest.id)
                && let Err(failure) = knowledge.refresh(&NoProgress).await
            {
                tracing::warn!(%failure, id = manifest.id, "look at what a source brought");
            }
            Ok(listing(manifest.id.clone(), Ok(manifest), &inner.agents.listings()))
        })
        .await?;
        Ok(change(repo, &manifest, before))
    }
}

/// What is different from before.
fn change(repo: SourceListing, now: &Manifest, before: Option<&Manifest>) -> SourceChange {
    let none = BTreeMap::new();
    let old = before.map_or(&none, |before| &before.files);
    let names = |files: &BTreeMap<String, Digest>, wanted: &dyn Fn(&str, &Digest) -> bool| -> Vec<String> {
        let wanted = files.iter().filter(|(name, digest)| wanted(name, digest));
        wanted.map(|(name, _)| name.clone()).collect()
    };
    SourceChange {
        repo,
        commit_before: before.and_then(|before| before.commit.clone()),
        added: names(&now.files, &|name, _| !old.contains_key(name)),
        changed: names(&now.files, &|name, digest| old.get(name).is_some_and(|before| before != digest)),
        removed: names(old, &|name, _| !now.files.contains_key(name)),
    }
}

/// Lets a change come to its end whether or not anybody still waits for it: the disk and what is known of it must agree.
async fn to_its_end<T: Send + 'static>(
    change: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    tokio::spawn(change).await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
}

/// Writing and syncing many files keeps a thread for long.
async fn on_disk(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<(), Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?.map_err(unusable)
}

impl Inner {
    fn store(&self) -> Store {
        Store::new(self.settings.home.sources())
    }

    fn cache_of(&self, id: &str) -> PathBuf {
        self.settings.home.cache().join("connected").join(id)
    }

    fn manifest(&self, id: &str) -> Result<Manifest, Failure> {
        if !is_id(id) {
            return Err(unknown(id));
        }
        Manifest::read(&self.store().path(id)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unknown(id),
            _ => unreadable_manifest(&error, id),
        })
    }

    /// Puts what lies in the folder of sources beside the home's own agents. What did not change stays as it is known.
    pub(crate) async fn open_sources(&self) {
        let store = self.store();
        store.clean();
        let mut opened = Vec::new();
        for (id, manifest) in store.list() {
            let manifest = match manifest {
                Ok(manifest) => manifest,
                Err(error) => {
                    tracing::warn!(%error, id, "a source cannot be used");
                    continue;
                }
            };
            let known = self.agents.source(&id);
            let pins = Pins { source: id.clone(), digests: manifest.files };
            match known.filter(|knowledge| knowledge.folder.pins() == Some(&pins)) {
                Some(knowledge) => opened.push(knowledge),
                None => {
                    let folder = AgentsFolder::pinned(store.path(&id), pins);
                    let workshop = Arc::clone(self.workshop());
                    let book = Arc::clone(&self.book);
                    opened.push(Knowledge::open(workshop, book, folder, &self.cache_of(&id)).await);
                }
            }
        }
        self.agents.set_sources(opened);
    }

    /// The agent files that are there now, with the commit they are of. Leaves nothing behind.
    async fn read_from(
        &self,
        address: &Address,
    ) -> Result<(Option<String>, BTreeMap<String, Vec<u8>>), Failure> {
        if address.kind == SourceKind::Folder {
            return read_folder(&address.local_folder()).map(|files| (None, files));
        }
        let staging = self.store().staging().map_err(unusable)?;
        let repository = staging.path().join("repository");
        let git = Git::new(&self.settings.surface, &repository)?;
        let Fetched { commit, files } = git.fetch(&address.asked, FILES_MAX).await?;
        Ok((Some(commit), files))
    }
}

/// The agent files of a folder of this machine; links are not followed.
fn read_folder(folder: &std::path::Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let unavailable = |message: String| Failure::new(Reason::SourceUnavailable, message);
    if !folder.is_dir() {
        return Err(unavailable(format!("{} is not a folder", folder.display())));
    }
    let found = AgentsFolder::new(folder).scan(|_| None);
    let found = found.map_err(|failure| unavailable(format!("{}: {}", folder.display(), failure.message)))?;
    let mut files = BTreeMap::new();
    for found in found.into_iter().filter(|found| git::is_agent_name(&found.file_name)) {
        let is_link = folder.join(&found.file_name).symlink_metadata().is_ok_and(|found| found.is_symlink());
        match found.content {
            Ok(Content::Read(file)) if !is_link => {
                files.insert(found.file_name, file.bytes.to_vec());
            }
            _ => tracing::info!(file = found.file_name, "not taken from a source"),
        }
        if files.len() > FILES_MAX {
            return Err(unavailable(format!("the source has more than {FILES_MAX} agent files")));
        }
    }
    Ok(files)
}

fn listing(id: String, manifest: io::Result<Manifest>, agents: &[AgentListing]) -> SourceListing {
    let of_source: Vec<&AgentListing> =
        agents.iter().filter(|agent| agent.source.as_deref() == Some(&id)).collect();
    let names = of_source.iter().filter(|agent| agent.serving.is_some()).map(|agent| agent.name.clone());
    let tampered = of_source.iter().filter_map(|agent| agent.reason.clone());
    let tampered = tampered.into_iter().find(|failure| failure.reason == Reason::DigestMismatch);
    let (manifest, broken) = match manifest {
        Ok(manifest) => (Some(manifest), None),
        Err(error) => (None, Some(unreadable_manifest(&error, &id))),
    };
    let reason = broken.or(tampered);
    let asked = manifest.as_ref().map(|manifest| manifest.asked.clone()).unwrap_or_default();
    SourceListing {
        agents: names.collect(),
        id,
        url: asked.url,
        kind: manifest.as_ref().map(|manifest| manifest.kind),
        reference: asked.reference,
        commit: manifest.as_ref().and_then(|manifest| manifest.commit.clone()),
        folder: asked.folder,
        files: manifest.iter().flat_map(|manifest| manifest.files.keys().cloned()).collect(),
        state: if reason.is_some() { AgentState::Failed } else { AgentState::Ready },
        reason,
        synced_at: manifest.map(|manifest| manifest.synced_at),
    }
}

fn unknown(id: &str) -> Failure {
    Failure::new(Reason::UnknownSource, format!("there is no source `{id}`"))
}

fn unusable(error: io::Error) -> Failure {
    Failure::new(Reason::HomeUnusable, format!("the folder of sources: {error}"))
}

fn unreadable_manifest(error: &io::Error, id: &str) -> Failure {
    Failure::new(Reason::SourceUnavailable, format!("its manifest cannot be used: {error}"))
        .with_next(format!("roost repos remove {id}, and add it again"))
}
