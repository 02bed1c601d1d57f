//! What is offered when there is no model: the agents that look closest, each with a line that is ready to be sent.
//!
//! Nothing is run here. A score orders agents and decides nothing, so a person always chooses.

mod guess; // arguments a sentence seems to hold

use crate::{
    ranking::Ranked,
    tool_definition::{ToolDefinition, cut, first_sentence, type_of},
};
use serde::Serialize;
use serde_json::Value;

/// What a person can choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offer {
    /// The whole offer in words.
    pub text: String,
    /// The agents that look closest, best first; none when nothing does.
    pub choices: Vec<Choice>,
}

/// One agent that may be meant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Its name.
    pub agent: String,
    /// What it does, in one sentence.
    pub description: String,
    /// How well it suits; comparable within one offer only.
    pub score: f32,
    /// What it takes.
    pub form: Vec<FormField>,
    /// A line that uses it.
    pub example: String,
}

/// One argument of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FormField {
    /// Its name.
    pub name: String,
    /// Its type, as JSON schemas call it.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it must be given.
    pub required: bool,
    /// What its author says of it.
    pub description: String,
    /// The values it may have, when they are listed.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    /// What it is when it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What the sentence seems to say it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess: Option<Value>,
}

/// Agents that are offered: what fits on a screen and can be compared at a glance.
const CHOICES_MAX: usize = 3;

/// Fields of a form; pathological schemas have hundreds, and the rest can still be given by hand.
const FIELDS_MAX: usize = 24;

/// Bytes of the text, the length of an ordinary answer.
const TEXT_BYTES_MAX: usize = 2000;

/// Characters of an agent's description: one line, so that three can be compared.
const DESCRIPTION_CHARS: usize = 120;

/// Characters of a field's description, which stands beside its input.
const FIELD_DESCRIPTION_CHARS: usize = 160;

/// Characters of a line that is ready to be sent; a longer one is no longer read before it is.
const EXAMPLE_CHARS: usize = 200;

/// Values of a list of choices that a form repeats; a longer list is typed, not picked from.
const LISTED_MAX: usize = 40;

/// Names shown when nothing matches: a taste, because `/agents` lists them all.
const NAMES_SHOWN: usize = 6;

/// A score below this is a coincidence: a rare letter sequence, or one vague word.
const SCORE_MIN: f32 = 0.3;

const CLOSING: &str = "\n`/agents` lists all agents, `/help` explains the lines.\n\n";

const SET_UP: &str = "To have a model choose for you, do one of these:\n\
    - `roost login` signs in with GitHub Copilot\n\
    - put a key into `.env`, such as `OPENAI_API_KEY=…`\n\
    - start Ollama, and it is found by itself\n\
    - `roost models` lists small models for this computer, and how to get one";

/// What to offer for a sentence, from agents in the order of their relevance.
#[must_use]
pub fn offer(sentence: &str, tools: &[ToolDefinition], ranked: &[Ranked]) -> Offer {
    let best = ranked.iter().filter(|entry| entry.score >= SCORE_MIN).take(CHOICES_MAX);
    let choices: Vec<Choice> = best
        .filter_map(|entry| tools.get(entry.index).map(|tool| choice(sentence, tool, entry.score)))
        .collect();
    let text = if choices.is_empty() { nothing_matches(tools) } else { something_matches(&choices) };
    Offer { text, choices }
}

fn choice(sentence: &str, tool: &ToolDefinition, score: f32) -> Choice {
    let required = tool.required();
    let guesses = guess::arguments(sentence, tool);
    let properties = tool.properties().into_iter().flatten().take(FIELDS_MAX);
    let mut form: Vec<FormField> = properties
        .map(|(name, schema)| FormField {
            name: name.clone(),
            kind: type_of(schema).to_owned(),
            required: required.contains(&name.as_str()),
            description: cut(schema["description"].as_str().unwrap_or_default(), FIELD_DESCRIPTION_CHARS),
            choices: schema["enum"].as_array().into_iter().flatten().take(LISTED_MAX).cloned().collect(),
            default: schema.get("default").cloned(),
            guess: guesses.get(name).cloned(),
        })
        .collect();
    form.sort_by_key(|field| !field.required);
    Choice {
        agent: tool.name.clone(),
        description: first_sentence(&tool.description, DESCRIPTION_CHARS),
        score,
        example: example(&tool.name, &form),
        form,
    }
}

/// A line with what was guessed, and a place to fill in for what is required and was not.
fn example(name: &str, form: &[FormField]) -> String {
    let mut line =
        if name.contains(char::is_whitespace) { format!("/\"{name}\"") } else { format!("/{name}") };
    for field in form {
        let value = match (&field.guess, field.required) {
            (Some(guess), _) => word(guess),
            (None, true) => {
                field.default.as_ref().or(field.choices.first()).map_or_else(|| "…".to_owned(), word)
            }
            (None, false) => continue,
        };
        let addition = format!(" {}={value}", field.name);
        // A line that is cut in the middle of a value would say something else.
        if line.chars().count() + addition.chars().count() > EXAMPLE_CHARS {
            break;
        }
        line.push_str(&addition);
    }
    line
}

/// A value as it is typed: in quotes when it has spaces or marks.
fn word(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    };
    let plain = |letter: char| letter.is_alphanumeric() || "-_.,:/@+…".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("\"{}\"", flat.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

fn something_matches(choices: &[Choice]) -> String {
    let mut text = String::from("No model is set up yet, so nothing was run. ");
    text.push_str(match choices.len() {
        1 => "This agent looks closest; copy its line, change what is wrong and send it:\n",
        _ => "These agents look closest; copy a line, change what is wrong and send it:\n",
    });
    for (place, choice) in (1..).zip(choices) {
        let dash = if choice.description.is_empty() { "" } else { " – " };
        let entry = format!(
            "\n{place}. **{}**{dash}{}\n   `{}`\n",
            cut(&choice.agent, DESCRIPTION_CHARS),
            choice.description,
            // A backtick would end the code it stands in.
            choice.example.replace('`', "'")
        );
        if text.len() + entry.len() + SET_UP.len() + CLOSING.len() <= TEXT_BYTES_MAX {
            text.push_str(&entry);
        }
    }
    text.push_str(CLOSING);
    text.push_str(SET_UP);
    text
}

fn nothing_matches(tools: &[ToolDefinition]) -> String {
    let mut text = String::from("No model is set up yet, and no agent here looks like a match for that.\n\n");
    if tools.is_empty() {
        text.push_str("No agent is installed.\n\n");
    } else {
        let step = tools.len().div_ceil(NAMES_SHOWN);
        let names: Vec<String> =
            tools.iter().step_by(step).map(|tool| format!("`/{}`", cut(&tool.name, 40))).collect();
        text.push_str(&format!(
            "Some of the {} agents: {}. `/agents` lists all.\n\n",
            tools.len(),
            names.join(", ")
        ));
    }
    text.push_str(SET_UP);
    text
}

#[cfg(test)]
mod tests;
