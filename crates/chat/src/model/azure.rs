//! A deployment at Azure OpenAI: the model stands in the address, the key in a header of its own.

use super::azure_identity::{Identity, ManagedIdentity};
use super::completion::{Completion, Quirks, complete};
use super::provider::ModelEntry;
use super::wire::{Target, Wire};
use super::{Ask, ModelFailure, ModelProblem, OnPiece, Secret};

/// The first version that counts the tokens of a stream; older ones refuse the wish.
const COUNTS_STREAMS_SINCE: &str = "2024-09";

/// A deployment and how to be let in.
#[derive(Debug, Clone)]
pub struct AzureSettings {
    /// The resource's address, such as `https://name.openai.azure.com`.
    pub endpoint: String,
    /// The deployment; it stands for its model.
    pub deployment: String,
    /// The version of the interface, a date.
    pub api_version: String,
    /// How to be let in.
    pub credential: AzureCredential,
}

/// How Azure knows who asks.
#[derive(Debug, Clone)]
pub enum AzureCredential {
    /// By a key.
    Key(Secret),
    /// By the machine it runs on.
    ManagedIdentity(ManagedIdentity),
}

/// A deployment that can be asked. Clones share the token of a managed identity.
#[derive(Debug, Clone)]
pub(crate) struct Azure {
    url: String,
    deployment: String,
    quirks: Quirks,
    entry: Entry,
}

#[derive(Debug, Clone)]
enum Entry {
    Key(Secret),
    Identity(Identity),
}

impl Azure {
    pub(crate) fn new(settings: AzureSettings) -> Self {
        let AzureSettings { endpoint, deployment, api_version, credential } = settings;
        let endpoint = endpoint.trim().trim_end_matches('/').trim_end_matches("/openai");
        let url = format!(
            "{endpoint}/openai/deployments/{deployment}/chat/completions?api-version={}",
            api_version.trim()
        );
        let quirks = Quirks { counts_streams: api_version.trim() >= COUNTS_STREAMS_SINCE };
        let entry = match credential {
            AzureCredential::Key(key) => Entry::Key(key),
            AzureCredential::ManagedIdentity(identity) => Entry::Identity(Identity::new(identity)),
        };
        Self { url, deployment, quirks, entry }
    }

    /// The one model behind the deployment.
    pub(super) fn list(&self) -> Vec<ModelEntry> {
        vec![ModelEntry::named(&self.deployment)]
    }

    pub(super) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        let target = Target::new(&self.url);
        let identity = match &self.entry {
            Entry::Key(key) => {
                let target = target.with_secret("api-key", "", key);
                return complete(wire, target, model, ask, on_piece, self.quirks).await;
            }
            Entry::Identity(identity) => identity,
        };
        let token = identity.token(wire, model).await?;
        let carrying = |token: &Secret| target.clone().with_bearer(Some(token));
        let first = complete(wire, carrying(&token), model, ask, on_piece, self.quirks).await;
        match first {
            // The token ended early; a second refusal is about something else.
            Err(failure) if failure.problem == (ModelProblem::Refused { status: 401 }) => {
                identity.forget(&token);
                let token = identity.token(wire, model).await?;
                complete(wire, carrying(&token), model, ask, on_piece, self.quirks).await
            }
            answered => answered,
        }
    }
}
