//! Anthropic: its messages interface, translated from and to the form that the rest of the host speaks.

mod asked; // from our form to theirs
mod answered; // from theirs to ours

use super::completion::{Completion, announce, too_long};
use super::events::{Event, EventReader};
use super::failed::Trouble;
use super::provider::ModelEntry;
use super::wire::{Answer, Target, Wire};
use super::{Ask, ModelFailure, OnPiece, Secret};
use answered::{Blocks, whole};
use serde_json::Value;

/// Anthropic's address.
pub(crate) const ADDRESS: &str = "https://api.anthropic.com";

const VERSION: &str = "2023-06-01";

/// Anthropic with somebody's key.
#[derive(Debug, Clone)]
pub(crate) struct Anthropic {
    root: String,
    key: Secret,
}

impl Anthropic {
    /// Anthropic, or a server with its form, at an address with or without its version.
    pub(crate) fn new(address: &str, key: Secret) -> Self {
        let address = address.trim().trim_end_matches('/');
        Self { root: address.strip_suffix("/v1").unwrap_or(address).to_owned(), key }
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let target = self.target("messages");
        let body = asked::request(model, ask, on_piece.is_some());
        let completed = async {
            let Some(on_piece) = on_piece else {
                return whole(&wire.post_json(&target, &body).await?.json().await?);
            };
            let answer = wire.post_json(&target.clone().accepting("text/event-stream"), &body).await?;
            if !answer.is_json() {
                return streamed(answer, on_piece).await;
            }
            let completion = whole(&answer.json().await?)?;
            announce(&completion, on_piece);
            Ok(completion)
        };
        completed.await.map_err(|trouble| trouble.of(model, target.secrets()))
    }

    pub(super) async fn list(&self, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
        let target = self.target("models?limit=1000");
        let listed = async {
            let body = wire.get(&target).await?.json().await?;
            match body["data"].as_array() {
                Some(models) => Ok(models.iter().filter_map(entry).collect()),
                None => Err(Trouble::garbled("has no list of models", body.to_string())),
            }
        };
        listed.await.map_err(|trouble| trouble.of("", target.secrets()))
    }

    fn target(&self, path: &str) -> Target {
        Target::new(format!("{}/v1/{path}", self.root))
            .with_secret("x-api-key", "", &self.key)
            .with("anthropic-version", VERSION)
    }
}

fn entry(given: &Value) -> Option<ModelEntry> {
    let id = given["id"].as_str()?;
    Some(ModelEntry {
        id: id.into(),
        name: given["display_name"].as_str().unwrap_or(id).into(),
        available: None,
    })
}

async fn streamed(mut answer: Answer, on_piece: OnPiece<'_>) -> Result<Completion, Trouble> {
    let mut reader = EventReader::default();
    let mut blocks = Blocks::default();
    while let Some(bytes) = answer.piece().await? {
        let events = reader.feed(&bytes).map_err(|_| too_long())?;
        if take(events, &mut blocks, on_piece)? {
            return blocks.finish();
        }
    }
    let last = reader.end().map_err(|_| too_long())?;
    take(last.into_iter().collect(), &mut blocks, on_piece)?;
    blocks.finish()
}

/// Takes events until the last; answers whether it came.
fn take(events: Vec<Event>, blocks: &mut Blocks, on_piece: OnPiece<'_>) -> Result<bool, Trouble> {
    for event in events {
        let Ok(given) = serde_json::from_str(&event.data) else {
            return Err(Trouble::garbled("streamed something that is not JSON", event.data));
        };
        blocks.add(&given, on_piece)?;
        if blocks.ended() {
            return Ok(true);
        }
    }
    Ok(false)
}
