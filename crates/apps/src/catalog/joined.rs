//! Several catalogs as one: the first source that has an id keeps it, and the others are listed as shadowed.

use super::{
    catalogs::LoadedSource,
    entry::Entry,
    entry_name::EntryName,
    search::{self, Filters, Hit},
    source_list::CatalogSource,
};
use roost_protocol::{Failure, Reason};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// How many names are offered to whoever asked for one that is not there.
const NEAR_NAMES_MAX: usize = 3;

/// An entry, and the catalog that has it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Where it is.
    pub source: Arc<CatalogSource>,
    /// What it is.
    pub entry: Arc<Entry>,
    /// The source that has the same id and comes first.
    pub shadowed_by: Option<String>,
}

/// All catalogs of a home at one moment.
#[derive(Debug, Clone)]
pub struct JoinedCatalogs {
    /// Each source with its catalog, or why it has none.
    pub sources: Vec<LoadedSource>,
    /// Every entry of all of them, in their order.
    pub offers: Vec<Offer>,
}

impl JoinedCatalogs {
    /// Joins catalogs in the order they are given.
    #[must_use]
    pub fn new(sources: Vec<LoadedSource>) -> Self {
        let mut holders: HashMap<String, usize> = HashMap::new();
        let mut offers = Vec::new();
        for (index, loaded) in sources.iter().enumerate() {
            let source = Arc::new(loaded.source.clone());
            for entry in loaded.catalog.iter().flat_map(|catalog| &catalog.entries) {
                let holder = *holders.entry(entry.id.clone()).or_insert(index);
                let shadowed_by = (holder != index).then(|| sources[holder].source.id.clone());
                offers.push(Offer { source: Arc::clone(&source), entry: Arc::clone(entry), shadowed_by });
            }
        }
        Self { sources, offers }
    }

    /// Every entry that has all the words, the best first; every entry when there are none.
    #[must_use]
    pub fn search(&self, query: &str, filters: &Filters) -> Vec<Hit<'_>> {
        search::search(&self.offers, query, filters)
    }

    /// The one entry that is meant. More than one is an error that names them; an entry that is shadowed is found only
    /// by its whole name.
    pub fn find(&self, name: &EntryName) -> Result<&Offer, Failure> {
        let of_publisher = |offer: &&Offer| match &name.publisher {
            None => offer.shadowed_by.is_none(),
            Some(wanted) => {
                offer.entry.publisher.as_ref().is_some_and(|publisher| publisher.eq_ignore_ascii_case(wanted))
            }
        };
        let with_id = self.offers.iter().filter(|offer| offer.entry.id == name.id);
        let found: Vec<&Offer> = with_id.filter(of_publisher).collect();
        match found.as_slice() {
            [] => Err(self.unknown(name)),
            [one] => Ok(one),
            // The same app in several catalogs: the first counts.
            [first, ..] if name.publisher.is_some() => Ok(first),
            several => {
                let names: BTreeSet<String> = several.iter().map(|offer| offer.entry.full_name()).collect();
                let names = names.into_iter().collect::<Vec<_>>().join(", ");
                let message = format!("`{}` is more than one app: {names}", name.id);
                Err(Failure::new(Reason::AmbiguousEntry, message))
            }
        }
    }

    fn unknown(&self, name: &EntryName) -> Failure {
        let mut message = format!("no catalog has {name}");
        let near = self.search(&name.id, &Filters::default());
        let near: Vec<String> =
            near.iter().take(NEAR_NAMES_MAX).map(|hit| hit.offer.entry.full_name()).collect();
        if !near.is_empty() {
            message.push_str(&format!("; near it: {}", near.join(", ")));
        }
        let unread: Vec<&str> = self
            .sources
            .iter()
            .filter(|loaded| loaded.catalog.is_none())
            .map(|loaded| loaded.source.id.as_str())
            .collect();
        if !unread.is_empty() {
            message.push_str(&format!("; not looked at, because they cannot be read: {}", unread.join(", ")));
        }
        Failure::new(Reason::UnknownEntry, message)
    }
}
