//! From settings to a running host: every part is made here, and none of them starts a process.

use super::{Host, Inner};
use crate::{
    book::Book,
    browser_sessions::BrowserSessions,
    call_log::{CallIds, CallLog},
    calls::Calls,
    catalogs::HostCatalogs,
    conversations::Conversations,
    converse::{Soul, TURNS_AT_ONCE_MAX},
    folders::Folders,
    gate::Gate,
    knowledge::Knowledge,
    library::LibraryState,
    local_models::{LocalModels, LocalServer},
    memory::Memories,
    modes::Modes,
    native::{Gateways, NativeApps},
    pages::PageMemory,
    program::Workshop,
    runs::{Resolved, RunState},
    schedules::ScheduleState,
    settings::HostSettings,
    shelves::Shelves,
    store::Store,
    tokens::Tokens,
    toolbox::CurrentToolbox,
    vault::{Keychain, Vault},
    voice::Voice,
};
use roost_apps::AgentsFolder;
use roost_chat::{Models, Secret};
use roost_protocol::{Failure, Reason};
use roost_runtime::{HostCalls, Runtime, RuntimeSettings};
use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tokio::sync::{OnceCell, Semaphore};

impl Host {
    /// Opens a home. Starts no process; must be called within a tokio runtime.
    pub async fn open(settings: HostSettings) -> Result<Self, Failure> {
        let unusable = |error: std::io::Error| {
            Failure::new(Reason::HomeUnusable, format!("{}: {error}", settings.home.root().display()))
        };
        let cache = settings.home.cache();
        std::fs::create_dir_all(&cache).map_err(unusable)?;
        let resolved = Arc::<Resolved>::default();
        let gate = Arc::new(Gate::open(settings.home.root(), Arc::clone(&settings.policy))?);
        let gateways = Gateways::default();
        let models = open_models(&settings, &gateways).await?;
        let calls = Arc::new(Calls::new(Arc::clone(&gate), Arc::new(models.clone()), &settings.home));
        let host_calls: Arc<dyn HostCalls> = Arc::clone(&calls) as _;
        let runtime = Runtime::new(runtime_settings(&settings, &resolved), host_calls).map_err(unusable)?;
        let settings = Arc::new(settings);
        let workshop = Arc::new(Workshop {
            runtime: runtime.clone(),
            settings: Arc::clone(&settings),
            gate: Arc::clone(&gate),
            vault: Vault::open(&settings.home, Keychain::of(&settings)),
            calls,
        });
        let book = Arc::new(Book::new(settings.home.book()));
        let open = |folder: AgentsFolder, cache| {
            let (workshop, book) = (Arc::clone(&workshop), Arc::clone(&book));
            async move { Shelves::new(Knowledge::open(workshop, book, folder, cache).await) }
        };
        let agents = open(AgentsFolder::new(settings.home.agents()), &cache).await;
        let services_cache = cache.join("services");
        let services = open(AgentsFolder::of_services(settings.home.services()), &services_cache).await;
        let inner = Inner {
            memories: Memories::new(settings.home.data()),
            call_log: CallLog::new(&settings.home.logs()),
            voice: Voice::new(&settings.home, &settings.variables),
            conversations: Conversations::new(settings.home.conversations()),
            store: Arc::new(Store::new(settings.home.root().to_owned(), settings.store.clone())),
            browsers: BrowserSessions::new(&settings.home),
            folders: Folders::new(&settings.home),
            native: NativeApps::new(&workshop, &book, gateways),
            catalogs: HostCatalogs::open(&settings),
            library: LibraryState::open(&settings),
            pages: PageMemory::default(),
            modes: Modes::new(&settings.modes),
            soul: Soul::new(settings.home.soul().to_owned()),
            settings,
            runtime,
            gate,
            workshop,
            agents,
            services,
            changing_sources: Arc::default(),
            call_ids: CallIds::default(),
            book,
            models,
            turns: Semaphore::new(TURNS_AT_ONCE_MAX),
            toolbox: CurrentToolbox::default(),
            looked_at_agents: OnceCell::new(),
            looked_for_models: Mutex::default(),
            owner: OnceLock::new(),
            tokens: Tokens::new(),
            resolved,
            runs: RunState::default(),
            schedules: ScheduleState::default(),
        };
        let host = Self { inner: Arc::new(inner) };
        host.inner.native.answered_by(Arc::downgrade(&host.inner));
        host.inner.open_sources().await;
        Ok(host)
    }
}

fn runtime_settings(settings: &HostSettings, resolved: &Arc<Resolved>) -> RuntimeSettings {
    RuntimeSettings {
        cache: settings.home.cache(),
        logs: settings.home.logs(),
        clear: resolved.clear(),
        data: settings.home.data(),
        surface: settings.surface.clone(),
        pool: settings.pool.clone(),
        left_out: settings.sandbox.left_out.clone(),
    }
}

/// The providers of the settings, and the models of the home itself and of its apps.
async fn open_models(settings: &HostSettings, gateways: &Gateways) -> Result<Models, Failure> {
    let local = LocalModels::of_home(settings);
    let server = LocalServer::new(local, &settings.surface, settings.home.logs().join("local-model.log"));
    let mut models = settings.models.clone();
    if models.github.token.is_none() && !models.names_a_provider() {
        models.github.gh_token = gh_token(settings).await;
    }
    let models = Models::open(models, settings.home.root().to_owned(), Some(server.into_start()))?;
    models.join_apps(gateways.as_models());
    Ok(models)
}

/// The token of the `gh` program, where a person signed in with it. Asked only when nothing else is set up.
async fn gh_token(settings: &HostSettings) -> Option<Secret> {
    if settings.home.root().join(".copilot_token").exists() {
        return None;
    }
    let program = roost_runtime::find_program("gh", &settings.surface.search_path)?;
    let words = ["auth", "token"].map(Into::into);
    let ran =
        roost_runtime::run(&program, &words, &settings.surface.tool_environment, GH_WITHIN).await.ok()?;
    Some(ran.stdout).filter(|_| ran.succeeded).and_then(|token| Secret::parse(&token))
}

/// A start must not wait for a program that hangs.
const GH_WITHIN: Duration = Duration::from_secs(2);
