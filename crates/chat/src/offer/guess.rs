//! Arguments a sentence seems to hold: what is quoted, counted, chosen from a list, or named after "in" and "to".
//!
//! Guesses fill a form that a person looks at before anything runs. When in doubt there is none.

use crate::tool_definition::{ToolDefinition, cut, type_of};
use serde_json::{Map, Value, json};

/// Characters of a sentence that are looked at; what is longer was pasted.
const SENTENCE_CHARS_MAX: usize = 600;

/// Characters of a guess, so that it fits into a line.
const GUESS_CHARS_MAX: usize = 100;

/// Words before what is wanted: they address somebody and hold no argument.
const OPENINGS: &[&str] = &[
    "please", "pls", "can", "could", "would", "will", "you", "i", "we", "need", "want", "like", "to", "hey",
    "hi", "hello", "just", "me", "a", "an", "the", "some", "give", "tell", "show", "help", "with", "id",
    "i'd", "do", "get", "for", "us",
];

/// Days as people write them; they stay text, because only the agent knows what form it wants.
const DAYS: &[&str] = &[
    "today",
    "tonight",
    "tomorrow",
    "yesterday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Names of arguments that hold a day or a time.
const DAY_NAMES: &[&str] =
    &["date", "day", "when", "start", "due", "time", "depart", "check_in", "start_date", "due_date"];

/// What a sentence seems to say about a tool's arguments.
pub(super) fn arguments(sentence: &str, tool: &ToolDefinition) -> Map<String, Value> {
    let mut guesses = Map::new();
    let Some(properties) = tool.properties() else { return guesses };
    let sentence: String = sentence.chars().take(SENTENCE_CHARS_MAX).collect();
    let mut reading = Reading::new(&sentence);
    for (name, schema) in properties {
        let guess = match (schema["enum"].as_array(), type_of(schema)) {
            (Some(choices), _) => reading.mentioned(choices),
            (None, "boolean") => reading.switched(name),
            (None, "integer" | "number") => reading.number_beside(name),
            (None, "string") if is_day(name) => reading.day(),
            (None, "string") if is_sum(name) => sum_in(&sentence),
            (None, "string") => reading.place(name),
            _ => None,
        };
        guesses.extend(guess.map(|value| (name.clone(), value)));
    }
    let required = tool.required();
    let open = |guesses: &Map<String, Value>, wanted: &[&str]| -> Vec<String> {
        let free = required.iter().filter(|name| !guesses.contains_key(**name));
        let schemas = free.filter_map(|name| properties.get(*name).map(|schema| (*name, schema)));
        let open =
            schemas.filter(|(_, schema)| schema.get("enum").is_none() && wanted.contains(&type_of(schema)));
        open.map(|(name, _)| name.to_owned()).collect()
    };
    for name in open(&guesses, &["integer", "number"]) {
        let whole = properties.get(&name).is_some_and(|schema| type_of(schema) == "integer");
        guesses.extend(reading.next_number(whole).map(|value| (name, value)));
    }
    let texts = open(&guesses, &["string"]);
    for (name, quoted) in texts.iter().zip(&reading.quoted) {
        guesses.insert(name.clone(), json!(cut(quoted, GUESS_CHARS_MAX)));
    }
    // The rest of the sentence is an argument only when it can be no other.
    if let ([name], true) = (texts.as_slice(), reading.quoted.is_empty()) {
        guesses.extend(reading.remainder().map(|rest| (name.clone(), json!(rest))));
    }
    guesses
}

/// Names of arguments that hold something to calculate.
const SUM_NAMES: &[&str] = &["expression", "formula", "calculation", "equation"];

/// Words for the signs of a sum.
const SIGNS: &[(&str, &str)] = &[
    (" divided by ", " / "),
    (" multiplied by ", " * "),
    (" plus ", " + "),
    (" minus ", " - "),
    (" times ", " * "),
    (" over ", " / "),
];

fn is_sum(name: &str) -> bool {
    SUM_NAMES.contains(&name.to_lowercase().as_str())
}

/// The longest part of a sentence that reads as a sum: numbers with signs between them.
fn sum_in(sentence: &str) -> Option<Value> {
    let sentence = SIGNS.iter().fold(sentence.to_lowercase(), |text, (word, sign)| text.replace(word, sign));
    let is_part = |letter: char| letter.is_ascii_digit() || " +-*/%^().,".contains(letter);
    let sum = sentence
        .split(|letter| !is_part(letter))
        .map(|part| part.trim().trim_end_matches(['.', ',', ' ']))
        .filter(|part| part.contains(|letter: char| letter.is_ascii_digit()))
        .filter(|part| part.trim_start_matches(['-', '(']).contains(['+', '-', '*', '/', '%', '^']))
        .max_by_key(|part| part.len())?;
    Some(json!(cut(sum, GUESS_CHARS_MAX)))
}

fn is_day(name: &str) -> bool {
    DAY_NAMES.contains(&name.to_lowercase().as_str())
}

/// A sentence, and which of its numbers are taken.
struct Reading {
    /// The words as they are written, without marks around them.
    words: Vec<String>,
    lower: Vec<String>,
    quoted: Vec<String>,
    taken: Vec<bool>,
}

impl Reading {
    fn new(sentence: &str) -> Self {
        let around = |letter: char| !letter.is_alphanumeric() && letter != '-';
        let words: Vec<String> =
            sentence.split_whitespace().map(|word| word.trim_matches(around).to_owned()).collect();
        let lower = words.iter().map(|word| word.to_lowercase()).collect();
        Self { lower, quoted: quoted(sentence), taken: vec![false; words.len()], words }
    }

    /// The one choice whose words the sentence holds.
    fn mentioned(&self, choices: &[Value]) -> Option<Value> {
        let holds = |choice: &&Value| {
            let Some(text) = choice.as_str() else { return false };
            let parts: Vec<String> = text.to_lowercase().split(['_', '-', ' ']).map(str::to_owned).collect();
            self.lower.windows(parts.len()).any(|window| window == parts.as_slice())
        };
        let mut found = choices.iter().filter(holds);
        found.next().filter(|_| found.next().is_none()).cloned()
    }

    /// Whether a switch is named, and whether it is to be off.
    fn switched(&self, name: &str) -> Option<Value> {
        let name = name.to_lowercase().replace('_', " ");
        let word = name.split(' ').next_back().filter(|word| word.len() > 2)?;
        let at = self.lower.iter().position(|known| known == word)?;
        let before = at.checked_sub(1).map(|before| self.lower[before].as_str());
        Some(json!(!matches!(before, Some("no" | "without" | "not"))))
    }

    /// A number next to the argument's name, as in "3 nights".
    fn number_beside(&mut self, name: &str) -> Option<Value> {
        let name = name.to_lowercase();
        let parts: Vec<&str> = name.split('_').filter(|part| part.len() > 2).collect();
        let alike =
            |word: &str| parts.iter().any(|part| word.trim_end_matches('s') == part.trim_end_matches('s'));
        let beside = |at: usize| {
            let next = self.lower.get(at + 1).is_some_and(|word| alike(word));
            let before = at.checked_sub(1).is_some_and(|before| alike(&self.lower[before]));
            next || before
        };
        let at = (0..self.words.len())
            .find(|at| !self.taken[*at] && number(&self.words[*at]).is_some() && beside(*at))?;
        self.taken[at] = true;
        number(&self.words[at])
    }

    fn next_number(&mut self, whole: bool) -> Option<Value> {
        let fits = |value: &Value| !whole || value.is_i64() || value.is_u64();
        let at = (0..self.words.len())
            .find(|at| !self.taken[*at] && number(&self.words[*at]).as_ref().is_some_and(fits))?;
        self.taken[at] = true;
        number(&self.words[at])
    }

    fn day(&self) -> Option<Value> {
        let is_date = |word: &str| {
            word.len() == 10
                && word
                    .bytes()
                    .enumerate()
                    .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
        };
        self.lower.iter().find(|word| DAYS.contains(&word.as_str()) || is_date(word)).map(|word| json!(word))
    }

    /// Names after the small word that belongs to an argument: "in Berlin" for a city, "to Lisbon" for a destination.
    fn place(&self, name: &str) -> Option<Value> {
        let small: &[&str] = match name.to_lowercase().as_str() {
            "city" | "location" | "place" | "address" | "region" => &["in", "at", "near", "for"],
            "destination" | "to" | "target" => &["to", "in"],
            "origin" | "from" | "source" => &["from"],
            "target_language" | "language" | "to_language" => &["in", "to", "into"],
            _ => return None,
        };
        for (at, _) in self.lower.iter().enumerate().filter(|(_, word)| small.contains(&word.as_str())) {
            let is_name = |word: &&String| {
                word.chars().next().is_some_and(char::is_uppercase)
                    && !DAYS.contains(&word.to_lowercase().as_str())
            };
            let names: Vec<&str> =
                self.words[at + 1..].iter().take_while(is_name).take(4).map(String::as_str).collect();
            let language = name.contains("language").then(|| self.words.get(at + 1)).flatten();
            if !names.is_empty() {
                return Some(json!(cut(&names.join(" "), GUESS_CHARS_MAX)));
            }
            if let Some(word) = language.filter(|word| !word.is_empty()) {
                return Some(json!(cut(word, GUESS_CHARS_MAX)));
            }
        }
        None
    }

    /// The sentence without its opening.
    fn remainder(&self) -> Option<String> {
        let rest: Vec<&str> = self
            .words
            .iter()
            .map(String::as_str)
            .skip_while(|word| word.is_empty() || OPENINGS.contains(&word.to_lowercase().as_str()))
            .filter(|word| !word.is_empty())
            .collect();
        (!rest.is_empty()).then(|| cut(&rest.join(" "), GUESS_CHARS_MAX))
    }
}

/// Texts in quotation marks, without the marks.
fn quoted(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some((_, after)) = rest.split_once(['"', '“', '”', '„']) {
        let Some((text, next)) = after.split_once(['"', '“', '”']) else { break };
        if !text.trim().is_empty() {
            found.push(text.trim().to_owned());
        }
        rest = next;
    }
    found
}

/// A number as people write it: 250, 6.1, 400k, 10%.
fn number(word: &str) -> Option<Value> {
    let plain = word.trim_start_matches(['$', '€', '£']).trim_end_matches('%').replace(',', "");
    let (digits, times) = match plain.strip_suffix(['k', 'K']) {
        Some(thousands) => (thousands.to_owned(), 1000),
        None => (plain, 1),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return None;
    }
    match digits.parse::<i64>() {
        Ok(whole) => Some(json!(whole.checked_mul(times)?)),
        Err(_) => digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(|number| json!(number * times as f64)),
    }
}
