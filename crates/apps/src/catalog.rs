//! Catalogs: what can be installed, from whom, and how it is fetched.
//!
//! A catalog is a document `rapp-store/1.0` at an address or in a folder; a registry of agents and a list of senses are
//! read as catalogs too. It is read entry by entry, so that one that cannot be used hides no other. Nothing is installed here, no token is kept, and nothing is written but the cache.

mod entry; // one app as a catalog describes it
mod entry_name; // how a person names it
mod file_name; // one component of a path
mod part; // its files
mod registry; // agents of a registry, as entries
mod sense; // one sense as a catalog describes it
mod search; // from words to entries
mod joined; // several catalogs as one
mod web_address; // what may be asked at all
mod web; // one request, within limits
mod places; // where repositories are
mod repository_address; // a repository as a person writes it
mod source_list; // the catalogs of a home, in their order
mod kept; // what a catalog was when it was last fetched
mod catalogs; // all of that for one home
mod token; // a credential that does not show itself
mod gated; // apps whose files are private
mod location; // where a file of an entry is
mod fetched; // an app as it arrived
mod fetcher; // from an entry to its bytes
mod repository; // from a repository to its bytes
#[cfg(test)]
mod canned_server; // answers that a story wrote down

pub use self::{
    catalogs::{Catalogs, Freshness, LoadedSource, SourceState},
    entry::{Access, AvailableVersion, Entry, EntryKind, FederationSource},
    entry_name::EntryName,
    fetched::{FetchOrigin, FetchedApp, FetchedFile, FetchedSense, LeftOut},
    fetcher::Fetcher,
    file_name::{FileName, InvalidFileName},
    gated::GATED_SECRET_PREFIX,
    joined::{JoinedCatalogs, Offer, SenseOffer},
    part::{Part, PartKind},
    places::Places,
    repository::DeclaredFiles,
    repository_address::RepositoryAddress,
    search::{Filters, Hit},
    sense::Sense,
    source_list::{AGENT_REGISTRY, CatalogAddress, CatalogSource, NamedSources, Position, SENSE_REGISTRY},
    token::{Token, TokenSources},
    web::{Parcel, Web, WebLimits},
};

pub(crate) use self::entry::{is_commit, is_inner_path, is_reference, is_repository, shown};

use roost_protocol::{Failure, Reason};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The form of catalogs that is understood.
pub const CATALOG_SCHEMA: &str = "rapp-store/1.0";

/// Largest catalog: ten thousand entries with long texts stay below half of it.
pub const CATALOG_BYTES_MAX: usize = 32 << 20;

/// Most entries of one catalog.
const ENTRIES_MAX: usize = 50_000;

/// Most entries that are listed with what is wrong with them; the rest is counted.
const BAD_ENTRIES_MAX: usize = 1000;

/// A catalog that was read.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// What it calls itself.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// When it was made, as it says.
    pub generated_at: Option<String>,
    /// The entries that can be used, in its order.
    pub entries: Vec<Arc<Entry>>,
    /// The senses that can be used, in its order.
    pub senses: Vec<Arc<Sense>>,
    /// Entries that cannot be used, with what is wrong with them.
    pub bad_entries: Vec<BadEntry>,
    /// How many of those there are in all.
    pub bad_entries_total: usize,
}

/// An entry that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BadEntry {
    /// Its place in the catalog, from 0.
    pub index: usize,
    /// What it calls itself, where that can be read.
    pub id: Option<String>,
    /// What is wrong with it.
    pub reason: Failure,
}

/// The document, with its entries unread.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(default)]
    schema: serde_json::Value,
    #[serde(default)]
    name: serde_json::Value,
    #[serde(default)]
    description: serde_json::Value,
    #[serde(default)]
    generated_at: serde_json::Value,
    #[serde(borrow, default)]
    rapplications: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    agents: Option<&'a RawValue>,
    #[serde(borrow, default)]
    senses: Option<&'a RawValue>,
}

impl Catalog {
    /// Reads a catalog. Only a document that is no catalog at all is refused.
    pub fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(Reason::CatalogInvalid, message);
        if bytes.len() > CATALOG_BYTES_MAX {
            return Err(wrong(format!("a catalog has at most {CATALOG_BYTES_MAX} bytes")));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let mut document: Document<'_> =
            serde_json::from_str(text).map_err(|error| wrong(format!("it is not a catalog: {error}")))?;
        let lists = document.lists().map_err(wrong)?;
        if lists.entries.len() + lists.senses.len() > ENTRIES_MAX {
            return Err(wrong(format!("a catalog has at most {ENTRIES_MAX} entries")));
        }
        let shown = |value: &serde_json::Value| value.as_str().map(entry::shown).unwrap_or_default();
        let mut catalog = Self {
            name: shown(&document.name),
            description: shown(&document.description),
            generated_at: document.generated_at.as_str().map(entry::shown),
            entries: Vec::with_capacity(lists.entries.len()),
            senses: Vec::with_capacity(lists.senses.len()),
            bad_entries: Vec::new(),
            bad_entries_total: 0,
        };
        let mut names = std::collections::HashSet::new();
        for (index, raw) in lists.entries.into_iter().enumerate() {
            match (lists.read)(raw) {
                Ok(entry) if names.insert((entry.publisher.clone(), entry.id.clone())) => {
                    catalog.entries.push(Arc::new(entry));
                }
                Ok(entry) => {
                    let message =
                        format!("{} stands in the catalog twice; the first counts", entry.full_name());
                    let reason = Failure::new(Reason::EntryInvalid, message);
                    catalog.add_bad(BadEntry { index, id: Some(entry.id), reason });
                }
                Err((id, message)) => {
                    let reason = Failure::new(Reason::EntryInvalid, message);
                    catalog.add_bad(BadEntry { index, id, reason });
                }
            }
        }
        for (index, raw) in lists.senses.into_iter().enumerate() {
            match Sense::parse(raw) {
                Ok(sense) => catalog.senses.push(Arc::new(sense)),
                Err((id, message)) => {
                    let reason = Failure::new(Reason::EntryInvalid, format!("sense: {message}"));
                    catalog.add_bad(BadEntry { index, id, reason });
                }
            }
        }
        Ok(catalog)
    }

    fn add_bad(&mut self, bad: BadEntry) {
        self.bad_entries_total += 1;
        if self.bad_entries.len() < BAD_ENTRIES_MAX {
            self.bad_entries.push(bad);
        }
    }
}

/// Reads one entry of a list. What is wrong comes with what the entry calls itself.
type ReadEntry = fn(&RawValue) -> Result<Entry, (Option<String>, String)>;

/// The lists of a document, unread.
struct Lists<'a> {
    entries: Vec<&'a RawValue>,
    read: ReadEntry,
    senses: Vec<&'a RawValue>,
}

impl<'a> Document<'a> {
    /// What its form says that it lists. A catalog of apps may have senses beside them.
    fn lists(&mut self) -> Result<Lists<'a>, String> {
        let read: ReadEntry = |raw| Entry::parse(raw);
        match self.schema.as_str().unwrap_or_default() {
            CATALOG_SCHEMA => {
                let entries = self.rapplications.take().ok_or("it has no list `rapplications`")?;
                // A list that cannot be read hides no app.
                Ok(Lists { entries, read, senses: list(self.senses).unwrap_or_default() })
            }
            sense::SENSES_SCHEMA => {
                let senses = list(self.senses).ok_or("it has no list `senses`")?;
                Ok(Lists { entries: Vec::new(), read, senses })
            }
            schema if schema.starts_with(registry::REGISTRY_SCHEMA) => {
                let entries = list(self.agents).ok_or("it has no list `agents`")?;
                Ok(Lists { entries, read: |raw| registry::agent(raw), senses: Vec::new() })
            }
            _ => Err(format!("its schema is not {CATALOG_SCHEMA}")),
        }
    }
}

fn list(raw: Option<&RawValue>) -> Option<Vec<&RawValue>> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

#[cfg(test)]
mod tests;
