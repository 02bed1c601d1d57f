//! What ranking promises, on rosters small enough to read.

use super::{Described, Ranked, Ranking};
use proptest::prelude::*;
use serde_json::{Value, json};

fn ranking(tools: &[(&str, &str)]) -> Ranking {
    let none = Value::Null;
    Ranking::new(tools.iter().map(|(name, description)| Described { name, description, parameters: &none }))
}

#[track_caller]
fn check(tools: &[(&str, &str)], text: &str, best: &str) {
    let ranked = ranking(tools).rank(&[(text, 1.0)]);
    assert_eq!(ranked.len(), tools.len());
    assert_eq!(tools[ranked[0].index].0, best, "{ranked:?}");
    assert!(ranked[0].score > 0.0, "{text}");
}

const TOOLS: &[(&str, &str)] = &[
    ("HackerNews", "Top stories of a site for programmers."),
    ("Outlook", "Gives the forecast for a city."),
    ("Ledger", "Keeps the books of a company."),
    ("Dolmetscher", "Übersetzt Texte."),
    ("天気予報", "東京の天気を調べる。"),
];

#[test]
fn words_concepts_misspellings_and_names_find_a_tool() {
    check(TOOLS, "stories please", "HackerNews");
    check(TOOLS, "will I need an umbrella", "Outlook");
    check(TOOLS, "forcast for tomorrow", "Outlook");
    check(TOOLS, "hackernews", "HackerNews");
    check(TOOLS, "hackernewz", "HackerNews");
}

#[test]
fn other_languages_find_their_own_words() {
    check(TOOLS, "Bitte die Texte ubersetzt", "Dolmetscher");
    check(TOOLS, "明日の天気は", "天気予報");
}

#[test]
fn nothing_in_common_scores_nothing_and_keeps_the_order() {
    let ranked = ranking(TOOLS).rank(&[("xyzzy", 1.0), ("", 1.0)]);
    assert!(ranked.iter().enumerate().all(|(place, entry)| *entry == Ranked { index: place, score: 0.0 }));
    assert!(ranking(&[]).rank(&[("anything", 1.0)]).is_empty());
}

#[test]
fn a_heavier_text_wins() {
    let ranking = ranking(TOOLS);
    let first = |books, stories| ranking.rank(&[("books", books), ("stories", stories)])[0].index;
    assert_eq!(first(1.0, 0.2), 2);
    assert_eq!(first(0.2, 1.0), 0);
    assert_eq!(first(f32::NAN, 1.0), 0);
}

#[test]
fn an_embedding_decides_between_tools_that_words_cannot_tell_apart() {
    let ranking = ranking(TOOLS);
    assert_eq!(ranking.rank_with(&[("xyzzy", 1.0)], &[0.1, 0.1, 0.4, 0.1, 0.1])[0].index, 2);
    assert_eq!(ranking.rank_with(&[("stories", 1.0)], &[0.3, f32::NAN, 0.31])[0].index, 0);
    assert_eq!(ranking.rank_with(&[("stories", 1.0)], &[])[0].index, 0);
}

#[test]
fn parameters_count_too() {
    let (tides, other) = (json!({"properties": {"harbour": {"type": "string"}}}), json!({}));
    let tools = [("A", &other), ("B", &tides)];
    let described = |(name, parameters)| Described { name, description: "Same.", parameters };
    assert_eq!(Ranking::new(tools.into_iter().map(described)).rank(&[("which harbour", 1.0)])[0].index, 1);
}

proptest! {
    #[test]
    fn any_text_gets_every_tool_once_and_the_same_answer_twice(text in any::<String>(), name in any::<String>()) {
        let parameters = json!({"properties": {name.clone(): {"enum": [text.clone()], "description": name.clone()}}});
        let tool = Described { name: &name, description: &text, parameters: &parameters };
        let ranked = || Ranking::new([tool, tool, tool].into_iter()).rank(&[(&text, 1.0), (&name, 0.5)]);
        let first = ranked();
        prop_assert_eq!(&first, &ranked());
        let mut places: Vec<usize> = first.iter().map(|entry| entry.index).collect();
        places.sort_unstable();
        prop_assert_eq!(places, vec![0, 1, 2]);
        prop_assert!(first.iter().all(|entry| entry.score.is_finite() && entry.score >= 0.0));
    }
}
