//! GitHub Copilot: OpenAI's form at the session's address, its catalogue, and which of its models is the default.

use super::account::{Account, EDITOR, INTEGRATION, Session};
use super::completion::{Completion, Quirks, complete};
use super::failed::Trouble;
use super::provider::ModelEntry;
use super::wire::{Target, Wire};
use super::{Ask, ModelFailure, ModelProblem, OnPiece};
use serde_json::Value;

/// What is shown before the catalogue was fetched.
pub(crate) const BUILT_IN: &[&str] =
    &["gpt-4.1", "gpt-4o", "gpt-4o-mini", "claude-sonnet-4", "gpt-4", "gpt-3.5-turbo"];

/// Used when nothing better is known to be available.
const LAST_CHOICE: &str = "gpt-4o";

/// Numbers in an id from here on are dates, not versions.
const VERSION_NUMBER_MAX: u32 = 1000;

/// Copilot, for one person.
#[derive(Debug, Clone)]
pub(crate) struct Copilot {
    account: Account,
}

impl Copilot {
    pub(crate) fn new(account: Account) -> Self {
        Self { account }
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let quirks = Quirks { counts_streams: true };
        let session = self.account.session(model).await?;
        let first = complete(wire, target(&session, "chat/completions"), model, ask, on_piece, quirks).await;
        if !is_unauthorized(&first) {
            return first;
        }
        self.account.drop_session(&session);
        let session = self.account.session(model).await?;
        complete(wire, target(&session, "chat/completions"), model, ask, on_piece, quirks).await
    }

    pub(super) async fn list(&self, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
        let session = self.account.session("").await?;
        let first = catalogue(wire, &session).await;
        if !is_unauthorized(&first) {
            return first;
        }
        self.account.drop_session(&session);
        catalogue(wire, &self.account.session("").await?).await
    }
}

fn is_unauthorized<T>(answered: &Result<T, ModelFailure>) -> bool {
    answered.as_ref().is_err_and(|failure| failure.problem == (ModelProblem::Refused { status: 401 }))
}

fn target(session: &Session, path: &str) -> Target {
    Target::new(format!("{}/{path}", session.endpoint))
        .with_bearer(Some(&session.token))
        .with("editor-version", EDITOR)
        .with("copilot-integration-id", INTEGRATION)
}

async fn catalogue(wire: &Wire, session: &Session) -> Result<Vec<ModelEntry>, ModelFailure> {
    let target = target(session, "models");
    let listed = async {
        let body = wire.get(&target).await?.json().await?;
        match body["data"].as_array() {
            Some(models) => Ok(models.iter().filter_map(entry).collect()),
            None => Err(Trouble::garbled("has no list of models", body.to_string())),
        }
    };
    listed.await.map_err(|trouble| trouble.of("", target.secrets()))
}

/// An entry that converses through the route used here; available unless something says it is not.
fn entry(given: &Value) -> Option<ModelEntry> {
    let id = given["id"].as_str()?;
    let converses = given["capabilities"]["type"] == "chat";
    let reachable = match given["supported_endpoints"].as_array() {
        Some(endpoints) => endpoints.iter().any(|endpoint| endpoint == "/chat/completions"),
        None => true,
    };
    if !converses || !reachable {
        return None;
    }
    let allowed = given["policy"]["state"].as_str().is_none_or(|state| state == "enabled");
    let offered = given["model_picker_enabled"] != false;
    let uses_tools = given["capabilities"]["supports"]["tool_calls"] != false;
    Some(ModelEntry {
        id: id.into(),
        name: given["name"].as_str().unwrap_or(id).into(),
        available: Some(allowed && offered && uses_tools),
    })
}

/// The default of a catalogue: the highest Claude Haiku, then the highest Sonnet, then gpt-4o.
pub(crate) fn best_model(models: &[ModelEntry]) -> String {
    // An entry of the built-in list is not known to be available.
    let available =
        || models.iter().filter(|model| model.available == Some(true)).map(|model| model.id.as_str());
    let highest = |family: &str| {
        let of_family = available().filter(|id| id.contains("claude") && id.contains(family));
        // Of equal versions the plainest name: others are variants such as `-thought`.
        of_family.max_by(|one, other| version(one).cmp(&version(other)).then(other.len().cmp(&one.len())))
    };
    highest("haiku").or_else(|| highest("sonnet")).unwrap_or(LAST_CHOICE).to_owned()
}

/// The version in an id, wherever it stands: `claude-3.5-sonnet`, `claude-haiku-4-5-20251001`.
fn version(id: &str) -> Vec<u32> {
    let numbers =
        id.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok());
    numbers.filter(|number| *number < VERSION_NUMBER_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, best_model, entry};
    use crate::model::provider::ModelEntry;
    use serde_json::{Value, json};

    fn best(ids: &[&str]) -> String {
        let available = |id: &&str| ModelEntry { available: Some(true), ..ModelEntry::named(*id) };
        best_model(&ids.iter().map(available).collect::<Vec<_>>())
    }

    #[test]
    fn the_default_is_the_highest_haiku_then_sonnet_then_gpt_4o() {
        assert_eq!(
            best(&["gpt-5", "claude-3.5-haiku", "claude-haiku-4.5", "claude-sonnet-4.5"]),
            "claude-haiku-4.5"
        );
        assert_eq!(best(&["claude-sonnet-4", "claude-3.7-sonnet", "claude-sonnet-4.5"]), "claude-sonnet-4.5");
        assert_eq!(best(&["claude-3.7-sonnet-thought", "claude-3.7-sonnet"]), "claude-3.7-sonnet");
        assert_eq!(
            best(&["claude-haiku-4-5-20251001", "claude-3-haiku-20240307"]),
            "claude-haiku-4-5-20251001"
        );
        assert_eq!(best(&["claude-sonnet-10", "claude-sonnet-9.5"]), "claude-sonnet-10");
        assert_eq!(best(&["gpt-5", "o3"]), "gpt-4o");
        assert_eq!(best(&[]), "gpt-4o");
        let unknown: Vec<ModelEntry> = BUILT_IN.iter().map(|id| ModelEntry::named(*id)).collect();
        assert_eq!(best_model(&unknown), "gpt-4o");
    }

    #[track_caller]
    fn check(change: Value, expect: Option<bool>) {
        let mut given = json!({"id": "m", "name": "M", "capabilities": {"type": "chat"}});
        for (key, value) in change.as_object().unwrap() {
            given[key] = value.clone();
        }
        assert_eq!(entry(&given).map(|entry| entry.available.unwrap()), expect, "{change}");
    }

    #[test]
    fn the_catalogue_is_filtered_as_users_know_it() {
        check(json!({}), Some(true));
        check(json!({"capabilities": {"type": "embeddings"}}), None);
        check(json!({"capabilities": {}}), None);
        check(json!({"supported_endpoints": ["/responses"]}), None);
        check(json!({"supported_endpoints": ["/responses", "/chat/completions"]}), Some(true));
        check(json!({"policy": {"state": "disabled"}}), Some(false));
        check(json!({"policy": {"state": "unconfigured"}}), Some(false));
        check(json!({"policy": {"state": "enabled"}}), Some(true));
        check(json!({"model_picker_enabled": false}), Some(false));
        check(json!({"model_picker_enabled": null}), Some(true));
        check(json!({"capabilities": {"type": "chat", "supports": {"tool_calls": false}}}), Some(false));
    }
}
