//! Python workers: an interpreter, an environment for the file's packages, and one zygote per environment.

mod environments;
mod interpreter;
mod version;

pub use self::{interpreter::Interpreter, version::PythonVersion};

use self::environments::Environments;
use crate::{
    agent::Program,
    connection,
    programs::{Programs, Surface},
    runners::Runners,
    worker::{Killer, Started},
    zygote::Zygote,
};
use roost_protocol::{Dependencies, Failure, Reason};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::OnceCell;

/// Everything needed to start Python workers.
#[derive(Debug)]
pub(crate) struct Python {
    surface: Surface,
    programs: Arc<Programs>,
    runners: Runners,
    environments: Environments,
    interpreters: OnceCell<Vec<Interpreter>>,
    zygotes: Mutex<HashMap<PathBuf, Arc<Zygote>>>,
}

impl Python {
    pub(crate) fn new(cache: &Path, surface: Surface, programs: Arc<Programs>, runners: Runners) -> Self {
        let environments = Environments::new(cache, surface.clone());
        let interpreters = OnceCell::new();
        Self { surface, programs, runners, environments, interpreters, zygotes: Mutex::default() }
    }

    /// Usable interpreters, newest first.
    pub(crate) async fn interpreters(&self) -> &[Interpreter] {
        self.interpreters.get_or_init(|| interpreter::find_all(&self.surface, &self.programs)).await
    }

    pub(crate) fn uv(&self) -> Option<PathBuf> {
        self.environments.uv()
    }

    pub(crate) fn environments(&self) -> (PathBuf, usize) {
        self.environments.summary()
    }

    /// Forks a worker that waits for its first frame.
    pub(crate) async fn start(&self, program: &Program) -> Result<Started, Failure> {
        let (zygote, version) = self.zygote(&program.dependencies).await?;
        let (ends, given) = connection::connect()
            .map_err(|error| Failure::new(Reason::StartFailed, format!("connect a worker: {error}")))?;
        let forked = zygote.fork([given.channel, given.calls, given.log]).await?;
        Ok(Started {
            pid: forked.pid,
            exit: forked.exit,
            killer: Killer::Zygote(zygote),
            ends,
            runtime: format!("python {version}"),
            module: None,
        })
    }

    /// The interpreter a file of these dependencies runs on, and the folder of modules it may import.
    pub(crate) async fn program_for(
        &self,
        dependencies: &Dependencies,
    ) -> Result<(PathBuf, PathBuf), Failure> {
        let (path, _, _) = self.interpreter_for(dependencies).await?;
        Ok((path, self.runners.python_shims()))
    }

    /// The running zygote of the environment these dependencies need.
    async fn zygote(&self, dependencies: &Dependencies) -> Result<(Arc<Zygote>, PythonVersion), Failure> {
        let (path, version, has_packages) = self.interpreter_for(dependencies).await?;
        let mut zygotes = self.zygotes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zygote) = zygotes.get(&path).filter(|zygote| !zygote.is_gone()) {
            return Ok((Arc::clone(zygote), version));
        }
        let zygote = Zygote::start(&path, has_packages, &self.runners.python_zygote()).map_err(|error| {
            Failure::new(Reason::StartFailed, format!("start {}: {error}", path.display()))
        })?;
        let zygote = Arc::new(zygote);
        zygotes.insert(path, Arc::clone(&zygote));
        Ok((zygote, version))
    }

    async fn interpreter_for(
        &self,
        dependencies: &Dependencies,
    ) -> Result<(PathBuf, PythonVersion, bool), Failure> {
        let base = interpreter::choose(self.interpreters().await, dependencies.requires_python.as_deref())?;
        if dependencies.is_empty() {
            return Ok((base.path.clone(), base.version, false));
        }
        let mut all = [&dependencies.required[..], &dependencies.optional[..]].concat();
        all.sort();
        let failure = match self.environments.interpreter(base, &all).await {
            Ok(path) => return Ok((path, base.version, true)),
            Err(failure) => failure,
        };
        // What is only optional must not keep an agent from running.
        match (&dependencies.required[..], &dependencies.optional[..]) {
            (_, []) => Err(failure),
            ([], _) => Ok((base.path.clone(), base.version, false)),
            (required, _) => {
                let path = self.environments.interpreter(base, required).await?;
                Ok((path, base.version, true))
            }
        }
    }
}
