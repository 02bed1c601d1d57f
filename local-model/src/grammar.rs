//! Grammars for llama.cpp (GBNF) that keep a model's tool calls within the schemas of the tools.
//!
//! Only text comes from here: which grammar is used and from where on is decided in `plan` and `engine`.

mod rules; // rules with names, and how they are printed
mod schema; // a JSON schema as rules
mod strings; // strings and numbers as JSON writes them
#[cfg(test)]
mod gbnf; // reads grammars, for tests
#[cfg(test)]
mod tests;

use crate::request::Tool;
use rules::{Rules, literal};
use serde_json::Value;

/// Written where a call begins. Models with the Hermes form of calls know it as one token.
pub(crate) const CALL_OPENING: &str = "<tool_call>\n";
/// Written where a call ends.
pub(crate) const CALL_CLOSING: &str = "\n</tool_call>";

/// Why no grammar can be made of a schema.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// The schema would make a grammar that slows down every token.
    #[error("the schema of `{tool}` needs more than {maximum} grammar rules")]
    TooLarge { tool: String, maximum: usize },
}

/// What stands between the name of a call's tool and its arguments.
pub(crate) fn call_head(tool: &str) -> String {
    format!("{{\"name\": \"{tool}\", \"arguments\": ")
}

/// The rest of one call of any of the tools, behind [`CALL_OPENING`] and with [`CALL_CLOSING`].
///
/// Whether another call follows is not the grammar's business: it would turn every line break that the model wants to
/// write into the beginning of a call, and models then invent one.
pub(crate) fn of_call(tools: &[Tool]) -> Result<String, Error> {
    let mut rules = Rules::default();
    let mut alternatives = Vec::new();
    for tool in tools {
        let arguments = arguments(&mut rules, tool)?;
        alternatives.push(format!("{} {arguments} \"}}\"", literal(&call_head(&tool.name))));
    }
    let body = rules.add("body", alternatives.join(" | "));
    Ok(rules.print(&format!("{body} {}", literal(CALL_CLOSING))))
}

/// The arguments of one call of `tool`, and nothing after them.
pub(crate) fn of_arguments(tool: &Tool) -> Result<String, Error> {
    let mut rules = Rules::default();
    let arguments = arguments(&mut rules, tool)?;
    Ok(rules.print(&arguments))
}

/// One JSON value of a schema, and nothing after it.
#[cfg(test)]
fn of_value(schema: &Value) -> Result<String, Error> {
    let mut rules = Rules::default();
    let value = schema::value(&mut rules, schema);
    Ok(rules.print(&value))
}

fn arguments(rules: &mut Rules, tool: &Tool) -> Result<String, Error> {
    let expression = schema::object(rules, &tool.parameters);
    if rules.overflowed() {
        return Err(Error::TooLarge { tool: tool.name.clone(), maximum: crate::limits::GRAMMAR_RULES_MAX });
    }
    Ok(expression)
}

/// Whether a schema has nothing to say, as `true` and `{}` do not.
fn is_silent(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.is_empty(),
        other => !other.is_object(),
    }
}
