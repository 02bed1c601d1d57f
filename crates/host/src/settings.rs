//! What a host is told at its start. Read once by the program that wires everything, passed as plain values.

use crate::{
    gate::Policy,
    library::{InstalledFiles, Owner},
    native::{NativePace, OauthProvider},
};
use roost_apps::library::LibraryPlaces;
use roost_chat::ModelSettings;
use roost_protocol::{FileKind, Level, Limits};
use roost_runtime::{Layer, PoolSettings, Surface};
use roost_workspace::Limits as WorkspaceLimits;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The folders of one home.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    agents: PathBuf,
    services: PathBuf,
    soul: PathBuf,
    installed: InstalledFiles,
}

impl Home {
    /// A home at this folder; its agents are elsewhere when `agents` says so.
    #[must_use]
    pub fn new(root: PathBuf, agents: Option<PathBuf>) -> Self {
        let agents = agents.unwrap_or_else(|| root.join("agents"));
        let (soul, services) = (root.join("soul.md"), root.join("services"));
        Self { root, agents, services, soul, installed: InstalledFiles::default() }
    }

    /// The same home with its services elsewhere, when `services` says so.
    #[must_use]
    pub fn with_services(mut self, services: Option<PathBuf>) -> Self {
        self.services = services.unwrap_or(self.services);
        self
    }

    /// The same home with its soul file elsewhere, when `soul` says so.
    #[must_use]
    pub fn with_soul(mut self, soul: Option<PathBuf>) -> Self {
        self.soul = soul.unwrap_or(self.soul);
        self
    }

    /// The home itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where agent files are dropped.
    #[must_use]
    pub fn agents(&self) -> &Path {
        &self.agents
    }

    /// Where service files are dropped.
    #[must_use]
    pub fn services(&self) -> &Path {
        &self.services
    }

    /// Where files of senses are.
    #[must_use]
    pub fn senses(&self) -> PathBuf {
        self.root.join("senses")
    }

    /// What was brought from connected sources, a folder for each.
    #[must_use]
    pub fn sources(&self) -> PathBuf {
        self.root.join("sources")
    }

    /// The source a file was brought from.
    pub(crate) fn source_of(&self, file: &Path) -> Option<String> {
        let mut below = file.strip_prefix(self.sources()).ok()?.iter();
        match (below.next(), below.next(), below.next()) {
            (Some(source), Some(_), None) => source.to_str().map(str::to_owned),
            _ => None,
        }
    }

    /// Which files came with an app.
    pub(crate) fn installed(&self) -> &InstalledFiles {
        &self.installed
    }

    /// Whose file this is. Only files right in the agents or services folder can be an app's.
    pub(crate) fn owner_of(&self, file: &Path) -> Owner {
        let kind = match file.parent() {
            Some(folder) if folder == self.agents => FileKind::Agent,
            Some(folder) if folder == self.services => FileKind::Service,
            _ => return Owner::Nobody,
        };
        let name = file.file_name().and_then(|name| name.to_str());
        name.map_or(Owner::Nobody, |name| self.installed.owner(&self.library(), kind, name))
    }

    /// Where the library of installed apps writes.
    #[must_use]
    pub fn library(&self) -> LibraryPlaces {
        LibraryPlaces {
            apps: self.root.join("apps"),
            agents: self.agents.clone(),
            services: self.services.clone(),
            data: self.data(),
            trash: self.trash(),
            lock: self.root.join("roost.lock"),
            native: self.native(),
        }
    }

    /// What can be made again: environments, runners, descriptions.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// What agents keep themselves.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.root.join(".brainstem_data")
    }

    /// What agents need not keep: temporary files and caches, a folder for each.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.root.join("cache/scratch")
    }

    /// What agents print.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What only a running host needs.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// What the host seals with, and what it sealed.
    pub(crate) fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// What was removed or replaced and can be taken back.
    #[must_use]
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// What happened lately.
    #[must_use]
    pub fn book(&self) -> PathBuf {
        self.root.join(".brainstem_book.json")
    }

    /// The soul file.
    #[must_use]
    pub fn soul(&self) -> &Path {
        &self.soul
    }

    /// Conversations that the host keeps for its clients.
    #[must_use]
    pub fn conversations(&self) -> PathBuf {
        self.root.join("conversations")
    }

    /// The catalogs that apps are found in, and what each was when it was last fetched.
    #[must_use]
    pub fn catalogs(&self) -> PathBuf {
        self.root.join("apps/.catalogs")
    }

    /// Native apps, a folder for each, or a link to the folder of somebody who works on one.
    #[must_use]
    pub fn native(&self) -> PathBuf {
        self.root.join("native")
    }

    /// Local models.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }
}

/// Everything a host needs to know.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// Its folders.
    pub home: Home,
    /// Where to look for programs.
    pub surface: Surface,
    /// How many workers, and how long.
    pub pool: PoolSettings,
    /// Environment every agent sees.
    pub environment: BTreeMap<String, String>,
    /// Current directory of workers.
    pub working_directory: PathBuf,
    /// How agents must be confined.
    pub sandbox: SandboxSettings,
    /// What is allowed and denied beforehand.
    pub policy: std::sync::Arc<Policy>,
    /// Every variable the host itself has; agents get those they were granted.
    pub variables: Variables,
    /// Limits where an agent has none of its own.
    pub limits: Limits,
    /// Who can be asked for an answer.
    pub models: ModelSettings,
    /// The repository whose issues people report to.
    pub tracker: Option<String>,
    /// Agents that a model is always offered, however many there are.
    pub pinned_agents: Vec<String>,
    /// Settings of single agents, by file name or by agent name.
    pub agents: BTreeMap<String, AgentSettings>,
    /// How answers are given at first.
    pub modes: ModeSettings,
    /// What must survive, and where.
    pub store: StoreSettings,
    /// Where apps are found.
    pub catalogs: CatalogSettings,
    /// How installed apps are kept current.
    pub apps: AppSettings,
    /// How patient the host is with native apps.
    pub native: NativePace,
}

/// How installed apps are kept current, and where they may have accounts.
#[derive(Debug, Clone, Default)]
pub struct AppSettings {
    /// Providers that this host is known to, by name.
    pub oauth: BTreeMap<String, OauthProvider>,
    /// A version is taken by itself only so many days after it was first seen.
    pub cool_down_days: u32,
}

/// Where apps are found, and what opens private ones.
#[derive(Debug, Clone, Default)]
pub struct CatalogSettings {
    /// Another address for the catalog that everybody begins with: `RAPPSTORE_URL`.
    pub official: Option<String>,
    /// Another address for the registry of agents: `RAR_URL`. An empty text means none.
    pub agents: Option<String>,
    /// Another address for the catalog of senses: `SENSESTORE_URL`. An empty text means none.
    pub senses: Option<String>,
    /// Where raw files of repositories are, when not at GitHub.
    pub raw: Option<String>,
    /// Where commits are looked up, when not at GitHub.
    pub commits: Option<String>,
    /// What the GitHub CLI stored.
    pub gh_hosts: Option<PathBuf>,
    /// A netrc file.
    pub netrc: Option<PathBuf>,
}

/// Where the host keeps what must survive, and how much of it.
#[derive(Clone)]
pub struct StoreSettings {
    /// A PostgreSQL server for several nodes; a file in the home when absent.
    pub database_url: Option<String>,
    /// False switches workspaces off.
    pub workspaces: bool,
    /// How much a workspace holds.
    pub limits: WorkspaceLimits,
    /// True lets every token use every workspace by a route for conformance tests.
    pub test_seam: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { database_url: None, workspaces: true, limits: WorkspaceLimits::default(), test_seam: false }
    }
}

/// The URL may hold a password.
impl std::fmt::Debug for StoreSettings {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("StoreSettings")
            .field("server", &self.database_url.is_some())
            .field("workspaces", &self.workspaces)
            .field("limits", &self.limits)
            .finish()
    }
}

/// How answers are given at first; a client can change it while the host runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModeSettings {
    /// With a spoken version: `VOICE_MODE`.
    pub voice: bool,
    /// With the twin's part: `TWIN_MODE`.
    pub twin: bool,
}

/// What an operator set for one agent.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// False switches it off.
    pub enabled: bool,
    /// Environment it sees besides the common one.
    pub environment: BTreeMap<String, String>,
    /// Its limits.
    pub limits: Limits,
}

/// How agents must be confined.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// The level below which nothing runs.
    pub required: Level,
    /// Parts that are not to be used.
    pub left_out: Vec<Layer>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self { required: Level::Full, left_out: Vec::new() }
    }
}

/// Variables by name. Shown and logged by their names only.
#[derive(Clone, Default)]
pub struct Variables(std::sync::Arc<BTreeMap<String, String>>);

impl Variables {
    /// These variables.
    #[must_use]
    pub fn new(variables: BTreeMap<String, String>) -> Self {
        Self(std::sync::Arc::new(variables))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&String> {
        self.0.get(name)
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Home;
    use std::path::Path;

    #[test]
    fn only_files_right_below_a_source_are_of_it() {
        let home = Home::new("/home/me/.roost".into(), None);
        let of = |path: &str| home.source_of(Path::new(path));
        assert_eq!(of("/home/me/.roost/sources/tea-1/a_agent.py").as_deref(), Some("tea-1"));
        for other in [
            "/home/me/.roost/sources/a_agent.py",
            "/home/me/.roost/agents/a_agent.py",
            "/x/sources/y/a_agent.py",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
