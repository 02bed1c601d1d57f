//! Is the host there, and which agents does it have.

use axum::{Json, extract::State};
use roost_host::Host;
use roost_protocol::{AgentListing, AgentState};
use serde_json::{Value, json};

/// The state of the host and the names of its agents.
pub(crate) async fn health(State(host): State<Host>) -> Json<Value> {
    let agents = host.known_agents();
    let callable: Vec<&str> =
        agents.iter().filter(|agent| agent.serving.is_some()).map(|agent| agent.name.as_str()).collect();
    let quarantined: Vec<Value> =
        agents.iter().filter(|agent| agent.state != AgentState::Ready).map(quarantine).collect();
    let soul = host.home().soul();
    Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "model": null,
        "soul": if soul.is_file() { soul.display().to_string() } else { "missing".to_owned() },
        "agents": callable,
        "quarantined": quarantined,
    }))
}

/// The version alone.
pub(crate) async fn version() -> Json<Value> {
    Json(json!({ "version": env!("CARGO_PKG_VERSION") }))
}

fn quarantine(agent: &AgentListing) -> Value {
    let reason = agent.reason.as_ref();
    json!({
        "file": agent.file,
        "class": agent.name,
        "reason": reason.map(|failure| failure.message.as_str()),
        "code": reason.map(|failure| failure.reason),
    })
}
