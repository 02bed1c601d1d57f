//! Answers what agents ask of the host, and what the proxy asks on their behalf.
//!
//! Who asks is the program at the other end of the connection. A program that is not known here gets nothing.

use crate::{
    folders::FileRequests,
    gate::{Decision, Gate},
    secrets,
    settings::Home,
    standing::Standing,
};
use futures::future::BoxFuture;
use roost_chat::{Ask, Model, ToolList};
use roost_protocol::{Digest, Failure, Host, HostCall, HostPort, Reason, Right};
use roost_runtime::{Answer, HostCalls, Program, Verdict};
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The calls this host answers.
pub(crate) struct Calls {
    gate: Arc<Gate>,
    model: Arc<dyn Model>,
    pub(crate) file_requests: FileRequests,
    known: Mutex<HashMap<(PathBuf, Digest), Arc<Known>>>,
}

/// What is known of a program that runs.
struct Known {
    standing: Arc<Standing>,
    /// Rights in force to use secrets.
    secrets: Vec<Right>,
}

/// More contents than a host can have running at once; the rest is looked up anew when it is prepared again.
const KNOWN_MAX: usize = 4096;

impl Calls {
    pub(crate) fn new(gate: Arc<Gate>, model: Arc<dyn Model>, home: &Home) -> Self {
        Self { gate, model, file_requests: FileRequests::new(home), known: Mutex::default() }
    }

    /// Makes a program known before it runs, with the rights in force.
    pub(crate) fn introduce(&self, file: PathBuf, standing: Arc<Standing>, rights: &[Right]) {
        let secrets = rights.iter().filter(|right| matches!(right, Right::Secret { .. })).cloned().collect();
        let mut known = self.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert((file, standing.caller.digest), Arc::new(Known { standing, secrets }));
    }

    fn decide(&self, program: &Program, right: &Right) -> Decision {
        match self.known(program).map(|known| Arc::clone(&known.standing)) {
            Some(standing) => self.gate.decide(&standing.caller, &standing.asks, right),
            None => Decision::unknown_caller(),
        }
    }

    /// True when a secret was granted that may go there: to use it towards a computer is to reach it.
    fn has_secret_for(&self, program: &Program, target: &HostPort) -> bool {
        let Some(known) = self.known(program) else { return false };
        known.secrets.iter().any(|right| {
            let goes_there = matches!(right, Right::Secret { transport, host, .. }
                if secrets::goes_to(*transport, host).covers(target));
            goes_there && matches!(self.decide(program, right), Decision::Allowed { .. })
        })
    }

    /// Needs no right: it only shows a person what an agent would like to have in its own folder.
    fn request_files(&self, caller: &Program, params: Value) -> Result<Answer, Failure> {
        let known = self.known(caller).ok_or_else(|| Failure::plain(Reason::RightMissing))?;
        let value = self.file_requests.ask(&known.standing.caller.app, &caller.own, params)?;
        Ok(Answer { value, model: None })
    }

    fn known(&self, program: &Program) -> Option<Arc<Known>> {
        self.lock().get(&(program.file.clone(), program.digest)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(PathBuf, Digest), Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostCalls for Calls {
    fn answer<'a>(&'a self, caller: &'a Program, call: HostCall) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            match call.method.as_str() {
                "model.complete" => {
                    let decision = self.decide(caller, &Right::Model);
                    match decision.failure(&Right::Model) {
                        Some(denied) => Err(denied),
                        None => complete(&*self.model, call.params).await,
                    }
                }
                "workspace.request_files" => self.request_files(caller, call.params),
                other => {
                    Err(Failure::new(Reason::UnknownHostCall, format!("the host has no call `{other}`")))
                }
            }
        })
    }

    fn may_reach(&self, caller: &Program, target: &HostPort) -> Verdict {
        if self.has_secret_for(caller, target) {
            return Verdict::Allowed;
        }
        verdict(self.decide(caller, &Right::Network(target.clone())))
    }

    fn may_reach_private(&self, caller: &Program, address: IpAddr, port: u16) -> Verdict {
        let mut last = Verdict::Refused { next: String::new() };
        for target in names_of(address, port) {
            if self.has_secret_for(caller, &target) {
                return Verdict::Allowed;
            }
            last = verdict(self.decide(caller, &Right::Network(target)));
            if last == Verdict::Allowed {
                break;
            }
        }
        last
    }
}

/// Messages an agent may send at once: as many as a long conversation has.
const MESSAGES_MAX: usize = 10_000;

/// One completion for an agent, in the form of OpenAI's API. Its tools are its own affair: the host runs none of them.
async fn complete(model: &dyn Model, params: Value) -> Result<Answer, Failure> {
    let wrong = |message: &str| Failure::new(Reason::BadArguments, format!("model.complete: {message}"));
    let Value::Object(mut options) = params else { return Err(wrong("the parameters are not an object")) };
    let list = |options: &mut Map<String, Value>, name: &str| match options.remove(name) {
        Some(Value::Array(items)) => Ok(items),
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(_) => Err(wrong(&format!("`{name}` is not a list"))),
    };
    let messages = list(&mut options, "messages")?;
    if messages.is_empty() || messages.len() > MESSAGES_MAX || !messages.iter().all(Value::is_object) {
        return Err(wrong("`messages` must be a list of messages"));
    }
    let tools = ToolList::from(list(&mut options, "tools")?);
    let wanted = match options.remove("model") {
        Some(Value::String(wanted)) => Some(wanted),
        None | Some(Value::Null) => None,
        Some(_) => return Err(wrong("`model` is not a text")),
    };
    // The answer is given whole.
    options.remove("stream");
    let ask = Ask {
        messages: &messages,
        tools: &tools,
        model: wanted.as_deref(),
        options: Some(&options),
        user: None,
    };
    let reply = model.reply(ask, None).await.map_err(Failure::from)?;
    let finish_reason = if reply.calls().is_empty() { "stop" } else { "tool_calls" };
    let value = json!({
        "object": "chat.completion",
        "model": reply.model,
        "choices": [{ "index": 0, "message": reply.message, "finish_reason": finish_reason }],
        "usage": {
            "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens,
            "total_tokens": reply.usage.prompt_tokens + reply.usage.completion_tokens,
        },
    });
    Ok(Answer { value, model: Some(reply.usage) })
}

/// What a grant may call an address that is not a public one: by itself, or `localhost` where it is this computer's own.
pub(crate) fn names_of(address: IpAddr, port: u16) -> impl Iterator<Item = HostPort> {
    let local = address.is_loopback().then(|| Host::Name("localhost".to_owned()));
    let names = [Some(Host::Address(address)), local].into_iter().flatten();
    names.map(move |host| HostPort { host, port: Some(port) })
}

/// The gate's decision, as the proxy takes it.
pub(crate) fn verdict(decision: Decision) -> Verdict {
    match decision {
        Decision::Allowed { .. } => Verdict::Allowed,
        Decision::Denied { next, .. } => Verdict::Refused { next },
    }
}
