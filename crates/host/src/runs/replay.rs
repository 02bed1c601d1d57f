//! Going through a turn again, with the replies and answers that were written down, on the files as they were then.
//!
//! Nothing is asked and nothing is run. What the host would do with the same replies today is compared with what it did:
//! the first difference is told.

use super::{Run, RunEvent, RunKind, in_words};
use crate::{
    converse::{TurnInputs, words_of},
    host::Host,
};
use futures::future::BoxFuture;
use roost_chat::{
    Ask, Model, ModelFailure, ModelProblem, OnPiece, Reply, TOOLS_MAX, ToolAnswer, ToolCall, ToolList, Tools,
    Turn, TurnOutcome, UnknownLine, log_lines, run_turn,
};
use roost_protocol::{Failure, Reason};
use roost_workspace::{FilePath, WorkspaceError};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

/// Characters of either side that a difference shows.
const SHOWN_CHARACTERS: usize = 400;

/// How a replay went.
#[derive(Debug, Clone, Serialize)]
pub struct Replayed {
    /// The run.
    pub run: String,
    /// True when everything came out as it did then, byte for byte.
    pub same: bool,
    /// Replies and answers that were gone through.
    pub steps: usize,
    /// The first thing that came out differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// Something that came out differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub what: String,
    /// As it was then.
    pub recorded: String,
    /// As it is now.
    pub replayed: String,
}

impl Host {
    /// Goes through a run again and compares.
    pub async fn replay(&self, run: &Run) -> Result<Replayed, Failure> {
        if !run.status.is_final() {
            return Err(Failure::new(Reason::BadRequest, "the run has not ended yet"));
        }
        let events = self.run_events(run, -1, i64::from(i32::MAX)).await?;
        let started = events.first().map(|event| event.payload.clone()).unwrap_or_default();
        let steps = events.iter().filter(|event| STEPS.contains(&event.kind.as_str())).count();
        let with_model = events.iter().any(|event| event.kind.starts_with("model."));
        let difference = if run.kind == RunKind::Chat && with_model {
            self.replay_turn(run, &started, &events).await?
        } else {
            compare_answer(&events)
        };
        Ok(Replayed { run: run.id.clone(), same: difference.is_none(), steps, difference })
    }

    async fn replay_turn(
        &self,
        run: &Run,
        started: &Value,
        events: &[RunEvent],
    ) -> Result<Option<Difference>, Failure> {
        let unreadable = |_| Failure::new(Reason::BadRequest, "what began the run cannot be read");
        let inputs: TurnInputs = serde_json::from_value(started["inputs"].clone()).map_err(unreadable)?;
        let mut documents = Vec::new();
        for seen in &inputs.documents {
            documents.push((seen.path.clone(), self.text_then(run, &seen.path).await?));
        }
        let system = inputs.system_message(&documents);
        let user_message = json!({ "role": "user", "content": inputs.input });
        let mut messages = vec![json!({ "role": "system", "content": system })];
        messages.extend(inputs.history.iter().cloned());
        messages.push(user_message.clone());
        messages.extend(inputs.steering.iter().cloned());
        let replies = Replies::of(events);
        let answers = Answers::of(events);
        // How many there were is compared; what they were is in the system message.
        let definitions = ToolList::from(vec![json!({}); replies.tools]);
        let turn = Turn {
            model: &replies,
            tools: &answers,
            definitions: &definitions,
            messages,
            wanted_model: inputs.model.as_deref(),
            user: None,
        };
        let outcome = run_turn(turn, None).await;
        if let Some(found) = replies.take_difference().or_else(|| answers.take_difference()) {
            return Ok(Some(found));
        }
        let Some(last) = events.last() else { return Ok(None) };
        Ok(match outcome {
            Ok(outcome) => compare_outcome(&last.payload, &outcome, &user_message),
            Err(failure) if last.kind == "run.failed" => {
                differ("how the turn failed", &last.payload["error"], &json!(failure.message))
            }
            Err(failure) => differ("how the turn ended", &json!(last.kind), &json!(failure.message)),
        })
    }

    /// A document as the run saw it. One that is gone is not replaced by another.
    async fn text_then(&self, run: &Run, path: &str) -> Result<String, Failure> {
        let workspaces = self.workspaces().await?;
        let gone = || Failure::new(Reason::UnknownRun, "a file that the run saw is no longer kept");
        let path = FilePath::of_folder(path).map_err(|_| gone())?;
        let file = workspaces.get_then(&run.moment.owner, run.moment.sequence, &path).await;
        let file = file.map_err(|error| match error {
            WorkspaceError::NotFound => gone(),
            other => in_words(other),
        })?;
        Ok(String::from_utf8_lossy(&file.content).into_owned())
    }
}

/// A run without a model has nothing that could come out differently but the words made of an agent's answer.
fn compare_answer(events: &[RunEvent]) -> Option<Difference> {
    let last = events.last().filter(|event| event.kind == "run.completed")?;
    let returned = events.iter().rfind(|event| event.kind == "tool.returned")?;
    let words = words_of(returned.node.as_deref().unwrap_or_default(), &answer(&returned.payload));
    differ("the answer", &last.payload["text"], &json!(words))
}

/// The answer of a tool as it was written down.
fn answer(returned: &Value) -> ToolAnswer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let result = match returned.get("error") {
        Some(error) => Err(text(error)),
        None => Ok(text(&returned["output"])),
    };
    ToolAnswer { result, record: returned["record"].clone() }
}

/// Events that a replay goes through.
const STEPS: [&str; 3] = ["model.replied", "model.failed", "tool.returned"];

fn compare_outcome(recorded: &Value, outcome: &TurnOutcome, user_message: &Value) -> Option<Difference> {
    let said: Vec<Value> = std::iter::once(user_message.clone()).chain(outcome.said.clone()).collect();
    let lines = log_lines(&outcome.logs, UnknownLine::Named);
    differ("the answer", &recorded["text"], &json!(outcome.text))
        .or_else(|| differ("what the agents did", &recorded["log"], &json!(lines)))
        .or_else(|| differ("the messages of the turn", &recorded["said"], &json!(said)))
}

fn differ(what: &str, recorded: &Value, replayed: &Value) -> Option<Difference> {
    (recorded != replayed).then(|| Difference {
        what: what.to_owned(),
        recorded: shown(recorded),
        replayed: shown(replayed),
    })
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(SHOWN_CHARACTERS).collect()
}

/// Replies that were written down, given again in their order.
struct Replies {
    tools: usize,
    left: Mutex<VecDeque<Value>>,
    /// What was asked so far then.
    asked: Mutex<Vec<Value>>,
    difference: Mutex<Option<Difference>>,
}

impl Replies {
    fn of(events: &[RunEvent]) -> Self {
        let is_reply = |event: &&RunEvent| event.kind == "model.replied" || event.kind == "model.failed";
        let left: VecDeque<Value> =
            events.iter().filter(is_reply).map(|event| event.payload.clone()).collect();
        let tools = left.front().and_then(|first| first["asked"]["tools"].as_u64()).unwrap_or(0);
        Self {
            tools: usize::try_from(tools).unwrap_or(usize::MAX).min(TOOLS_MAX),
            left: Mutex::new(left),
            asked: Mutex::default(),
            difference: Mutex::default(),
        }
    }

    fn take_difference(&self) -> Option<Difference> {
        lock(&self.difference).take()
    }

    /// Compares what is asked now with what was asked then, message by message.
    fn compare(&self, recorded: &Value, ask: &Ask<'_>) -> Option<Difference> {
        let mut asked = lock(&self.asked);
        let from = usize::try_from(recorded["from"].as_u64().unwrap_or(0)).unwrap_or(0);
        asked.truncate(from);
        asked.extend(recorded["messages"].as_array().cloned().unwrap_or_default());
        for (index, (then, now)) in asked.iter().zip(ask.messages).enumerate() {
            let role = then["role"].as_str().unwrap_or("unknown");
            if then != now {
                return differ(&format!("message {index} to the model ({role})"), then, now);
            }
        }
        let (then, now) = (asked.len(), ask.messages.len());
        let count = differ("how many messages the model was sent", &json!(then), &json!(now));
        count.or_else(|| differ("how many tools were offered", &recorded["tools"], &json!(ask.tools.len())))
    }
}

impl Model for Replies {
    fn reply<'a>(
        &'a self,
        ask: Ask<'a>,
        _on_piece: Option<OnPiece<'a>>,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let Some(recorded) = lock(&self.left).pop_front() else {
                let asked_again =
                    differ("how often the model was asked", &json!("no more"), &json!("once more"));
                lock(&self.difference).get_or_insert_with(|| asked_again.expect("the two differ"));
                return Err(no_reply(String::new(), "the model was asked once more than then".to_owned()));
            };
            if let Some(found) = self.compare(&recorded["asked"], &ask) {
                lock(&self.difference).get_or_insert(found);
            }
            match recorded.get("error") {
                Some(error) => Err(no_reply(text(&recorded["model"]), text(error))),
                None => Ok(Reply {
                    message: recorded["message"].clone(),
                    model: text(&recorded["model"]),
                    requested_model: text(&recorded["requestedModel"]),
                    usage: serde_json::from_value(recorded["usage"].clone()).unwrap_or_default(),
                }),
            }
        })
    }
}

fn no_reply(model: String, message: String) -> ModelFailure {
    ModelFailure { problem: ModelProblem::Unreachable, message, model, detail: String::new() }
}

/// Answers of tools that were written down, by the call they belong to.
struct Answers {
    calls: HashMap<String, (String, Value)>,
    returned: HashMap<String, Value>,
    difference: Mutex<Option<Difference>>,
}

impl Answers {
    fn of(events: &[RunEvent]) -> Self {
        let by_call = |kind: &'static str| {
            let of_kind = events.iter().filter(move |event| event.kind == kind);
            of_kind.map(|event| {
                let id = event.payload["callId"].as_str().unwrap_or_default().to_owned();
                (id, event.node.clone().unwrap_or_default(), event.payload.clone())
            })
        };
        let calls =
            by_call("tool.called").map(|(id, name, payload)| (id, (name, payload["arguments"].clone())));
        let calls = calls.collect();
        let returned = by_call("tool.returned").map(|(id, _, payload)| (id, payload)).collect();
        Self { calls, returned, difference: Mutex::default() }
    }

    fn take_difference(&self) -> Option<Difference> {
        lock(&self.difference).take()
    }
}

impl Tools for Answers {
    fn has(&self, name: &str) -> bool {
        self.calls.values().any(|(known, _)| known == name)
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let now = json!({ "name": call.name, "arguments": call.arguments });
            let then = self
                .calls
                .get(&call.id)
                .map_or(Value::Null, |(name, arguments)| json!({ "name": name, "arguments": arguments }));
            if let Some(found) = differ(&format!("the call of {}", call.name), &then, &now) {
                lock(&self.difference).get_or_insert(found);
            }
            answer(self.returned.get(&call.id).unwrap_or(&Value::Null))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
