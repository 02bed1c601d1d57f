//! What the host is told about models, as plain values. Nothing here is read from the environment or a file.

use crate::model::{
    AzureSettings, FIRST_BYTE_WAIT, PIECE_WAIT, ProviderName, ProxySettings, Secret, without_password,
};
use std::fmt;
use std::time::Duration;

/// A server on this machine answers within a few milliseconds, or is too busy to be a default.
const PROBE_WAIT: Duration = Duration::from_millis(150);

/// Everything about models that a person can set.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// OpenAI, or a server with its form.
    pub openai: Option<OpenAiSettings>,
    /// A deployment at Azure.
    pub azure: Option<AzureSettings>,
    /// Anthropic.
    pub anthropic: Option<AnthropicSettings>,
    /// GitHub: Copilot, and GitHub Models.
    pub github: GitHubSettings,
    /// Where Ollama is, in any form of `OLLAMA_HOST`; looked for on this machine when absent.
    pub ollama_host: Option<String>,
    /// Whether servers on this machine are looked for.
    pub discover: bool,
    /// Where they are looked for.
    pub probes: Vec<ServerProbe>,
    /// How long each place is listened at; all at the same time.
    pub probe_wait: Duration,
    /// The model to use unless a person chose another; `provider:id` or an id.
    pub pinned: Option<String>,
    /// How long an answer may take to begin.
    pub first_byte_wait: Duration,
    /// How long an answer may pause.
    pub piece_wait: Duration,
    /// The way to providers that are not on this machine.
    pub proxy: Option<ProxySettings>,
}

impl ModelSettings {
    /// True when a provider other than GitHub is set up.
    #[must_use]
    pub fn names_a_provider(&self) -> bool {
        self.openai.is_some()
            || self.azure.is_some()
            || self.anthropic.is_some()
            || self.ollama_host.is_some()
    }
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            openai: None,
            azure: None,
            anthropic: None,
            github: GitHubSettings::default(),
            ollama_host: None,
            discover: true,
            probes: vec![
                ServerProbe { provider: ProviderName::Ollama, port: 11434 },
                ServerProbe { provider: ProviderName::LmStudio, port: 1234 },
                ServerProbe { provider: ProviderName::LlamaCpp, port: 8080 },
            ],
            probe_wait: PROBE_WAIT,
            pinned: None,
            first_byte_wait: FIRST_BYTE_WAIT,
            piece_wait: PIECE_WAIT,
            proxy: None,
        }
    }
}

/// OpenAI, or a server with its form; set up when it has an address or a key.
#[derive(Clone, Default)]
pub struct OpenAiSettings {
    /// The address, with or without `/v1`; OpenAI's own when absent.
    pub base_url: Option<String>,
    /// The key; servers of one's own need none.
    pub key: Option<Secret>,
    /// The model; the first listed when absent.
    pub model: Option<String>,
}

impl fmt::Debug for OpenAiSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base_url = self.base_url.as_deref().map(without_password);
        let mut shown = formatter.debug_struct("OpenAiSettings");
        shown.field("base_url", &base_url).field("key", &self.key).field("model", &self.model).finish()
    }
}

/// Anthropic.
#[derive(Debug, Clone)]
pub struct AnthropicSettings {
    /// The key.
    pub key: Secret,
    /// The model; the first listed when absent.
    pub model: Option<String>,
    /// The address; Anthropic's own when absent.
    pub base_url: Option<String>,
}

/// GitHub.
#[derive(Debug, Clone)]
pub struct GitHubSettings {
    /// The token of the environment; it counts before a login's.
    pub token: Option<Secret>,
    /// The token of the `gh` program, if the host found one; it counts last.
    pub gh_token: Option<Secret>,
    /// The model; chosen when absent, empty or `auto`.
    pub model: Option<String>,
    /// Where people sign in.
    pub login_base: String,
    /// Where tokens are exchanged.
    pub api_base: String,
    /// Where GitHub Models is; not offered when absent.
    pub models_base: Option<String>,
    /// How long a second of the intervals lasts that GitHub asks for; tests have no time.
    pub second: Duration,
}

impl Default for GitHubSettings {
    fn default() -> Self {
        Self {
            token: None,
            gh_token: None,
            model: None,
            login_base: "https://github.com".into(),
            api_base: "https://api.github.com".into(),
            models_base: Some("https://models.github.ai".into()),
            second: Duration::from_secs(1),
        }
    }
}

/// One place on this machine where a server of models may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerProbe {
    /// What is expected there: Ollama, LM Studio or llama.cpp.
    pub provider: ProviderName,
    /// Its port on the loopback address.
    pub port: u16,
}
