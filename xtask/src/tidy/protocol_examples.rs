//! The examples in the protocol's document are frames that the host would send, or would accept.

use super::Violation;
use crate::repository::Repository;
use roost_protocol::{FromWorker, HostCall, HostCallReply, PerformFrame, Start, ToWorker};
use serde_json::{Map, Value};

const DOCUMENT: &str = "docs/agent-protocol.md";

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let examples = repository.file(DOCUMENT).map(|file| examples(&file.text)).unwrap_or_default();
    let object = |(index, error): (usize, serde_json::Error)| {
        Violation::at(DOCUMENT, index, format!("not a frame of the protocol: {error}"))
    };
    examples.into_iter().filter_map(|(index, text)| Some((index, read(&text).err()?))).map(object).collect()
}

/// Each fenced JSON block with the index of its first line.
fn examples(document: &str) -> Vec<(usize, String)> {
    let mut examples: Vec<(usize, String)> = Vec::new();
    let mut in_example = false;
    for (index, line) in document.lines().enumerate() {
        if in_example && line != "```" {
            if let Some((_, text)) = examples.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        } else if !in_example && line == "```json" {
            examples.push((index + 1, String::new()));
        }
        in_example = line == "```json" || (in_example && line != "```");
    }
    examples
}

/// Reads a frame as the side would that gets it.
fn read(text: &str) -> Result<(), serde_json::Error> {
    let frame: Value = serde_json::from_str(text)?;
    match frame.get("op").and_then(Value::as_str) {
        Some("start" | "perform" | "system_context") => is_sent_by_host(&frame),
        Some(_) => serde_json::from_str::<FromWorker>(text).map(drop),
        None if frame.get("method").is_some() => serde_json::from_str::<HostCall>(text).map(drop),
        None => serde_json::from_str::<HostCallReply>(text).map(drop),
    }
}

/// The host only writes these, so the example is written again from its own fields and compared.
fn is_sent_by_host(frame: &Value) -> Result<(), serde_json::Error> {
    let text = |field: &str| frame[field].as_str().unwrap_or_default();
    let id = frame["id"].as_u64().unwrap_or_default();
    let context_bytes = || serde_json::from_value(frame["context_bytes"].clone());
    let (start, arguments): (Start, Map<String, Value>);
    let sent = match text("op") {
        "start" => {
            start = serde_json::from_value(frame.clone())?;
            ToWorker::Start(&start)
        }
        "perform" => {
            arguments = serde_json::from_value(frame["arguments"].clone())?;
            ToWorker::Perform(PerformFrame {
                id,
                agent: text("agent"),
                arguments: &arguments,
                user_guid: frame["user_guid"].as_str(),
                context_bytes: context_bytes()?,
            })
        }
        _ => ToWorker::SystemContext { id, agent: text("agent"), context_bytes: context_bytes()? },
    };
    let written = serde_json::to_value(&sent)?;
    if written == *frame {
        Ok(())
    } else {
        Err(serde::de::Error::custom(format!("the host would send {written}")))
    }
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENT, check};
    use crate::tidy::tests::objections;

    fn refuses(example: &str) -> bool {
        !objections(check, &[(DOCUMENT, &format!("# Frames\n\n```json\n{example}\n```\n"))]).is_empty()
    }

    #[test]
    fn examples_that_are_frames_pass() {
        for example in [
            r#"{"op": "perform", "id": 1, "agent": "A", "arguments": {}, "context_bytes": 2}"#,
            r#"{"op": "perform", "id": 1, "agent": "A", "arguments": {}, "user_guid": "u", "context_bytes": 2}"#,
            r#"{"op": "system_context", "id": 1, "agent": "A", "context_bytes": 2}"#,
            r#"{"op": "result", "id": 1, "output": "x"}"#,
            r#"{"id": 1, "method": "model.complete"}"#,
            r#"{"id": 1, "result": 2}"#,
        ] {
            assert!(!refuses(example), "{example}");
        }
    }

    #[test]
    fn examples_that_are_no_frames_are_seen() {
        for example in [
            "{",
            r#"{"op": "perform", "id": 1, "agent": "A", "arguments": {}}"#,
            r#"{"op": "perform", "id": 1, "agent": "A", "arguments": {}, "user_guid": 1, "context_bytes": 2}"#,
            r#"{"op": "system_context", "id": 1, "agent": "A", "context": "{}"}"#,
            r#"{"op": "system_context", "id": 1, "agent": "A"}"#,
            r#"{"op": "result", "output": "x"}"#,
            r#"{"op": "failed", "reason": "bad_luck", "message": "x"}"#,
            r#"{"op": "dance"}"#,
        ] {
            assert!(refuses(example), "{example}");
        }
    }
}
