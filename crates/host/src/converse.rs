//! One turn of a conversation: joins the model, the agents and the mind of this home.
//!
//! A turn is a future like any other: dropping it ends the model's request and every agent it started.

use crate::{
    context::context_text,
    host::{Host, Inner},
    knowledge::NoProgress,
    perform::Request,
    roster::Callable,
    toolbox::Toolbox,
};
use futures::future::{BoxFuture, join_all};
use roost_chat::{
    Explicit, ExplicitProblem, History, ModelFailure, Offer, OnEvent, Prompt, StandingState, ToolAnswer,
    ToolCall, ToolList, Tools, Turn, TurnEvent, TurnLog, TurnOutcome, offer, parse_explicit, run_turn,
    system_message,
};
use roost_protocol::{CallOutcome, Failure, ModelUse, Reason, UserGuid};
use serde_json::{Map, Value, json};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Chats that may stand on one another: an agent that calls the host's own chat, whose agent does the same.
pub const CHAT_DEPTH_MAX: u32 = 4;

/// Turns at the same time; more would only wait for the same model.
pub(crate) const TURNS_AT_ONCE_MAX: usize = 512;

/// Longest turn: four completions and what agents do between them.
const TURN_WITHIN: Duration = Duration::from_secs(900);

/// Longest wait for what one agent adds to the prompt: a turn must not hang on it.
const CONTRIBUTION_WITHIN: Duration = Duration::from_secs(2);

/// Longest wait for agents that were never described before.
const FIRST_LOOK_WITHIN: Duration = Duration::from_secs(10);

/// A server that was started meanwhile is found after this long.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// A message to the host.
#[derive(Debug, Default)]
pub struct ChatRequest {
    /// What the person or program says; not empty.
    pub input: String,
    /// What came before.
    pub history: History,
    /// Who says it.
    pub user: Option<UserGuid>,
    /// The model wanted.
    pub model: Option<String>,
    /// How many chats stand above this one.
    pub depth: u32,
}

/// What the host answers.
#[derive(Debug)]
pub struct ChatAnswer {
    /// The whole text, its slots not split.
    pub text: String,
    /// What agents did.
    pub logs: Vec<TurnLog>,
    /// The model that answered; none without a model.
    pub model: Option<String>,
    /// The model that was asked for.
    pub requested_model: Option<String>,
    /// Tokens of the whole turn.
    pub usage: ModelUse,
    /// Tools that were not offered to the model.
    pub tools_left_out: usize,
    /// Earlier messages that were too much.
    pub history_left_out: usize,
    /// Agents that may be meant, when there is no model to choose.
    pub offer: Option<Offer>,
    /// The messages of this turn, beginning with the new one.
    pub said: Vec<Value>,
}

impl ChatAnswer {
    /// A sentence that no turn was needed for.
    #[must_use]
    pub fn fixed(text: &str) -> Self {
        plain(&ChatRequest::default(), text.to_owned(), Vec::new(), None)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatFailure {
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelFailure),
    /// Anything else.
    #[error(transparent)]
    Other(#[from] Failure),
}

impl From<ChatFailure> for Failure {
    fn from(failure: ChatFailure) -> Self {
        match failure {
            ChatFailure::Model(failure) => failure.into(),
            ChatFailure::Other(failure) => failure,
        }
    }
}

impl Host {
    /// Answers one message. With `on_event`, tells what happens while it happens.
    pub async fn converse(
        &self,
        request: ChatRequest,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, ChatFailure> {
        if request.depth > CHAT_DEPTH_MAX {
            return Err(Failure::plain(Reason::TooDeep).into());
        }
        let Ok(_permit) = self.inner.turns.try_acquire() else {
            return Err(Failure::new(Reason::Busy, "too many conversations at the same time").into());
        };
        match tokio::time::timeout(TURN_WITHIN, self.inner.answer(request, on_event)).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::new(Reason::TimeLimit, "the turn took longer than 15 minutes")
                .with_next("ask for less in one message")
                .into()),
        }
    }
}

impl Inner {
    async fn answer(
        &self,
        request: ChatRequest,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, ChatFailure> {
        self.first_look().await;
        let toolbox = self.toolbox();
        if let Some(explicit) = parse_explicit(&request.input, &toolbox.definitions) {
            return self.answer_explicit(explicit, &toolbox, &request, on_event).await.map_err(Into::into);
        }
        if !self.has_model(request.model.as_deref()).await {
            let ranked = toolbox.ranking.rank(&[(&request.input, 1.0)]);
            let offer = offer(&request.input, &toolbox.definitions, &ranked);
            if let Some(on_event) = on_event {
                on_event(TurnEvent::Piece(offer.text.clone()));
            }
            return Ok(plain(&request, offer.text.clone(), Vec::new(), Some(offer)));
        }
        self.answer_with_model(&toolbox, request, on_event).await.map_err(Into::into)
    }

    /// A turn right after the start waits until the agents are known; none waits for a file that hangs.
    async fn first_look(&self) {
        let look = async {
            let refreshed = tokio::time::timeout(FIRST_LOOK_WITHIN, self.agents.refresh(&NoProgress)).await;
            if let Ok(Err(failure)) = refreshed {
                tracing::warn!(%failure, "look at the agents before the first turn");
            }
        };
        self.looked_at_agents.get_or_init(|| look).await;
    }

    /// Whether there is a model to ask; looks for one on this machine, at most every few seconds.
    async fn has_model(&self, wanted: Option<&str>) -> bool {
        let is_set_up = || self.models.standing().state != StandingState::NotSetUp;
        if wanted.is_some() || is_set_up() {
            return true;
        }
        let is_due = {
            let mut looked = self.looked_for_models.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = looked.is_none_or(|last| last.elapsed() > LOOK_AGAIN_AFTER);
            if is_due {
                *looked = Some(Instant::now());
            }
            is_due
        };
        if is_due {
            self.models.discover().await;
        }
        is_set_up()
    }

    async fn answer_with_model(
        &self,
        toolbox: &Arc<Toolbox>,
        request: ChatRequest,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, ModelFailure> {
        let contributions = self.contributions(toolbox, &request).await;
        let shortlist =
            toolbox.for_turn(&request.input, &request.history.messages, &self.settings.pinned_agents);
        let system = self.system_message(toolbox, &shortlist.tools, &contributions);
        let user_message = json!({ "role": "user", "content": request.input });
        let mut messages = Vec::with_capacity(request.history.messages.len() + 2);
        messages.push(json!({ "role": "system", "content": system }));
        messages.extend(request.history.messages);
        messages.push(user_message.clone());
        let caller = Caller { user: request.user.as_ref(), query: &request.input, depth: request.depth };
        let tools = AgentTools::new(self, toolbox, &caller);
        let turn = Turn {
            model: &self.models,
            tools: &tools,
            definitions: &shortlist.tools,
            messages,
            wanted_model: request.model.as_deref(),
        };
        let TurnOutcome { text, logs, model, requested_model, mut usage, said } =
            run_turn(turn, on_event).await?;
        usage += tools.spent();
        let said = std::iter::once(user_message).chain(said).collect();
        Ok(ChatAnswer {
            text,
            logs,
            model: Some(model),
            requested_model: Some(requested_model),
            usage,
            tools_left_out: shortlist.left_out,
            history_left_out: request.history.left_out,
            offer: None,
            said,
        })
    }

    fn system_message(&self, toolbox: &Toolbox, offered: &ToolList, contributions: &[String]) -> String {
        let text = |value| Value::as_str(value).unwrap_or_default();
        let agents: Vec<(&str, &str)> = offered
            .iter()
            .map(|tool| &tool["function"])
            .map(|function| (text(&function["name"]), text(&function["description"])))
            .collect();
        let quarantined: Vec<&str> = toolbox.quarantined.iter().map(String::as_str).collect();
        system_message(&Prompt {
            soul: &self.soul.text(),
            contributions,
            agents: &agents,
            agents_total: toolbox.definitions.len(),
            quarantined: &quarantined,
            voice: self.modes.voice(),
            twin: self.modes.twin(),
        })
    }

    /// What agents add to the prompt. One that fails or is slow is left out and noted.
    async fn contributions(&self, toolbox: &Toolbox, request: &ChatRequest) -> Vec<String> {
        if toolbox.contributors.is_empty() {
            return Vec::new();
        }
        let asked =
            Request { user: request.user.clone(), query: Some(request.input.clone()), ..Request::default() };
        let context = context_text(&jiff::Zoned::now(), &asked.circumstances(), &self.memories);
        let contributions = toolbox.contributors.iter().map(|callable| async {
            self.contribution(callable, &context).await.unwrap_or_else(|failure| {
                tracing::warn!(agent = callable.name.as_str(), %failure, "ask an agent for its part of the prompt");
                String::new()
            })
        });
        join_all(contributions).await
    }

    async fn contribution(&self, callable: &Callable, context: &str) -> Result<String, Failure> {
        let runnable = self.runnable(callable).await?;
        let text = runnable.agent.system_context(callable.name.as_str(), context);
        match tokio::time::timeout(CONTRIBUTION_WITHIN, text).await {
            Ok(text) => text,
            Err(_) => Err(Failure::new(Reason::TimeLimit, "system_context() took longer than 2 seconds")),
        }
    }

    /// Runs what a person wrote as a call. Works with and without a model.
    async fn answer_explicit(
        &self,
        explicit: Result<Explicit, ExplicitProblem>,
        toolbox: &Arc<Toolbox>,
        request: &ChatRequest,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, Failure> {
        let said = |text: String| {
            if let Some(on_event) = on_event {
                on_event(TurnEvent::Piece(text.clone()));
            }
            Ok(plain(request, text, Vec::new(), None))
        };
        let (name, arguments) = match explicit.map_err(in_words)? {
            Explicit::Use { agent, arguments } => (agent, arguments),
            Explicit::Help => return said(HELP.to_owned()),
            Explicit::Agents => return said(agents_in_words(toolbox)),
        };
        let caller = Caller { user: request.user.as_ref(), query: &request.input, depth: request.depth };
        let tools = AgentTools::new(self, toolbox, &caller);
        let call = ToolCall { id: format!("call_{}", uuid::Uuid::new_v4().simple()), name, arguments };
        let tell = |event: TurnEvent| {
            if let Some(on_event) = on_event {
                on_event(event);
            }
        };
        tell(TurnEvent::ToolStarted(call.clone()));
        let answer = tools.run(&call).await;
        let text = match &answer.result {
            Ok(output) => output.clone(),
            Err(message) => {
                let next = answer.record["next"].as_str().map(|next| format!("\nNext: {next}"));
                format!("{} could not do that: {message}{}", call.name, next.unwrap_or_default())
            }
        };
        let log = TurnLog::answered(call, answer.result, answer.record);
        tell(TurnEvent::ToolFinished(log.clone()));
        tell(TurnEvent::RoundFinished(vec![log.clone()]));
        tell(TurnEvent::Piece(text.clone()));
        Ok(plain(request, text, vec![log], None))
    }
}

const HELP: &str = "\
`/Agent key=value` calls an agent directly, for example `/Calculator expression=\"2 + 2\"`. `/Agent {\"key\": 1}` takes JSON.
`/agents` lists them. Anything else goes to the model, or, without one, gets an offer of the agents that may be meant.";

/// Agents that are listed in words; more are counted.
const LISTED_MAX: usize = 40;

fn agents_in_words(toolbox: &Toolbox) -> String {
    let mut lines: Vec<String> = toolbox
        .definitions
        .iter()
        .take(LISTED_MAX)
        .map(|tool| {
            let description: String =
                tool.description.lines().next().unwrap_or_default().chars().take(120).collect();
            format!("- {}: {description}", tool.name)
        })
        .collect();
    if toolbox.definitions.len() > LISTED_MAX {
        lines.push(format!("and {} more; `roost agents` lists all", toolbox.definitions.len() - LISTED_MAX));
    }
    if lines.is_empty() {
        lines.push("There are no agents yet.".to_owned());
    }
    lines.join("\n")
}

fn in_words(problem: ExplicitProblem) -> Failure {
    let reason = match problem {
        ExplicitProblem::UnknownAgent { .. } | ExplicitProblem::AmbiguousAgent { .. } => Reason::UnknownAgent,
        _ => Reason::BadArguments,
    };
    Failure::new(reason, problem.to_string())
}

/// An answer that no model had a part in.
fn plain(request: &ChatRequest, text: String, logs: Vec<TurnLog>, offer: Option<Offer>) -> ChatAnswer {
    let said = vec![
        json!({ "role": "user", "content": request.input }),
        json!({ "role": "assistant", "content": text }),
    ];
    ChatAnswer {
        text,
        logs,
        model: None,
        requested_model: request.model.clone(),
        usage: ModelUse::default(),
        tools_left_out: 0,
        history_left_out: request.history.left_out,
        offer,
        said,
    }
}

/// The agents as a turn uses them.
struct AgentTools<'a> {
    inner: &'a Inner,
    toolbox: &'a Toolbox,
    caller: &'a Caller<'a>,
    /// Signals of the agent before, and which agents there were.
    chain: Mutex<Chain>,
    /// What agents asked of the model themselves.
    spent: Mutex<ModelUse>,
}

/// For whom agents run, and why.
struct Caller<'a> {
    user: Option<&'a UserGuid>,
    query: &'a str,
    depth: u32,
}

impl<'a> AgentTools<'a> {
    fn new(inner: &'a Inner, toolbox: &'a Toolbox, caller: &'a Caller<'a>) -> Self {
        Self { inner, toolbox, caller, chain: Mutex::default(), spent: Mutex::default() }
    }

    fn spent(&self) -> ModelUse {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Chain {
    slush: Option<Map<String, Value>>,
    breadcrumbs: Vec<String>,
}

impl Tools for AgentTools<'_> {
    fn has(&self, name: &str) -> bool {
        self.toolbox.has(name)
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let request = {
                let chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
                Request {
                    arguments: call.arguments.clone(),
                    user: self.caller.user.cloned(),
                    query: Some(self.caller.query.to_owned()),
                    slush: chain.slush.clone(),
                    breadcrumbs: chain.breadcrumbs.clone(),
                    tells_user: true,
                    depth: self.caller.depth,
                }
            };
            let answered = self.inner.call(&self.inner.agents, &call.name, &request).await;
            let mut chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
            chain.breadcrumbs.push(call.name.clone());
            if let Ok(CallOutcome { slush: Some(slush), .. }) = &answered {
                chain.slush = Some(slush.clone());
            }
            drop(chain);
            if let Ok(CallOutcome { receipt, .. }) = &answered
                && let Some(model) = receipt.model
            {
                *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += model;
            }
            tool_answer(answered)
        })
    }
}

fn tool_answer(answered: Result<CallOutcome, Failure>) -> ToolAnswer {
    let (result, failure, receipt) = match answered {
        Ok(CallOutcome { output, error: None, receipt, .. }) => (Ok(output), None, Some(receipt)),
        Ok(CallOutcome { error: Some(failure), receipt, .. }) => {
            (Err(failure.message.clone()), Some(failure), Some(receipt))
        }
        Err(failure) => (Err(failure.message.clone()), Some(failure), None),
    };
    let mut record = Map::new();
    if let Some(failure) = failure {
        record.insert("reason".to_owned(), json!(failure.reason));
        record.insert("next".to_owned(), json!(failure.next_step()));
    }
    if let Some(receipt) = receipt {
        record.insert("duration_us".to_owned(), json!(receipt.duration_us));
        record.insert("receipt".to_owned(), json!(receipt));
    }
    ToolAnswer { result, record: Value::Object(record) }
}
