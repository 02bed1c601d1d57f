//! GitHub Models: OpenAI's form at GitHub's inference address, with a catalogue of its own form.
//!
//! Used only when a person chooses one of its models: a token of GitHub is no sign that it may use them.

use super::completion::{Completion, Quirks, complete};
use super::failed::Trouble;
use super::provider::ModelEntry;
use super::wire::{Target, Wire};
use super::{Ask, ModelFailure, OnPiece, Secret};
use serde_json::Value;

/// GitHub Models with somebody's token.
#[derive(Debug, Clone)]
pub(crate) struct GitHubModels {
    address: String,
    token: Secret,
}

impl GitHubModels {
    pub(crate) fn new(address: &str, token: Secret) -> Self {
        Self { address: address.trim_end_matches('/').to_owned(), token }
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let quirks = Quirks { counts_streams: true };
        complete(wire, self.target("inference/chat/completions"), model, ask, on_piece, quirks).await
    }

    pub(super) async fn list(&self, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
        let target = self.target("catalog/models").accepting("application/vnd.github+json");
        let listed = async {
            let body = wire.get(&target).await?.json().await?;
            match body.as_array() {
                Some(entries) => Ok(entries.iter().filter_map(entry).collect()),
                None => Err(Trouble::garbled("has no list of models", body.to_string())),
            }
        };
        listed.await.map_err(|trouble| trouble.of("", target.secrets()))
    }

    fn target(&self, path: &str) -> Target {
        Target::new(format!("{}/{path}", self.address))
            .with_bearer(Some(&self.token))
            .with("x-github-api-version", "2022-11-28")
    }
}

/// A model that writes text; it is available when it can also use tools.
fn entry(given: &Value) -> Option<ModelEntry> {
    let has = |key: &str, word: &str| {
        given[key].as_array().is_some_and(|words| words.iter().any(|one| one == word))
    };
    let id = given["id"].as_str().filter(|_| has("supported_output_modalities", "text"))?;
    let name = given["name"].as_str().unwrap_or(id);
    Some(ModelEntry {
        id: id.into(),
        name: name.into(),
        available: Some(has("capabilities", "tool-calling")),
    })
}
