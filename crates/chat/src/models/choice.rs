//! Who is asked, with which model: what the caller named, what a person chose, what is pinned, the first there is.

use super::Models;
use super::list::built_in;
use crate::model::{APP_MODEL_MARK, ModelFailure, ModelProblem, Provider, ProviderName, best_model};
use serde_json::{Value, json};

/// The word for no choice of one's own.
pub(super) const AUTO: &str = "auto";

/// A provider and a model of it.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) provider: Provider,
    /// As the provider calls it.
    pub(super) model: String,
    /// As it was asked for.
    pub(super) shown: String,
}

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sticky {
    /// As it stands in the list.
    pub(super) model: String,
    /// Whose it is; files of old do not say.
    pub(super) provider: Option<ProviderName>,
}

impl Sticky {
    pub(super) fn read(file: &Value) -> Option<Self> {
        let model = file["model"].as_str().and_then(wanted)?.to_owned();
        Some(Self { model, provider: file["provider"].as_str().and_then(ProviderName::parse) })
    }

    pub(super) fn written(&self) -> Value {
        match self.provider {
            Some(provider) => json!({"model": self.model, "provider": provider.as_str()}),
            None => json!({"model": self.model}),
        }
    }
}

/// The model that a text names, if it names one.
pub(super) fn wanted(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && text != AUTO).then_some(text)
}

/// The provider before a model's id, and the id.
pub(super) fn split(text: &str) -> (Option<ProviderName>, &str) {
    if text.starts_with(APP_MODEL_MARK) {
        // Never meant for another, also when its app is gone.
        return (Some(ProviderName::Gateway), text);
    }
    match text.split_once(':') {
        // Ids of Ollama have colons too.
        Some((before, id)) if !id.is_empty() => match ProviderName::parse(before) {
            Some(provider) => (Some(provider), id),
            None => (None, text),
        },
        _ => (None, text),
    }
}

fn gone(model: &str, provider: ProviderName) -> ModelFailure {
    ModelFailure {
        problem: ModelProblem::NotSetUp,
        message: format!(
            "The chosen model {model} is one of {provider}, which is not there. Choose another with `roost models set`, or `auto`."
        ),
        model: model.to_owned(),
        detail: String::new(),
    }
}

impl Models {
    pub(super) async fn choose(&self, asked: Option<&str>) -> Result<Choice, ModelFailure> {
        let providers = self.present_providers().await;
        if let Some(text) = asked.and_then(wanted) {
            let found = self.find(&providers, text, None).await;
            return found.ok_or_else(|| self.nobody_has(text, &providers));
        }
        let sticky = self.state().sticky.clone();
        if let Some(Sticky { model, provider }) = sticky {
            match (self.find(&providers, &model, provider).await, provider) {
                (Some(choice), _) => return Ok(choice),
                // What was meant for one provider must not go to another unasked.
                (None, Some(provider)) => return Err(gone(&model, provider)),
                (None, None) => {}
            }
        }
        if let Some(text) = self.shared.settings.pinned.as_deref().and_then(wanted)
            && let Some(choice) = self.find(&providers, text, None).await
        {
            return Ok(choice);
        }
        let Some(provider) = first(&providers) else { return Err(self.nobody()) };
        let model = match self.pinned_at(provider.name()) {
            Some(model) => model,
            None => self.default_at(provider).await?,
        };
        Ok(Choice { provider: provider.clone(), shown: model.clone(), model })
    }

    /// The provider of a model: the one named, the first that lists it, or the first there is.
    async fn find(&self, providers: &[Provider], text: &str, whose: Option<ProviderName>) -> Option<Choice> {
        let (named, id) = split(text);
        let choice = |provider: &Provider| Choice {
            provider: provider.clone(),
            model: id.to_owned(),
            shown: text.to_owned(),
        };
        if let Some(name) = named.or(whose) {
            return providers.iter().find(|provider| provider.name() == name).map(choice);
        }
        if providers.len() > 1 {
            for provider in providers {
                let models = self.catalogue(provider).await.unwrap_or_default();
                if models.iter().any(|model| model.id == id) {
                    return Some(choice(provider));
                }
            }
        }
        // A provider may have models that it does not list.
        first(providers).map(choice)
    }

    /// The model that the settings pin for a provider.
    pub(super) fn pinned_at(&self, provider: ProviderName) -> Option<String> {
        let settings = &self.shared.settings;
        let pinned = match provider {
            ProviderName::OpenAi => settings.openai.as_ref().and_then(|openai| openai.model.as_deref()),
            ProviderName::Azure => settings.azure.as_ref().map(|azure| azure.deployment.as_str()),
            ProviderName::Anthropic => {
                settings.anthropic.as_ref().and_then(|anthropic| anthropic.model.as_deref())
            }
            ProviderName::Copilot => settings.github.model.as_deref(),
            _ => None,
        };
        pinned.and_then(wanted).map(str::to_owned)
    }

    async fn default_at(&self, provider: &Provider) -> Result<String, ModelFailure> {
        if provider.name() == ProviderName::Copilot {
            // Without its catalogue Copilot can still be asked; whoever may not ask learns it then.
            return Ok(best_model(&self.catalogue(provider).await.unwrap_or_else(|_| built_in())));
        }
        let models = self.catalogue(provider).await?;
        models.into_iter().next().map(|model| model.id).ok_or_else(|| ModelFailure {
            problem: ModelProblem::NotSetUp,
            message: format!("The provider {} has no model.", provider.name()),
            model: String::new(),
            detail: String::new(),
        })
    }

    /// Nobody can be asked. Whoever began with GitHub is told to go on with it.
    fn nobody(&self) -> ModelFailure {
        let (problem, message) = if self.means_github() {
            (ModelProblem::NotSignedIn, "Nobody is signed in at GitHub.")
        } else {
            (ModelProblem::NotSetUp, "No model is set up.")
        };
        ModelFailure { problem, message: message.into(), model: String::new(), detail: String::new() }
    }

    fn nobody_has(&self, text: &str, providers: &[Provider]) -> ModelFailure {
        let mut failure = self.nobody();
        text.clone_into(&mut failure.model);
        if let (Some(name), false) = (split(text).0, providers.is_empty()) {
            failure.problem = ModelProblem::NotSetUp;
            failure.message = format!("The provider {name} of model '{text}' is not set up.");
        }
        failure
    }

    /// Whether a person wants GitHub: a login is pending, or one of its models is pinned.
    pub(super) fn means_github(&self) -> bool {
        self.shared.login.status().is_some() || self.pinned_at(ProviderName::Copilot).is_some()
    }
}

/// The first that is asked without being named. A token of GitHub is no sign that it may use GitHub Models.
pub(super) fn first(providers: &[Provider]) -> Option<&Provider> {
    providers.iter().find(|provider| provider.name() != ProviderName::GitHubModels)
}

#[cfg(test)]
mod tests {
    use super::{Sticky, split};
    use crate::model::ProviderName;
    use serde_json::json;

    #[test]
    fn a_provider_is_told_from_an_id_with_a_colon() {
        assert_eq!(split("copilot:gpt-4o"), (Some(ProviderName::Copilot), "gpt-4o"));
        assert_eq!(split("ollama:llama3.2:3b"), (Some(ProviderName::Ollama), "llama3.2:3b"));
        assert_eq!(split("llama3.2:latest"), (None, "llama3.2:latest"));
        assert_eq!(split("local:"), (None, "local:"));
        assert_eq!(split("gpt-4o"), (None, "gpt-4o"));
        assert_eq!(split("gateway-com.example.a"), (Some(ProviderName::Gateway), "gateway-com.example.a"));
    }

    #[test]
    fn what_was_chosen_is_read_from_files_of_old_and_survives_damage() {
        let sticky = Sticky { model: "gpt-4o".into(), provider: None };
        assert_eq!(Sticky::read(&json!({"model": "gpt-4o"})), Some(sticky.clone()));
        assert_eq!(Sticky::read(&json!({"model": "gpt-4o", "provider": "nobody"})), Some(sticky));
        for damaged in
            [json!({}), json!({"model": " "}), json!({"model": "auto"}), json!({"model": 1}), json!([])]
        {
            assert_eq!(Sticky::read(&damaged), None, "{damaged}");
        }
        let named = Sticky { model: "m".into(), provider: Some(ProviderName::Copilot) };
        assert_eq!(Sticky::read(&named.written()), Some(named));
    }
}
