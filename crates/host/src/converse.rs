//! One turn of a conversation: joins the model, the agents and the mind of this home.
//!
//! A turn is a future like any other: dropping it ends the model's request and every agent it started.

mod agent_tools; // the agents as a turn uses them
mod explicit; // what a person wrote as a call
mod hooked; // where native apps take part
mod stream_filter; // and in an answer that is streamed
mod inputs; // everything a turn is made from
mod soul; // who the host is when it speaks

use crate::{
    context::context_text,
    host::{Host, Inner},
    knowledge::NoProgress,
    native::Point,
    pages::with_page_tools,
    perform::{ChosenBy, Request},
    roster::Callable,
    runs::{
        ActiveRun, Beginning, Cancels, Moment, RecordedModel, RecordedTools, RunKind, RunStatus, SeenFile,
    },
    store::local_owner,
    toolbox::Toolbox,
};
use agent_tools::{AgentTools, Caller};
pub(crate) use explicit::words_of;
use futures::future::join_all;
pub(crate) use inputs::TurnInputs;
use roost_chat::{
    History, ModelFailure, Offer, OnEvent, StandingState, ToolList, Turn, TurnEvent, TurnLog, TurnOutcome,
    UnknownLine, first_sentence, log_lines, offer, parse_explicit, run_turn,
};
use roost_protocol::{Failure, ModelUse, Reason, UserGuid};
use roost_workspace::FilePath;
use serde_json::{Value, json};
pub(crate) use soul::Soul;
use std::{
    sync::{Arc, PoisonError},
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

/// Files of the workspace that every turn begins with: who the host is, what it is told to do, what it knows.
const DOCUMENTS: [&str; 3] = ["IDENTITY.md", "DIRECTIVES.md", "MEMORY-INDEX.json"];

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
    /// Where it was said.
    pub speaker: Speaker,
}

/// Where a message was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speaker {
    /// At this host, by somebody who may use it.
    #[default]
    Here,
    /// By somebody whom an app brought: a line with a slash is no command of theirs.
    Elsewhere,
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
    /// The run it was; none when it could not be written down.
    pub run: Option<String>,
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
        self: &Arc<Self>,
        request: ChatRequest,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, ChatFailure> {
        self.first_look().await;
        self.start_native_apps().await;
        let toolbox = self.toolbox();
        if request.speaker == Speaker::Here
            && let Some(explicit) = parse_explicit(&request.input, &toolbox.definitions)
        {
            let run = self.begin_turn(TurnInputs::without_model(&request), None).await;
            let answered = self.answer_explicit(explicit, &toolbox, &request, run.as_ref(), on_event);
            let answered = ending_early(run.as_ref(), &self.runs.cancels, answered).await;
            return ended(run, answered.map_err(ChatFailure::from)).await;
        }
        if !self.has_model(request.model.as_deref()).await {
            let run = self.begin_turn(TurnInputs::without_model(&request), None).await;
            let ranked = toolbox.ranking.rank(&[(&request.input, 1.0)]);
            let offer = offer(&request.input, &toolbox.definitions, &ranked);
            if let Some(on_event) = on_event {
                on_event(TurnEvent::Piece(offer.text.clone()));
            }
            return ended(run, Ok(plain(&request, offer.text.clone(), Vec::new(), Some(offer)))).await;
        }
        self.answer_with_model(&toolbox, request, on_event).await
    }

    /// Begins to write a turn down, on the files as they are at this moment or were at the one that is named.
    async fn begin_turn(&self, inputs: TurnInputs, moment: Option<Moment>) -> Option<ActiveRun> {
        let owner = local_owner();
        let payload = json!({
            "workflowId": "chat",
            "owner": { "tenant": owner.tenant.as_str(), "workspace": owner.workspace.as_str() },
            "inputs": inputs,
        });
        let beginning = Beginning {
            owner: &owner,
            kind: RunKind::Chat,
            workflow: "chat",
            title: &inputs.input,
            principal: "local",
            moment,
        };
        self.begin_run(beginning, payload).await
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
        self: &Arc<Self>,
        toolbox: &Arc<Toolbox>,
        request: ChatRequest,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<ChatAnswer, ChatFailure> {
        let mut contributions = self.contributions(toolbox, &request).await;
        contributions.extend(self.native.sections(&request.input, &request.history.messages));
        let contributions = self.filtered_sections(contributions).await;
        let shortlist =
            toolbox.for_turn(&request.input, &request.history.messages, &self.settings.pinned_agents);
        let (moment, documents) = self.documents().await;
        let seen = documents.iter().map(|(seen, _)| seen.clone()).collect();
        let mut inputs = self.turn_inputs(toolbox, &shortlist.tools, &request, contributions, seen);
        let texts: Vec<(String, String)> =
            documents.into_iter().map(|(seen, text)| (seen.path, text)).collect();
        inputs.system = self.filtered_system(&inputs.system_message(&texts)).await;
        inputs.steering = self.steering().await;
        let system = inputs.system_message(&texts);
        let steering = inputs.steering.clone();
        let run = self.begin_turn(inputs, moment).await;
        let user_message = json!({ "role": "user", "content": request.input });
        let mut messages = Vec::with_capacity(request.history.messages.len() + 2);
        messages.push(json!({ "role": "system", "content": system }));
        messages.extend(request.history.messages);
        messages.push(user_message.clone());
        messages.extend(steering);
        let caller = Caller {
            user: request.user.as_ref(),
            query: &request.input,
            depth: request.depth,
            chosen_by: ChosenBy::Model,
            run: run.as_ref().map(|run| run.id.as_str()),
        };
        let tools = AgentTools::new(self, toolbox, &caller);
        let definitions = self.with_app_tool(with_page_tools(&shortlist.tools));
        let turn = Turn {
            model: &RecordedModel::new(&self.models, run.as_ref()),
            tools: &RecordedTools::new(&tools, run.as_ref()),
            definitions: &definitions,
            messages,
            wanted_model: request.model.as_deref(),
            user: request.user.as_ref().filter(|user| !user.is_default()).map(UserGuid::as_str),
        };
        let turned = self.watched_turn(turn, on_event);
        let answered = ending_early(run.as_ref(), &self.runs.cancels, turned).await.map(|outcome| {
            let TurnOutcome { text, logs, model, requested_model, mut usage, said } = outcome;
            usage += tools.spent();
            ChatAnswer {
                text,
                logs,
                model: Some(model),
                requested_model: Some(requested_model),
                usage,
                tools_left_out: shortlist.left_out,
                history_left_out: request.history.left_out,
                offer: None,
                said: std::iter::once(user_message).chain(said).collect(),
                run: None,
            }
        });
        let answer = ended(run, answered).await?;
        Ok(self.with_filtered_answer(answer).await)
    }

    /// Runs a turn; what is told of it passes the apps that want to change it.
    async fn watched_turn(
        &self,
        turn: Turn<'_>,
        on_event: Option<OnEvent<'_>>,
    ) -> Result<TurnOutcome, ChatFailure> {
        let hooks = self.native.hooks();
        let outcome = match on_event {
            Some(on_event) if hooks.has(Point::ResponseStream) => {
                stream_filter::streamed(hooks, on_event, |gathered| async move {
                    run_turn(turn, Some(&|event| gathered.push(event))).await
                })
                .await
            }
            on_event => run_turn(turn, on_event).await,
        };
        Ok(outcome?)
    }

    /// The answer as apps left it. The run keeps what the model said, so that it can be gone through again.
    async fn with_filtered_answer(&self, mut answer: ChatAnswer) -> ChatAnswer {
        if let Some(text) = self.filtered_answer(&answer.text).await {
            if let Some(last) = answer.said.last_mut() {
                last["content"] = json!(text);
            }
            answer.text = text;
        }
        answer
    }

    fn turn_inputs(
        &self,
        toolbox: &Toolbox,
        offered: &ToolList,
        request: &ChatRequest,
        contributions: Vec<String>,
        documents: Vec<SeenFile>,
    ) -> TurnInputs {
        let text = |value| Value::as_str(value).unwrap_or_default().to_owned();
        let functions = offered.iter().map(|tool| &tool["function"]);
        TurnInputs {
            soul: self.soul.text().to_string(),
            contributions,
            agents: functions
                .map(|function| (text(&function["name"]), first_sentence(&text(&function["description"]))))
                .collect(),
            agents_total: toolbox.definitions.len(),
            quarantined: toolbox.quarantined.clone(),
            voice: self.modes.voice(),
            twin: self.modes.twin(),
            documents,
            ..TurnInputs::without_model(request)
        }
    }

    /// The current moment of the files, and those files in it that every turn begins with.
    async fn documents(&self) -> (Option<Moment>, Vec<(SeenFile, String)>) {
        let owner = local_owner();
        let Ok(moment) = self.current_moment(&owner).await else { return (None, Vec::new()) };
        let mut documents = Vec::new();
        if moment.sequence > 0
            && let Ok(workspaces) = self.store.workspaces().await
        {
            for name in DOCUMENTS {
                let Ok(path) = FilePath::parse(name) else { continue };
                let Ok(file) = workspaces.get_then(&owner, moment.sequence, &path).await else { continue };
                let seen = SeenFile { path: name.to_owned(), version: file.info.version };
                documents.push((seen, String::from_utf8_lossy(&file.content).into_owned()));
            }
        }
        (Some(moment), documents)
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
}

/// Does something, unless somebody ends the run first.
async fn ending_early<T, E: From<Failure>>(
    run: Option<&ActiveRun>,
    cancels: &Cancels,
    doing: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let Some(run) = run else { return doing.await };
    tokio::select! {
        done = doing => done,
        () = cancels.of(&run.id) => Err(Failure::plain(Reason::RunCancelled).into()),
    }
}

/// Writes down how a turn ended.
async fn ended(
    run: Option<ActiveRun>,
    answered: Result<ChatAnswer, ChatFailure>,
) -> Result<ChatAnswer, ChatFailure> {
    let Some(run) = run else { return answered };
    match answered {
        Ok(mut answer) => {
            // A transcript is kept, too.
            answer.said.iter_mut().for_each(|message| run.clear(message));
            let payload = json!({
                "text": answer.text,
                "log": log_lines(&answer.logs, UnknownLine::Named),
                "said": answer.said,
                "model": answer.model,
                "requestedModel": answer.requested_model,
                "usage": answer.usage,
            });
            run.end(RunStatus::Completed, payload).await;
            Ok(ChatAnswer { run: Some(run.id.clone()), ..answer })
        }
        Err(failure) => {
            let message = failure.to_string();
            let (status, reason) = match &failure {
                ChatFailure::Model(failure) => (RunStatus::Failed, Failure::from(failure.clone()).reason),
                ChatFailure::Other(failure) if failure.reason == Reason::RunCancelled => {
                    (RunStatus::Cancelled, failure.reason)
                }
                ChatFailure::Other(failure) => (RunStatus::Failed, failure.reason),
            };
            run.end(status, json!({ "error": message, "reason": reason })).await;
            Err(failure)
        }
    }
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
        run: None,
    }
}
