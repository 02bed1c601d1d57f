//! What can be chosen: the models of every provider that can be asked, under ids that mean one model each.

use super::Models;
use super::choice::{AUTO, Sticky, first, split, wanted};
use crate::model::{BUILT_IN, ModelEntry, ModelFailure, ModelProblem, Provider, ProviderName};
use futures::future::join_all;
use roost_protocol::{Failure, Reason};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::Instant;

/// Catalogues change over days; a page that is loaded again must not ask every provider again.
const CATALOGUE_LIFE: Duration = Duration::from_secs(300);

/// A provider that does not list is not asked again for every question.
const FAILURE_LIFE: Duration = Duration::from_secs(30);

/// A list is looked at by somebody who waits for it.
const LIST_WAIT: Duration = Duration::from_secs(8);

/// One model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// What to choose it by: its own id, or `provider:id` where an earlier provider has one of the same id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Whose it is.
    pub provider: ProviderName,
    /// Whether the account may use it, where the provider says so.
    pub available: Option<bool>,
}

/// What can be chosen, and what is used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    /// All models, in the order of their providers.
    pub models: Vec<ListedModel>,
    /// The id of the one in use; none when nobody can be asked.
    pub current: Option<String>,
}

/// What is used after a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetModel {
    /// The id of the model in use; none when nobody can be asked.
    pub model: Option<String>,
    /// Whether it is chosen by the host.
    pub auto: bool,
}

/// What a provider listed, and when.
#[derive(Debug, Clone)]
pub(super) struct Catalogue {
    models: Vec<ModelEntry>,
    at: Instant,
    logins: u64,
    /// Why it could not be listed now; the models are then those of before.
    failure: Option<ModelFailure>,
}

impl Catalogue {
    /// Listed now, after this many logins.
    pub(super) fn now(models: Vec<ModelEntry>, logins: u64) -> Self {
        Self { models, at: Instant::now(), logins, failure: None }
    }

    fn holds(&self, logins: u64) -> bool {
        let life = if self.failure.is_some() { FAILURE_LIFE } else { CATALOGUE_LIFE };
        self.logins == logins && self.at.elapsed() < life
    }

    /// What is listed; an older list is better than none.
    fn outcome(&self) -> Result<Vec<ModelEntry>, ModelFailure> {
        match &self.failure {
            Some(failure) if self.models.is_empty() => Err(failure.clone()),
            _ => Ok(self.models.clone()),
        }
    }

    pub(super) fn models(&self) -> &[ModelEntry] {
        &self.models
    }
}

impl Models {
    /// The models of everybody who can be asked. A provider that does not answer is shown with what is known of it.
    pub async fn list(&self) -> ModelList {
        let providers = self.present_providers().await;
        let catalogues = join_all(providers.iter().map(|provider| self.shown_catalogue(provider))).await;
        let mut models = Vec::new();
        let mut seen = HashSet::new();
        for (provider, catalogue) in providers.iter().zip(catalogues) {
            for entry in catalogue {
                let is_new = seen.insert(entry.id.clone());
                let id = if is_new { entry.id } else { format!("{}:{}", provider.name(), entry.id) };
                models.push(ListedModel {
                    id,
                    name: entry.name,
                    provider: provider.name(),
                    available: entry.available,
                });
            }
        }
        if providers.is_empty() {
            // What people will find once they sign in.
            let listed = |ModelEntry { id, name, available }| ListedModel {
                id,
                name,
                provider: ProviderName::Copilot,
                available,
            };
            models.extend(built_in().into_iter().map(listed));
        }
        let current = self.current(&models).await;
        ModelList { models, current }
    }

    /// Chooses a model by its id, with or without its provider; `auto` leaves the choice to the host.
    ///
    /// # Errors
    /// When nobody lists such a model, or when the choice cannot be kept.
    pub async fn set(&self, id: &str) -> Result<SetModel, Failure> {
        let kept = |result: std::io::Result<()>| {
            result.map_err(|error| {
                Failure::new(Reason::HomeUnusable, format!("the choice of a model cannot be kept: {error}"))
            })
        };
        if id.trim() == AUTO {
            kept(self.shared.sticky_file.remove())?;
            self.state().sticky = None;
            return Ok(SetModel { model: self.list().await.current, auto: true });
        }
        let models = self.list().await.models;
        let Some(listed) = wanted(id).and_then(|id| find(&models, id)) else {
            let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
            let message = format!("no model is called '{}'; there are: {}", id.trim(), ids.join(", "));
            return Err(Failure::new(Reason::UnknownModel, message));
        };
        let sticky = Sticky { model: listed.id.clone(), provider: Some(listed.provider) };
        kept(self.shared.sticky_file.write(&sticky.written()))?;
        self.state().sticky = Some(sticky);
        Ok(SetModel { model: Some(listed.id.clone()), auto: false })
    }

    /// What a provider lists: what it said lately, or what it says now.
    pub(super) async fn catalogue(&self, provider: &Provider) -> Result<Vec<ModelEntry>, ModelFailure> {
        if let Provider::Gateway(apps) = provider {
            // Known without asking, and gone with its app.
            return Ok(apps.list());
        }
        let (name, logins) = (provider.name(), self.shared.account.logins());
        let known = self.state().catalogues.get(&name).filter(|known| known.logins == logins).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.holds(logins)) {
            return known.outcome();
        }
        let listed = match provider.list(&self.shared.wire.within(LIST_WAIT)).await {
            Ok(models) => Catalogue::now(models, logins),
            // Remembered neither way: a person may sign in at any moment.
            Err(failure) if is_about_the_account(&failure.problem) => return Err(failure),
            Err(failure) => {
                let models = known.map(|known| known.models).unwrap_or_default();
                Catalogue { failure: Some(failure), ..Catalogue::now(models, logins) }
            }
        };
        let outcome = listed.outcome();
        self.state().catalogues.insert(name, listed);
        outcome
    }

    /// What is shown of a provider: its catalogue, an older one, or what can be known without it.
    async fn shown_catalogue(&self, provider: &Provider) -> Vec<ModelEntry> {
        let name = provider.name();
        let mut models = match self.catalogue(provider).await {
            Ok(models) => models,
            Err(failure) => {
                tracing::debug!(%failure, provider = %name, "a provider does not list its models");
                if name == ProviderName::Copilot { built_in() } else { Vec::new() }
            }
        };
        // What is pinned works even where it is not listed.
        if let Some(pinned) = self.pinned_at(name)
            && models.iter().all(|model| model.id != pinned)
        {
            models.insert(0, ModelEntry::named(pinned));
        }
        models
    }

    /// The id, as listed, of the model in use.
    async fn current(&self, models: &[ListedModel]) -> Option<String> {
        match self.choose(None).await {
            Ok(choice) => {
                let name = choice.provider.name();
                let is_chosen =
                    |model: &&ListedModel| model.provider == name && split(&model.id).1 == choice.model;
                Some(models.iter().find(is_chosen).map_or(choice.shown, |model| model.id.clone()))
            }
            Err(_) => self.known_model(first(&self.providers())),
        }
    }

    /// The model that will be asked, as far as it is known without asking anybody.
    pub(super) fn known_model(&self, provider: Option<&Provider>) -> Option<String> {
        if let Some(sticky) = &self.state().sticky {
            return Some(sticky.model.clone());
        }
        let name = provider.map_or(ProviderName::Copilot, Provider::name);
        self.pinned_at(name)
    }
}

fn is_about_the_account(problem: &ModelProblem) -> bool {
    matches!(problem, ModelProblem::NotSignedIn | ModelProblem::NoCopilotAccess { .. })
}

/// The model of this id, or of this id at the provider it names.
fn find<'a>(models: &'a [ListedModel], id: &str) -> Option<&'a ListedModel> {
    let by_provider = |model: &&ListedModel| {
        let (named, bare) = split(id);
        named == Some(model.provider) && split(&model.id).1 == bare
    };
    models.iter().find(|model| model.id == id).or_else(|| models.iter().find(by_provider))
}

/// The list that is shown before Copilot's was fetched.
pub(super) fn built_in() -> Vec<ModelEntry> {
    BUILT_IN.iter().map(|id| ModelEntry::named(*id)).collect()
}
