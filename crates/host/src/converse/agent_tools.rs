//! The agents as a turn uses them.

use super::hooked::Before;
use crate::{
    host::Inner,
    native::APP_TOOL,
    pages::is_page_tool,
    perform::{ChosenBy, Request},
    toolbox::Toolbox,
};
use futures::future::BoxFuture;
use roost_chat::{ToolAnswer, ToolCall, Tools};
use roost_protocol::{CallOutcome, Failure, ModelUse, UserGuid};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The agents as a turn uses them.
pub(super) struct AgentTools<'a> {
    inner: &'a Arc<Inner>,
    toolbox: &'a Toolbox,
    caller: &'a Caller<'a>,
    /// Signals of the agent before, and which agents there were.
    chain: Mutex<Chain>,
    /// What agents asked of the model themselves.
    spent: Mutex<ModelUse>,
}

/// For whom agents run, and why.
pub(super) struct Caller<'a> {
    pub(super) user: Option<&'a UserGuid>,
    pub(super) query: &'a str,
    pub(super) depth: u32,
    /// Who chose what is called.
    pub(super) chosen_by: ChosenBy,
    /// The run it happens in.
    pub(super) run: Option<&'a str>,
}

impl<'a> AgentTools<'a> {
    pub(super) fn new(inner: &'a Arc<Inner>, toolbox: &'a Toolbox, caller: &'a Caller<'a>) -> Self {
        Self { inner, toolbox, caller, chain: Mutex::default(), spent: Mutex::default() }
    }

    /// What the next agent gets to know of this one.
    fn chain_on(&self, name: &str, answered: &Result<CallOutcome, Failure>) {
        let mut chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        chain.breadcrumbs.push(name.to_owned());
        if let Ok(CallOutcome { slush: Some(slush), .. }) = answered {
            chain.slush = Some(slush.clone());
        }
    }

    pub(super) fn spent(&self) -> ModelUse {
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
        self.toolbox.has(name) || is_page_tool(name) || name == APP_TOOL
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        // An agent that has the name keeps it.
        if is_page_tool(&call.name) && !self.toolbox.has(&call.name) {
            return Box::pin(self.inner.run_page_tool(call, self.caller.run));
        }
        if call.name == APP_TOOL && !self.toolbox.has(&call.name) {
            return Box::pin(self.inner.run_app_tool(call, self.caller.run));
        }
        Box::pin(async move {
            let arguments = match self.inner.before_tool(call, self.caller.user).await {
                Before::Run(arguments) => arguments,
                Before::Answered(answer) => return self.inner.after_tool(call, answer).await,
            };
            let request = {
                let chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
                Request {
                    arguments,
                    user: self.caller.user.cloned(),
                    query: Some(self.caller.query.to_owned()),
                    slush: chain.slush.clone(),
                    breadcrumbs: chain.breadcrumbs.clone(),
                    tells_user: true,
                    depth: self.caller.depth,
                    chosen_by: self.caller.chosen_by,
                    run: self.caller.run.map(str::to_owned),
                }
            };
            let answered = self.inner.call(&self.inner.agents, &call.name, &request).await;
            self.chain_on(&call.name, &answered);
            if let Ok(CallOutcome { receipt, .. }) = &answered
                && let Some(model) = receipt.model
            {
                *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += model;
            }
            self.inner.after_tool(call, tool_answer(answered)).await
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
