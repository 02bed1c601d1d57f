//! Any server that speaks OpenAI's form: an address, perhaps a key, and the two routes that matter.

use super::completion::{Completion, Quirks, complete};
use super::failed::Trouble;
use super::provider::ModelEntry;
use super::wire::{Target, Wire, without_password};
use super::{Ask, ModelFailure, OnPiece, Secret};
use serde_json::Value;
use std::fmt;

/// A server with OpenAI's form.
#[derive(Clone)]
pub(crate) struct Compatible {
    root: String,
    key: Option<Secret>,
}

impl Compatible {
    /// The server at this address, written with or without its version.
    pub(crate) fn new(address: &str, key: Option<Secret>) -> Self {
        Self { root: root(address), key }
    }

    /// The address with its version.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    pub(super) fn is_below(&self, prefix: &str) -> bool {
        self.root.starts_with(prefix)
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let quirks = Quirks { counts_streams: true };
        complete(wire, self.target("chat/completions"), model, ask, on_piece, quirks).await
    }

    /// The ids of `/models`, in the server's order.
    pub(super) async fn ids(&self, wire: &Wire) -> Result<Vec<String>, ModelFailure> {
        let target = self.target("models");
        let listed = async {
            let body = wire.get(&target).await?.json().await?;
            ids_in(&body).ok_or_else(|| Trouble::garbled("has no list of models", body.to_string()))
        };
        listed.await.map_err(|trouble| trouble.of("", target.secrets()))
    }

    fn target(&self, path: &str) -> Target {
        Target::new(format!("{}/{path}", self.root)).with_bearer(self.key.as_ref())
    }
}

impl fmt::Debug for Compatible {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Compatible")
            .field("root", &without_password(&self.root))
            .finish_non_exhaustive()
    }
}

/// Models as they are, in the order of their server.
pub(super) fn entries(ids: Vec<String>) -> Vec<ModelEntry> {
    ids.into_iter().map(ModelEntry::named).collect()
}

fn ids_in(body: &Value) -> Option<Vec<String>> {
    let entries = body["data"].as_array()?;
    Some(entries.iter().filter_map(|entry| entry["id"].as_str()).map(str::to_owned).collect())
}

/// The address up to and with its version: people write it with and without, or with the whole route.
fn root(address: &str) -> String {
    let address = address.trim().trim_end_matches('/');
    let address = address.strip_suffix("/chat/completions").unwrap_or(address).trim_end_matches('/');
    let address = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let path =
        address.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let is_version = |segment: &str| {
        let mut characters = segment.chars();
        characters.next() == Some('v') && characters.next().is_some_and(|next| next.is_ascii_digit())
    };
    if path.split('/').any(is_version) { address } else { format!("{address}/v1") }
}

#[cfg(test)]
mod tests {
    use super::root;

    #[test]
    fn an_address_is_taken_with_or_without_its_version() {
        for (address, expect) in [
            ("http://h:1", "http://h:1/v1"),
            ("http://h:1/", "http://h:1/v1"),
            (" http://h:1/v1/ ", "http://h:1/v1"),
            ("http://h:1/v1/chat/completions", "http://h:1/v1"),
            ("http://h:1/gateway", "http://h:1/gateway/v1"),
            ("https://v1.example/x", "https://v1.example/x/v1"),
            ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
            ("https://g.example/v1beta/openai/", "https://g.example/v1beta/openai"),
            ("localhost:8000", "http://localhost:8000/v1"),
        ] {
            assert_eq!(root(address), expect, "{address}");
        }
    }
}
