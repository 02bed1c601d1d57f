//! One call from its request to its outcome.

use crate::{context::Circumstances, program::Runnable};
use roost_protocol::{AgentName, CallOutcome, Failure, Receipt, Serving, UserGuid};
use roost_runtime::Call;
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
}

impl Request {
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

/// Runs one agent. An agent that failed is an outcome; an error means that nothing ran.
pub(crate) async fn perform(
    runnable: &Runnable,
    name: &AgentName,
    serving: Serving,
    request: &Request,
    context: &str,
) -> Result<CallOutcome, Failure> {
    let started = Instant::now();
    let call = Call { agent: name.as_str(), arguments: &request.arguments, context };
    let done = runnable.agent.perform(call).await;
    let Some(usage) = done.usage else {
        return Err(done.result.err().unwrap_or_else(|| Failure::plain(roost_protocol::Reason::Internal)));
    };
    let receipt = Receipt {
        enforcement: usage.enforcement,
        limits: runnable.limits.clone(),
        environment: runnable.environment.clone(),
        digest: runnable.digest,
        serving,
        worker: usage.worker,
        duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        cpu_us: usage.cpu_us,
        peak_memory_kb: usage.peak_memory_kb,
    };
    let agent = name.clone();
    Ok(match done.result {
        Ok(performed) => {
            let slush = performed.slush.or_else(|| slush_in(&performed.output));
            CallOutcome { agent, output: performed.output, error: None, slush, receipt }
        }
        Err(failure) => {
            CallOutcome { agent, output: String::new(), error: Some(failure), slush: None, receipt }
        }
    })
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
