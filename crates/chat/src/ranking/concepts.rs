//! Everyday words that point to the same need: "umbrella" and "forecast" share no letter and one concept.
//!
//! The list is data (`concepts.txt`), compiled in and read once per process. It knows no agent.

use super::words::Stems;
use crate::spelling::WordList;
use std::{collections::HashMap, sync::LazyLock};

/// A need that many words point to, by its place in the list.
pub(super) type Concept = u16;

/// That a word points to a concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) concept: Concept,
    /// Whether descriptions use the word for the need itself; other words are used by people who have the need.
    pub(super) names_it: bool,
}

/// The list. Immutable data of the program, so that it is no state: parsing it for every roster would only be slow.
pub(super) static CONCEPTS: LazyLock<Concepts> =
    LazyLock::new(|| Concepts::parse(include_str!("concepts.txt")));

/// Second words of pairs, by stem.
pub(super) type Followers = HashMap<String, Vec<Pointer>>;

/// Words and pairs of words, by stem, with the concepts they point to.
#[derive(Default)]
pub(super) struct Concepts {
    words: HashMap<String, Vec<Pointer>>,
    pairs: HashMap<String, Followers>,
    /// For every concept, those next to it.
    related: Vec<Vec<Concept>>,
    spellings: WordList,
}

impl Concepts {
    fn parse(list: &str) -> Self {
        let stems = Stems::new();
        let lines: Vec<(&str, &str)> = list
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(':'))
            .collect();
        let mut concepts = Self::default();
        for (concept, (_, words)) in (0..).zip(&lines) {
            let mut names_it = true;
            let mut related = Vec::new();
            for word in words.split_whitespace() {
                if word == "|" {
                    names_it = false;
                } else if let Some(other) = word.strip_prefix('~') {
                    related.extend(
                        (0..).zip(&lines).find(|(_, (name, _))| *name == other).map(|(number, _)| number),
                    );
                } else {
                    concepts.add(word, Pointer { concept, names_it }, &stems);
                }
            }
            concepts.related.push(related);
        }
        concepts.spellings.finish();
        concepts
    }

    fn add(&mut self, word: &str, pointer: Pointer, stems: &Stems) {
        let mut parts = word.split('_');
        let first = parts.next().unwrap_or_default();
        self.spellings.add(first);
        let entry = match parts.next() {
            None => self.words.entry(stems.of(first)).or_default(),
            // Of three words, the first and the last are compared: what stands between them is grammar.
            Some(second) => {
                let second = parts.next_back().unwrap_or(second);
                self.spellings.add(second);
                self.pairs.entry(stems.of(first)).or_default().entry(stems.of(second)).or_default()
            }
        };
        // Two forms of one word; the first says more.
        if !entry.iter().any(|known| known.concept == pointer.concept) {
            entry.push(pointer);
        }
    }

    /// How many concepts there are.
    pub(super) fn count(&self) -> usize {
        self.related.len()
    }

    /// The concepts a word points to, by its stem.
    pub(super) fn of_word(&self, stem: &str) -> &[Pointer] {
        self.words.get(stem).map_or(&[], Vec::as_slice)
    }

    /// The words that point to concepts together with one before them, by their stems.
    pub(super) fn followers(&self, first: &str) -> Option<&Followers> {
        self.pairs.get(first)
    }

    /// The concepts next to one.
    pub(super) fn next_to(&self, concept: Concept) -> &[Concept] {
        self.related.get(usize::from(concept)).map_or(&[], Vec::as_slice)
    }

    /// Words of the list, for finding what was meant by a misspelt one.
    pub(super) fn spellings(&self) -> &WordList {
        &self.spellings
    }
}

#[cfg(test)]
mod tests {
    use super::{CONCEPTS, Concepts, Pointer, Stems};
    use std::collections::HashSet;

    #[test]
    fn words_of_one_line_share_a_concept_and_pairs_need_both_words() {
        let concepts = Concepts::parse(
            "# a comment\nweather: rain | forecasts\nleave: time_off days_to_relax ~weather\n",
        );
        let stems = Stems::new();
        assert_eq!(concepts.of_word("rain"), [Pointer { concept: 0, names_it: true }]);
        assert_eq!(concepts.of_word(&stems.of("forecasting")), [Pointer { concept: 0, names_it: false }]);
        let leave = [Pointer { concept: 1, names_it: true }];
        assert_eq!(concepts.followers("time").unwrap()["off"], leave);
        assert_eq!(concepts.followers(&stems.of("days")).unwrap()["relax"], leave);
        assert!(concepts.of_word("time").is_empty() && concepts.of_word("off").is_empty());
        assert_eq!((concepts.next_to(1), concepts.next_to(0)), (&[0][..], &[][..]));
        assert_eq!(concepts.count(), 2);
    }

    #[test]
    fn the_list_has_one_line_per_name_plain_words_and_neighbours_that_exist() {
        let lines: Vec<&str> =
            include_str!("concepts.txt").lines().filter(|line| !line.starts_with('#')).collect();
        let names: Vec<&str> =
            lines.iter().filter_map(|line| line.split(':').next()).filter(|name| !name.is_empty()).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "a name stands twice");
        assert_eq!(names.len(), CONCEPTS.count());
        let letters = |word: &str| {
            word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        for word in lines
            .iter()
            .filter_map(|line| line.split_once(':'))
            .flat_map(|(_, words)| words.split_whitespace())
        {
            let known =
                word.strip_prefix('~').map_or(word == "|" || letters(word), |name| names.contains(&name));
            assert!(known, "{word}");
        }
    }
}
