//! What is known of a text: its words and concepts as a roster numbers them, and the words nobody knows.
//!
//! A misspelt word is taken for the nearest known one and counts a little less. Reads at most a few kilobytes.

use super::{
    concepts::{Concept, Concepts, Pointer},
    fields::beginning,
    index::{Index, PAIR_REACH, share},
    words::{Stems, is_stop_word, split},
};

/// Bytes of a text that are read: several long paragraphs. What is pasted below them is material, not the wish.
const TEXT_BYTES_MAX: usize = 4096;

/// Words that are corrected per text; a text with more unknown words is in another language, and guesses only harm.
const CORRECTIONS_MAX: usize = 6;

/// How much a corrected word counts.
const CORRECTED: f32 = 0.75;

/// How much a concept says for those next to it.
const NEIGHBOUR: f32 = 0.35;

/// A text, ready to be compared.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// Words of the roster, each once, and how certain it is that they were meant.
    pub(super) terms: Vec<(u32, f32)>,
    /// Concepts, each once, and how strongly the text points to them.
    pub(super) concepts: Vec<(Concept, f32)>,
    /// Words that the roster does not use.
    pub(super) strangers: Vec<String>,
}

impl Question {
    /// Reads a text.
    pub(super) fn read(text: &str, index: &Index, concepts: &Concepts) -> Self {
        let stems = Stems::new();
        let mut row: Vec<(String, String)> = Vec::new();
        split(beginning(text, TEXT_BYTES_MAX), |word| row.push((word.to_owned(), stems.of(word))));
        let mut question = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        let mut corrections_left = CORRECTIONS_MAX;
        for (place, (word, stem)) in row.iter().enumerate() {
            if let Some(followers) = concepts.followers(stem) {
                let next = row.iter().skip(place + 1).take(PAIR_REACH);
                next.filter_map(|(_, next)| followers.get(next))
                    .for_each(|both| question.point_to(both, 1.0));
            }
            if is_stop_word(word) || seen.contains(&stem.as_str()) {
                continue;
            }
            seen.push(stem);
            let known = question.take(stem, 1.0, index, concepts);
            if !known && corrections_left > 0 {
                corrections_left -= 1;
                if let Some(meant) = nearest(word, index, concepts) {
                    question.take(&stems.of(meant), CORRECTED, index, concepts);
                }
            }
            if index.term(stem).is_none() && word.chars().count() >= 4 {
                question.strangers.push(word.clone());
            }
        }
        // Several words of one need make it likelier, each a little less than the one before.
        question.concepts.iter_mut().for_each(|(_, strength)| *strength = strength.sqrt());
        question.add_neighbours(concepts);
        question
    }

    fn add_neighbours(&mut self, concepts: &Concepts) {
        for place in 0..self.concepts.len() {
            let (concept, strength) = self.concepts[place];
            for other in concepts.next_to(concept) {
                self.add_concept(*other, strength * NEIGHBOUR);
            }
        }
    }

    /// Takes in a word; false when neither the roster nor the concepts know it.
    fn take(&mut self, stem: &str, certainty: f32, index: &Index, concepts: &Concepts) -> bool {
        let term = index.term(stem);
        if let Some(term) = term {
            self.terms.push((term, certainty));
        }
        let meanings = concepts.of_word(stem);
        self.point_to(meanings, certainty);
        term.is_some() || !meanings.is_empty()
    }

    fn point_to(&mut self, pointers: &[Pointer], certainty: f32) {
        for pointer in pointers {
            self.add_concept(pointer.concept, certainty * share(pointers.len()));
        }
    }

    fn add_concept(&mut self, concept: Concept, strength: f32) {
        match self.concepts.iter_mut().find(|(known, _)| *known == concept) {
            Some((_, sum)) => *sum += strength,
            None => self.concepts.push((concept, strength)),
        }
    }
}

fn nearest<'a>(word: &str, index: &'a Index, concepts: &'a Concepts) -> Option<&'a str> {
    let (here, there) = (index.spellings().nearest(word), concepts.spellings().nearest(word));
    here.into_iter().chain(there).min_by_key(|(_, distance)| *distance).map(|(word, _)| word)
}
