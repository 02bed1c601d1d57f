//! A chat completion request: what may be sent, and what is believed of it after checking.
//!
//! The shapes are those of the OpenAI interface. A field that would change the answer and that is not followed here
//! is refused and not ignored; fields that only concern a service (user, metadata, store) are passed over.

use crate::limits::{
    ANSWER_TOKENS_DEFAULT, CALLS_MAX, MESSAGES_MAX, TEMPERATURE_DEFAULT, TOOL_NAME_BYTES_MAX, TOOLS_MAX,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Why a request is refused. The text is for whoever wrote the request.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    message: String,
}

/// A conversation to continue, checked.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    pub(crate) calls_max: usize,
    pub(crate) tokens_max: usize,
    pub(crate) sampling: Sampling,
    pub(crate) delivery: Delivery,
}

/// One message, with the content as text and the arguments of calls as objects.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) content: String,
    pub(crate) calls: Vec<PastCall>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
    Tool,
}

/// A call that the model made earlier in the conversation.
#[derive(Debug, Clone)]
pub(crate) struct PastCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// A tool that may be called.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
}

/// Whether tools may, must or must not be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Auto,
    Never,
    Required,
    /// The position of the one tool that must be called.
    Named(usize),
}

/// How a token is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) temperature: f32,
    pub(crate) top_p: f32,
    pub(crate) seed: u32,
}

/// How the answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    Streamed { with_usage: bool },
}

/// A request as it arrives.
#[derive(Deserialize)]
pub(crate) struct Sent {
    messages: Vec<SentMessage>,
    tools: Option<Vec<SentTool>>,
    tool_choice: Option<SentChoice>,
    parallel_tool_calls: Option<bool>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    seed: Option<i64>,
    stream: Option<bool>,
    stream_options: Option<SentStreamOptions>,
    n: Option<u64>,
    stop: Option<Value>,
    logprobs: Option<bool>,
    response_format: Option<Value>,
}

#[derive(Deserialize)]
struct SentStreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct SentMessage {
    role: Role,
    content: Option<SentContent>,
    tool_calls: Option<Vec<SentCall>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SentContent {
    Text(String),
    Parts(Vec<SentPart>),
}

#[derive(Deserialize)]
struct SentPart {
    text: Option<String>,
}

#[derive(Deserialize)]
struct SentCall {
    function: SentCalledFunction,
}

#[derive(Deserialize)]
struct SentCalledFunction {
    name: String,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct SentTool {
    function: SentFunction,
}

#[derive(Deserialize)]
struct SentFunction {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SentChoice {
    Word(String),
    Function { function: SentFunctionName },
}

#[derive(Deserialize)]
struct SentFunctionName {
    name: String,
}

impl Sent {
    /// Checks the request and makes it what the rest of the program works with.
    pub(crate) fn check(self) -> Result<Ask, Refused> {
        self.refuse_what_is_not_followed()?;
        let sampling = self.sampling()?;
        let delivery = match (self.stream, self.stream_options) {
            (Some(true), options) => Delivery::Streamed {
                with_usage: options.and_then(|options| options.include_usage) == Some(true),
            },
            _ => Delivery::Whole,
        };
        let tokens_max = match self.max_completion_tokens.or(self.max_tokens) {
            Some(0) => return refuse("max_tokens must be at least 1"),
            Some(tokens) => usize::try_from(tokens).unwrap_or(usize::MAX),
            None => ANSWER_TOKENS_DEFAULT,
        };
        let tools = tools(self.tools.unwrap_or_default())?;
        let choice = choice(self.tool_choice, &tools)?;
        let calls_max = if self.parallel_tool_calls == Some(false) { 1 } else { CALLS_MAX };
        Ok(Ask {
            messages: messages(self.messages)?,
            tools,
            choice,
            calls_max,
            tokens_max,
            sampling,
            delivery,
        })
    }

    fn refuse_what_is_not_followed(&self) -> Result<(), Refused> {
        if self.n.is_some_and(|answers| answers != 1) {
            return refuse("n must be 1: one answer at a time is made");
        }
        if self.stop.as_ref().is_some_and(|stop| !stop.is_null()) {
            return refuse("stop is not supported");
        }
        if self.logprobs == Some(true) {
            return refuse("logprobs are not supported");
        }
        let format =
            self.response_format.as_ref().and_then(|format| format.get("type")).and_then(Value::as_str);
        if format.is_some_and(|format| format != "text") {
            return refuse(
                "response_format must be text: name a tool in tool_choice to get JSON of a schema",
            );
        }
        Ok(())
    }

    fn sampling(&self) -> Result<Sampling, Refused> {
        let temperature = self.temperature.unwrap_or(TEMPERATURE_DEFAULT);
        if !(0.0..=2.0).contains(&temperature) {
            return refuse("temperature must be between 0 and 2");
        }
        let top_p = self.top_p.unwrap_or(1.0);
        if !(top_p > 0.0 && top_p <= 1.0) {
            return refuse("top_p must be above 0 and at most 1");
        }
        // Seeds may be any integer; llama.cpp takes 32 bits, so the upper half is folded in and not cut off.
        let seed = self.seed.map_or(0x5EED, |seed| {
            let [low, high] = [seed.cast_unsigned() & 0xFFFF_FFFF, seed.cast_unsigned() >> 32];
            u32::try_from(low ^ high).expect("both halves have 32 bits")
        });
        Ok(Sampling { temperature, top_p, seed })
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { message: message.into() })
}

fn messages(sent: Vec<SentMessage>) -> Result<Vec<Message>, Refused> {
    if sent.is_empty() {
        return refuse("messages must not be empty");
    }
    if sent.len() > MESSAGES_MAX {
        return refuse(format!("at most {MESSAGES_MAX} messages are taken"));
    }
    sent.into_iter().map(message).collect()
}

fn message(sent: SentMessage) -> Result<Message, Refused> {
    let content = match sent.content {
        None => String::new(),
        Some(SentContent::Text(text)) => text,
        Some(SentContent::Parts(parts)) => {
            let texts: Option<Vec<_>> = parts.into_iter().map(|part| part.text).collect();
            match texts {
                Some(texts) => texts.concat(),
                None => return refuse("only text is understood in the content of messages"),
            }
        }
    };
    let calls = sent.tool_calls.unwrap_or_default().into_iter().map(past_call).collect::<Result<_, _>>()?;
    Ok(Message { role: sent.role, content, calls })
}

/// Arguments come as a string of JSON. Templates print them as an object.
fn past_call(sent: SentCall) -> Result<PastCall, Refused> {
    let arguments = match sent.function.arguments {
        None => json!({}),
        Some(Value::String(text)) if text.trim().is_empty() => json!({}),
        // What is not JSON was cut off at a token limit. It is shown as it was, as text.
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(other) => other,
    };
    checked_name(sent.function.name).map(|name| PastCall { name, arguments })
}

fn tools(sent: Vec<SentTool>) -> Result<Vec<Tool>, Refused> {
    if sent.len() > TOOLS_MAX {
        return refuse(format!("at most {TOOLS_MAX} tools are taken"));
    }
    let mut names = HashSet::new();
    let mut tools = Vec::with_capacity(sent.len());
    for SentTool { function } in sent {
        let name = checked_name(function.name)?;
        if !names.insert(name.clone()) {
            return refuse(format!("two tools have the name {name}"));
        }
        let parameters = match function.parameters {
            None | Some(Value::Null) => json!({"type": "object", "properties": {}}),
            Some(schema @ Value::Object(_)) => schema,
            Some(_) => return refuse(format!("the parameters of {name} must be a JSON schema")),
        };
        tools.push(Tool { name, description: function.description.unwrap_or_default(), parameters });
    }
    Ok(tools)
}

/// Names stand unescaped in prompts, grammars and calls, so that only harmless characters are let in.
fn checked_name(name: String) -> Result<String, Refused> {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > TOOL_NAME_BYTES_MAX || !name.bytes().all(harmless) {
        return refuse(format!(
            "names of tools have 1 to {TOOL_NAME_BYTES_MAX} letters, digits, underscores, hyphens and dots"
        ));
    }
    Ok(name)
}

fn choice(sent: Option<SentChoice>, tools: &[Tool]) -> Result<Choice, Refused> {
    let choice = match sent {
        None => Choice::Auto,
        Some(SentChoice::Word(word)) => match word.as_str() {
            "auto" => Choice::Auto,
            "none" => Choice::Never,
            "required" => Choice::Required,
            _ => return refuse("tool_choice must be auto, none, required or a function"),
        },
        Some(SentChoice::Function { function }) => {
            match tools.iter().position(|tool| tool.name == function.name) {
                Some(position) => Choice::Named(position),
                None => return refuse("tool_choice names a function that is not among the tools"),
            }
        }
    };
    match choice {
        Choice::Required if tools.is_empty() => refuse("tool_choice is required, but there are no tools"),
        Choice::Auto if tools.is_empty() => Ok(Choice::Never),
        choice => Ok(choice),
    }
}

#[cfg(test)]
mod tests;
