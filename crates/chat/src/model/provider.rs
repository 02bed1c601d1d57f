//! Who can be asked, under one enum: the one place that tells providers apart.
//!
//! Each provider's own ways stand in its own file; here is one line per provider and question.

use super::completion::Completion;
use super::wire::Wire;
use super::{
    Anthropic, AppModels, Ask, Azure, Compatible, Copilot, GitHubModels, Local, ModelFailure, Ollama, OnPiece,
};
use super::{openai, servers_here};
use std::fmt;

/// The name of a provider, as it stands before a model's id and in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProviderName {
    /// OpenAI, or any server with its form.
    OpenAi,
    /// A deployment at Azure.
    Azure,
    /// Anthropic.
    Anthropic,
    /// GitHub Copilot.
    Copilot,
    /// GitHub Models.
    GitHubModels,
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// The server of llama.cpp.
    LlamaCpp,
    /// A model that this host runs itself.
    Local,
    /// Apps of this host that answer for models.
    Gateway,
}

impl ProviderName {
    /// Every provider, in the order in which one is chosen.
    pub const ALL: &[Self] = &[
        Self::OpenAi,
        Self::Azure,
        Self::Anthropic,
        Self::Copilot,
        Self::GitHubModels,
        Self::Ollama,
        Self::LmStudio,
        Self::LlamaCpp,
        Self::Gateway,
        Self::Local,
    ];

    /// The name in ids, settings and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Copilot => "copilot",
            Self::GitHubModels => "github-models",
            Self::Ollama => "ollama",
            Self::LmStudio => "lm-studio",
            Self::LlamaCpp => "llama-cpp",
            Self::Local => "local",
            Self::Gateway => "gateway",
        }
    }

    /// The provider of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|name| name.as_str() == text)
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One model of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelEntry {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Whether the account may use it, where the provider says so.
    pub(crate) available: Option<bool>,
}

impl ModelEntry {
    pub(crate) fn named(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, available: None }
    }
}

/// Somebody who can be asked.
#[derive(Debug, Clone)]
pub(crate) enum Provider {
    OpenAi(Compatible),
    Azure(Azure),
    Anthropic(Anthropic),
    Copilot(Copilot),
    GitHubModels(GitHubModels),
    Ollama(Ollama),
    LmStudio(Compatible),
    LlamaCpp(Compatible),
    Local(Local),
    Gateway(AppModels),
}

impl Provider {
    pub(crate) fn name(&self) -> ProviderName {
        match self {
            Self::OpenAi(_) => ProviderName::OpenAi,
            Self::Azure(_) => ProviderName::Azure,
            Self::Anthropic(_) => ProviderName::Anthropic,
            Self::Copilot(_) => ProviderName::Copilot,
            Self::GitHubModels(_) => ProviderName::GitHubModels,
            Self::Ollama(_) => ProviderName::Ollama,
            Self::LmStudio(_) => ProviderName::LmStudio,
            Self::LlamaCpp(_) => ProviderName::LlamaCpp,
            Self::Local(_) => ProviderName::Local,
            Self::Gateway(_) => ProviderName::Gateway,
        }
    }

    /// One completion of one model.
    pub(crate) async fn complete(
        &self,
        wire: &Wire,
        model: &str,
        ask: Ask<'_>,
        on_piece: Option<OnPiece<'_>>,
    ) -> Result<Completion, ModelFailure> {
        match self {
            Self::OpenAi(server) | Self::LmStudio(server) | Self::LlamaCpp(server) => {
                server.complete(wire, model, ask, on_piece).await
            }
            Self::Azure(azure) => azure.complete(wire, model, ask, on_piece).await,
            Self::Anthropic(anthropic) => anthropic.complete(wire, model, ask, on_piece).await,
            Self::Copilot(copilot) => copilot.complete(wire, model, ask, on_piece).await,
            Self::GitHubModels(models) => models.complete(wire, model, ask, on_piece).await,
            Self::Ollama(ollama) => ollama.complete(wire, model, ask, on_piece).await,
            Self::Local(local) => local.complete(wire, model, ask, on_piece).await,
            Self::Gateway(apps) => apps.complete(model, ask, on_piece).await,
        }
    }

    /// The models it has now.
    pub(crate) async fn list(&self, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
        match self {
            Self::OpenAi(server) => openai::list(server, wire).await,
            Self::LmStudio(server) | Self::LlamaCpp(server) => servers_here::list(server, wire).await,
            Self::Azure(azure) => Ok(azure.list()),
            Self::Anthropic(anthropic) => anthropic.list(wire).await,
            Self::Copilot(copilot) => copilot.list(wire).await,
            Self::GitHubModels(models) => models.list(wire).await,
            Self::Ollama(ollama) => ollama.list(wire).await,
            Self::Local(local) => Ok(local.list()),
            Self::Gateway(apps) => Ok(apps.list()),
        }
    }
}
