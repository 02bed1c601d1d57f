//! Secrets that must not be kept: every place where a known value stands becomes `[REDACTED:<secret id>]`.
//!
//! A search for substrings, not for things that look like keys; the longest value goes first. Each value is
//! looked for in the spellings of `redact::spelling` too. What was cut, compressed, encrypted or spelled
//! otherwise is not found. Which values are known, and for how long, is decided by whoever fills the set.

mod spelling;

use aho_corasick::AhoCorasick;
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Range};

/// Shorter values stand in ordinary text by chance, so they are left alone.
const VALUE_CHARACTERS_MIN: usize = 8;

/// How much of a spelling the automaton knows; the rest is compared at the place. Its memory thus depends on
/// the number of secrets and not on their length: a key file is thousands of characters long and has dozens
/// of spellings.
const NEEDLE_BYTES_MAX: usize = 32;

/// The values that are replaced in whatever is kept or shown.
#[derive(Default)]
pub struct Redactions {
    /// Missing where there is nothing to look for.
    needles: Option<AhoCorasick>,
    /// For each needle, the texts that begin with it.
    sought: Vec<Vec<Sought>>,
    secrets: Vec<Secret>,
}

struct Sought {
    text: String,
    meaning: Meaning,
}

#[derive(Clone, Copy)]
enum Meaning {
    /// A spelling of the secret with this index.
    Secret(usize),
    /// A place where a secret has been already.
    Marker,
}

struct Secret {
    marker: String,
    value_bytes: usize,
}

/// A place that is to be replaced.
struct Place {
    range: Range<usize>,
    secret: usize,
}

impl Redactions {
    /// The set of these secrets, each an id and a value. Values under 8 characters are left out.
    ///
    /// In a marker, characters of an id other than letters, digits and `._:/@-` are written as `_`, so that a
    /// marker ends where it seems to and stays one JSON string.
    pub fn new<Id: AsRef<str>, Text: AsRef<str>>(secrets: impl IntoIterator<Item = (Id, Text)>) -> Self {
        let mut by_needle = BTreeMap::<Vec<u8>, Vec<Sought>>::new();
        let mut kept = Vec::new();
        for (id, value) in secrets {
            let value = value.as_ref();
            if value.chars().count() < VALUE_CHARACTERS_MIN {
                continue;
            }
            let secret = Secret { marker: marker(id.as_ref()), value_bytes: value.len() };
            let spellings = spelling::all(value).into_iter().map(|text| (text, Meaning::Secret(kept.len())));
            for (text, meaning) in spellings.chain([(secret.marker.clone(), Meaning::Marker)]) {
                let needle = text.as_bytes()[..text.len().min(NEEDLE_BYTES_MAX)].to_vec();
                by_needle.entry(needle).or_default().push(Sought { text, meaning });
            }
            kept.push(secret);
        }
        if kept.is_empty() {
            return Self::default();
        }
        let (needles, sought): (Vec<_>, Vec<_>) = by_needle.into_iter().unzip();
        let needles = AhoCorasick::new(needles).expect("short needles of a few secrets fit an automaton");
        Self { needles: Some(needles), sought, secrets: kept }
    }

    /// True where nothing would ever be replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The text with all values replaced; the same text where there are none.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => {
                // Invariant: what is sought and what replaces it are texts, so only whole characters are
                // exchanged.
                Cow::Owned(String::from_utf8(bytes).expect("text in which texts were replaced is text"))
            }
        }
    }

    /// The bytes with all values replaced; the same bytes where there are none.
    #[must_use]
    pub fn redact_bytes<'a>(&self, content: &'a [u8]) -> Cow<'a, [u8]> {
        let places = longest_first(self.places(content), &self.secrets);
        if places.is_empty() {
            return Cow::Borrowed(content);
        }
        let mut redacted = Vec::with_capacity(content.len());
        let mut copied = 0;
        for (start, place) in places {
            redacted.extend_from_slice(&content[copied..start]);
            redacted.extend_from_slice(self.secrets[place.secret].marker.as_bytes());
            copied = place.range.end;
        }
        redacted.extend_from_slice(&content[copied..]);
        Cow::Owned(redacted)
    }

    /// Replaces all values in the texts, keys and numbers of a JSON value. A number that is a secret becomes
    /// a text.
    pub fn redact_json(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(redacted) = self.redact(&number.to_string()) {
                    *value = Value::String(redacted);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.redact(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.redact_json(member));
                if members.keys().any(|key| self.contains(key)) {
                    *members = self.redact_keys(std::mem::take(members));
                }
            }
        }
    }

    /// True where the text holds a value. For names, in which nothing can be replaced.
    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        !self.places(text.as_bytes()).is_empty()
    }

    fn redact_keys(&self, members: Map<String, Value>) -> Map<String, Value> {
        let mut redacted = Map::with_capacity(members.len());
        for (key, member) in members {
            let wanted = self.redact(&key).into_owned();
            let mut free = wanted.clone();
            // Two keys may become one, and a member must not be lost by that.
            for number in 2.. {
                if !redacted.contains_key(&free) {
                    break;
                }
                free = format!("{wanted} {number}");
            }
            redacted.insert(free, member);
        }
        redacted
    }

    /// All places where a value stands, also those that overlap, but not those inside a marker.
    fn places(&self, content: &[u8]) -> Vec<Place> {
        let Some(needles) = &self.needles else { return Vec::new() };
        let (mut places, mut markers) = (Vec::new(), Vec::new());
        for hit in needles.find_overlapping_iter(content) {
            for sought in &self.sought[hit.pattern().as_usize()] {
                if !content[hit.start()..].starts_with(sought.text.as_bytes()) {
                    continue;
                }
                let range = hit.start()..hit.start() + sought.text.len();
                match sought.meaning {
                    Meaning::Secret(secret) => places.push(Place { range, secret }),
                    Meaning::Marker => markers.push(range),
                }
            }
        }
        // A value that only begins or ends inside a marker is really there, so it is replaced.
        if !markers.is_empty() {
            markers.sort_by_key(|marker: &Range<usize>| marker.start);
            places.retain(|place| {
                let next = markers.partition_point(|marker| marker.start <= place.range.start);
                next == 0 || markers[next - 1].end < place.range.end
            });
        }
        places
    }
}

impl fmt::Debug for Redactions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactions").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

fn marker(id: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._:/@-".contains(character);
    let id: String = id.chars().map(|character| if plain(character) { character } else { '_' }).collect();
    format!("[REDACTED:{id}]")
}

/// Of places that overlap, those of the longest value, then the first, then the longest spelling; by their
/// start.
fn longest_first(mut places: Vec<Place>, secrets: &[Secret]) -> BTreeMap<usize, Place> {
    places.sort_by_key(|place| {
        let value_bytes = secrets[place.secret].value_bytes;
        (usize::MAX - value_bytes, place.secret, place.range.start, usize::MAX - place.range.end)
    });
    let mut chosen = BTreeMap::<usize, Place>::new();
    for place in places {
        let before = chosen.range(..place.range.end).next_back();
        if before.is_none_or(|(_, other)| other.range.end <= place.range.start) {
            chosen.insert(place.range.start, place);
        }
    }
    chosen
}

#[cfg(test)]
mod tests;
