//! What is known of a roster: for every word and every concept, which tools it speaks for and how much.
//!
//! Everything that does not depend on the question is computed here once, so that a question only adds numbers.

use super::{
    Described,
    concepts::{Concepts, Followers, Pointer},
    fields,
    words::{Stems, is_stop_word, split},
};
use crate::spelling::WordList;
use std::collections::HashMap;

/// How soon a word's repetition stops counting (BM25's k1, its customary value).
const WORD_REPETITION: f32 = 1.2;

/// The same for concepts: several words of one need are better evidence than one word several times.
const CONCEPT_REPETITION: f32 = 3.0;

/// Counts from which a tool is fully about something. Below, a word in a list of choices or in a parameter's
/// description must not make it look as if every tool were about it.
const ABOUT: f32 = 2.0;

/// How much long texts are held against a tool (BM25's b). Less than customary: authors who explain more are no worse.
const LENGTH_PENALTY: f32 = 0.45;

/// How far after the first word of a pair the second may stand: "days of leave" has one word of grammar between.
pub(super) const PAIR_REACH: usize = 2;

/// What a roster's words say.
#[derive(Debug)]
pub(super) struct Index {
    /// How many tools there are.
    pub(super) tools: usize,
    /// For every word, by its number, the tools that use it.
    pub(super) words: Postings,
    /// For every concept, the tools that are about it.
    pub(super) concepts: Postings,
    /// The shapes of the names.
    pub(super) names: NameShapes,
    /// Words by stem.
    terms: HashMap<String, u32>,
    spellings: WordList,
}

impl Index {
    /// Reads every tool of a roster.
    pub(super) fn build<'a>(tools: impl Iterator<Item = Described<'a>>, concepts: &Concepts) -> Self {
        let mut reader = Reader::new(concepts);
        let mut names = NameShapes::default();
        let mut counted = Vec::new();
        for (tool, described) in tools.enumerate() {
            names.add(tool, described.name);
            counted.push(reader.read(&described));
        }
        let average = counted.iter().map(|tool| tool.length).sum::<f32>() / counted.len().max(1) as f32;
        let lengths: Vec<f32> = counted
            .iter()
            .map(|tool| 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * tool.length / average.max(1.0))
            .collect();
        let words = Postings::weigh(
            counted.iter().map(|tool| &tool.words),
            reader.terms.len(),
            &lengths,
            WORD_REPETITION,
        );
        let about = Postings::weigh(
            counted.iter().map(|tool| &tool.concepts),
            concepts.count(),
            &lengths,
            CONCEPT_REPETITION,
        );
        reader.spellings.finish();
        Self {
            tools: counted.len(),
            words,
            concepts: about,
            names,
            terms: reader.terms,
            spellings: reader.spellings,
        }
    }

    /// The number of a word, by its stem.
    pub(super) fn term(&self, stem: &str) -> Option<u32> {
        self.terms.get(stem).copied()
    }

    /// Words of the roster, for finding what was meant by a misspelt one.
    pub(super) fn spellings(&self) -> &WordList {
        &self.spellings
    }
}

/// How often one tool uses words and concepts, by their numbers, and how long it speaks.
struct Counted {
    words: Vec<(u32, f32)>,
    concepts: Vec<(u32, f32)>,
    length: f32,
}

/// Reads tools one after the other. Most words of a roster repeat, so what a word means is looked up once.
struct Reader<'c> {
    list: &'c Concepts,
    stems: Stems,
    terms: HashMap<String, u32>,
    /// Words as they are written.
    seen: HashMap<String, Seen>,
    /// What the stems mean, by number.
    meanings: Vec<Meaning<'c>>,
    spellings: WordList,
}

#[derive(Clone, Copy)]
struct Seen {
    term: u32,
    stop: bool,
}

struct Meaning<'c> {
    stem: String,
    alone: &'c [Pointer],
    followers: Option<&'c Followers>,
}

impl<'c> Reader<'c> {
    fn new(list: &'c Concepts) -> Self {
        Self {
            list,
            stems: Stems::new(),
            terms: HashMap::new(),
            seen: HashMap::new(),
            meanings: Vec::new(),
            spellings: WordList::default(),
        }
    }

    fn read(&mut self, tool: &Described<'_>) -> Counted {
        let mut counted = Counted { words: Vec::new(), concepts: Vec::new(), length: 0.0 };
        let mut row = Vec::new();
        fields::read(tool, |text, weight| {
            row.clear();
            split(text, |word| row.push(self.look_up(word)));
            for (place, Seen { term, stop }) in row.iter().enumerate() {
                let meaning = &self.meanings[*term as usize];
                if let Some(followers) = meaning.followers {
                    let next = row.iter().skip(place + 1).take(PAIR_REACH);
                    let both = next.filter_map(|next| followers.get(&self.meanings[next.term as usize].stem));
                    both.for_each(|pointers| count_concepts(&mut counted.concepts, pointers, weight));
                }
                if !stop {
                    counted.words.push((*term, weight));
                    counted.length += weight;
                    count_concepts(&mut counted.concepts, meaning.alone, weight);
                }
            }
        });
        merge(&mut counted.words);
        merge(&mut counted.concepts);
        counted
    }

    fn look_up(&mut self, word: &str) -> Seen {
        if let Some(seen) = self.seen.get(word) {
            return *seen;
        }
        self.spellings.add(word);
        let next = u32::try_from(self.meanings.len()).expect("words are read up to a limit per tool");
        let term = *self.terms.entry(self.stems.of(word)).or_insert_with_key(|stem| {
            self.meanings.push(Meaning {
                stem: stem.clone(),
                alone: self.list.of_word(stem),
                followers: self.list.followers(stem),
            });
            next
        });
        let seen = Seen { term, stop: is_stop_word(word) };
        self.seen.insert(word.to_owned(), seen);
        seen
    }
}

/// A word of many meanings speaks less for each.
pub(super) fn share(meanings: usize) -> f32 {
    1.0 / (meanings.max(1) as f32).sqrt()
}

/// How much a word that only people in need use says about a tool whose description holds it.
const CUE_IN_DESCRIPTION: f32 = 0.3;

fn count_concepts(counts: &mut Vec<(u32, f32)>, pointers: &[Pointer], weight: f32) {
    counts.extend(pointers.iter().map(|pointer| {
        let worth = if pointer.names_it { 1.0 } else { CUE_IN_DESCRIPTION };
        (u32::from(pointer.concept), weight * worth * share(pointers.len()))
    }));
}

/// Adds up what stands several times.
fn merge(counts: &mut Vec<(u32, f32)>) {
    counts.sort_by_key(|(number, _)| *number);
    counts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// For every word or concept, the tools it speaks for and how much.
#[derive(Debug)]
pub(super) struct Postings {
    entries: Vec<Vec<(u32, f32)>>,
}

impl Postings {
    fn weigh<'a>(
        tools: impl Iterator<Item = &'a Vec<(u32, f32)>>,
        count: usize,
        lengths: &[f32],
        repetition: f32,
    ) -> Self {
        let mut entries: Vec<Vec<(u32, f32)>> = vec![Vec::new(); count];
        let mut using = vec![0.0_f32; count];
        for ((tool, counts), length) in (0_u32..).zip(tools).zip(lengths) {
            for (number, often) in counts {
                let strength = often * (repetition + 1.0) / (often + repetition * length);
                entries[*number as usize].push((tool, strength));
                using[*number as usize] += (often / ABOUT).min(1.0);
            }
        }
        for (entry, using) in entries.iter_mut().zip(using) {
            let rarity = (1.0 + (lengths.len() as f32 - using + 0.5) / (using + 0.5)).ln();
            entry.iter_mut().for_each(|(_, strength)| *strength *= rarity);
        }
        Self { entries }
    }

    /// Adds what one word or concept says to the scores of the tools it speaks for.
    pub(super) fn add_to(&self, scores: &mut [f32], number: usize, weight: f32) {
        for (tool, strength) in self.entries.get(number).into_iter().flatten() {
            scores[*tool as usize] += strength * weight;
        }
    }
}

/// Three letters in a row, for finding names that look alike.
#[derive(Debug, Default)]
pub(super) struct NameShapes {
    trigrams: HashMap<[char; 3], Vec<u32>>,
    names: usize,
}

/// A word must share this much of its letters with a name to count as alike.
const ALIKE_MIN: f32 = 0.5;

impl NameShapes {
    fn add(&mut self, tool: usize, name: &str) {
        self.names = self.names.max(tool + 1);
        let tool = u32::try_from(tool).expect("a roster is held in memory");
        split(name, |part| {
            for trigram in trigrams(part) {
                let tools = self.trigrams.entry(trigram).or_default();
                if tools.last() != Some(&tool) {
                    tools.push(tool);
                }
            }
        });
    }

    /// Adds how much names look like a word.
    pub(super) fn add_to(&self, scores: &mut [f32], word: &str, weight: f32) {
        let mut shared = vec![0_u16; self.names];
        let mut all = 0_u16;
        for trigram in trigrams(word) {
            all += 1;
            for tool in self.trigrams.get(&trigram).into_iter().flatten() {
                shared[*tool as usize] += 1;
            }
        }
        for (score, shared) in scores.iter_mut().zip(shared) {
            let alike = f32::from(shared) / f32::from(all.max(1));
            if alike >= ALIKE_MIN {
                *score += weight * alike;
            }
        }
    }
}

fn trigrams(word: &str) -> impl Iterator<Item = [char; 3]> {
    let letters: Vec<char> = word.chars().take(TRIGRAM_LETTERS_MAX).collect();
    (2..letters.len()).map(move |last| [letters[last - 2], letters[last - 1], letters[last]])
}

/// Letters of a name that are compared; names are shorter, and what is not is no name.
const TRIGRAM_LETTERS_MAX: usize = 64;
