//! Where native apps take part in a turn. A point without anybody costs one look at a number.

use crate::{
    conversations::SessionId,
    host::{Host, Inner},
    native::{Filtered, Point},
};
use roost_chat::{ToolAnswer, ToolCall};
use roost_protocol::{Failure, UserGuid};
use serde_json::{Map, Value, json};

/// The agents by which a conversation remembers and recalls.
const STORES: &str = "ManageMemory";
const RECALLS: &str = "ContextMemory";

/// Sections, messages and texts that apps may add to one turn, so that no app can fill it all.
const ADDED_MAX: usize = 64;
const ADDED_BYTES_MAX: usize = 256 << 10;

/// What is to be done with a call.
pub(super) enum Before {
    /// It is run, with these arguments.
    Run(Map<String, Value>),
    /// An app answered in its place.
    Answered(ToolAnswer),
}

impl Inner {
    /// Lets apps see and change a call before it is run.
    pub(super) async fn before_tool(&self, call: &ToolCall, user: Option<&UserGuid>) -> Before {
        let hooks = self.native.hooks();
        let mut arguments = call.arguments.clone();
        if hooks.has(Point::ToolPreExecute) {
            let payload = json!({ "tool": call.name, "input": arguments });
            match hooks.filter(Point::ToolPreExecute, payload).await {
                Filtered::Handled(said) => return Before::Answered(answer_in(&said)),
                Filtered::Payload(mut said) => {
                    if let Some(Value::Object(input)) = said.get_mut("input").map(Value::take) {
                        arguments = input;
                    }
                }
            }
        }
        match call.name.as_str() {
            STORES if hooks.has(Point::MemoryPreStore) => self.before_storing(arguments, user).await,
            RECALLS if hooks.has(Point::MemoryPreRecall) => self.before_recalling(arguments).await,
            _ => Before::Run(arguments),
        }
    }

    async fn before_storing(&self, mut arguments: Map<String, Value>, user: Option<&UserGuid>) -> Before {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let layer = if user.is_some() || arguments.contains_key("user_guid") { "user" } else { "shared" };
        let payload = json!({ "key": text("memory_type"), "value": text("content"), "layer": layer });
        match self.native.hooks().filter(Point::MemoryPreStore, payload).await {
            Filtered::Handled(_) => {
                Before::Answered(ToolAnswer { result: Ok("Stored.".to_owned()), record: by_hook() })
            }
            Filtered::Payload(said) => {
                for (key, argument) in [("key", "memory_type"), ("value", "content")] {
                    if let Some(text) = said[key].as_str().filter(|text| !text.is_empty()) {
                        arguments.insert(argument.to_owned(), json!(text));
                    }
                }
                Before::Run(arguments)
            }
        }
    }

    async fn before_recalling(&self, arguments: Map<String, Value>) -> Before {
        let words = arguments.get("keywords").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        let payload = json!({ "query": words.join(" "), "key": words.first().copied().unwrap_or_default() });
        match self.native.hooks().filter(Point::MemoryPreRecall, payload).await {
            Filtered::Handled(said) => {
                let results = said.get("results").unwrap_or(&said);
                Before::Answered(ToolAnswer { result: Ok(results.to_string()), record: by_hook() })
            }
            Filtered::Payload(_) => Before::Run(arguments),
        }
    }

    /// Lets apps see and change what a tool answered.
    pub(super) async fn after_tool(&self, call: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        if !self.native.hooks().has(Point::ToolPostExecute) {
            return answer;
        }
        let (content, is_error) = match &answer.result {
            Ok(content) => (content, false),
            Err(message) => (message, true),
        };
        let payload = json!({
            "tool": call.name, "input": call.arguments,
            "result": { "content": content, "is_error": is_error, "image_url": "" },
        });
        // Nothing is left to be done in place of the host here: the payload counts either way.
        let (Filtered::Payload(said) | Filtered::Handled(said)) =
            self.native.hooks().filter(Point::ToolPostExecute, payload).await;
        match said.get("result").filter(|result| result.is_object()) {
            Some(result) => ToolAnswer { result: answer_in(result).result, ..answer },
            None => answer,
        }
    }

    /// Lets apps change the sections of the prompt.
    pub(super) async fn filtered_sections(&self, sections: Vec<String>) -> Vec<String> {
        let hooks = self.native.hooks();
        if !hooks.has(Point::PromptSystemSections) {
            return sections;
        }
        let payload = json!({ "sections": sections });
        let (Filtered::Payload(said) | Filtered::Handled(said)) =
            hooks.filter(Point::PromptSystemSections, payload).await;
        let said: Option<Vec<String>> =
            said.get("sections").and_then(|sections| serde_json::from_value(sections.clone()).ok());
        said.filter(|said| !said.is_empty() && bearable(said)).unwrap_or(sections)
    }

    /// Lets apps change the whole system message; nothing when it stays as it is.
    pub(super) async fn filtered_system(&self, system: &str) -> Option<String> {
        let hooks = self.native.hooks();
        if !hooks.has(Point::MessagePreSend) {
            return None;
        }
        let payload = json!({ "system_prompt": system });
        let (Filtered::Payload(said) | Filtered::Handled(said)) =
            hooks.filter(Point::MessagePreSend, payload).await;
        let said = said["system_prompt"].as_str().filter(|said| !said.is_empty() && *said != system)?;
        bearable(&[said]).then(|| said.to_owned())
    }

    /// What apps add to what the model is told last.
    pub(super) async fn steering(&self) -> Vec<Value> {
        let hooks = self.native.hooks();
        if !hooks.has(Point::SteeringGenerate) {
            return Vec::new();
        }
        let (Filtered::Payload(said) | Filtered::Handled(said)) =
            hooks.filter(Point::SteeringGenerate, json!({ "messages": [] })).await;
        let messages = said["messages"].as_array().into_iter().flatten();
        let texts: Vec<&str> = messages
            .filter_map(|message| message.as_str().or(message["content"].as_str()))
            .filter(|text| !text.is_empty())
            .collect();
        if !bearable(&texts) {
            return Vec::new();
        }
        // Whatever role an app wrote: it speaks for the host, not for the person.
        texts.into_iter().map(|text| json!({ "role": "system", "content": text })).collect()
    }

    /// Lets apps change the answer; nothing when it stays as it is.
    pub(super) async fn filtered_answer(&self, text: &str) -> Option<String> {
        let hooks = self.native.hooks();
        if !hooks.has(Point::MessagePostReceive) {
            return None;
        }
        let payload = json!({ "response_text": text });
        let (Filtered::Payload(said) | Filtered::Handled(said)) =
            hooks.filter(Point::MessagePostReceive, payload).await;
        said["response_text"].as_str().filter(|said| *said != text).map(str::to_owned)
    }
}

impl Host {
    /// Adds what was said to a conversation, and tells apps that want to know.
    pub fn append_to_conversation(&self, session: &SessionId, messages: &[Value]) -> Result<(), Failure> {
        self.conversations().append(session, messages)?;
        let hooks = self.inner.native.hooks();
        if hooks.has(Point::SessionMessageAppend) {
            for message in messages {
                let payload = json!({
                    "session_id": session.as_str(), "role": message["role"], "content": message["content"],
                });
                hooks.act(Point::SessionMessageAppend, &payload);
            }
        }
        Ok(())
    }
}

/// The result of a tool as an app writes it: an object of the contract, or plain text.
fn answer_in(said: &Value) -> ToolAnswer {
    let content = match said.get("content").unwrap_or(said) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let result = if said["is_error"] == true { Err(content) } else { Ok(content) };
    ToolAnswer { result, record: by_hook() }
}

fn by_hook() -> Value {
    json!({ "answered_by": "hook" })
}

fn bearable<T: AsRef<str>>(texts: &[T]) -> bool {
    texts.len() <= ADDED_MAX && texts.iter().map(|text| text.as_ref().len()).sum::<usize>() <= ADDED_BYTES_MAX
}
