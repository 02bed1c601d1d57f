//! A map that finds the entries whose key begins a text, and those whose key the text begins, without a look at the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

/// Entries by key.
#[derive(Debug)]
pub(super) struct PrefixMap<T> {
    entries: BTreeMap<String, T>,
    /// Every length a key has: only these beginnings of a text are looked up.
    key_lengths: BTreeSet<usize>,
}

impl<T> Default for PrefixMap<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), key_lengths: BTreeSet::new() }
    }
}

impl<T: Default> PrefixMap<T> {
    /// The entry of this key, made where it is missing.
    pub(super) fn entry(&mut self, key: String) -> &mut T {
        self.key_lengths.insert(key.len());
        self.entries.entry(key).or_default()
    }
}

impl<T> PrefixMap<T> {
    /// Entries whose key begins the text, or is the text.
    pub(super) fn above<'a, 't>(&'a self, text: &'t str) -> impl Iterator<Item = &'a T> + use<'a, 't, T> {
        let lengths = self.key_lengths.range(..=text.len());
        lengths.filter_map(move |length| self.entries.get(text.get(..*length)?))
    }

    /// Entries whose key begins the text, or begins with it.
    pub(super) fn around<'a, 't>(&'a self, text: &'t str) -> impl Iterator<Item = &'a T> + use<'a, 't, T> {
        let from_text = self.entries.range::<str, _>((Bound::Included(text), Bound::Unbounded));
        let below = from_text
            .take_while(move |(key, _)| key.starts_with(text))
            .filter(move |(key, _)| key.len() > text.len())
            .map(|(_, entry)| entry);
        self.above(text).chain(below)
    }
}
