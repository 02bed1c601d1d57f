//! The door of this crate: from a program to something that can be asked.

use crate::{
    agent::{Agent, HostCalls, Program},
    alone,
    asking::Asking,
    confinement::Layer,
    languages::{Languages, Machine},
    limits,
    log::{Clear, Logs, NativeStream},
    native::{Arrivals, Inspector, NativeApp, NativeProgram},
    process::Ran,
    programs::Surface,
    proxy::Egress,
    python::{Interpreter, LockedPackage, PythonVersion},
    runners::Runners,
    typescript::{self, Engine},
    worker::Surroundings,
    workers::{PoolSettings, Workers},
};
use roost_protocol::{Digest, Enforcement, Failure, NetworkMode};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::Semaphore;

/// Where a runtime keeps its things and what it may use.
#[derive(Clone)]
pub struct RuntimeSettings {
    /// Environments, runners, converted modules.
    pub cache: PathBuf,
    /// Agents' logs.
    pub logs: PathBuf,
    /// What may be kept in them.
    pub clear: Clear,
    /// Where agents keep their own data.
    pub data: PathBuf,
    /// Where to look for programs.
    pub surface: Surface,
    /// How many workers, and how long.
    pub pool: PoolSettings,
    /// Parts of the sandbox that are not to be used.
    pub left_out: Vec<Layer>,
}

/// Runs agents. Dropping it ends every worker.
#[derive(Clone)]
pub struct Runtime {
    workers: Arc<Workers>,
    machine: Arc<Machine>,
    probes: [PathBuf; 2],
    egress: Arc<Egress>,
}

impl Runtime {
    /// Prepares everything that needs no process; must be called within a tokio runtime.
    pub fn new(settings: RuntimeSettings, host_calls: Arc<dyn HostCalls>) -> io::Result<Self> {
        limits::raise_own_descriptors();
        let runners = Runners::unpack(&settings.cache)?;
        let machine = Arc::new(Machine::detect(&settings.left_out));
        let probes = runners.probes();
        let egress = Arc::new(Egress::default());
        let languages = Languages::new(&settings.cache, settings.surface, runners);
        let around = Surroundings {
            machine: Arc::clone(&machine),
            inspector: Inspector::new(Arc::clone(&settings.clear)),
            logs: Logs::new(settings.logs, settings.clear),
            data: settings.data,
            host_calls,
            egress: Arc::clone(&egress),
            asking: Asking::default(),
            native_start: Arc::new(Semaphore::new(1)),
            arrivals: Arrivals::default(),
        };
        Ok(Self { workers: Workers::new(languages, around, settings.pool), machine, probes, egress })
    }

    /// The program as something that can be asked. Starts nothing yet.
    #[must_use]
    pub fn agent(&self, program: Program) -> Arc<dyn Agent> {
        self.workers.agent(program)
    }

    /// Starts a native app and waits until it answers.
    pub async fn start_native(&self, program: &NativeProgram) -> Result<NativeApp, Failure> {
        NativeApp::start(program, self.workers.surroundings()).await
    }

    /// What native apps were asked and answered lately.
    #[must_use]
    pub fn inspector(&self) -> &Inspector {
        &self.workers.surroundings().inspector
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

    /// Runs a Python file as a program of its own, with the modules agents import on its path, in the sandbox its
    /// worker would have.
    pub async fn run_alone(&self, mut program: Program, within: Duration) -> Result<Ran, Failure> {
        let python = &self.workers.languages().python;
        let (interpreter, shims, files) = python.program_for(&program.dependencies, &self.machine).await?;
        program.environment.insert("PYTHONPATH".to_owned(), shims.to_string_lossy().into_owned());
        alone::run_alone(&program, &interpreter, files, &self.machine, within).await
    }

    /// The uv that makes environments.
    #[must_use]
    pub fn uv(&self) -> Option<PathBuf> {
        self.workers.languages().python.uv()
    }

    /// Puts the files of a package into a folder, after it was checked against its digest. Nothing of it is run.
    pub async fn fetch_package(&self, package: &LockedPackage, folder: &Path) -> Result<(), Failure> {
        self.workers.languages().python.fetch_package(package, folder).await
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

    /// What is enforced here on a worker with this network.
    #[must_use]
    pub fn enforcement(&self, network: NetworkMode) -> Enforcement {
        self.machine.enforcement(network)
    }

    /// The certificate by which agents know what the proxy answers in place of a server they have a secret for.
    pub fn proxy_certificate(&self) -> io::Result<String> {
        self.egress.certificate()
    }

    /// Agent files that try to get out of their sandbox, in Python and in JavaScript.
    #[must_use]
    pub fn probes(&self) -> &[PathBuf; 2] {
        &self.probes
    }

    /// Where what a native app prints is.
    #[must_use]
    pub fn native_log_path(&self, id: &str, stream: NativeStream) -> PathBuf {
        self.workers.logs().native_path(id, stream)
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
