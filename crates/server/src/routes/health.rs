//! Is the host there, and which agents does it have.

use axum::{Json, extract::State};
use roost_host::{
    Host,
    chat::{ProviderName, StandingState},
};
use roost_protocol::{AgentListing, AgentState};
use serde_json::{Value, json};

/// The state of the host and the names of its agents.
#[utoipa::path(get, path = "/health", tag = "host", responses((status = 200, body = Object)))]
pub(crate) async fn health(State(host): State<Host>) -> Json<Value> {
    let known = host.roster();
    let agents = known.agents();
    let callable: Vec<&str> =
        agents.iter().filter(|agent| agent.serving.is_some()).map(|agent| agent.name.as_str()).collect();
    let quarantined: Vec<Value> =
        agents.iter().filter(|agent| agent.state != AgentState::Ready).map(quarantine).collect();
    let soul = host.home().soul();
    let soul = if soul.is_file() { soul.display().to_string() } else { "missing".to_owned() };
    let standing = host.models().standing();
    let mut health = json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "model": standing.model,
        "soul": soul,
        "agents": callable,
        "quarantined": quarantined,
    });
    match standing.state {
        StandingState::NotSetUp | StandingState::NotSignedIn => health["status"] = json!("unauthenticated"),
        state => {
            health["copilot"] = json!(match state {
                StandingState::Pending => "pending",
                StandingState::NoAccess { .. } => "no_access",
                _ => "✓",
            });
            if let StandingState::NoAccess { user } = state {
                health["copilot_username"] = json!(user);
            }
            health["provider"] = json!(standing.provider.map(ProviderName::as_str));
            health["voice_mode"] = json!(host.modes().voice());
            health["twin_mode"] = json!(host.modes().twin());
            health["brainstem_dir"] = json!(host.home().root());
        }
    }
    Json(health)
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
