//! The layers of the context, on times and memories that are known.

use super::{Circumstances, context_text, temporal};
use crate::memory::Memories;
use jiff::Zoned;
use roost_protocol::{DEFAULT_USER_GUID, UserGuid};
use serde_json::{Value, json};
use std::fs;

fn at(text: &str) -> Zoned {
    format!("{text}[UTC]").parse().unwrap()
}

fn context(query: &str, slush: Option<Value>, remembered: &[(&str, &str)]) -> Value {
    let data = tempfile::tempdir().unwrap();
    let records: serde_json::Map<String, Value> = remembered
        .iter()
        .enumerate()
        .map(|(index, (message, theme))| {
            let time = format!("10:00:{index:02}");
            (
                index.to_string(),
                json!({ "message": message, "theme": theme, "date": "2026-01-01", "time": time }),
            )
        })
        .collect();
    fs::create_dir_all(data.path().join("shared_memories")).unwrap();
    fs::write(data.path().join("shared_memories/memory.json"), Value::Object(records).to_string()).unwrap();
    let slush = slush.and_then(|slush| slush.as_object().cloned());
    let around = Circumstances { query, slush: slush.as_ref(), ..Circumstances::default() };
    let text =
        context_text(&at("2026-03-20T14:00:00+00:00"), &around, &Memories::new(data.path().to_owned()));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_layer_is_there_even_without_anything_known() {
    let context = context("", None, &[]);
    for layer in [
        "timestamp",
        "temporal",
        "memory",
        "query",
        "behavioral",
        "slush",
        "priors",
        "orientation",
        "breadcrumbs",
    ] {
        assert!(!context[layer].is_null(), "{layer}");
    }
}

#[test]
fn the_user_is_named_unless_it_is_nobody_in_particular() {
    let named = |user: Option<&str>| -> Value {
        let user = user.map(|user| UserGuid::parse(user).unwrap());
        let around = Circumstances { user: user.as_ref(), ..Circumstances::default() };
        let text = context_text(&at("2026-03-20T14:00:00+00:00"), &around, &Memories::new("/nowhere".into()));
        serde_json::from_str::<Value>(&text).unwrap()["user_guid"].clone()
    };
    assert_eq!(named(Some("anna")), "anna");
    assert_eq!((named(None), named(Some(DEFAULT_USER_GUID))), (Value::Null, Value::Null));
}

#[test]
fn times_of_day_and_fiscal_periods_follow_the_published_table() {
    for (time, time_of_day, fiscal, quarter) in [
        ("2026-01-01T05:00:00+00:00", "early_morning", "quarter_start", "Q1"),
        ("2026-01-15T09:00:00+00:00", "morning", "quarter_start", "Q1"),
        ("2026-01-16T12:00:00+00:00", "afternoon", "mid_quarter", "Q1"),
        ("2026-06-14T17:00:00+00:00", "evening", "mid_quarter", "Q2"),
        ("2026-06-15T21:00:00+00:00", "night", "quarter_end_push", "Q2"),
        ("2026-12-31T04:59:59+00:00", "night", "quarter_end_push", "Q4"),
    ] {
        let seen = temporal(&at(time));
        assert_eq!(
            (seen.time_of_day, seen.fiscal, seen.quarter.as_str()),
            (time_of_day, fiscal, quarter),
            "{time}"
        );
    }
}

#[test]
fn memories_that_share_words_with_the_query_come_first() {
    let remembered = [
        ("The boat is called Aurora", "fact"),
        ("Tea at five", "preference"),
        ("Boat engine broken", "task"),
    ];
    let context = context("what is wrong with the boat engine?", None, &remembered);
    assert_eq!(context["memory"][0]["message"], "Boat engine broken");
    assert_eq!(context["memory"][0]["theme"], "task");
    assert_eq!(context["memory"][1]["message"], "The boat is called Aurora");
    assert_eq!(context["memory"].as_array().unwrap().len(), 2);
    assert_eq!(context["query"]["is_question"], true);
}

#[test]
fn slush_of_the_agent_before_arrives_unchanged() {
    let context = context("", Some(json!({ "mood": "rain", "deep": { "n": 1 } })), &[]);
    assert_eq!(context["slush"], json!({ "mood": "rain", "deep": { "n": 1 } }));
}

#[test]
fn what_a_user_asked_for_before_shapes_the_behavioral_layer() {
    let remembered = [
        ("Please keep answers short", "preference"),
        ("Deploy the API server", "task"),
        ("Python code", "fact"),
    ];
    let context = context("status of ticket ABC-1234", None, &remembered);
    assert_eq!(context["behavioral"]["prefers_brief"], true);
    assert_eq!(context["behavioral"]["technical_level"], "intermediate");
    assert_eq!(context["query"]["has_id_pattern"], true);
    assert_eq!(context["orientation"]["response_style"], "concise");
}
