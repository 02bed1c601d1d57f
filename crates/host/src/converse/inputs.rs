//! Everything a turn is made from besides the files: what is written down, so that the turn can be gone through again.

use super::ChatRequest;
use crate::runs::SeenFile;
use roost_chat::{Prompt, system_message};
use roost_protocol::UserGuid;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a turn begins.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TurnInputs {
    pub(crate) input: String,
    pub(crate) history: Vec<Value>,
    pub(crate) user: Option<UserGuid>,
    /// The model wanted.
    pub(crate) model: Option<String>,
    pub(crate) depth: u32,
    pub(crate) soul: String,
    pub(crate) contributions: Vec<String>,
    /// Agents that were offered: name and description.
    pub(crate) agents: Vec<(String, String)>,
    pub(crate) agents_total: usize,
    pub(crate) quarantined: Vec<String>,
    pub(crate) voice: bool,
    pub(crate) twin: bool,
    /// Files of the workspace that the turn began with.
    pub(crate) documents: Vec<SeenFile>,
    /// The system message, where an app wrote another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    /// What apps told the model last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steering: Vec<Value>,
}

impl TurnInputs {
    /// What there is to write down of a turn that asks no model.
    pub(super) fn without_model(request: &ChatRequest) -> Self {
        Self {
            input: request.input.clone(),
            history: request.history.messages.clone(),
            user: request.user.clone(),
            model: request.model.clone(),
            depth: request.depth,
            ..Self::default()
        }
    }

    /// The system message, with the documents as they were at the turn's moment.
    pub(crate) fn system_message(&self, documents: &[(String, String)]) -> String {
        if let Some(system) = &self.system {
            return system.clone();
        }
        let agents: Vec<(&str, &str)> =
            self.agents.iter().map(|(name, description)| (name.as_str(), description.as_str())).collect();
        let quarantined: Vec<&str> = self.quarantined.iter().map(String::as_str).collect();
        system_message(&Prompt {
            soul: &self.soul,
            documents,
            contributions: &self.contributions,
            agents: &agents,
            agents_total: self.agents_total,
            quarantined: &quarantined,
            voice: self.voice,
            twin: self.twin,
        })
    }
}
