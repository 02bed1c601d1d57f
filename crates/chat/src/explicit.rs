//! What was asked for with a slash: `/Agent key=value`, `/Agent {json}`, `/agents`, `/help`.
//!
//! Only reads. Nothing is run here; whoever gets the result decides. A text that merely begins with a slash, such as a
//! path, is no command.

mod arguments; // words to arguments

use crate::{spelling::distance, tool_definition::ToolDefinition};
use serde_json::{Map, Value};

/// What was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Explicit {
    /// How to use this.
    Help,
    /// What agents there are.
    Agents,
    /// One agent, with arguments.
    Use {
        /// Its name as it is known.
        agent: String,
        /// Its arguments, typed as its schema says.
        arguments: Map<String, Value>,
    },
}

/// Why a line with a slash cannot be followed. Each reads as a sentence for the person who typed it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplicitProblem {
    /// No agent has this name.
    #[error("there is no agent called `{name}`{}; `/agents` lists all", did_you_mean(near))]
    UnknownAgent {
        /// What was typed.
        name: String,
        /// Names that are nearly the same, nearest first.
        near: Vec<String>,
    },
    /// Several agents could be meant.
    #[error("`{name}` could be {}; write the whole name", candidates.join(" or "))]
    AmbiguousAgent {
        /// What was typed.
        name: String,
        /// Whom it could mean.
        candidates: Vec<String>,
    },
    /// The agent has no such argument.
    #[error("{agent} takes no `{name}`{}", known_arguments(known))]
    UnknownArgument {
        /// The agent.
        agent: String,
        /// What was typed.
        name: String,
        /// What it takes, the nearest first.
        known: Vec<String>,
    },
    /// A value is not of the argument's type.
    #[error("`{name}` must be {expected}, and `{value}` is not")]
    WrongValue {
        /// The argument.
        name: String,
        /// What was typed.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// Words that belong to no argument.
    #[error(
        "it is not clear which argument `{words}` is for; write it as `name=value`{}",
        known_arguments(known)
    )]
    LooseWords {
        /// What was typed.
        words: String,
        /// What the agent takes.
        known: Vec<String>,
    },
    /// A quotation mark without its partner.
    #[error("a quotation mark is not closed")]
    OpenQuote,
    /// The braces do not hold JSON.
    #[error("the arguments are not a JSON object: {detail}")]
    NotJson {
        /// What the parser says.
        detail: String,
    },
}

/// Names suggested for an unknown one; more is a list, and there is `/agents` for that.
const NEAR_MAX: usize = 3;

/// Bytes of a name that are looked at and repeated in messages; no agent's name is longer.
const NAME_BYTES_MAX: usize = 80;

/// Reads a line with a slash. Nothing when the text is none.
#[must_use]
pub fn parse_explicit(text: &str, tools: &[ToolDefinition]) -> Option<Result<Explicit, ExplicitProblem>> {
    let line = text.trim().strip_prefix('/')?;
    if !line.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '_' | '"' | '?')) {
        return None;
    }
    let (name, rest) = split_name(line, tools);
    match name.to_lowercase().as_str() {
        "help" | "?" => return Some(Ok(Explicit::Help)),
        "agents" => return Some(Ok(Explicit::Agents)),
        // A path, a fraction, a comment.
        _ if name.contains('/') => return None,
        _ => {}
    }
    Some(find(name, tools).and_then(|tool| {
        let arguments = arguments::read(rest.trim(), tool)?;
        Ok(Explicit::Use { agent: tool.name.clone(), arguments })
    }))
}

/// Splits off the name. Names with spaces exist, so the longest known one that the line begins with wins.
fn split_name<'a>(line: &'a str, tools: &[ToolDefinition]) -> (&'a str, &'a str) {
    if let Some(quoted) = line.strip_prefix('"')
        && let Some((name, rest)) = quoted.split_once('"')
    {
        return (name, rest);
    }
    let known = tools.iter().filter(|tool| tool.name.contains(' ')).filter_map(|tool| {
        let (name, rest) = line.split_at_checked(tool.name.len())?;
        let whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
        (whole && name.to_lowercase() == tool.name.to_lowercase()).then_some((name, rest))
    });
    let spaced = known.max_by_key(|(name, _)| name.len());
    // A brace may follow without a space.
    let end = line.find(|next: char| next.is_whitespace() || next == '{').unwrap_or(line.len());
    spaced.unwrap_or_else(|| line.split_at(end))
}

/// The one tool a name means: exactly, whatever its case, without `Agent` and underscores, or by its beginning.
fn find<'a>(name: &str, tools: &'a [ToolDefinition]) -> Result<&'a ToolDefinition, ExplicitProblem> {
    if let Some(tool) = tools.iter().find(|tool| tool.name == name) {
        return Ok(tool);
    }
    let (lower, wanted) = (name.to_lowercase(), plain(name));
    let rules: [&dyn Fn(&ToolDefinition) -> bool; 3] = [
        &|tool| tool.name.to_lowercase() == lower,
        &|tool| !wanted.is_empty() && plain(&tool.name) == wanted,
        &|tool| wanted.len() >= 3 && plain(&tool.name).starts_with(&wanted),
    ];
    for rule in rules {
        let matching: Vec<&ToolDefinition> = tools.iter().filter(|tool| rule(tool)).collect();
        match matching.as_slice() {
            [] => {}
            [tool] => return Ok(tool),
            several => {
                let candidates = several.iter().take(NEAR_MAX).map(|tool| tool.name.clone()).collect();
                return Err(ExplicitProblem::AmbiguousAgent { name: short(name), candidates });
            }
        }
    }
    let near = nearest(&wanted, tools.iter().map(|tool| tool.name.as_str()));
    Err(ExplicitProblem::UnknownAgent { name: short(name), near })
}

/// Names that could be meant by one that is not known, nearest first.
fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut near: Vec<(usize, &str)> = names
        .map(|name| {
            let known = plain(name);
            let part = wanted.len() >= 3
                && (known.contains(wanted) || (known.len() >= 3 && wanted.contains(&known)));
            (if part { 1 } else { distance(&known, wanted) }, name)
        })
        .filter(|(apart, _)| *apart <= wanted.len() / 3 + 1)
        .collect();
    near.sort();
    near.into_iter().take(NEAR_MAX).map(|(_, name)| name.to_owned()).collect()
}

/// A name without what people leave out.
fn plain(name: &str) -> String {
    let letters: String =
        name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    match letters.strip_suffix("agent") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => letters,
    }
}

fn short(text: &str) -> String {
    text[..text.floor_char_boundary(NAME_BYTES_MAX)].to_owned()
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" (did you mean `/{}`?)", near.join("` or `/")) }
}

fn known_arguments(known: &[String]) -> String {
    if known.is_empty() {
        "; it takes no arguments".to_owned()
    } else {
        format!("; it takes {}", known.join(", "))
    }
}

#[cfg(test)]
mod tests;
