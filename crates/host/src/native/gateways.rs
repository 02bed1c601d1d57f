//! Models of native apps: which apps answer for one now, and one question to one of them.

mod question; // what an app is asked

use super::{launch::LiveApp, state::LeftOut};
use crate::program::Workshop;
use futures::future::BoxFuture;
use roost_chat::{AppModels, Ask, Model, ModelFailure, ModelProblem, OnPiece, Reply};
use roost_protocol::{Failure, ModelUse, Reason, Right, VariableName};
use roost_runtime::{GatewayPart, GatewayUser};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The secret of the vault that apps with the right `user:token` act with for whoever asks.
pub(crate) const USER_TOKEN: &str = "USER_TOKEN";

/// Longest answer, with everything thought and called.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Calls in one answer; a model that wants more is lost.
const CALLS_MAX: usize = 256;

/// The apps that answer for a model, by the id of that model.
#[derive(Clone, Default)]
pub(crate) struct Gateways(Arc<Mutex<BTreeMap<String, Arc<Gateway>>>>);

/// One of them.
struct Gateway {
    live: Arc<LiveApp>,
    workshop: Arc<Workshop>,
    patience: Patience,
}

/// How long an answer may be waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until it begins.
    first: Duration,
    /// Until it goes on.
    piece: Duration,
}

impl Gateways {
    /// As everybody who asks models knows them.
    pub(crate) fn as_models(&self) -> AppModels {
        let (listing, finding) = (self.clone(), self.clone());
        let name =
            |(id, gateway): (&String, &Arc<Gateway>)| (id.clone(), gateway.live.folder.manifest.name.clone());
        AppModels {
            names: Arc::new(move || listing.lock().iter().map(name).collect()),
            find: Arc::new(move |id| finding.lock().get(id).map(|found| Arc::clone(found) as Arc<dyn Model>)),
        }
    }

    /// Lets an app answer, if it may reach anybody; else says why not.
    pub(super) fn take_in(&self, live: &Arc<LiveApp>, workshop: &Arc<Workshop>) -> Option<LeftOut> {
        let is_network = |right: &Right| matches!(right, Right::AnyNetwork | Right::Network(_));
        if !live.rights.iter().any(is_network) {
            let why = Failure::new(Reason::RightMissing, "a gateway needs a right to the network");
            return Some(LeftOut::new("gateway", &why));
        }
        let waits = &workshop.settings.models;
        let patience = Patience { first: waits.first_byte_wait, piece: waits.piece_wait };
        let gateway = Gateway { live: Arc::clone(live), workshop: Arc::clone(workshop), patience };
        self.lock().insert(format!("gateway-{}", live.folder.id()), Arc::new(gateway));
        None
    }

    /// Nobody is led to the app any more when this returns.
    pub(super) fn take_out(&self, live: &Arc<LiveApp>) {
        self.lock().retain(|_, gateway| !Arc::ptr_eq(&gateway.live, live));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Gateway>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Gateway {
    fn reply<'a>(
        &'a self,
        ask: Ask<'a>,
        on_piece: Option<OnPiece<'a>>,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            let model = ask.model.unwrap_or_default().to_owned();
            let message = self.answer(ask, on_piece).await.map_err(|failure| failed(failure, &model))?;
            let usage = ModelUse { completions: 1, ..ModelUse::default() };
            Ok(Reply { message, requested_model: model.clone(), model, usage })
        })
    }
}

impl Gateway {
    async fn answer(&self, ask: Ask<'_>, on_piece: Option<OnPiece<'_>>) -> Result<Value, Failure> {
        let mut question = question::of(ask);
        question.request_id = uuid::Uuid::now_v7().to_string();
        question.user = self.user(ask.user).await;
        let mut open = Open { live: Some(Arc::clone(&self.live)), request_id: question.request_id.clone() };
        let mut parts = self.live.app.ask_gateway(question, self.patience.first).await?;
        let mut answer = Answer::default();
        let mut wait = self.patience.first;
        while let Some(part) = parts.next(wait).await? {
            wait = self.patience.piece;
            if part == GatewayPart::Done {
                break;
            }
            answer.add(part, on_piece)?;
        }
        // It ended by itself: there is nothing to take back.
        open.live = None;
        answer.finish()
    }

    /// Who asks, as far as the app may know it.
    async fn user(&self, id: Option<&str>) -> Option<GatewayUser> {
        let id = id?.to_owned();
        let right: Result<Right, _> = "feature:user:token".parse();
        let may_act = right.is_ok_and(|right| self.live.rights.iter().any(|held| held.covers(&right)));
        let token = if may_act { self.token().await } else { None };
        Some(GatewayUser { token: token.unwrap_or_default(), id })
    }

    /// A vault that cannot be read gives nothing.
    async fn token(&self) -> Option<String> {
        let name = VariableName::parse(USER_TOKEN).ok()?;
        let found = self.workshop.vault.get(&name).await;
        let found = found.inspect_err(|failure| tracing::warn!(%failure, "the token of the user")).ok()?;
        Some(found?.expose().to_owned())
    }
}

/// A question that is not answered yet. Dropped, the app is told that nobody waits any more.
struct Open {
    live: Option<Arc<LiveApp>>,
    request_id: String,
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(live) = self.live.take() else { return };
        let request_id = std::mem::take(&mut self.request_id);
        // Ends by itself: the app has a few seconds.
        drop(tokio::spawn(async move {
            if let Err(failure) = live.app.cancel_gateway(request_id).await {
                tracing::debug!(app = live.folder.id(), %failure, "take a question back");
            }
        }));
    }
}

/// An answer that is being put together.
#[derive(Default)]
struct Answer {
    bytes: usize,
    text: String,
    calls: Vec<Value>,
    error: Option<Failure>,
}

impl Answer {
    fn add(&mut self, part: GatewayPart, on_piece: Option<OnPiece<'_>>) -> Result<(), Failure> {
        let (GatewayPart::Text(content)
        | GatewayPart::Thinking(content)
        | GatewayPart::ToolCall(content)
        | GatewayPart::Error(content)) = &part
        else {
            return Ok(());
        };
        self.bytes += content.len();
        if self.bytes > ANSWER_BYTES_MAX || self.calls.len() > CALLS_MAX {
            return Err(Failure::new(Reason::ResultTooLarge, "the answer does not end"));
        }
        match part {
            GatewayPart::Text(text) => {
                if let Some(on_piece) = on_piece.filter(|_| !text.is_empty()) {
                    on_piece(&text);
                }
                self.text.push_str(&text);
            }
            GatewayPart::ToolCall(call) => match question::call(&call) {
                Some(call) => self.calls.push(call),
                None => self.note(Failure::new(Reason::ModelGarbled, "a call of a tool is not one")),
            },
            GatewayPart::Error(message) => {
                let message: String = message.chars().take(300).flat_map(char::escape_debug).collect();
                self.note(Failure::new(Reason::AgentRaised, message));
            }
            // What a model thinks is part of no answer.
            GatewayPart::Thinking(_) | GatewayPart::Done => {}
        }
        Ok(())
    }

    /// The first error is what the person is told; the app may still go on.
    fn note(&mut self, failure: Failure) {
        self.error.get_or_insert(failure);
    }

    fn finish(self) -> Result<Value, Failure> {
        if let Some(failure) = self.error {
            return Err(failure);
        }
        let content =
            if self.text.is_empty() && !self.calls.is_empty() { Value::Null } else { json!(self.text) };
        let mut message =
            Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), content)]);
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(self.calls));
        }
        Ok(Value::Object(message))
    }
}

fn failed(failure: Failure, model: &str) -> ModelFailure {
    const APP_SAYS_NO: u16 = 502;
    let problem = match failure.reason {
        Reason::TimeLimit => ModelProblem::Silent,
        Reason::ResultTooLarge | Reason::ModelGarbled => ModelProblem::Garbled,
        Reason::AgentRaised | Reason::NativeUnanswered => ModelProblem::Refused { status: APP_SAYS_NO },
        _ => ModelProblem::Unreachable,
    };
    let message = match &problem {
        ModelProblem::Silent => format!("The app of model '{model}' did not answer in time."),
        ModelProblem::Unreachable => format!("The app of model '{model}' does not answer any more."),
        ModelProblem::Garbled => format!("The app of model '{model}' answered something that is no answer."),
        _ => format!("The app of model '{model}' could not answer: {}", failure.message),
    };
    ModelFailure { problem, message, model: model.to_owned(), detail: failure.message }
}
