//! Data sloshing: what an agent knows before the first line of `perform` runs.
//!
//! The layers have the names of the specification; the base classes add those the one published implementation uses.

use crate::memory::{Memories, Memory, words};
use jiff::Zoned;
use roost_protocol::UserGuid;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Memories that are shown to an agent; more would be noise.
const ECHOES_MAX: usize = 5;

/// Names and things a user mentions most.
const ENTITIES_MAX: usize = 5;

/// What a call brings along for its context.
#[derive(Debug, Default)]
pub(crate) struct Circumstances<'a> {
    pub(crate) user: Option<&'a UserGuid>,
    /// The sentence that led to the call.
    pub(crate) query: &'a str,
    /// Signals of the agent before this one.
    pub(crate) slush: Option<&'a Map<String, Value>>,
    /// Agents of this run so far.
    pub(crate) breadcrumbs: &'a [String],
}

#[derive(Debug, Serialize)]
struct Context<'a> {
    timestamp: String,
    /// Absent when it is nobody in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_guid: Option<&'a str>,
    temporal: Temporal,
    query: Query<'a>,
    memory: Vec<Echo<'a>>,
    behavioral: Behavioral,
    slush: &'a Map<String, Value>,
    priors: Map<String, Value>,
    orientation: Orientation,
    breadcrumbs: &'a [String],
}

#[derive(Debug, Serialize, PartialEq)]
struct Temporal {
    time_of_day: &'static str,
    day_of_week: String,
    is_weekend: bool,
    quarter: String,
    fiscal: &'static str,
    likely_activity: &'static str,
    is_urgent_period: bool,
}

#[derive(Debug, Serialize)]
struct Query<'a> {
    text: &'a str,
    specificity: &'static str,
    hints: Vec<&'static str>,
    word_count: usize,
    is_question: bool,
    has_id_pattern: bool,
}

#[derive(Debug, Serialize)]
struct Echo<'a> {
    message: &'a str,
    theme: &'a str,
    relevance: f64,
}

#[derive(Debug, Serialize)]
struct Behavioral {
    prefers_brief: bool,
    technical_level: &'static str,
    frequent_entities: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Orientation {
    confidence: &'static str,
    approach: &'static str,
    hints: Vec<&'static str>,
    response_style: &'static str,
}

/// The context of one call as JSON text.
pub(crate) fn context_text(now: &Zoned, around: &Circumstances<'_>, memories: &Memories) -> String {
    let remembered = memories.of(around.user);
    let query = query(around.query);
    let echoes = echoes(around.query, &remembered);
    let behavioral = behavioral(&remembered);
    let empty = Map::new();
    let slush = around.slush.unwrap_or(&empty);
    let orientation = orientation(&query, &echoes, &behavioral);
    let context = Context {
        timestamp: now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        user_guid: around.user.filter(|user| !user.is_default()).map(UserGuid::as_str),
        temporal: temporal(now),
        query,
        memory: echoes,
        behavioral,
        slush,
        priors: Map::new(),
        orientation,
        breadcrumbs: around.breadcrumbs,
    };
    // Only text, numbers and text keys: this cannot fail, and an agent without context is better than none.
    serde_json::to_string(&context).unwrap_or_else(|_| "{}".to_owned())
}

fn temporal(now: &Zoned) -> Temporal {
    let time_of_day = match now.hour() {
        5..9 => "early_morning",
        9..12 => "morning",
        12..17 => "afternoon",
        17..21 => "evening",
        _ => "night",
    };
    let month_of_quarter = (now.month() - 1) % 3;
    let fiscal = match (month_of_quarter, now.day()) {
        (0, ..=15) => "quarter_start",
        (2, 15..) => "quarter_end_push",
        _ => "mid_quarter",
    };
    let is_weekend = matches!(now.weekday(), jiff::civil::Weekday::Saturday | jiff::civil::Weekday::Sunday);
    let likely_activity = match time_of_day {
        _ if is_weekend => "personal",
        "early_morning" => "planning",
        "morning" | "afternoon" => "working",
        "evening" => "wrapping_up",
        _ => "resting",
    };
    Temporal {
        time_of_day,
        day_of_week: now.strftime("%A").to_string(),
        is_weekend,
        quarter: format!("Q{}", (now.month() - 1) / 3 + 1),
        fiscal,
        likely_activity,
        is_urgent_period: fiscal == "quarter_end_push",
    }
}

fn query(text: &str) -> Query<'_> {
    const OWNERSHIP: &[&str] = &["my", "mine", "our", "ours", "i", "we"];
    const TEMPORAL: &[&str] =
        &["today", "tomorrow", "yesterday", "now", "week", "month", "year", "latest", "recent", "recently"];
    const URGENT: &[&str] = &["urgent", "asap", "immediately", "critical"];
    let word_count = text.split_whitespace().count();
    let lower = text.to_lowercase();
    let has_id_pattern = text.split_whitespace().any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits >= 3 || (digits > 0 && word.contains(['-', '#', '_']))
    });
    let mut hints = Vec::new();
    for word in lower.split(|character: char| !character.is_alphanumeric()) {
        for (hint, words) in [("ownership", OWNERSHIP), ("temporal", TEMPORAL), ("urgent", URGENT)] {
            if words.contains(&word) && !hints.contains(&hint) {
                hints.push(hint);
            }
        }
    }
    let specificity = match word_count {
        _ if has_id_pattern => "high",
        8.. => "high",
        3.. => "medium",
        _ => "low",
    };
    let starts_as_question =
        ["what", "who", "when", "where", "why", "how", "which", "is", "are", "can", "does", "do"]
            .contains(&lower.split_whitespace().next().unwrap_or_default());
    let is_question = text.trim_end().ends_with('?') || starts_as_question;
    Query { text, specificity, hints, word_count, is_question, has_id_pattern }
}

/// The memories that share most words with the query; without a query, the newest.
fn echoes<'a>(query: &str, memories: &'a [Memory]) -> Vec<Echo<'a>> {
    let wanted = words(query);
    let echo = |memory: &'a Memory, relevance: f64| Echo {
        message: &memory.message,
        theme: &memory.theme,
        relevance,
    };
    if wanted.is_empty() {
        return memories.iter().rev().take(ECHOES_MAX).map(|memory| echo(memory, 0.0)).collect();
    }
    let mut scored: Vec<(usize, &Memory)> = memories
        .iter()
        .rev()
        .map(|memory| (wanted.iter().filter(|word| memory.words.binary_search(word).is_ok()).count(), memory))
        .filter(|(shared, _)| *shared > 0)
        .collect();
    // Stable: among equals the newest stays first.
    scored.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    #[expect(clippy::cast_precision_loss, reason = "counts of words in a sentence")]
    let relevance = |shared: usize| (shared as f64 / wanted.len() as f64 * 100.0).round() / 100.0;
    scored.into_iter().take(ECHOES_MAX).map(|(shared, memory)| echo(memory, relevance(shared))).collect()
}

fn behavioral(memories: &[Memory]) -> Behavioral {
    let mentions = |wanted: &[&str]| {
        memories
            .iter()
            .filter(|memory| memory.words.iter().any(|word| wanted.contains(&word.as_str())))
            .count()
    };
    let prefers_brief = mentions(&["brief", "short", "concise", "terse", "summary"]) > 0;
    let technical =
        mentions(&["api", "code", "python", "rust", "server", "database", "sql", "deploy", "function"]);
    let technical_level = match technical {
        0 => "standard",
        1..3 => "intermediate",
        _ => "advanced",
    };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in memories.iter().flat_map(|memory| &memory.words) {
        *counts.entry(word).or_default() += 1;
    }
    let mut frequent: Vec<(&str, usize)> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    frequent.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
    let frequent_entities =
        frequent.into_iter().take(ENTITIES_MAX).map(|(word, _)| word.to_owned()).collect();
    Behavioral { prefers_brief, technical_level, frequent_entities }
}

fn orientation(query: &Query<'_>, echoes: &[Echo<'_>], behavioral: &Behavioral) -> Orientation {
    let remembers = echoes.iter().any(|echo| echo.relevance > 0.0);
    let confidence = match (query.specificity, remembers) {
        ("high", _) | ("medium", true) => "high",
        ("medium", false) | ("low", true) => "medium",
        _ => "low",
    };
    let approach = match confidence {
        "high" => "direct",
        "medium" if remembers => "use_memory",
        "medium" => "direct",
        _ => "clarify",
    };
    let response_style = if behavioral.prefers_brief { "concise" } else { "standard" };
    Orientation { confidence, approach, hints: query.hints.clone(), response_style }
}

#[cfg(test)]
mod tests;
