//! A model that says what it was told to say: the fake of the joint, for tests of whatever asks a model.

use crate::model::{Ask, Model, ModelFailure, ModelProblem, OnPiece, Reply};
use futures::future::BoxFuture;
use roost_protocol::ModelUse;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A model with a script.
#[derive(Debug)]
pub(crate) struct ScriptedModel {
    script: Mutex<VecDeque<Value>>,
    asked: Mutex<Vec<Asked>>,
}

/// What it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<Value>,
    pub(crate) model: Option<String>,
}

impl ScriptedModel {
    /// Says these messages in order, then fails.
    pub(crate) fn new(script: Vec<Value>) -> Self {
        Self { script: Mutex::new(script.into()), asked: Mutex::default() }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        locked(&self.asked).clone()
    }
}

impl Model for ScriptedModel {
    fn reply<'a>(
        &'a self,
        ask: Ask<'a>,
        on_piece: Option<OnPiece<'a>>,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            locked(&self.asked).push(Asked {
                messages: ask.messages.to_vec(),
                tools: ask.tools.iter().cloned().collect(),
                model: ask.model.map(str::to_owned),
            });
            let Some(message) = locked(&self.script).pop_front() else {
                return Err(ModelFailure {
                    problem: ModelProblem::Garbled,
                    message: "the script is over".to_owned(),
                    model: "scripted".to_owned(),
                    detail: String::new(),
                });
            };
            if let (Some(on_piece), Some(text)) = (on_piece, message["content"].as_str()) {
                for piece in text.split_inclusive(' ') {
                    on_piece(piece);
                }
            }
            let usage = ModelUse { completions: 1, ..ModelUse::default() };
            let name = || "scripted".to_owned();
            Ok(Reply { message, model: name(), requested_model: name(), usage })
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
