//! Python workers: an interpreter, an environment for the file's packages, and one zygote per environment.

mod environments;
mod interpreter;
mod version;

pub use self::{interpreter::Interpreter, version::PythonVersion};

use self::environments::Environments;
pub use self::environments::LockedPackage;
use crate::{
    agent::Program,
    cgroup::Group,
    connection,
    languages::Machine,
    limits::{Identity, reserved_bytes},
    programs::{Programs, Surface},
    runners::Runners,
    sandbox::{self, Entry, LanguageFiles, Listening, Namespaces, Prepared, Sandbox, StartsBy},
    worker::{Killer, Started},
    zygote::Zygote,
};
use roost_protocol::{Dependencies, Failure, NamespaceRecipe, NetworkMode, Reason, Recipe};
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
    /// By interpreter, and by whether its workers may use the real network.
    zygotes: Mutex<HashMap<(PathBuf, bool), Arc<Zygote>>>,
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

    pub(crate) async fn fetch_package(&self, package: &LockedPackage, folder: &Path) -> Result<(), Failure> {
        let base = self.interpreters().await.first();
        let base =
            base.ok_or_else(|| Failure::new(Reason::RuntimeMissing, "no Python to fetch packages with"))?;
        self.environments.fetch(base, package, folder).await
    }

    pub(crate) fn environments(&self) -> (PathBuf, usize) {
        self.environments.summary()
    }

    /// Forks a worker that waits for its first frame, by which it enters its sandbox.
    pub(crate) async fn start(&self, program: &Program, machine: &Machine) -> Result<Started, Failure> {
        let (path, version, has_packages) = self.interpreter_for(&program.dependencies).await?;
        let network = program.confinement.network;
        let zygote = self.zygote(&path, has_packages, network, &machine.sandbox)?;
        let (ends, given) = connection::connect()
            .map_err(|error| Failure::new(Reason::StartFailed, format!("connect a worker: {error}")))?;
        let namespaces = machine.sandbox.namespaces(&program.confinement).map_or(0, |all| all.flags);
        let group = machine.enforcer.group(&program.limits)?;
        let entrances = group.as_ref().map(Group::entrances).transpose().map_err(|error| {
            Failure::new(Reason::StartFailed, format!("open the group of a worker: {error}"))
        })?;
        let mut descriptors = vec![given.channel, given.calls, given.log];
        descriptors.extend(entrances.into_iter().flatten());
        // The host prepares the sandbox while the zygote forks.
        let forking = zygote.fork(&descriptors, namespaces);
        let preparing = async {
            machine.sandbox.prepare(
                &program.confinement,
                &self.files(&path),
                StartsBy::Fork,
                Listening::Nowhere,
            )
        };
        let (forked, prepared) = tokio::join!(forking, preparing);
        let (forked, prepared) = (forked?, prepared?);
        let recipe = recipe(&prepared);
        if let Some(ruleset) = &prepared.ruleset {
            sandbox::hand_to_worker(&ends.calls, ruleset).map_err(|error| {
                Failure::new(Reason::SandboxFailed, format!("hand over the file rules: {error}"))
            })?;
        }
        let identity = if namespaces == 0 { Identity::Shared } else { Identity::Own };
        let limits = machine.enforcer.of_process(&program.limits, reserved_bytes(program.language), identity);
        machine.enforcer.confine(forked.pid, &limits)?;
        Ok(Started {
            pid: forked.pid,
            exit: forked.exit,
            killer: Killer::Zygote(zygote),
            ends,
            runtime: format!("python {version}"),
            module: None,
            group,
            recipe,
            enforcement: prepared.enforcement,
        })
    }

    /// What a worker of this interpreter has to read, and what it may run where it may run anything.
    fn files(&self, interpreter: &Path) -> LanguageFiles {
        let prefix = |program: &Path| program.parent().and_then(Path::parent).map(Path::to_owned);
        let real = interpreter.canonicalize().unwrap_or_else(|_| interpreter.to_owned());
        let prefixes: Vec<PathBuf> = [prefix(interpreter), prefix(&real)].into_iter().flatten().collect();
        let readable = prefixes.iter().cloned().chain([self.runners.python_folder()]).collect();
        LanguageFiles { readable, programs: prefixes, always_executable: Vec::new() }
    }

    /// The interpreter a file of these dependencies runs on, the folder of modules it may import, and all it reads.
    pub(crate) async fn program_for(
        &self,
        dependencies: &Dependencies,
    ) -> Result<(PathBuf, PathBuf, LanguageFiles), Failure> {
        let (path, _, _) = self.interpreter_for(dependencies).await?;
        let files = self.files(&path);
        Ok((path, self.runners.python_shims(), files))
    }

    /// The running zygote of this interpreter. It runs no agent, and lives where its workers will: in a network with
    /// nothing in it, unless they may use the real one.
    fn zygote(
        &self,
        interpreter: &Path,
        has_packages: bool,
        network: NetworkMode,
        sandbox: &Sandbox,
    ) -> Result<Arc<Zygote>, Failure> {
        let key = (interpreter.to_owned(), network == NetworkMode::Any);
        let mut zygotes = self.zygotes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zygote) = zygotes.get(&key).filter(|zygote| !zygote.is_gone()) {
            return Ok(Arc::clone(zygote));
        }
        let refuse = |error: std::io::Error| {
            Failure::new(Reason::StartFailed, format!("start {}: {error}", interpreter.display()))
        };
        let entry = if sandbox.has_namespaces() {
            Entry::namespaces_only(&Namespaces::of_zygote(network)).map_err(refuse)?
        } else {
            Entry::default()
        };
        let script = self.runners.python_zygote();
        let zygote = Arc::new(Zygote::start(interpreter, has_packages, &script, entry).map_err(refuse)?);
        zygotes.insert(key, Arc::clone(&zygote));
        Ok(zygote)
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

/// The part of the sandbox that a forked worker applies to itself.
fn recipe(prepared: &Prepared) -> Recipe {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    Recipe {
        namespaces: prepared.namespaces.as_ref().map(|namespaces| NamespaceRecipe {
            binds: namespaces.binds.clone(),
            has_proxy: namespaces.has_proxy,
        }),
        filter: prepared.filter.as_ref().map(|filter| STANDARD.encode(filter.bytes())),
        has_rules: prepared.ruleset.is_some(),
        proc_access: sandbox::access_to_proc(),
        proxy_port: sandbox::PROXY_PORT,
    }
}
