//! All catalogs of one home: which there are, what each was when it was last fetched, and bringing them up to date.
//!
//! A source that fails keeps what it had and says why it failed; the others are not touched by it.

use super::{
    CATALOG_BYTES_MAX, Catalog,
    joined::JoinedCatalogs,
    kept::{Head, Kept, KeptCatalog},
    places::Places,
    source_list::{CatalogAddress, CatalogSource, NamedSources, Position, SourceList},
    web::{Arrived, Content, Wanted, Web},
    web_address::Reach,
};
use crate::stamp::Stamp;
use roost_protocol::{Digest, Failure, Reason};
use serde::Serialize;
use std::{
    collections::HashMap,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// After a failed attempt nobody who only wants to search waits for another one: it would fail again, and slowly.
const ATTEMPT_AGAIN_AFTER: Duration = Duration::from_secs(300);

/// How new a catalog must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Whatever was kept; nothing is fetched.
    Kept,
    /// Fetched within this time, where that did not fail a moment ago.
    AtMost(Duration),
    /// Fetched now.
    Now,
}

/// How a source stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    /// Its catalog is there.
    Ready,
    /// Its catalog is there from before; the last attempt to fetch it failed.
    Stale,
    /// It has no catalog, and there is a reason.
    Failed,
    /// Nobody fetched it yet.
    Unfetched,
}

/// One source with what is known of it.
#[derive(Debug, Clone)]
pub struct LoadedSource {
    /// The source.
    pub source: CatalogSource,
    /// Its catalog.
    pub catalog: Option<Arc<Catalog>>,
    /// When it was fetched; nothing for a folder, which is always read as it is.
    pub fetched_at: Option<SystemTime>,
    /// Why it could not be read or fetched the last time.
    pub failure: Option<Failure>,
}

impl LoadedSource {
    /// How it stands.
    #[must_use]
    pub fn state(&self) -> SourceState {
        match (&self.catalog, &self.failure) {
            (Some(_), None) => SourceState::Ready,
            (Some(_), Some(_)) => SourceState::Stale,
            (None, Some(_)) => SourceState::Failed,
            (None, None) => SourceState::Unfetched,
        }
    }
}

/// A catalog that was read, and the state of its file then.
#[derive(Debug, Clone)]
struct Parsed {
    stamp: Stamp,
    read_at: SystemTime,
    catalog: Arc<Catalog>,
    fetched_at: Option<SystemTime>,
}

/// The catalogs of one home. Owns one folder of it; nobody else opens files there.
#[derive(Debug)]
pub struct Catalogs {
    list: SourceList,
    kept: Kept,
    places: Places,
    parsed: Mutex<HashMap<PathBuf, Parsed>>,
}

impl Catalogs {
    /// The catalogs kept in this folder. `named` are other addresses for those that are published.
    pub fn new(folder: PathBuf, places: Places, named: NamedSources<'_>) -> Result<Self, Failure> {
        let list = SourceList::new(folder.clone(), places.clone(), named)?;
        Ok(Self { list, kept: Kept::new(folder), places, parsed: Mutex::default() })
    }

    /// Every source, the first first.
    pub fn sources(&self) -> Result<Vec<CatalogSource>, Failure> {
        self.list.read()
    }

    /// Adds a source. It is fetched when it is used.
    pub fn add(
        &self,
        address: &str,
        name: Option<&str>,
        position: Position,
    ) -> Result<CatalogSource, Failure> {
        self.list.add(CatalogAddress::parse(address, &self.places)?, name, position)
    }

    /// Forgets a source and what was kept of it.
    pub fn remove(&self, id: &str) -> Result<(), Failure> {
        self.list.remove(id)?;
        self.kept.forget(id);
        Ok(())
    }

    /// The sources that have to be fetched to be this new.
    pub fn outdated(&self, freshness: Freshness) -> Result<Vec<CatalogSource>, Failure> {
        let mut sources = self.list.read()?;
        sources.retain(|source| match (&source.address, freshness) {
            (CatalogAddress::Folder(_), _) | (_, Freshness::Kept) => false,
            (CatalogAddress::Url(_), Freshness::Now) => true,
            (CatalogAddress::Url(_), Freshness::AtMost(age)) => {
                let fetched = self.load(source).fetched_at;
                // A clock that was set back makes everything old.
                !self.kept.failed_within(source, ATTEMPT_AGAIN_AFTER)
                    && !fetched
                        .is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|old| old < age))
            }
        });
        Ok(sources)
    }

    /// Fetches one source. When that fails, what was kept of it stays, and the reason is kept beside it.
    pub async fn fetch(&self, web: &Web, source: &CatalogSource) -> Result<(), Failure> {
        let fetched = self.bring(web, source).await;
        if let Err(failure) = &fetched
            && let Err(error) = self.kept.write_failure(source, failure)
        {
            tracing::warn!(%error, source = source.id, "keep why a catalog could not be fetched");
        }
        fetched
    }

    /// All catalogs as they are kept, joined. Fetches nothing.
    pub fn joined(&self) -> Result<JoinedCatalogs, Failure> {
        Ok(JoinedCatalogs::new(self.list.read()?.iter().map(|source| self.load(source)).collect()))
    }

    async fn bring(&self, web: &Web, source: &CatalogSource) -> Result<(), Failure> {
        let CatalogAddress::Url(url) = &source.address else { return Ok(()) };
        let before = self.kept.read(source);
        let what = format!("the catalog {}", source.id);
        let wanted = Wanted {
            what: &what,
            url,
            // Whoever added it meant it.
            reach: Reach::Anywhere,
            content: Content::Json,
            bytes_max: CATALOG_BYTES_MAX,
            guarded: None,
            etag: before.as_ref().and_then(|before| before.head.etag.as_deref()),
        };
        let arrived = web.get(&wanted).await?;
        let fetched_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let kept = match (arrived, before) {
            (Arrived::Unchanged, Some(before)) => {
                KeptCatalog { head: Head { fetched_at, ..before.head }, bytes: before.bytes }
            }
            (Arrived::Unchanged, None) => {
                return Err(Failure::new(
                    Reason::FetchGarbled,
                    format!("{what}: answered that nothing changed"),
                ));
            }
            (Arrived::Body { bytes, etag }, before) => {
                let named =
                    |failure: Failure| Failure { message: format!("{what}: {}", failure.message), ..failure };
                let catalog = Catalog::parse(&bytes).map_err(named)?;
                refuse_older(&what, &source.id, &catalog, before)?;
                KeptCatalog { head: Head { fetched_at, etag, digest: Digest::of(&bytes) }, bytes }
            }
        };
        let path = self.kept.path(source);
        let unwritable = |error| Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()));
        self.kept.write(source, &kept).map_err(unwritable)
    }

    /// One source as it is kept or lies there.
    fn load(&self, source: &CatalogSource) -> LoadedSource {
        let loaded = |catalog, fetched_at, failure| LoadedSource {
            source: source.clone(),
            catalog,
            fetched_at,
            failure,
        };
        let path = match &source.address {
            CatalogAddress::Url(_) => self.kept.path(source),
            CatalogAddress::Folder(folder) => folder.join("index.json"),
        };
        let failure = match &source.address {
            CatalogAddress::Url(_) => self.kept.failure(source),
            CatalogAddress::Folder(_) => None,
        };
        let read_at = SystemTime::now();
        let stamp = Stamp::of(&path).ok();
        if let Some(parsed) = stamp.and_then(|stamp| self.remembered(&path, &stamp)) {
            return loaded(Some(parsed.catalog), parsed.fetched_at, failure);
        }
        let (bytes, fetched_at) = match &source.address {
            CatalogAddress::Folder(_) => match read_whole(&path) {
                Ok(bytes) => (bytes, None),
                Err(failure) => return loaded(None, None, Some(failure)),
            },
            CatalogAddress::Url(_) => match self.kept.read(source) {
                Some(kept) => (kept.bytes, Some(UNIX_EPOCH + Duration::from_secs(kept.head.fetched_at))),
                None => return loaded(None, None, failure),
            },
        };
        match Catalog::parse(&bytes) {
            Ok(catalog) => {
                let catalog = Arc::new(catalog);
                if let Some(stamp) = stamp {
                    let parsed = Parsed { stamp, read_at, catalog: Arc::clone(&catalog), fetched_at };
                    self.parsed.lock().unwrap_or_else(PoisonError::into_inner).insert(path, parsed);
                }
                loaded(Some(catalog), fetched_at, failure)
            }
            Err(wrong) => {
                let message = format!("{}: {}", source.address, wrong.message);
                loaded(None, fetched_at, Some(Failure { message, ..wrong }))
            }
        }
    }

    fn remembered(&self, path: &Path, stamp: &Stamp) -> Option<Parsed> {
        let parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner).get(path)?.clone();
        (parsed.stamp == *stamp && parsed.stamp.is_settled(parsed.read_at)).then_some(parsed)
    }
}

/// A catalog that is older than what was seen before is not taken: somebody may want old versions to be installed.
fn refuse_older(what: &str, id: &str, new: &Catalog, before: Option<KeptCatalog>) -> Result<(), Failure> {
    let is_moment = |text: &String| text.len() == 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    let before = before.and_then(|before| Catalog::parse(&before.bytes).ok()?.generated_at).filter(is_moment);
    match (before, new.generated_at.clone().filter(is_moment)) {
        (Some(before), Some(now)) if now < before => {
            let message =
                format!("{what}: it was made {now}, before the one of {before} that was fetched already");
            Err(Failure::new(Reason::CatalogInvalid, message).with_next(format!(
                "ask who runs the catalog; if it is meant, `roost store remove {id}` and add it again"
            )))
        }
        _ => Ok(()),
    }
}

fn read_whole(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable =
        |why: String| Failure::new(Reason::CatalogUnavailable, format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(unreadable("not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(CATALOG_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(error.to_string()))?;
    Ok(bytes)
}
