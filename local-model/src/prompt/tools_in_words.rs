//! Tools for models whose template knows none: told in the system message, calls and answers as text.
//!
//! The form of a call is the one that the grammar holds the model to, so that examples in a conversation look exactly
//! like what is wanted next.

use crate::grammar::{CALL_CLOSING, CALL_OPENING, call_head};
use crate::json_text::spaced;
use crate::request::{Message, Role, Tool};
use serde_json::Value;

/// The same conversation with calls as text, and with instructions in the message of the system.
pub(crate) fn retold(messages: Vec<Message>, instructions: Option<String>) -> Vec<Message> {
    let mut told: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        let message = as_text(message);
        match told.last_mut() {
            // Several results in a row are one turn of the user, since templates may refuse two.
            Some(last) if last.role == Role::User && message.role == Role::User => {
                last.content.push('\n');
                last.content.push_str(&message.content);
            }
            _ => told.push(message),
        }
    }
    let Some(instructions) = instructions else { return told };
    match told.first_mut() {
        Some(first) if first.role == Role::System => {
            first.content = format!("{}\n\n{instructions}", first.content);
        }
        _ => told.insert(0, Message { role: Role::System, content: instructions, calls: Vec::new() }),
    }
    told
}

/// Tells all tools, and how to call one.
pub(crate) fn of_all(tools: &[Tool]) -> String {
    let mut text = "You can use these tools:\n".to_owned();
    for tool in tools {
        let parameters = spaced(&tool.parameters);
        text.push_str(&format!("- {}: {} Arguments: {parameters}\n", tool.name, tool.description));
    }
    let head = call_head("TOOL");
    text.push_str(&format!(
        "To use a tool, answer with nothing but:\n{CALL_OPENING}{head}{{...}}}}{CALL_CLOSING}\n\
         Take the arguments from the words of the user. When no tool is needed, answer in plain text."
    ));
    text
}

/// Tells the one tool that will be called, an argument a line. The grammar knows the schema, and the smallest models
/// make no more of it than of these few words, in half the time.
pub(crate) fn of_one(tool: &Tool) -> String {
    let mut text = format!(
        "Call the tool {} for the user. {}\nCopy its arguments from the words of the user:\n",
        tool.name, tool.description
    );
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let meaning = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let choices =
            schema.get("enum").map(|choices| format!(" one of {}", spaced(choices))).unwrap_or_default();
        text.push_str(&format!("- {name}: {meaning}{choices}\n"));
    }
    text.truncate(text.trim_end().len());
    text
}

fn as_text(message: Message) -> Message {
    match message.role {
        Role::Tool => Message {
            role: Role::User,
            content: format!("<tool_response>\n{}\n</tool_response>", message.content),
            calls: Vec::new(),
        },
        _ => {
            let mut content = message.content;
            for call in message.calls {
                if !content.is_empty() {
                    content.push('\n');
                }
                let arguments = spaced(&call.arguments);
                let head = call_head(&call.name);
                content.push_str(&format!("{CALL_OPENING}{head}{arguments}}}{CALL_CLOSING}"));
            }
            Message { role: message.role, content, calls: Vec::new() }
        }
    }
}
