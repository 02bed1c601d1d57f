//! Text to words: split, lower case, without accents, by stem.
//!
//! Takes any UTF-8. English gets stems and stop words; other alphabets keep their words as they are, and scripts
//! without spaces become pairs of characters, which is enough to find the same word again.

use rust_stemmers::{Algorithm, Stemmer};
use std::{collections::HashSet, sync::LazyLock};

/// Longer words are keys, hashes and encoded data; they mean nothing to a search.
const WORD_CHARS_MAX: usize = 40;

/// Words that say nothing about what is wanted: grammar, courtesy, and what every description says.
const STOP_WORDS: &str = " a about after all also am an and any anybody anyone anything are as ask at be because been before being \
    both bring but by came can cant come could couldnt did didnt do does doesnt doing done dont each either else etc even ever every \
    everybody everyone everything for from gave get gets getting give gives giving go goes going gonna got gotta had has hasnt have havent \
    having he hello her here heres hers hey hi him his how i id if ill im in instead into is isnt it its itself ive just kind kindly \
    know let lets like ll lot many maybe me mine more most much must my myself need needed needs never no nobody not nothing now of off \
    ok okay on one only onto or other others our ours out over own per perhaps please pls put quite rather re really regarding s same \
    see shall she should so some somebody someone something sort still such sure t tell than thank thanks that thats the their them then \
    there theres these they thing things this those though through to too try trying u under up upon us use used user users using ve very \
    via want wanted wants was wasnt way we well went were weve what whats when where wheres whether which while who whom whos whose why \
    will with within without wont would yes yet you your youre yours first second third next last new old two three four five today best good bad great little big able make makes made \
    end start time times number kinds ready \
    agent agents tool tools provide provides providing support supports supporting including includes include based given specified \
    optional default value values string parameter action operation perform performs required \
    der die das und ist ich ein eine mir bitte wie was den dem im zu mit fur auf von le la les un une et est je de des du que el los las \
    una es en por para mi como con ";

static STOPS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());

/// Whether a lower-case word says nothing about what is wanted.
pub(super) fn is_stop_word(word: &str) -> bool {
    // Short numbers are amounts in a wish and limits in a description.
    STOPS.contains(word) || (word.len() <= 2 && word.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Cuts words down to their stems.
pub(super) struct Stems {
    english: Stemmer,
}

impl Stems {
    pub(super) fn new() -> Self {
        Self { english: Stemmer::create(Algorithm::English) }
    }

    /// The stem of a lower-case word.
    pub(super) fn of(&self, word: &str) -> String {
        if word.bytes().all(|letter| letter.is_ascii_lowercase()) {
            self.english.stem(word).into_owned()
        } else {
            word.to_owned()
        }
    }
}

/// Gives every word of a text to `each`, lower case and without accents. Joined words (`camelCase`, `GitHub`) are
/// given as one and then in their parts.
pub(super) fn split(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut joints = Vec::new();
    let mut before = Kind::Other;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let kind = Kind::of(character);
        match kind {
            // "don't" and "client's" are one word each.
            Kind::Apostrophe if !word.is_empty() => continue,
            Kind::Apostrophe | Kind::Other => finish(&mut word, &mut joints, &mut each),
            Kind::Ideograph => {
                finish(&mut word, &mut joints, &mut each);
                let follower = characters.peek().filter(|next| Kind::of(**next) == Kind::Ideograph);
                word.push(character);
                word.extend(follower);
                each(&word);
                word.clear();
            }
            Kind::Upper | Kind::Lower | Kind::Digit => {
                let next_is_lower = characters.peek().is_some_and(|next| Kind::of(*next) == Kind::Lower);
                let starts_part = kind == Kind::Upper && (before != Kind::Upper || next_is_lower);
                if starts_part && !word.is_empty() {
                    joints.push(word.len());
                }
                fold(character, &mut word);
            }
        }
        before = kind;
    }
    finish(&mut word, &mut joints, &mut each);
}

fn finish(word: &mut String, joints: &mut Vec<usize>, each: &mut impl FnMut(&str)) {
    if !word.is_empty() && word.chars().count() <= WORD_CHARS_MAX {
        each(word);
        let mut from = 0;
        if !joints.is_empty() {
            for upto in joints.iter().copied().chain([word.len()]) {
                if upto - from > 1 {
                    each(&word[from..upto]);
                }
                from = upto;
            }
        }
    }
    word.clear();
    joints.clear();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Ideograph,
    Apostrophe,
    Other,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            '\'' | '’' => Self::Apostrophe,
            // Scripts without spaces: Thai, kana, Han.
            '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' => Self::Ideograph,
            _ if character.is_ascii() => Self::Other,
            _ if character.is_uppercase() => Self::Upper,
            _ if character.is_alphanumeric() => Self::Lower,
            _ => Self::Other,
        }
    }
}

/// Adds a letter in lower case and without its accent, so that `Zürich` and `zurich` are one word.
fn fold(character: char, word: &mut String) {
    if character.is_ascii() {
        word.push(character.to_ascii_lowercase());
        return;
    }
    for lower in character.to_lowercase() {
        let plain = match lower {
            'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
            'ç' | 'ć' | 'č' => 'c',
            'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
            'ì'..='ï' | 'ī' | 'ı' => 'i',
            'ñ' | 'ń' | 'ň' => 'n',
            'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
            'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
            'ý' | 'ÿ' => 'y',
            'ś' | 'š' | 'ş' => 's',
            'ź' | 'ż' | 'ž' => 'z',
            'ł' => 'l',
            'ğ' => 'g',
            'ß' => {
                word.push_str("ss");
                continue;
            }
            other => other,
        };
        word.push(plain);
    }
}

#[cfg(test)]
mod tests {
    use super::{Stems, is_stop_word, split};

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let mut words = Vec::new();
        split(text, |word| words.push(word.to_owned()));
        assert_eq!(words, expect);
    }

    #[test]
    fn names_are_given_whole_and_in_parts() {
        check("HackerNews", &["hackernews", "hacker", "news"]);
        check("SQLAssistant", &["sqlassistant", "sql", "assistant"]);
        check("tracking_number", &["tracking", "number"]);
        check("WEATHER", &["weather"]);
    }

    #[test]
    fn accents_and_apostrophes_do_not_matter() {
        check("Don't go to Zürich, Straße’s closed!", &["dont", "go", "to", "zurich", "strasses", "closed"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("東京の天気", &["東京", "京の", "の天", "天気", "気"]);
        check("погода в Москве", &["погода", "в", "москве"]);
    }

    #[test]
    fn stems_join_the_forms_of_a_word_and_leave_other_alphabets() {
        let stems = Stems::new();
        assert_eq!(stems.of("forecasts"), stems.of("forecasting"));
        assert_eq!(stems.of("погода"), "погода");
        assert!(is_stop_word("please") && !is_stop_word("weather"));
    }
}
