//! Catalogs and entries as every surface shows them.

use super::{EntryName, Filters, JoinedCatalogs, Offer, PartKind, SourceState};
use jiff::Timestamp;
use roost_apps::catalog::{
    Access, BadEntry, CatalogAddress, EntryKind, FederationSource, FileName, LoadedSource,
};
use roost_protocol::{Digest, Failure};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::SystemTime;

/// Entries that cannot be used are shown one by one up to here.
const BAD_ENTRIES_SHOWN_MAX: usize = 20;

/// A catalog source and how it stands.
#[derive(Debug, Clone, Serialize)]
pub struct CatalogListing {
    /// Its name here.
    pub id: String,
    /// Where it is.
    pub address: String,
    /// `url` or `folder`.
    pub kind: &'static str,
    /// How it stands.
    pub state: SourceState,
    /// What the catalog calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many apps it has.
    pub entries: usize,
    /// How many senses it has.
    #[serde(skip_serializing_if = "is_none")]
    pub senses: usize,
    /// How many of its entries cannot be used.
    pub bad_entries: usize,
    /// Some of those, with what is wrong with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<BadEntry>,
    /// When it was fetched; absent for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Timestamp>,
    /// How long ago that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// Why it failed the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
}

impl CatalogListing {
    pub(super) fn new(loaded: &LoadedSource) -> Self {
        let catalog = loaded.catalog.as_deref();
        let age = |at: SystemTime| SystemTime::now().duration_since(at).unwrap_or_default().as_secs();
        Self {
            id: loaded.source.id.clone(),
            address: loaded.source.address.to_string(),
            kind: match loaded.source.address {
                CatalogAddress::Url(_) => "url",
                CatalogAddress::Folder(_) => "folder",
            },
            state: loaded.state(),
            name: catalog.map(|catalog| catalog.name.clone()).filter(|name| !name.is_empty()),
            entries: catalog.map_or(0, |catalog| catalog.entries.len()),
            senses: catalog.map_or(0, |catalog| catalog.senses.len()),
            bad_entries: catalog.map_or(0, |catalog| catalog.bad_entries_total),
            problems: catalog
                .into_iter()
                .flat_map(|catalog| catalog.bad_entries.iter().take(BAD_ENTRIES_SHOWN_MAX).cloned())
                .collect(),
            fetched_at: loaded.fetched_at.and_then(|at| Timestamp::try_from(at).ok()),
            age_seconds: loaded.fetched_at.map(age),
            reason: loaded.failure.clone(),
        }
    }
}

/// Most catalogs have no senses, and say nothing of them.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// An app that was found, in a few lines.
#[derive(Debug, Clone, Serialize)]
pub struct FoundEntry {
    /// An app of a catalog, or an agent of a registry.
    pub kind: EntryKind,
    /// Its id.
    pub id: String,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// What people call it.
    pub name: String,
    /// Its current version.
    pub version: String,
    /// What it does.
    pub summary: String,
    /// Its category.
    pub category: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// How far it is trusted, in the catalog's words.
    pub quality_tier: String,
    /// Who may fetch its files.
    pub access: Access,
    /// What it consists of.
    pub parts: Vec<PartKind>,
    /// The catalog it is in.
    pub source: String,
    /// The catalog that has the same id and comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowed_by: Option<String>,
}

impl FoundEntry {
    fn new(offer: &Offer) -> Self {
        let entry = &offer.entry;
        Self {
            kind: entry.kind,
            id: entry.id.clone(),
            publisher: entry.publisher.clone(),
            name: entry.name.clone(),
            version: entry.version.clone(),
            summary: if entry.summary.is_empty() { entry.tagline.clone() } else { entry.summary.clone() },
            category: entry.category.clone(),
            tags: entry.tags.clone(),
            quality_tier: entry.quality_tier.clone(),
            access: entry.access,
            parts: entry.parts.iter().map(|part| part.kind).collect(),
            source: offer.source.id.clone(),
            shadowed_by: offer.shadowed_by.clone(),
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, Serialize)]
pub struct SearchAnswer {
    /// What was searched for.
    pub query: String,
    /// How many apps fit.
    pub total: usize,
    /// The best of them.
    pub found: Vec<FoundEntry>,
    /// Every source that was looked at, or not.
    pub sources: Vec<CatalogListing>,
}

impl SearchAnswer {
    pub(super) fn new(joined: &JoinedCatalogs, query: &str, filters: &Filters, limit: usize) -> Self {
        let hits = joined.search(query, filters);
        let sources = joined.sources.iter().map(|loaded| {
            // The list of sources is the place for what is wrong in each.
            CatalogListing { problems: Vec::new(), ..CatalogListing::new(loaded) }
        });
        Self {
            query: query.to_owned(),
            total: hits.len(),
            found: hits.iter().take(limit).map(|hit| FoundEntry::new(hit.offer)).collect(),
            sources: sources.collect(),
        }
    }
}

/// One file of an app, before it is fetched.
#[derive(Debug, Clone, Serialize)]
pub struct ShownFile {
    /// What it is.
    pub kind: PartKind,
    /// What it will be called.
    pub file_name: FileName,
    /// Where it is.
    pub url: String,
    /// Its digest; without one it cannot be checked.
    pub sha256: Option<Digest>,
    /// Its size, as the catalog says.
    pub bytes: Option<u64>,
}

/// Everything about one app of a catalog.
#[derive(Debug, Clone, Serialize)]
pub struct ShownEntry {
    /// In a few lines.
    #[serde(flatten)]
    pub found: FoundEntry,
    /// The version that was asked for.
    pub wanted_version: String,
    /// Every version that can be asked for.
    pub versions: Vec<String>,
    /// Its licence.
    pub license: String,
    /// Its files.
    pub files: Vec<ShownFile>,
    /// Another repository its files are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub federation: Option<FederationSource>,
    /// The private repository its files are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_repo: Option<String>,
    /// How to sign in for it, in its publisher's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_hint: Option<String>,
    /// Who may use it, in its publisher's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_note: Option<String>,
    /// Catalogs that have the same id, and come after this one or before it.
    pub also_in: Vec<String>,
    /// How old the catalog is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// The entry as it stands in the catalog.
    pub entry: Box<RawValue>,
}

impl ShownEntry {
    pub(super) fn new(joined: &JoinedCatalogs, offer: &Offer, name: &EntryName) -> Result<Self, Failure> {
        let entry = &offer.entry;
        let wanted = entry.resolve_version(name.version.as_deref())?;
        let file = |part: &roost_apps::catalog::Part| ShownFile {
            kind: part.kind,
            file_name: part.file_name.clone(),
            url: part.url.clone(),
            sha256: part.sha256,
            bytes: part.bytes,
        };
        let same_id = joined.offers.iter().filter(|other| other.entry.id == entry.id);
        let also_in = same_id.filter(|other| other.source.id != offer.source.id);
        let source = joined.sources.iter().find(|loaded| loaded.source.id == offer.source.id);
        Ok(Self {
            found: FoundEntry::new(offer),
            wanted_version: wanted.to_owned(),
            versions: entry.versions().into_iter().map(str::to_owned).collect(),
            license: entry.license.clone(),
            files: entry.parts.iter().map(file).collect(),
            federation: entry.source.clone(),
            private_repo: entry.private_repo.clone(),
            auth_hint: entry.auth_hint.clone(),
            access_note: entry.access_note.clone(),
            also_in: also_in.map(|other| other.source.id.clone()).collect(),
            age_seconds: source.and_then(|loaded| CatalogListing::new(loaded).age_seconds),
            entry: entry.document().to_owned(),
        })
    }
}
