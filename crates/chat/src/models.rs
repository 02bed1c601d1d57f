//! All providers behind one handle: which one is asked, with which model, and what is tried when it cannot answer.
//!
//! Starts nothing and reads no environment. What a person chose is kept in one file of the state folder.

mod settings; // what a person can set
mod choice; // who is asked, with which model
mod list; // what can be chosen
mod discover; // servers on this machine
mod standing; // how things stand, without asking anybody

pub use self::{
    list::{ListedModel, ModelList, SetModel},
    settings::{AnthropicSettings, GitHubSettings, ModelSettings, OpenAiSettings, ServerProbe},
    standing::{Standing, StandingState},
};

use crate::login::Login;
use crate::model::{
    ANTHROPIC_ADDRESS, Account, AccountStanding, Anthropic, AppModels, Ask, Azure, Compatible, Completion,
    Copilot, GitHubModels, Local, Model, ModelEntry, ModelFailure, ModelProblem, OPENAI_ADDRESS, Ollama,
    OnPiece, Provider, ProviderName, Reply, StartLocal, Wire, ollama_address,
};
use crate::state_file::StateFile;
use choice::{Choice, Sticky};
use futures::future::BoxFuture;
use list::Catalogue;
use roost_protocol::{Failure, Reason};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// GitHub itself answers within a second; only models need longer.
const GITHUB_WAIT: Duration = Duration::from_secs(15);

const STICKY_FILE: &str = ".brainstem_model";

/// Tried first when another model of the same provider has to answer.
const FIRST_FALLBACK: &str = "gpt-4o";

/// How many other models are tried: each may take its whole time.
const FALLBACKS_MAX: usize = 3;

/// Refusals that another model may not share. 529 is how Anthropic says 503.
const FALLBACK_STATUSES: &[u16] = &[400, 500, 502, 503, 529];

/// Everybody who can be asked. A clonable handle; the locks are inside.
#[derive(Clone)]
pub struct Models {
    shared: Arc<Shared>,
}

struct Shared {
    settings: ModelSettings,
    wire: Wire,
    account: Account,
    login: Login,
    /// Those that the settings name, made once: they may hold tokens of their own.
    named: Vec<Provider>,
    after_github: Vec<Provider>,
    sticky_file: StateFile,
    /// The models of apps, once the host has any to tell of.
    apps: OnceLock<AppModels>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sticky: Option<Sticky>,
    found: Vec<Provider>,
    looked: bool,
    catalogues: BTreeMap<ProviderName, Catalogue>,
}

impl Models {
    /// Reads the state folder; asks nobody. `local` starts the host's own model when it is asked.
    ///
    /// # Errors
    /// When the proxy's address is not one.
    pub fn open(
        settings: ModelSettings,
        state_folder: PathBuf,
        local: Option<StartLocal>,
    ) -> Result<Self, Failure> {
        let wire = Wire::new(settings.first_byte_wait, settings.piece_wait, settings.proxy.as_ref())
            .map_err(|_| Failure::new(Reason::InvalidSettings, "the address of the proxy is not one"))?;
        let github = wire.within(GITHUB_WAIT);
        let account = Account::open(github.clone(), settings.github.clone(), &state_folder);
        let login = Login::open(github, account.clone(), &state_folder);
        let sticky_file = StateFile::new(&state_folder, STICKY_FILE);
        let sticky = sticky_file.json().as_ref().and_then(Sticky::read);
        let ollama =
            settings.ollama_host.as_deref().map(|host| Provider::Ollama(Ollama::new(ollama_address(host))));
        let local = local.map(|start| Provider::Local(Local::new(start)));
        let shared = Shared {
            named: named(&settings),
            after_github: ollama.into_iter().chain(local).collect(),
            wire,
            account,
            login,
            sticky_file,
            apps: OnceLock::new(),
            state: Mutex::new(State { sticky, ..State::default() }),
            settings,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Signing in at GitHub.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.shared.login
    }

    /// Lets models of apps be asked, too. Said once, before the first question.
    pub fn join_apps(&self, apps: AppModels) {
        if self.shared.apps.set(apps).is_err() {
            tracing::error!("the models of apps were told twice");
        }
    }

    /// Everybody who can be asked, in the order in which one is chosen.
    fn providers(&self) -> Vec<Provider> {
        let mut providers = self.shared.named.clone();
        let account = &self.shared.account;
        if account.standing() != AccountStanding::NoCredential {
            providers.push(Provider::Copilot(Copilot::new(account.clone())));
        }
        let github = &self.shared.settings.github;
        if let (Some(address), Some((token, _))) = (&github.models_base, account.token()) {
            providers.push(Provider::GitHubModels(GitHubModels::new(address, token)));
        }
        // Ollama's own address counts before a server that was merely found, and the host's own model comes last.
        let is_local = |provider: &&Provider| provider.name() == ProviderName::Local;
        let (local, servers): (Vec<_>, Vec<_>) = self.shared.after_github.iter().partition(is_local);
        providers.extend(servers.into_iter().cloned());
        providers.extend(self.state().found.iter().cloned());
        let apps = self.shared.apps.get().filter(|apps| !apps.is_empty());
        providers.extend(apps.cloned().map(Provider::Gateway));
        let has_models =
            |provider: &&Provider| !matches!(provider, Provider::Local(local) if local.names().is_empty());
        providers.extend(local.into_iter().filter(has_models).cloned());
        providers
    }

    /// Asks, and tries other models of the same provider where that may help and nothing was said yet.
    async fn ask(&self, ask: Ask<'_>, on_piece: Option<OnPiece<'_>>) -> Result<Reply, ModelFailure> {
        let choice = self.choose(ask.model).await?;
        let spoke = AtomicBool::new(false);
        let listen = |text: &str| {
            spoke.store(true, Ordering::Relaxed);
            if let Some(on_piece) = on_piece {
                on_piece(text);
            }
        };
        let listen: Option<OnPiece<'_>> = on_piece.is_some().then_some(&listen);
        let Choice { provider, model, shown } = choice;
        let wire = &self.shared.wire;
        let reply = |completion: Completion, model: String| Reply {
            message: completion.message,
            model,
            requested_model: shown.clone(),
            usage: completion.usage,
        };
        let failure = match provider.complete(wire, &model, ask, listen).await {
            Ok(completion) => return Ok(reply(completion, shown.clone())),
            Err(failure) => failure,
        };
        if failure.problem == ModelProblem::Unreachable && self.was_found(&provider) {
            // It was stopped; the next question must not wait for it again.
            self.discover().await;
        }
        if spoke.load(Ordering::Relaxed) || !another_may_answer(&failure.problem) {
            return Err(failure);
        }
        for other in self.others(&provider, &model).await {
            if spoke.load(Ordering::Relaxed) {
                break;
            }
            tracing::info!(asked = model, other, reason = %failure, "another model is asked");
            if let Ok(completion) = provider.complete(wire, &other, ask, listen).await {
                return Ok(reply(completion, other));
            }
        }
        Err(failure)
    }

    fn was_found(&self, provider: &Provider) -> bool {
        self.state().found.iter().any(|found| found.name() == provider.name())
    }

    /// The other models of the provider that may answer instead.
    async fn others(&self, provider: &Provider, model: &str) -> Vec<String> {
        if provider.name() == ProviderName::Gateway {
            // Each is another's work: what was meant for one app goes to no other.
            return Vec::new();
        }
        let models = self.catalogue(provider).await.unwrap_or_default();
        let is_other = |entry: &ModelEntry| entry.id != model && entry.available != Some(false);
        let mut others: Vec<String> = models.into_iter().filter(is_other).map(|entry| entry.id).collect();
        others.sort_by_key(|id| id != FIRST_FALLBACK);
        others.truncate(FALLBACKS_MAX);
        others
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Only how things stand: what is inside holds addresses and credentials.
impl fmt::Debug for Models {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Models").field("standing", &self.standing()).finish_non_exhaustive()
    }
}

impl Model for Models {
    fn reply<'a>(
        &'a self,
        ask: Ask<'a>,
        on_piece: Option<OnPiece<'a>>,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(self.ask(ask, on_piece))
    }
}

/// The providers that the settings name.
fn named(settings: &ModelSettings) -> Vec<Provider> {
    let openai = settings.openai.as_ref().filter(|openai| openai.base_url.is_some() || openai.key.is_some());
    let openai = openai.map(|openai| {
        let address = openai.base_url.as_deref().unwrap_or(OPENAI_ADDRESS);
        Provider::OpenAi(Compatible::new(address, openai.key.clone()))
    });
    let azure = settings.azure.clone().map(|azure| Provider::Azure(Azure::new(azure)));
    let anthropic = settings.anthropic.as_ref().map(|anthropic| {
        let address = anthropic.base_url.as_deref().unwrap_or(ANTHROPIC_ADDRESS);
        Provider::Anthropic(Anthropic::new(address, anthropic.key.clone()))
    });
    openai.into_iter().chain(azure).chain(anthropic).collect()
}

fn another_may_answer(problem: &ModelProblem) -> bool {
    match problem {
        ModelProblem::Limited { .. } => true,
        ModelProblem::Refused { status } => FALLBACK_STATUSES.contains(status),
        _ => false,
    }
}
