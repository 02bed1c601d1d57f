//! What the tools of a turn did, as a record for programs and as the lines that clients have always shown.

use crate::{tools::ToolCall, turn::TOOL_CONTENT_BYTES_MAX};
use serde_json::{Map, Value, json};

/// One call of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnLog {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// A tool was asked, or would have been.
    Answered { call: ToolCall, result: Result<String, String>, record: Value },
    /// There is no such tool.
    Unknown { call: ToolCall },
    /// Not a call at all.
    Malformed { text: String },
}

/// How a line names an agent that does not exist: peers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownLine {
    /// `Agent 'X' not found.`
    Bare,
    /// `[X] Agent 'X' not found.`
    Named,
}

/// Characters of a malformed call that its line shows.
const MALFORMED_CHARACTERS: usize = 80;

impl TurnLog {
    /// A call that was made, and how it ended.
    #[must_use]
    pub fn answered(call: ToolCall, result: Result<String, String>, record: Value) -> Self {
        Self { kind: Kind::Answered { call, result, record } }
    }

    pub(crate) fn unknown(call: ToolCall) -> Self {
        Self { kind: Kind::Unknown { call } }
    }

    pub(crate) fn malformed(raw: &Value) -> Self {
        let text: String = raw.to_string().chars().take(MALFORMED_CHARACTERS).collect();
        Self { kind: Kind::Malformed { text } }
    }

    /// True when a call with an id stands behind it, which must be answered.
    pub(crate) fn has_call(&self) -> bool {
        !matches!(self.kind, Kind::Malformed { .. })
    }

    /// The line of the string form.
    #[must_use]
    pub fn line(&self, unknown: UnknownLine) -> String {
        match &self.kind {
            Kind::Answered { call, result: Ok(output), .. } => format!("[{}] {output}", call.name),
            Kind::Answered { call, result: Err(message), .. } => format!("[{}] ERROR: {message}", call.name),
            Kind::Unknown { call } => match unknown {
                UnknownLine::Bare => not_found(&call.name),
                UnknownLine::Named => format!("[{}] {}", call.name, not_found(&call.name)),
            },
            Kind::Malformed { text } => format!("[?] Skipped malformed tool call: {text}"),
        }
    }

    /// The line as the Azure lineage writes it.
    #[must_use]
    pub fn performed_line(&self) -> String {
        match &self.kind {
            Kind::Answered { call, result: Ok(output), .. } => {
                format!("Performed {} and got result: {output}", call.name)
            }
            Kind::Answered { call, result: Err(message), .. } => {
                format!("Performed {} and got error: {message}", call.name)
            }
            Kind::Unknown { .. } | Kind::Malformed { .. } => self.line(UnknownLine::Bare),
        }
    }

    /// The call as data: `{name, args, output, error?}` and whatever is known of it besides.
    #[must_use]
    pub fn record(&self) -> Value {
        let entry = |call: &ToolCall, output: &str, error: Option<&str>| {
            let mut entry = Map::new();
            entry.insert("id".to_owned(), json!(call.id));
            entry.insert("name".to_owned(), json!(call.name));
            entry.insert("args".to_owned(), Value::Object(call.arguments.clone()));
            entry.insert("output".to_owned(), json!(output));
            if let Some(error) = error {
                entry.insert("error".to_owned(), json!(error));
            }
            entry
        };
        Value::Object(match &self.kind {
            Kind::Answered { call, result, record } => {
                let mut entry = match result {
                    Ok(output) => entry(call, output, None),
                    Err(message) => entry(call, "", Some(message)),
                };
                if let Value::Object(record) = record {
                    entry.extend(record.clone());
                }
                entry
            }
            Kind::Unknown { call } => entry(call, "", Some(&not_found(&call.name))),
            Kind::Malformed { text } => {
                let mut entry = Map::new();
                entry.insert("name".to_owned(), json!("?"));
                entry.insert("error".to_owned(), json!(format!("malformed tool call: {text}")));
                entry
            }
        })
    }

    /// The message that answers the call; none when there is no call to answer.
    pub(crate) fn message(&self) -> Option<Value> {
        let (call, content) = match &self.kind {
            Kind::Answered { call, result: Ok(output), .. } => (call, shortened(output)),
            Kind::Answered { call, result: Err(message), .. } => (call, format!("Error: {message}")),
            Kind::Unknown { call } => (call, not_found(&call.name)),
            Kind::Malformed { .. } => return None,
        };
        Some(json!({ "tool_call_id": call.id, "role": "tool", "name": call.name, "content": content }))
    }
}

/// All lines in the string form.
#[must_use]
pub fn log_lines(logs: &[TurnLog], unknown: UnknownLine) -> String {
    let lines: Vec<String> = logs.iter().map(|log| log.line(unknown)).collect();
    lines.join("\n")
}

fn not_found(name: &str) -> String {
    format!("Agent '{name}' not found.")
}

/// What a model gets of a long output: its beginning, and how much there was.
fn shortened(output: &str) -> String {
    if output.len() <= TOOL_CONTENT_BYTES_MAX {
        return output.to_owned();
    }
    let end = output.floor_char_boundary(TOOL_CONTENT_BYTES_MAX);
    format!("{}\n[the output goes on: {} of {} bytes are shown]", &output[..end], end, output.len())
}
