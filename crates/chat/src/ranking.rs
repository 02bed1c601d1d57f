//! Which tools a text is about, best first, without a model.
//!
//! Words are weighed as search engines do (BM25 over names, descriptions and parameters), and a list of everyday
//! concepts joins what shares no word. A score orders tools for one text; it is no probability, and no score is high
//! enough to run anything by itself.

mod words; // text to words
mod fields; // what a tool says of itself
mod concepts; // words that point to the same need
mod index; // what is known of a roster
mod question; // what is known of a text

use self::{concepts::CONCEPTS, index::Index, question::Question};
use serde_json::Value;

/// What a tool says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    /// What it is called by.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// The JSON schema of its arguments.
    pub parameters: &'a Value,
}

/// A tool and how well it suits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Its place in the roster.
    pub index: usize,
    /// Higher is better and zero is no relation; comparable within one answer only.
    pub score: f32,
}

/// Tools that can be ranked by what a text is about. Built once per roster; the same question gives the same answer.
#[derive(Debug)]
pub struct Ranking {
    index: Index,
}

/// How much a shared concept counts beside a shared word, which is the better evidence.
const CONCEPT_SHARE: f32 = 0.55;

/// How much a name that looks alike counts: enough for a compound or a foreign spelling to come up.
const LOOKALIKE_SHARE: f32 = 1.5;

/// How much an embedding's opinion counts beside the words': the measured top-1 of a small embedding model is better
/// than that of words alone, and words are never wrong about a name.
const SIMILARITY_SHARE: f32 = 1.2;

/// Similarities that differ less than this all say the same, and must not be blown up into an opinion.
const SPREAD_MIN: f32 = 0.2;

impl Ranking {
    /// Reads a roster.
    #[must_use]
    pub fn new<'a>(tools: impl Iterator<Item = Described<'a>>) -> Self {
        Self { index: Index::build(tools, &CONCEPTS) }
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.tools
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.tools == 0
    }

    /// All tools, best first, for texts that count as much as their weight says. Equal ones stay in roster order.
    #[must_use]
    pub fn rank(&self, texts: &[(&str, f32)]) -> Vec<Ranked> {
        sorted(self.scores(texts))
    }

    /// The same with the opinion of an embedding model: one similarity per tool, of which only the differences count.
    /// Missing ones and those that are no number count as the least of the others.
    #[must_use]
    pub fn rank_with(&self, texts: &[(&str, f32)], similarity: &[f32]) -> Vec<Ranked> {
        let mut scores = self.scores(texts);
        let known = || similarity.iter().take(scores.len()).copied().filter(|value| value.is_finite());
        let (least, most) = known().fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let best = scores.iter().copied().fold(0.0, f32::max);
        for (index, score) in scores.iter_mut().enumerate() {
            let opinion = similarity.get(index).copied().filter(|value| value.is_finite()).unwrap_or(least);
            let by_words = if best > 0.0 { *score / best } else { 0.0 };
            let by_meaning =
                if most > least { (opinion - least) / (most - least).max(SPREAD_MIN) } else { 0.0 };
            *score = by_words + SIMILARITY_SHARE * by_meaning;
        }
        sorted(scores)
    }

    fn scores(&self, texts: &[(&str, f32)]) -> Vec<f32> {
        let mut scores = vec![0.0; self.index.tools];
        for (text, weight) in texts.iter().filter(|(_, weight)| weight.is_finite() && *weight > 0.0) {
            let question = Question::read(text, &self.index, &CONCEPTS);
            for (term, certainty) in &question.terms {
                self.index.words.add_to(&mut scores, *term as usize, weight * certainty);
            }
            for (concept, strength) in &question.concepts {
                self.index.concepts.add_to(
                    &mut scores,
                    usize::from(*concept),
                    weight * strength * CONCEPT_SHARE,
                );
            }
            for word in &question.strangers {
                self.index.names.add_to(&mut scores, word, weight * LOOKALIKE_SHARE);
            }
        }
        scores
    }
}

fn sorted(scores: Vec<f32>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> =
        scores.into_iter().enumerate().map(|(index, score)| Ranked { index, score }).collect();
    ranked.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then(one.index.cmp(&other.index)));
    ranked
}

#[cfg(test)]
mod tests;
