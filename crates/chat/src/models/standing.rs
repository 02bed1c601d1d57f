//! How things stand with models, for whoever asks often: nothing is asked, read or waited for.

use super::Models;
use super::choice::{Sticky, first, split};
use crate::model::{AccountStanding, Provider, ProviderName, best_model};

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whether a model can be asked.
    pub state: StandingState,
    /// Who would be asked.
    pub provider: Option<ProviderName>,
    /// With which model, as far as it is known.
    pub model: Option<String>,
    /// The address of the server that was found on this machine.
    pub server: Option<String>,
}

/// Whether a model can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandingState {
    /// It can.
    Ready,
    /// There is a token of GitHub that was not tried yet.
    Pending,
    /// No provider is set up.
    NotSetUp,
    /// GitHub is wanted, and nobody is signed in.
    NotSignedIn,
    /// The account may not use Copilot.
    NoAccess {
        /// The account; empty when GitHub did not tell.
        user: String,
    },
}

impl Models {
    /// How things stand. Cheap, and without any input or output.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let providers = self.providers();
        let provider = self.known_provider(&providers);
        let state = match provider {
            None if self.means_github() => StandingState::NotSignedIn,
            None => StandingState::NotSetUp,
            Some(Provider::Copilot(_)) => match self.shared.account.standing() {
                AccountStanding::Ready => StandingState::Ready,
                AccountStanding::Pending => StandingState::Pending,
                AccountStanding::NoCredential | AccountStanding::Rejected => StandingState::NotSignedIn,
                AccountStanding::NoAccess { user } => StandingState::NoAccess { user },
            },
            Some(_) => StandingState::Ready,
        };
        let model = self.known_model(provider).or_else(|| self.listed_model(provider?));
        let server = self.state().found.first().and_then(address).map(str::to_owned);
        Standing { state, provider: provider.map(Provider::name), model, server }
    }

    /// Who will be asked, as far as it is known without asking anybody.
    fn known_provider<'a>(&self, providers: &'a [Provider]) -> Option<&'a Provider> {
        let sticky = self.state().sticky.clone();
        let sticky = sticky.and_then(|Sticky { model, provider }| split(&model).0.or(provider));
        let named = sticky.or_else(|| split(self.shared.settings.pinned.as_deref()?).0);
        let by_name = |name| providers.iter().find(|provider| provider.name() == name);
        named.and_then(by_name).or_else(|| first(providers))
    }

    /// The model that the provider's list makes the default.
    fn listed_model(&self, provider: &Provider) -> Option<String> {
        // The host's own need no asking.
        if let Provider::Local(local) = provider {
            return local.names().into_iter().next();
        }
        if let Provider::Gateway(apps) = provider {
            return apps.list().into_iter().next().map(|model| model.id);
        }
        let state = self.state();
        let models = state.catalogues.get(&provider.name())?.models();
        match provider {
            Provider::Copilot(_) => Some(best_model(models)),
            _ => models.first().map(|model| model.id.clone()),
        }
    }
}

fn address(provider: &Provider) -> Option<&str> {
    match provider {
        Provider::Ollama(ollama) => Some(ollama.address()),
        Provider::LmStudio(server) | Provider::LlamaCpp(server) => Some(server.root()),
        _ => None,
    }
}
