//! Tools as they are sent: written as JSON once, however many requests carry them.

use crate::shortlist::{TOOLS_BYTES_MAX, TOOLS_MAX};
use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};
use std::sync::Arc;

/// The tools of one or several requests. Clones share everything.
#[derive(Debug, Clone)]
pub struct ToolList {
    tools: Arc<[Arc<Written>]>,
    json: Arc<RawValue>,
}

/// One tool and its text.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) value: Value,
    pub(crate) text: Box<str>,
}

impl Written {
    pub(crate) fn new(value: Value) -> Self {
        let text = value.to_string().into_boxed_str();
        Self { value, text }
    }
}

impl ToolList {
    /// No tools at all.
    #[must_use]
    pub fn none() -> Self {
        Self::of(Vec::new())
    }

    pub(crate) fn of(tools: Vec<Arc<Written>>) -> Self {
        let mut json = String::with_capacity(tools.iter().map(|tool| tool.text.len() + 1).sum::<usize>() + 2);
        json.push('[');
        for (index, tool) in tools.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&tool.text);
        }
        json.push(']');
        let json = RawValue::from_string(json).expect("a list of JSON texts is JSON");
        Self { tools: tools.into(), json: json.into() }
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// These and more behind them, as far as one request has room for all.
    #[must_use]
    pub fn with_more(&self, more: &Self) -> Self {
        let fits =
            self.len() + more.len() <= TOOLS_MAX && self.json().len() + more.json().len() <= TOOLS_BYTES_MAX;
        if !fits || more.is_empty() {
            return self.clone();
        }
        Self::of(self.tools.iter().chain(more.tools.iter()).cloned().collect())
    }

    /// Each of them, in the form of OpenAI's functions.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.tools.iter().map(|tool| &tool.value)
    }

    /// All of them as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get()
    }
}

impl From<Vec<Value>> for ToolList {
    fn from(tools: Vec<Value>) -> Self {
        Self::of(tools.into_iter().map(|tool| Arc::new(Written::new(tool))).collect())
    }
}

impl PartialEq for ToolList {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

impl Serialize for ToolList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::ToolList;
    use serde_json::{Value, json};

    #[test]
    fn a_list_is_written_as_its_tools_are() {
        let tools = vec![json!({ "type": "function", "function": { "name": "é \"x\"" } }), json!({})];
        let list = ToolList::from(tools.clone());
        assert_eq!(serde_json::from_str::<Value>(list.json()).unwrap(), Value::Array(tools));
        assert_eq!(serde_json::to_value(&list).unwrap()[1], json!({}));
        assert_eq!(list.with_more(&list).len(), 4);
        let many = ToolList::from(vec![json!({}); 127]);
        assert_eq!((many.with_more(&list).len(), list.with_more(&ToolList::none()).len()), (127, 2));
        assert_eq!((ToolList::none().json(), ToolList::none().len()), ("[]", 0));
    }
}
