//! One call from its request to its outcome.

use crate::{context::Circumstances, gate::Gate, program::Runnable, standing::Places};
use roost_protocol::{
    AgentName, CallId, CallOutcome, DEFAULT_USER_GUID, Failure, Limits, Performed, Reason, Receipt, Refusal,
    RefusedBy, Serving, UserGuid,
};
use roost_runtime::{Call, Done};
use serde_json::{Map, Value};
use std::time::Instant;

/// What a caller asks for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Keyword arguments.
    pub arguments: Map<String, Value>,
    /// Whose memory the context shows.
    pub user: Option<UserGuid>,
    /// The sentence that led to the call; guessed from the arguments when absent.
    pub query: Option<String>,
    /// Signals of the agent before this one.
    pub slush: Option<Map<String, Value>>,
    /// Agents of this run so far.
    pub breadcrumbs: Vec<String>,
    /// Whether the agent is told who calls, in place of whatever the arguments say.
    pub tells_user: bool,
    /// Who chose to call.
    pub chosen_by: ChosenBy,
    /// How many chats stand above the call.
    pub depth: u32,
    /// The run it is part of.
    pub run: Option<String>,
}

/// Who chose that something is called, and with what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChosenBy {
    /// A person or a program that asked for exactly this.
    #[default]
    Caller,
    /// A model.
    Model,
}

impl Request {
    /// The identity the agent is told.
    fn user_guid(&self) -> Option<&str> {
        let user = || self.user.as_ref().map_or(DEFAULT_USER_GUID, UserGuid::as_str);
        self.tells_user.then(user)
    }

    pub(crate) fn circumstances(&self) -> Circumstances<'_> {
        let query = self.query.as_deref().unwrap_or_else(|| query_in(&self.arguments));
        Circumstances {
            user: self.user.as_ref(),
            query,
            slush: self.slush.as_ref(),
            breadcrumbs: &self.breadcrumbs,
        }
    }
}

/// What a call is run with, besides the agent itself.
pub(crate) struct Surroundings<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) places: Places<'a>,
    pub(crate) call: CallId,
    pub(crate) context: &'a str,
}

/// Runs one agent. An agent that failed is an outcome; an error means that nothing ran.
pub(crate) async fn perform(
    runnable: &Runnable,
    name: &AgentName,
    serving: Serving,
    request: &Request,
    around: Surroundings<'_>,
) -> Result<CallOutcome, Failure> {
    let started = Instant::now();
    let call = Call {
        agent: name.as_str(),
        arguments: &request.arguments,
        context: around.context,
        user_guid: request.user_guid(),
        depth: request.depth,
    };
    let (result, usage) = match runnable.agent.perform(call).await {
        Done::Asked { result, usage } => (result, usage),
        Done::NotStarted(failed) => {
            let refused = runnable.standing.explain(around.gate, failed.refused, around.places);
            return Err(because_of(failed.failure, &refused));
        }
    };
    let standing = &runnable.standing;
    let mut refused = usage.refused;
    refused.extend(limited(&result, usage.stray_processes, &runnable.limits));
    let refused = standing.explain(around.gate, refused, around.places);
    runnable.count_use(around.gate, &usage.traffic, &usage.touched, usage.forked);
    let receipt = Receipt {
        call: around.call,
        run: request.run.clone(),
        enforcement: usage.enforcement,
        rights: runnable.rights.clone(),
        limits: runnable.limits.clone(),
        environment: runnable.environment.clone(),
        digest: runnable.digest,
        serving,
        worker: usage.worker,
        duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        cpu_us: usage.cpu_us,
        peak_memory_kb: usage.peak_memory_kb,
        traffic: usage.traffic,
        refused,
        stray_processes: usage.stray_processes,
        model: usage.model,
        workspace: None,
    };
    let agent = name.clone();
    Ok(match result {
        Ok(performed) => {
            let slush = performed.slush.or_else(|| slush_in(&performed.output));
            CallOutcome { agent, output: performed.output, error: None, slush, receipt }
        }
        Err(failure) => {
            let error = Some(because_of(failure, &receipt.refused));
            CallOutcome { agent, output: String::new(), error, slush: None, receipt }
        }
    })
}

/// What a limit ended, as something that was refused: it belongs into the record too.
fn limited(result: &Result<Performed, Failure>, stray_processes: u32, limits: &Limits) -> Vec<Refusal> {
    let refusal = |what: String, count: u32| Refusal {
        what,
        right: None,
        by: RefusedBy::Limits,
        count: u64::from(count),
        next: String::new(),
    };
    let mut found = Vec::new();
    if stray_processes > 0 {
        found.push(refusal("leave processes running after the call".to_owned(), stray_processes));
    }
    if matches!(result, Err(failure) if failure.reason == Reason::DiskLimit) {
        found.push(refusal(format!("keep more than {} MB on disk", limits.disk_mb), 1));
    }
    found
}

/// An agent that fails after something was refused to it most likely fails because of that.
pub(crate) fn because_of(failure: Failure, refused: &[Refusal]) -> Failure {
    let is_the_agents_own = matches!(
        failure.reason,
        Reason::AgentRaised
            | Reason::AgentExited
            | Reason::ImportFailed
            | Reason::MissingModule
            | Reason::ConstructorFailed
            | Reason::ExitAtImport
    );
    // A variable that is not there seldom stops an agent at once; what the sandbox refuses does.
    let named = || refused.iter().filter(|refusal| refusal.right.is_some());
    let cause = named().find(|refusal| refusal.by != RefusedBy::Gate).or_else(|| named().next());
    match cause {
        Some(cause) if is_the_agents_own => {
            let message = format!("not allowed: {} (the agent said: {})", cause.what, failure.message);
            Failure { reason: Reason::RightMissing, message, next: Some(cause.next.clone()), ..failure }
        }
        _ => failure,
    }
}

/// The sentence in the arguments: under the names agents use for it, else the first text.
fn query_in(arguments: &Map<String, Value>) -> &str {
    let named = ["query", "user_input", "input", "prompt", "message", "question", "text", "content"];
    let by_name = named.iter().find_map(|name| arguments.get(*name)?.as_str());
    by_name.or_else(|| arguments.values().find_map(Value::as_str)).unwrap_or_default()
}

/// The `data_slush` of a JSON result. Looked for as text first: most results have none and are not parsed.
fn slush_in(output: &str) -> Option<Map<String, Value>> {
    if !output.contains("\"data_slush\"") {
        return None;
    }
    match serde_json::from_str::<Map<String, Value>>(output).ok()?.remove("data_slush")? {
        Value::Object(slush) => Some(slush),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{query_in, slush_in};
    use serde_json::json;

    #[test]
    fn slush_is_found_only_in_an_object_at_the_top() {
        assert_eq!(slush_in(r#"{"data_slush": {"a": 1}}"#).unwrap()["a"], 1);
        for output in [
            r#"{"data_slush": 1}"#,
            r#"[{"data_slush": {}}]"#,
            r#"{"x": {"data_slush": {}}}"#,
            "\"data_slush\"",
            "",
        ] {
            assert!(slush_in(output).is_none(), "{output}");
        }
    }

    #[test]
    fn the_query_is_the_argument_that_reads_like_one() {
        for (arguments, query) in [
            (json!({ "city": "Paris", "query": "weather?" }), "weather?"),
            (json!({ "n": 1, "city": "Paris" }), "Paris"),
            (json!({}), ""),
        ] {
            assert_eq!(query_in(arguments.as_object().unwrap()), query);
        }
    }
}
