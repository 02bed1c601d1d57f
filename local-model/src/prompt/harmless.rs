//! Text of messages and tools that cannot be taken for the template's own marks.
//!
//! A page that an agent reads may hold `<|im_end|>`. Tokenized as it is, it would end the turn and let the page speak
//! as the system. A space after the first character leaves it readable and makes it ordinary text.

use crate::request::{Message, Tool};
use serde_json::Value;

/// Texts shorter than this stand in ordinary prose, and no model marks turns with them.
const CONTROL_TEXT_BYTES_MIN: usize = 3;

pub(crate) struct Harmless {
    control_texts: Vec<String>,
}

impl Harmless {
    pub(crate) fn new(control_texts: Vec<String>) -> Self {
        let long = |text: &String| text.len() >= CONTROL_TEXT_BYTES_MIN;
        Self { control_texts: control_texts.into_iter().filter(long).collect() }
    }

    pub(crate) fn make_messages(&self, messages: &mut [Message]) {
        for message in messages {
            self.make_text(&mut message.content);
            for call in &mut message.calls {
                self.make_value(&mut call.arguments);
            }
        }
    }

    pub(crate) fn make_tools(&self, tools: &mut [Tool]) {
        for tool in tools {
            self.make_text(&mut tool.description);
            self.make_value(&mut tool.parameters);
        }
    }

    fn make_text(&self, text: &mut String) {
        for control in &self.control_texts {
            if text.contains(control.as_str()) {
                let mut characters = control.chars();
                let first = characters.next().expect("short texts were left out");
                *text = text.replace(control.as_str(), &format!("{first} {}", characters.as_str()));
            }
        }
    }

    fn make_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.make_text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.make_value(value)),
            Value::Object(map) => {
                // Keys are text too, and they are printed into the prompt.
                let entries = std::mem::take(map);
                for (mut key, mut value) in entries {
                    self.make_text(&mut key);
                    self.make_value(&mut value);
                    map.insert(key, value);
                }
            }
            _ => {}
        }
    }
}
