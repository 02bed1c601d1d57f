//! From words to entries. Every word must be in an entry; where it stands says how well the entry fits.
//!
//! An entry's texts are put into one lower-case text when it is read, so that a search only looks through bytes.

use super::{
    entry::{Access, Entry},
    joined::Offer,
};
use memchr::memmem::Finder;

/// Most words of a query that count.
const TERMS_MAX: usize = 16;

/// Longest word of a query that counts.
const TERM_BYTES_MAX: usize = 128;

/// Fields in the order of their weight; the first one that has a word counts.
const FIELDS: usize = 7;

/// What a word is worth in each field: as the whole field or tag, at the beginning of a word, anywhere.
const WEIGHTS: [(u32, u32, u32); FIELDS] = [
    (1000, 500, 300), // id
    (900, 400, 250),  // name
    (350, 300, 120),  // tags
    (300, 200, 100),  // publisher
    (150, 120, 60),   // category
    (80, 60, 30),     // tagline
    (50, 40, 15),     // summary
];

/// What may be left out of an answer.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// Only this category.
    pub category: Option<String>,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only of this publisher.
    pub publisher: Option<String>,
    /// Only of this tier.
    pub tier: Option<String>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only with this access.
    pub access: Option<Access>,
}

/// An entry that fits, and how well.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The entry and where it is.
    pub offer: &'a Offer,
    /// Higher is better.
    pub score: u32,
}

/// The texts of an entry that are searched, in lower case, with the end of each field.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    text: String,
    ends: [usize; FIELDS],
}

impl Words {
    pub(super) fn of(entry: &Entry) -> Self {
        let tags = entry.tags.join("\n");
        let publisher = entry.publisher.as_deref().unwrap_or_default();
        let fields =
            [&entry.id, &entry.name, &tags, publisher, &entry.category, &entry.tagline, &entry.summary];
        let mut words = Self::default();
        for (field, end) in fields.into_iter().zip(&mut words.ends) {
            words.text.extend(field.chars().flat_map(char::to_lowercase));
            *end = words.text.len();
            words.text.push('\n');
        }
        words
    }

    /// What a word is worth here; nothing when it is not there.
    fn worth(&self, term: &str, finder: &Finder<'_>) -> Option<u32> {
        let bytes = self.text.as_bytes();
        let at = finder.find(bytes)?;
        let field = self.ends.iter().position(|end| at < *end).unwrap_or(FIELDS - 1);
        let (whole, beginning, anywhere) = WEIGHTS[field];
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let begins = before.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let follows = bytes.get(at + term.len());
        // A publisher may be named with or without its sign.
        let stands_alone = before.is_none_or(|byte| matches!(byte, b'\n' | b'@')) && follows == Some(&b'\n');
        Some(match (stands_alone, begins) {
            (true, _) => whole,
            (false, true) => beginning,
            (false, false) => anywhere,
        })
    }
}

/// Every offer that fits, the best first.
pub(super) fn search<'a>(offers: &'a [Offer], query: &str, filters: &Filters) -> Vec<Hit<'a>> {
    let query = query.to_lowercase();
    let terms = query.split_whitespace().filter(|term| term.len() <= TERM_BYTES_MAX).take(TERMS_MAX);
    let terms: Vec<(&str, Finder<'_>)> = terms.map(|term| (term, Finder::new(term.as_bytes()))).collect();
    let worth = |offer: &Offer| -> Option<u32> {
        terms.iter().map(|(term, finder)| offer.entry.words.worth(term, finder)).sum()
    };
    let fitting = offers.iter().filter(|offer| filters.fit(offer));
    let mut hits: Vec<Hit<'a>> =
        fitting.filter_map(|offer| Some(Hit { offer, score: worth(offer)? })).collect();
    // Stable: equals stay in the order of the catalogs, and what is shadowed comes after what is not.
    hits.sort_by_key(|hit| (hit.offer.shadowed_by.is_some(), std::cmp::Reverse(hit.score)));
    hits
}

impl Filters {
    fn fit(&self, offer: &Offer) -> bool {
        let entry = &offer.entry;
        let is = |wanted: &Option<String>, has: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(has))
        };
        let publisher = entry.publisher.as_deref().unwrap_or_default();
        let wanted_publisher = self.publisher.as_deref().map(|wanted| wanted.trim_start_matches('@'));
        is(&self.category, &entry.category)
            && is(&self.tier, &entry.quality_tier)
            && is(&self.source, &offer.source.id)
            && wanted_publisher
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(publisher.trim_start_matches('@')))
            && self
                .tag
                .as_deref()
                .is_none_or(|wanted| entry.tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted)))
            && self.access.is_none_or(|wanted| wanted == entry.access)
    }
}
