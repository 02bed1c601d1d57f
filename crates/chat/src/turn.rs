//! One turn: asks the model, runs the tools it wants, and asks again, until there is an answer.
//!
//! The shape is the one every RAPP kernel has: at most three completions with tools, then one without.

use crate::{
    model::{Ask, Model, ModelFailure, OnPiece, Reply},
    slots::MainPart,
    tool_list::ToolList,
    tools::{ToolAnswer, ToolCall, Tools},
    turn_log::TurnLog,
};
use futures::future::join_all;
use roost_protocol::ModelUse;
use serde_json::{Map, Value, json};
use std::sync::{Mutex, PoisonError};

/// Completions with tools in one turn.
pub(crate) const ROUNDS_MAX: usize = 3;

/// Calls of one message that are run; a model that wants more is lost.
const CALLS_MAX: usize = 64;

/// Longest answer of a tool that is sent to a model: more than fits into most of them.
pub(crate) const TOOL_CONTENT_BYTES_MAX: usize = 256 << 10;

/// What a turn that never came to words says.
const APOLOGY: &str =
    "I used my tools but could not put together an answer. Please ask again, perhaps in other words.";

/// What a tool is told whose arguments are not an object.
const BAD_ARGUMENTS: &str = "Tool arguments must be a valid JSON object.";

/// A turn to be run.
pub struct Turn<'a> {
    /// Who answers.
    pub model: &'a dyn Model,
    /// What it may use.
    pub tools: &'a dyn Tools,
    /// Those tools as the model sees them.
    pub definitions: &'a ToolList,
    /// The conversation, the new message last.
    pub messages: Vec<Value>,
    /// The model wanted; the chosen one when absent.
    pub wanted_model: Option<&'a str>,
    /// Who asks, where that is known.
    pub user: Option<&'a str>,
}

/// Something that happened in a turn, told while it runs.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// More text of the answer.
    Piece(String),
    /// A tool begins.
    ToolStarted(ToolCall),
    /// A tool answered.
    ToolFinished(TurnLog),
    /// All calls of one message were answered.
    RoundFinished(Vec<TurnLog>),
}

/// Receives what happens.
pub type OnEvent<'a> = &'a (dyn Fn(TurnEvent) + Send + Sync);

/// How a turn ended.
#[derive(Debug)]
pub struct TurnOutcome {
    /// The whole answer, its slots not yet split.
    pub text: String,
    /// What the tools did, in the order of the calls.
    pub logs: Vec<TurnLog>,
    /// The model that answered last.
    pub model: String,
    /// The model that was asked for.
    pub requested_model: String,
    /// All completions together.
    pub usage: ModelUse,
    /// Messages of this turn after the new one: what a transcript keeps.
    pub said: Vec<Value>,
}

/// Runs a turn to its end. Dropping the future ends the model's request and every tool.
/// With `on_event`, the answer is streamed.
pub async fn run_turn(turn: Turn<'_>, on_event: Option<OnEvent<'_>>) -> Result<TurnOutcome, ModelFailure> {
    let before = turn.messages.len();
    let mut running =
        Running { turn, on_event, logs: Vec::new(), usage: ModelUse::default(), interim: String::new() };
    let mut requested_model = None;
    for _ in 0..ROUNDS_MAX {
        let definitions = running.turn.definitions;
        let reply = running.ask(definitions).await?;
        requested_model.get_or_insert_with(|| reply.requested_model.clone());
        if reply.calls().is_empty() {
            return Ok(running.finish(reply, requested_model, before));
        }
        running.run_calls(&reply).await;
    }
    let reply = running.ask(&ToolList::none()).await?;
    Ok(running.finish(reply, requested_model, before))
}

struct Running<'a> {
    turn: Turn<'a>,
    on_event: Option<OnEvent<'a>>,
    logs: Vec<TurnLog>,
    usage: ModelUse,
    /// The last words before a call, in case no others follow.
    interim: String,
}

impl Running<'_> {
    async fn ask(&mut self, definitions: &ToolList) -> Result<Reply, ModelFailure> {
        let ask = Ask {
            messages: &self.turn.messages,
            tools: definitions,
            model: self.turn.wanted_model,
            options: None,
            user: self.turn.user,
        };
        let reply = match self.on_event {
            None => self.turn.model.reply(ask, None).await?,
            Some(on_event) => {
                let main = Mutex::new(MainPart::default());
                let tell = |text: String| {
                    if !text.is_empty() {
                        on_event(TurnEvent::Piece(text));
                    }
                };
                let on_piece =
                    |piece: &str| tell(main.lock().unwrap_or_else(PoisonError::into_inner).pass(piece));
                let on_piece: OnPiece<'_> = &on_piece;
                let reply = self.turn.model.reply(ask, Some(on_piece)).await?;
                tell(main.lock().unwrap_or_else(PoisonError::into_inner).finish());
                reply
            }
        };
        self.usage += reply.usage;
        Ok(reply)
    }

    /// Runs the calls of one message at the same time and answers them in their order.
    async fn run_calls(&mut self, reply: &Reply) {
        let wanted: Vec<Wanted> =
            reply.calls().iter().enumerate().map(|(index, call)| Wanted::read(call, index)).collect();
        let well_formed: Vec<Value> =
            wanted.iter().filter(|wanted| wanted.is_answerable()).map(|wanted| wanted.raw.clone()).collect();
        let mut message = reply.message.clone();
        if well_formed.is_empty() {
            message.as_object_mut().map(|message| message.remove("tool_calls"));
        } else {
            message["tool_calls"] = Value::Array(well_formed);
        }
        if !reply.text().trim().is_empty() {
            reply.text().trim().clone_into(&mut self.interim);
        }
        // A message that says nothing and calls nothing is refused by providers.
        if message.get("tool_calls").is_some() || !reply.text().is_empty() {
            self.turn.messages.push(message);
        }
        let logs = join_all(wanted.into_iter().map(|wanted| self.run_one(wanted))).await;
        for log in &logs {
            self.turn.messages.extend(log.message());
        }
        self.tell(|| TurnEvent::RoundFinished(logs.clone()));
        self.logs.extend(logs);
    }

    async fn run_one(&self, wanted: Wanted) -> TurnLog {
        let call = match wanted.call {
            Ok(call) => call,
            Err(log) => {
                self.tell(|| TurnEvent::ToolFinished(log.clone()));
                return log;
            }
        };
        if !self.turn.tools.has(&call.name) {
            let log = TurnLog::unknown(call);
            self.tell(|| TurnEvent::ToolFinished(log.clone()));
            return log;
        }
        self.tell(|| TurnEvent::ToolStarted(call.clone()));
        let ToolAnswer { result, record } = self.turn.tools.run(&call).await;
        let log = TurnLog::answered(call, result, record);
        self.tell(|| TurnEvent::ToolFinished(log.clone()));
        log
    }

    /// Builds the event only if somebody listens: most turns are not watched.
    fn tell(&self, event: impl FnOnce() -> TurnEvent) {
        if let Some(on_event) = self.on_event {
            on_event(event());
        }
    }

    fn finish(mut self, reply: Reply, requested_model: Option<String>, before: usize) -> TurnOutcome {
        let mut text = reply.text().to_owned();
        if text.trim().is_empty() && !self.logs.is_empty() {
            text =
                if self.interim.is_empty() { APOLOGY.to_owned() } else { std::mem::take(&mut self.interim) };
            self.tell(|| TurnEvent::Piece(text.clone()));
        }
        self.turn.messages.push(json!({ "role": "assistant", "content": text }));
        TurnOutcome {
            text,
            logs: self.logs,
            requested_model: requested_model.unwrap_or_else(|| reply.requested_model.clone()),
            model: reply.model,
            usage: self.usage,
            said: self.turn.messages.split_off(before),
        }
    }
}

/// One call as the model wrote it.
struct Wanted {
    raw: Value,
    call: Result<ToolCall, TurnLog>,
}

impl Wanted {
    fn read(raw: &Value, index: usize) -> Self {
        let named = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let function = &raw["function"];
        let (Some(name), Some(id)) = (named(&function["name"]), named(&raw["id"])) else {
            return Self { raw: raw.clone(), call: Err(TurnLog::malformed(raw)) };
        };
        let arguments = arguments(&function["arguments"]);
        let call = match arguments {
            Some(arguments) if index < CALLS_MAX => Ok(ToolCall { id, name, arguments }),
            Some(arguments) => {
                let call = ToolCall { id, name, arguments };
                Err(TurnLog::answered(call, Err("too many calls in one message".to_owned()), Value::Null))
            }
            None => {
                let call = ToolCall { id, name, arguments: Map::new() };
                Err(TurnLog::answered(call, Err(BAD_ARGUMENTS.to_owned()), Value::Null))
            }
        };
        Self { raw: raw.clone(), call }
    }

    /// False for a call that cannot even be answered, because it has no id or no name.
    fn is_answerable(&self) -> bool {
        self.call.as_ref().map_or_else(TurnLog::has_call, |_| true)
    }
}

/// Arguments as providers send them: an object, its text, or nothing at all.
fn arguments(sent: &Value) -> Option<Map<String, Value>> {
    match sent {
        Value::Null => Some(Map::new()),
        Value::Object(arguments) => Some(arguments.clone()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
