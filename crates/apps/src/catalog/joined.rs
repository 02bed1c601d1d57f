//! Several catalogs as one: the first source that has an id keeps it, and the others are listed as shadowed.

use super::{
    catalogs::LoadedSource,
    entry::{Entry, EntryKind},
    entry_name::EntryName,
    search::{self, Filters, Hit},
    sense::Sense,
    source_list::{AGENT_REGISTRY, CatalogSource, SENSE_REGISTRY},
};
use roost_protocol::{Failure, Reason};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
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

/// A sense, and the catalog that has it.
#[derive(Debug, Clone)]
pub struct SenseOffer {
    /// Where it is.
    pub source: Arc<CatalogSource>,
    /// What it is.
    pub sense: Arc<Sense>,
}

/// All catalogs of a home at one moment.
#[derive(Debug, Clone)]
pub struct JoinedCatalogs {
    /// Each source with its catalog, or why it has none.
    pub sources: Vec<LoadedSource>,
    /// Every entry of all of them, in their order.
    pub offers: Vec<Offer>,
    /// Every sense of all of them, in their order; of those with the same name the first.
    pub senses: Vec<SenseOffer>,
}

impl JoinedCatalogs {
    /// Joins catalogs in the order they are given.
    #[must_use]
    pub fn new(sources: Vec<LoadedSource>) -> Self {
        let mut holders: HashMap<String, usize> = HashMap::new();
        let (mut offers, mut senses) = (Vec::new(), Vec::new());
        let mut names = HashSet::new();
        for (index, loaded) in sources.iter().enumerate() {
            let source = Arc::new(loaded.source.clone());
            for entry in loaded.catalog.iter().flat_map(|catalog| &catalog.entries) {
                let holder = *holders.entry(entry.id.clone()).or_insert(index);
                let shadowed_by = (holder != index).then(|| sources[holder].source.id.clone());
                offers.push(Offer { source: Arc::clone(&source), entry: Arc::clone(entry), shadowed_by });
            }
            for sense in loaded.catalog.iter().flat_map(|catalog| &catalog.senses) {
                if names.insert(sense.full_name()) {
                    senses.push(SenseOffer { source: Arc::clone(&source), sense: Arc::clone(sense) });
                }
            }
        }
        Self { sources, offers, senses }
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
        the_one(name, &found, |offer| offer.entry.full_name())?.ok_or_else(|| self.unknown(name))
    }

    /// The one agent of a registry that is meant, whichever app of a catalog has the same id.
    pub fn find_agent(&self, name: &EntryName) -> Result<&Offer, Failure> {
        let agents = self.offers.iter().filter(|offer| offer.entry.kind == EntryKind::Agent);
        let found: Vec<&Offer> = agents
            .filter(|offer| is_meant(name, &offer.entry.id, offer.entry.publisher.as_deref()))
            .collect();
        the_one(name, &found, |offer| offer.entry.full_name())?
            .ok_or_else(|| self.unlisted("agent", name, AGENT_REGISTRY))
    }

    /// The one sense that is meant.
    pub fn find_sense(&self, name: &EntryName) -> Result<&SenseOffer, Failure> {
        let senses = self.senses.iter();
        let found: Vec<&SenseOffer> = senses
            .filter(|offer| is_meant(name, &offer.sense.id, offer.sense.publisher.as_deref()))
            .collect();
        the_one(name, &found, |offer| offer.sense.full_name())?
            .ok_or_else(|| self.unlisted("sense", name, SENSE_REGISTRY))
    }

    /// Why a single file was not found: where it would be cannot be read, or it is not there.
    fn unlisted(&self, what: &str, name: &EntryName, registry: &str) -> Failure {
        let registry = self.sources.iter().find(|loaded| loaded.source.id == registry);
        match registry.filter(|loaded| loaded.catalog.is_none()).and_then(|loaded| loaded.failure.clone()) {
            Some(failure) => failure,
            None => Failure::new(Reason::UnknownEntry, format!("no {what} `{name}` is in a catalog")),
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

/// True when the name is this one: without a publisher, anybody's.
fn is_meant(name: &EntryName, id: &str, publisher: Option<&str>) -> bool {
    let is_publisher = |wanted: &String| publisher.is_some_and(|by| by.eq_ignore_ascii_case(wanted));
    name.id == id && name.publisher.as_ref().is_none_or(is_publisher)
}

/// The only one of those that fit, if there are any. Of the same in several catalogs the first counts; several
/// publishers' are an error that names them.
fn the_one<'a, T>(
    name: &EntryName,
    found: &[&'a T],
    full_name: impl Fn(&T) -> String,
) -> Result<Option<&'a T>, Failure> {
    let names: BTreeSet<String> = found.iter().map(|found| full_name(found)).collect();
    if name.publisher.is_none() && names.len() > 1 {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!("`{}` is more than one app: {names}", name.id);
        return Err(Failure::new(Reason::AmbiguousEntry, message));
    }
    Ok(found.first().copied())
}
