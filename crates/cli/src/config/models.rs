//! Models in the settings: the variables every tool uses for them, and `[models]` in roost.toml.

use roost_host::chat::{
    AnthropicSettings, AzureCredential, AzureSettings, GitHubSettings, ManagedIdentity, ModelSettings,
    OpenAiSettings, ProxySettings, Secret,
};
use serde::Deserialize;
use std::time::Duration;

/// What Azure's API is asked by when nobody says otherwise.
const AZURE_API_VERSION: &str = "2024-10-21";

/// Where a virtual machine in Azure asks who it is.
const AZURE_METADATA: &str = "http://169.254.169.254";

/// `[models]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Models {
    /// The model to use unless a person chose another.
    model: Option<String>,
    /// Whether servers on this machine are looked for.
    discover: Option<bool>,
    /// Longest wait for an answer to begin, and between its pieces.
    wait_seconds: Option<u64>,
    /// Where GitHub is, for GitHub Enterprise.
    github_login: Option<String>,
    github_api: Option<String>,
    github_models: Option<String>,
}

/// Joins the file and the variables; the file names no secret.
pub(super) fn settings<'a>(written: Models, get: impl Fn(&str) -> Option<&'a String>) -> ModelSettings {
    let text = |name: &str| get(name).cloned();
    let secret = |name: &str| get(name).and_then(|value| Secret::parse(value));
    let usual = ModelSettings::default();
    let usual_github = GitHubSettings::default();
    let openai = OpenAiSettings {
        base_url: text("OPENAI_BASE_URL"),
        key: secret("OPENAI_API_KEY"),
        model: text("OPENAI_MODEL"),
    };
    let anthropic = secret("ANTHROPIC_API_KEY").map(|key| AnthropicSettings {
        key,
        model: text("ANTHROPIC_MODEL"),
        base_url: text("ANTHROPIC_BASE_URL"),
    });
    let github = GitHubSettings {
        token: secret("GITHUB_TOKEN"),
        model: text("GITHUB_MODEL"),
        login_base: written.github_login.unwrap_or(usual_github.login_base),
        api_base: written.github_api.unwrap_or(usual_github.api_base),
        models_base: written.github_models.or(usual_github.models_base),
        ..GitHubSettings::default()
    };
    let wait = written.wait_seconds.map(Duration::from_secs);
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].iter().find_map(|name| text(name));
    let not_for = text("NO_PROXY").or_else(|| text("no_proxy")).unwrap_or_default();
    ModelSettings {
        openai: (openai.base_url.is_some() || openai.key.is_some()).then_some(openai),
        azure: azure(&get),
        anthropic,
        github,
        ollama_host: text("OLLAMA_HOST"),
        discover: written.discover.unwrap_or(usual.discover),
        pinned: written.model,
        first_byte_wait: wait.unwrap_or(usual.first_byte_wait),
        piece_wait: wait.unwrap_or(usual.piece_wait),
        proxy: proxy.map(|url| ProxySettings { url, not_for }),
        ..usual
    }
}

fn azure<'a>(get: &impl Fn(&str) -> Option<&'a String>) -> Option<AzureSettings> {
    let endpoint = get("AZURE_OPENAI_ENDPOINT")?.clone();
    let deployment = get("AZURE_OPENAI_DEPLOYMENT").or_else(|| get("AZURE_OPENAI_DEPLOYMENT_NAME"))?.clone();
    let credential = match get("AZURE_OPENAI_API_KEY").and_then(|key| Secret::parse(key)) {
        Some(key) => AzureCredential::Key(key),
        None => {
            let header = get("IDENTITY_HEADER").and_then(|value| Secret::parse(value));
            AzureCredential::ManagedIdentity(ManagedIdentity {
                platform: get("IDENTITY_ENDPOINT").cloned().zip(header),
                metadata: AZURE_METADATA.to_owned(),
                client_id: get("AZURE_CLIENT_ID").cloned(),
            })
        }
    };
    let api_version =
        get("AZURE_OPENAI_API_VERSION").cloned().unwrap_or_else(|| AZURE_API_VERSION.to_owned());
    Some(AzureSettings { endpoint, deployment, api_version, credential })
}

#[cfg(test)]
mod tests {
    use super::{Models, settings};
    use std::collections::BTreeMap;

    fn read(variables: &[(&str, &str)], written: &str) -> roost_host::chat::ModelSettings {
        let variables: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let written: Models = toml::from_str(written).unwrap();
        settings(written, |name| variables.get(name))
    }

    #[test]
    fn nothing_set_means_no_provider_and_a_look_at_this_machine() {
        let settings = read(&[], "");
        assert!(settings.openai.is_none() && settings.azure.is_none() && settings.anthropic.is_none());
        assert!(settings.github.token.is_none() && settings.discover);
    }

    #[test]
    fn the_usual_variables_are_honoured_and_no_key_is_printed() {
        let settings = read(
            &[
                ("OPENAI_BASE_URL", "http://127.0.0.1:1"),
                ("OPENAI_API_KEY", "sk-secret"),
                ("ANTHROPIC_API_KEY", "sk-ant"),
                ("AZURE_OPENAI_ENDPOINT", "https://x.example"),
                ("AZURE_OPENAI_DEPLOYMENT_NAME", "d"),
                ("GITHUB_TOKEN", "ghp_secret"),
                ("OLLAMA_HOST", "127.0.0.1:9"),
            ],
            "model = \"gpt-4o\"\nwait_seconds = 3\ndiscover = false\n",
        );
        assert_eq!(settings.pinned.as_deref(), Some("gpt-4o"));
        assert_eq!((settings.first_byte_wait.as_secs(), settings.discover), (3, false));
        assert_eq!(settings.azure.as_ref().unwrap().deployment, "d");
        let shown = format!("{settings:?}");
        assert!(!shown.contains("secret") && !shown.contains("sk-ant"), "{shown}");
        assert!(toml::from_str::<Models>("modle = 1").is_err());
    }
}
