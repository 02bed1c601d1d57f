//! Chat as its clients meet it: the wire in every profile, the loop, its limits, and a home without a model.

mod attacks; // pages and names from elsewhere
mod bad_input; // whatever a client or a provider gets wrong
mod envelopes; // the whole answer, per profile
mod local_model; // a model on this machine
mod memories; // many turns at once, nothing lost
mod mind; // soul, memory and models of agents
mod offline; // no model at all
mod signing_in; // GitHub and its models
mod streams; // answers as they are written
mod turns; // the loop on real agents

use roost_tests::{ModelServer, RunningHost, TestHome, python_agent};
use serde_json::{Value, json};

/// A home with a model and an agent that repeats its arguments.
struct Stage {
    home: TestHome,
    model: ModelServer,
}

impl Stage {
    fn new() -> Self {
        Self::with(|home| home)
    }

    /// The same with more variables.
    fn with(more: impl FnOnce(TestHome) -> TestHome) -> Self {
        let model = ModelServer::new();
        let home = TestHome::new()
            .with_variable("OPENAI_BASE_URL", model.base_url())
            .with_variable("OPENAI_MODEL", "scripted");
        let home = more(home);
        home.write(
            "echo_agent.py",
            python_agent("Echo", "kwargs.pop('user_guid', None)\nreturn json.dumps(kwargs)"),
        );
        home.write("fails_agent.py", python_agent("Fails", "raise ValueError('no luck')"));
        Self { home, model }
    }

    fn up(&self) -> RunningHost {
        self.home.up()
    }
}

/// Says one thing and returns the answer of a turn that succeeded.
#[track_caller]
fn say(host: &RunningHost, text: &str) -> Value {
    chat(host, &json!({ "user_input": text }))
}

#[track_caller]
fn chat(host: &RunningHost, body: &Value) -> Value {
    let answer = host.post("/chat", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The answer with what differs from run to run replaced.
fn steady(mut answer: Value) -> Value {
    if answer.get("run_id").is_some_and(|run| run.as_str().is_some_and(|run| run.starts_with("run_"))) {
        answer["run_id"] = json!("[run]");
    }
    if let Some(calls) = answer["agent_calls"].as_array_mut() {
        for call in calls {
            let receipt = call["receipt"].take();
            if receipt.is_object() {
                call["receipt"] = json!(receipt["enforcement"]["level"]);
                call["duration_us"] = json!("[time]");
            } else if let Some(call) = call.as_object_mut() {
                call.remove("receipt");
            }
        }
    }
    for name in ["session_id", "sessionId"] {
        if answer[name].as_str().is_some_and(|id| id.len() == 36) {
            answer[name] = json!("[uuid]");
        } else if answer[name].is_null()
            && let Some(answer) = answer.as_object_mut()
        {
            answer.remove(name);
        }
    }
    answer
}
