//! From an entry to its bytes: every file is fetched and checked before any of them is given to anybody.
//!
//! Public files come from the catalog's own addresses, federated ones from one commit of their repository, private ones
//! with a token that goes to that repository only and is dropped at the end of the fetch.

use super::{
    entry::{Access, AvailableVersion, Entry, EntryKind, FederationSource, is_commit},
    fetched::{FetchOrigin, FetchedApp, FetchedFile, FetchedSense, LeftOut},
    file_name::FileName,
    gated::{self, Opened},
    joined::{Offer, SenseOffer},
    location::{self, Location},
    part::{Part, PartKind},
    places::Places,
    token::TokenSources,
    web::{Arrived, Content, Guarded, Wanted, Web},
    web_address::{self, Reach},
};
use roost_protocol::{Digest, Failure, Reason};
use std::sync::Arc;

/// Fetches apps. Clones share connections.
#[derive(Debug, Clone)]
pub struct Fetcher {
    pub(super) web: Web,
    pub(super) places: Places,
}

/// What was decided about an entry before its first file is fetched.
struct Plan<'a> {
    offer: &'a Offer,
    /// An older version, if one was asked for.
    older: Option<&'a AvailableVersion>,
    /// The commit that federated files come from.
    commit: Option<String>,
    opened: Option<Opened>,
}

impl Fetcher {
    /// Fetches over this, with repositories at these places.
    #[must_use]
    pub fn new(web: Web, places: Places) -> Self {
        Self { web, places }
    }

    /// Fetches every file of an entry, in the current version or another one it offers. `tokens` are looked at only
    /// when the entry is private.
    pub async fn fetch_entry(
        &self,
        offer: &Offer,
        version: Option<&str>,
        tokens: TokenSources,
    ) -> Result<FetchedApp, Failure> {
        let entry = &offer.entry;
        let older = older_version(entry, version)?;
        if entry.part(PartKind::Agent).is_none() && entry.part(PartKind::Service).is_none() {
            let message = format!("{}: it has neither an agent nor a service to install", entry.full_name());
            return Err(Failure::new(Reason::EntryInvalid, message));
        }
        let opened = gated::open(entry, &self.places, tokens)?;
        let commit = match (&entry.source, &opened) {
            (Some(source), None) => Some(self.commit_of_source(entry, source).await?),
            _ => None,
        };
        let plan = Plan { offer, older, commit, opened };
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for part in &entry.parts {
            match self.fetch_part(&plan, part).await {
                Ok(file) => files.push(file),
                // State to begin with, which catalogs are known to describe wrongly: the app works without it.
                Err(reason) if part.kind == PartKind::Egg => {
                    left_out.push(LeftOut { kind: part.kind, reason })
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(FetchedApp {
            id: entry.id.clone(),
            publisher: entry.publisher.clone(),
            version: Some(older.map_or_else(|| entry.version.clone(), |older| older.version.clone())),
            origin: plan.origin(),
            entry: Some(Arc::clone(entry)),
            files,
            left_out,
        })
    }

    /// Fetches the file of a sense.
    pub async fn fetch_sense(&self, offer: &SenseOffer) -> Result<FetchedSense, Failure> {
        let sense = &offer.sense;
        let what = format!("the sense {}", sense.full_name());
        let location =
            Location::seen_from(&offer.source.address, &sense.full_name(), &sense.url, &self.places)?;
        let bytes = self.bytes_at(&what, location, PartKind::Agent, None).await?;
        check_digest(&what, &bytes, sense.sha256, EntryKind::App)?;
        Ok(FetchedSense { sense: Arc::clone(sense), bytes })
    }

    /// Fetches one agent file from an address.
    pub async fn fetch_file(&self, url: &str) -> Result<FetchedApp, Failure> {
        let url = self.places.here(url.trim());
        let name = super::part::last_segment(&url);
        let file_name = FileName::parse(name).map_err(|_| {
            let message = format!(
                "the address does not end with the name of a file: {}",
                web_address::shown_text(&url)
            );
            Failure::new(Reason::AddressRefused, message)
        })?;
        let wanted = Wanted {
            what: "the agent",
            url: &url,
            reach: Reach::Anywhere,
            content: Content::Code,
            bytes_max: PartKind::Agent.bytes_max(),
            guarded: None,
            etag: None,
        };
        let bytes = self.bytes(&wanted).await?;
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let shown = web_address::shown_text(&url);
        Ok(FetchedApp {
            id: stem.to_owned(),
            publisher: None,
            version: None,
            origin: FetchOrigin::File { url: shown.clone() },
            entry: None,
            files: vec![FetchedFile {
                kind: PartKind::Agent,
                file_name,
                url: shown,
                digest: Digest::of(&bytes),
                bytes,
                is_verified: false,
            }],
            left_out: Vec::new(),
        })
    }

    /// Fetches an archive from an address, at most as large as a bundle may be.
    pub async fn fetch_archive(&self, url: &str) -> Result<Vec<u8>, Failure> {
        let url = self.places.here(url.trim());
        let wanted = Wanted {
            what: "the archive",
            url: &url,
            reach: Reach::Anywhere,
            content: Content::Archive,
            bytes_max: PartKind::Egg.bytes_max(),
            guarded: None,
            etag: None,
        };
        self.bytes(&wanted).await
    }

    /// Asks for every file of a gated entry without a token, as a store must before it lists one: each has to be
    /// answered with 404.
    pub async fn probe_gate(&self, entry: &Entry) -> Result<(), Failure> {
        gated::check(entry, &self.places)?;
        for part in &entry.parts {
            let what = format!("the {} of {}", part.kind.word(), entry.full_name());
            self.probe_address(&what, &part.url).await?;
        }
        Ok(())
    }

    /// Asks for one address without a token: it has to be answered with 404.
    pub async fn probe_address(&self, what: &str, url: &str) -> Result<(), Failure> {
        let what = format!("{what}, asked for without a token");
        let url = self.places.here(url);
        let wanted = Wanted {
            what: &what,
            url: &url,
            reach: self.places.reach_of(&url, Reach::Elsewhere),
            content: Content::Page,
            bytes_max: PartKind::Page.bytes_max(),
            guarded: None,
            etag: None,
        };
        match self.web.get(&wanted).await {
            Err(failure) if failure.reason == Reason::FetchMissing => Ok(()),
            // A body that is refused for its form was given all the same.
            Err(failure) if !matches!(failure.reason, Reason::FetchTooLarge | Reason::FetchGarbled) => {
                Err(failure)
            }
            Ok(_) | Err(_) => {
                Err(Failure::new(Reason::GatedOpen, format!("{what}: was answered, instead of with 404")))
            }
        }
    }

    async fn fetch_part(&self, plan: &Plan<'_>, part: &Part) -> Result<FetchedFile, Failure> {
        let entry = &plan.offer.entry;
        let expected = match plan.older {
            None => part.sha256,
            Some(older) => older.sha256.get(&part.kind).copied(),
        };
        let what = format!("the {} of {}", part.kind.word(), entry.full_name());
        if plan.opened.is_some() && expected.is_none() {
            let message = format!("{what}: it is private and the catalog has no digest of this version");
            return Err(Failure::new(Reason::EntryInvalid, message));
        }
        let candidates = match plan.older {
            None => vec![part.url.clone()],
            Some(older) => location::archived(&part.url, &entry.id, &older.version),
        };
        let mut missing = None;
        for url in candidates {
            let url = match (&plan.commit, &entry.source) {
                (Some(commit), Some(source)) => self.at_commit(entry, source, &url, commit)?,
                _ => url,
            };
            match self.fetch_from(plan, part, &what, &url).await {
                Err(failure) if failure.reason == Reason::FetchMissing => missing = Some(failure),
                Err(failure) => return Err(plan.told(failure)),
                Ok(bytes) => {
                    let digest = check_digest(&what, &bytes, expected, entry.kind)?;
                    let (kind, file_name) = (part.kind, part.file_name.clone());
                    let url = web_address::shown_text(&url);
                    return Ok(FetchedFile {
                        kind,
                        file_name,
                        url,
                        bytes,
                        digest,
                        is_verified: expected.is_some(),
                    });
                }
            }
        }
        let missing = missing.unwrap_or_else(|| Failure::new(Reason::FetchMissing, what));
        Err(plan.told(missing))
    }

    async fn fetch_from(
        &self,
        plan: &Plan<'_>,
        part: &Part,
        what: &str,
        url: &str,
    ) -> Result<Vec<u8>, Failure> {
        let location = Location::of(&plan.offer.entry, url, &plan.offer.source.address, &self.places)?;
        let guarded = plan.opened.as_ref();
        let guarded = guarded.map(|opened| Guarded { token: &opened.found.token, prefix: &opened.prefix });
        self.bytes_at(what, location, part.kind, guarded).await
    }

    async fn bytes_at(
        &self,
        what: &str,
        location: Location,
        kind: PartKind,
        guarded: Option<Guarded<'_>>,
    ) -> Result<Vec<u8>, Failure> {
        match location {
            Location::File { folder, path } => {
                let (what, bytes_max) = (what.to_owned(), kind.bytes_max());
                let read = move || location::read_below(&what, &folder, &path, bytes_max);
                let read = tokio::task::spawn_blocking(read).await;
                read.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
            }
            Location::Web { url, reach } => {
                let wanted = Wanted {
                    what,
                    url: &url,
                    reach,
                    content: content_of(kind),
                    bytes_max: kind.bytes_max(),
                    guarded,
                    etag: None,
                };
                self.bytes(&wanted).await
            }
        }
    }

    pub(super) async fn bytes(&self, wanted: &Wanted<'_>) -> Result<Vec<u8>, Failure> {
        match self.web.get(wanted).await? {
            Arrived::Body { bytes, .. } => Ok(bytes),
            Arrived::Unchanged => Err(Failure::new(
                Reason::FetchGarbled,
                format!("{}: answered that nothing changed", wanted.what),
            )),
        }
    }

    /// The commit that a catalog vouches for, else the one its branch has now.
    async fn commit_of_source(&self, entry: &Entry, source: &FederationSource) -> Result<String, Failure> {
        if let Some(commit) = &source.commit_sha {
            return Ok(commit.clone());
        }
        let what = format!("the commit of {}", entry.full_name());
        self.resolve_commit(&what, &source.repo, &source.reference).await
    }

    fn at_commit(
        &self,
        entry: &Entry,
        source: &FederationSource,
        url: &str,
        commit: &str,
    ) -> Result<String, Failure> {
        self.places.at_commit(url, &source.repo, &source.reference, commit).ok_or_else(|| {
            let message = format!(
                "{}: {} is not in {} at {}",
                entry.full_name(),
                web_address::shown_text(url),
                source.repo,
                source.reference
            );
            Failure::new(Reason::EntryInvalid, message)
        })
    }

    /// The commit that a branch or tag has now.
    pub(super) async fn resolve_commit(
        &self,
        what: &str,
        repo: &str,
        reference: &str,
    ) -> Result<String, Failure> {
        if is_commit(reference) {
            return Ok(reference.to_ascii_lowercase());
        }
        let url = self.places.commit(repo, reference);
        let wanted = Wanted {
            what,
            url: &url,
            reach: self.places.reach_of(&url, Reach::Elsewhere),
            content: Content::Json,
            bytes_max: COMMIT_BYTES_MAX,
            guarded: None,
            etag: None,
        };
        let unknown = |why: String| Failure::new(Reason::CommitUnknown, why);
        // A look-up that does not work is told as what it means, with how it failed in its message.
        let bytes = self.bytes(&wanted).await.map_err(|failure| unknown(failure.message))?;
        let answer: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| unknown(format!("{what}: {url}: {error}")))?;
        let commit = answer.get("sha").and_then(serde_json::Value::as_str).filter(|commit| is_commit(commit));
        commit.map(str::to_ascii_lowercase).ok_or_else(|| unknown(format!("{what}: {url} names no commit")))
    }
}

/// The answer of a look-up lists the files of the commit.
const COMMIT_BYTES_MAX: usize = 8 << 20;

impl Plan<'_> {
    /// Private files that are not given are told as that.
    fn told(&self, failure: Failure) -> Failure {
        match &self.opened {
            Some(opened) => gated::not_opened(&self.offer.entry, opened, failure),
            None => failure,
        }
    }

    fn origin(&self) -> FetchOrigin {
        let (entry, source) = (&self.offer.entry, self.offer.source.id.clone());
        match (&entry.source, &self.commit, entry.access, &entry.private_repo) {
            (_, _, Access::Private, Some(repo)) => FetchOrigin::Gated { source, repo: repo.clone() },
            (Some(federation), Some(commit), _, _) => {
                FetchOrigin::Federation { source, repo: federation.repo.clone(), commit: commit.clone() }
            }
            _ => FetchOrigin::Catalog { source },
        }
    }
}

/// The older version that is meant; nothing for the current one.
fn older_version<'a>(
    entry: &'a Entry,
    version: Option<&str>,
) -> Result<Option<&'a AvailableVersion>, Failure> {
    let version = entry.resolve_version(version)?;
    let older = entry.available_versions.iter().find(|available| available.version == version);
    Ok(older.filter(|_| version != entry.version))
}

pub(super) fn content_of(kind: PartKind) -> Content {
    match kind {
        PartKind::Manifest => Content::Json,
        PartKind::Page => Content::Page,
        PartKind::Egg => Content::Archive,
        PartKind::Agent | PartKind::Service | PartKind::Organ | PartKind::Tools => Content::Code,
    }
}

/// The digest of what arrived, when it is the expected one. A registry of agents counts ends of lines as one byte
/// each, whatever they are in the file.
fn check_digest(
    what: &str,
    bytes: &[u8],
    expected: Option<Digest>,
    kind: EntryKind,
) -> Result<Digest, Failure> {
    let digest = Digest::of(bytes);
    let is_in_lines = |expected: Digest| kind == EntryKind::Agent && in_lines(bytes) == expected;
    match expected {
        Some(expected) if expected != digest && !is_in_lines(expected) => {
            let message = format!("{what}: its SHA-256 is {digest}, the catalog says {expected}");
            Err(Failure::new(Reason::DigestMismatch, message))
        }
        _ => Ok(digest),
    }
}

/// The digest with every end of a line as one byte.
fn in_lines(bytes: &[u8]) -> Digest {
    let mut lines = Vec::with_capacity(bytes.len());
    for (place, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(place + 1) != Some(&b'\n') {
            lines.push(*byte);
        }
    }
    Digest::of(&lines)
}

#[cfg(test)]
mod tests;
