//! Words to arguments: shell-like quoting, then values typed as the schema says.
//!
//! What a person types is checked against the schema; what is written as JSON is taken as it is, because whoever writes
//! JSON knows the agent better than its schema does.

use super::{ExplicitProblem, nearest, plain, short};
use crate::tool_definition::{ToolDefinition, type_of};
use serde_json::{Map, Value, json};

/// Reads what follows an agent's name.
pub(super) fn read(rest: &str, tool: &ToolDefinition) -> Result<Map<String, Value>, ExplicitProblem> {
    if rest.starts_with('{') {
        return match serde_json::from_str(rest) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err(ExplicitProblem::NotJson { detail: "it is something else".to_owned() }),
            Err(problem) => Err(ExplicitProblem::NotJson { detail: problem.to_string() }),
        };
    }
    let mut arguments = Map::new();
    let mut loose = Vec::new();
    for word in words(rest)? {
        match word.key {
            Some(key) => add(&mut arguments, tool, &key, word.value)?,
            None => loose.push(word.value),
        }
    }
    if !loose.is_empty() {
        let words = loose.join(" ");
        let Some(name) = place_of_loose_words(tool, &arguments) else {
            return Err(ExplicitProblem::LooseWords { words: short(&words), known: names(tool) });
        };
        add(&mut arguments, tool, &name, words)?;
    }
    Ok(arguments)
}

struct Word {
    key: Option<String>,
    value: String,
}

/// Splits at spaces outside of quotes. The first `=` outside of quotes ends a key.
fn words(text: &str) -> Result<Vec<Word>, ExplicitProblem> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    while characters.next_if(|next| next.is_whitespace()).is_some() || characters.peek().is_some() {
        let (mut key, mut value, mut quote, mut quoted) = (None, String::new(), None, false);
        while let Some(character) = characters.next_if(|next| quote.is_some() || !next.is_whitespace()) {
            match (character, quote) {
                ('\\', _) if characters.peek().is_some_and(|next| matches!(next, '"' | '\'' | '\\')) => {
                    value.extend(characters.next());
                }
                (mark, Some(open)) if mark == open => quote = None,
                // An apostrophe inside a word is none of a quotation.
                ('"', None) => (quote, quoted) = (Some('"'), true),
                ('\'', None) if value.is_empty() => (quote, quoted) = (Some('\''), true),
                ('=', None) if key.is_none() && !quoted && is_key(&value) => {
                    key = Some(std::mem::take(&mut value))
                }
                (other, _) => value.push(other),
            }
        }
        if quote.is_some() {
            return Err(ExplicitProblem::OpenQuote);
        }
        if key.is_some() || quoted || !value.is_empty() {
            words.push(Word { key, value });
        }
    }
    Ok(words)
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'))
}

fn add(
    arguments: &mut Map<String, Value>,
    tool: &ToolDefinition,
    key: &str,
    value: String,
) -> Result<(), ExplicitProblem> {
    let (name, schema) = property(tool, key)?;
    let value = typed(&name, &value, schema)?;
    match (arguments.get_mut(&name), value) {
        // A list may be given word by word.
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
        (_, value) => {
            arguments.insert(name, value);
        }
    }
    Ok(())
}

/// The argument a key means. A tool that describes none takes whatever it is given.
fn property<'a>(tool: &'a ToolDefinition, key: &str) -> Result<(String, &'a Value), ExplicitProblem> {
    let Some(properties) = tool.properties().filter(|properties| !properties.is_empty()) else {
        return Ok((key.to_owned(), &Value::Null));
    };
    if let Some(schema) = properties.get(key) {
        return Ok((key.to_owned(), schema));
    }
    let mut alike = properties.iter().filter(|(name, _)| plain(name) == plain(key));
    if let (Some((name, schema)), None) = (alike.next(), alike.next()) {
        return Ok((name.clone(), schema));
    }
    let near = nearest(&plain(key), properties.keys().map(String::as_str));
    let others = names(tool).into_iter().filter(|name| !near.contains(name));
    let known = near.iter().cloned().chain(others).collect();
    Err(ExplicitProblem::UnknownArgument { agent: tool.name.clone(), name: short(key), known })
}

/// A value of the type the schema wants.
fn typed(name: &str, value: &str, schema: &Value) -> Result<Value, ExplicitProblem> {
    let wrong = |expected: &str| ExplicitProblem::WrongValue {
        name: name.to_owned(),
        value: short(value),
        expected: expected.to_owned(),
    };
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return chosen(value, choices).ok_or_else(|| wrong(&one_of(choices)));
    }
    match type_of(schema) {
        "integer" => value.parse::<i64>().map(Value::from).map_err(|_| wrong("a whole number")),
        "number" => value
            .parse::<f64>()
            .ok()
            .and_then(|number| value.parse::<i64>().map(Value::from).ok().or_else(|| Some(json!(number))))
            .filter(|number| !number.is_null())
            .ok_or_else(|| wrong("a number")),
        "boolean" => match value.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "off" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false")),
        },
        "array" => list(value, schema.get("items").unwrap_or(&Value::Null))
            .ok_or_else(|| wrong("a list, such as a,b,c")),
        "object" => match serde_json::from_str(value) {
            Ok(object @ Value::Object(_)) => Ok(object),
            _ => Err(wrong("a JSON object in quotes")),
        },
        _ => Ok(Value::from(value)),
    }
}

fn chosen(value: &str, choices: &[Value]) -> Option<Value> {
    let says = |choice: &&Value| match choice {
        Value::String(text) => text.to_lowercase() == value.to_lowercase(),
        other => other.to_string().as_str() == value,
    };
    choices.iter().find(says).cloned()
}

fn one_of(choices: &[Value]) -> String {
    let texts: Vec<String> = choices
        .iter()
        .take(CHOICES_SHOWN)
        .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
        .collect();
    let more = if choices.len() > CHOICES_SHOWN { " or another of its choices" } else { "" };
    format!("one of {}{more}", texts.join(", "))
}

/// Choices that a message lists.
const CHOICES_SHOWN: usize = 10;

fn list(value: &str, items: &Value) -> Option<Value> {
    if value.starts_with('[') {
        return serde_json::from_str(value).ok().filter(Value::is_array);
    }
    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| typed("", part, items).ok()).collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// Where words without a key belong: the one required argument that is missing, or the only one there is.
fn place_of_loose_words(tool: &ToolDefinition, given: &Map<String, Value>) -> Option<String> {
    let missing: Vec<&str> = tool.required().into_iter().filter(|name| !given.contains_key(*name)).collect();
    if let [name] = missing.as_slice() {
        return Some((*name).to_owned());
    }
    let properties = tool.properties()?;
    let mut open = properties.keys().filter(|name| !given.contains_key(*name));
    match (open.next(), open.next()) {
        (Some(name), None) => Some(name.clone()),
        _ => None,
    }
}

fn names(tool: &ToolDefinition) -> Vec<String> {
    tool.properties().into_iter().flat_map(Map::keys).take(CHOICES_SHOWN).cloned().collect()
}
