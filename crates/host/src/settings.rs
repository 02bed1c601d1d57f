//! What a host is told at its start. Read once by the program that wires everything, passed as plain values.

use roost_protocol::Limits;
use roost_runtime::{PoolSettings, Surface};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The folders of one home.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    agents: PathBuf,
}

impl Home {
    /// A home at this folder; its agents are elsewhere when `agents` says so.
    #[must_use]
    pub fn new(root: PathBuf, agents: Option<PathBuf>) -> Self {
        let agents = agents.unwrap_or_else(|| root.join("agents"));
        Self { root, agents }
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

    /// The soul file.
    #[must_use]
    pub fn soul(&self) -> PathBuf {
        self.root.join("soul.md")
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
    /// Limits where an agent has none of its own.
    pub limits: Limits,
    /// Settings of single agents, by file name or by agent name.
    pub agents: BTreeMap<String, AgentSettings>,
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
