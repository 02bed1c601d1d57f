//! The door of this crate: from a program to something that can be asked.

use crate::{
    agent::{Agent, HostCalls, Program},
    languages::Languages,
    limits::Enforcer,
    log::Logs,
    programs::Surface,
    python::{Interpreter, PythonVersion},
    runners::Runners,
    typescript::{self, Engine},
    worker::{Asking, Surroundings},
    workers::{PoolSettings, Workers},
};
use roost_protocol::{Dependencies, Digest, Enforcement, Failure};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where a runtime keeps its things and what it may use.
#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// Environments, runners, converted modules.
    pub cache: PathBuf,
    /// Agents' logs.
    pub logs: PathBuf,
    /// Where agents keep their own data.
    pub data: PathBuf,
    /// Where to look for programs.
    pub surface: Surface,
    /// How many workers, and how long.
    pub pool: PoolSettings,
}

/// Runs agents. Dropping it ends every worker.
#[derive(Clone)]
pub struct Runtime {
    workers: Arc<Workers>,
    enforcement: Enforcement,
}

impl Runtime {
    /// Prepares everything that needs no process; must be called within a tokio runtime.
    pub fn new(settings: RuntimeSettings, host_calls: Arc<dyn HostCalls>) -> io::Result<Self> {
        let runners = Runners::unpack(&settings.cache)?;
        let enforcer = Enforcer::detect();
        let enforcement = enforcer.enforcement();
        let languages = Languages::new(&settings.cache, settings.surface, runners);
        let around = Surroundings {
            enforcer: Arc::new(enforcer),
            logs: Logs::new(settings.logs),
            data: settings.data,
            host_calls,
            asking: Asking::default(),
        };
        Ok(Self { workers: Workers::new(languages, around, settings.pool), enforcement })
    }

    /// The program as something that can be asked. Starts nothing yet.
    #[must_use]
    pub fn agent(&self, program: Program) -> Arc<dyn Agent> {
        self.workers.agent(program)
    }

    /// The Python that files without a wish of their own run on.
    pub async fn python(&self) -> Option<Interpreter> {
        self.workers.languages().python.interpreters().await.first().cloned()
    }

    /// All usable Pythons, newest first.
    pub async fn pythons(&self) -> Vec<Interpreter> {
        self.workers.languages().python.interpreters().await.to_vec()
    }

    /// The grammar version agents are checked against.
    pub async fn python_version(&self) -> PythonVersion {
        self.python().await.map_or(PythonVersion::OLDEST, |python| python.version)
    }

    /// The interpreter for these dependencies and the folder of modules a file may import from the host.
    pub async fn python_for(&self, dependencies: &Dependencies) -> Result<(PathBuf, PathBuf), Failure> {
        self.workers.languages().python.program_for(dependencies).await
    }

    /// The uv that makes environments.
    #[must_use]
    pub fn uv(&self) -> Option<PathBuf> {
        self.workers.languages().python.uv()
    }

    /// Where environments are and how many there are.
    #[must_use]
    pub fn environments(&self) -> (PathBuf, usize) {
        self.workers.languages().python.environments()
    }

    /// The program that runs TypeScript.
    pub async fn engine(&self) -> Result<Engine, Failure> {
        self.workers.languages().typescript.engine().await.cloned()
    }

    /// What is enforced on workers here.
    #[must_use]
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// Where an agent file's log is.
    #[must_use]
    pub fn log_path(&self, file: &Path) -> PathBuf {
        self.workers.logs().path(file)
    }
}

/// Identifies the guest side of the workers: what one says about a file may differ from what another says.
#[must_use]
pub fn runners_digest() -> Digest {
    Runners::digest()
}

/// Checks that a TypeScript file can be converted, without running anything.
pub fn check_typescript(source: &[u8], file: &Path) -> Result<(), Failure> {
    typescript::check(source, file, "file:///BasicAgent.js").map(drop)
}
