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
    sandbox::{self, LanguageFiles, Listening, Prepared, PreparedRoot, Sandbox, StartsBy, ZygoteView},
    worker::{Killer, Started},
    zygote::Zygote,
};
use roost_protocol::{Dependencies, Failure, NamespaceRecipe, NetworkMode, Reason, Recipe};
use std::{
    collections::HashMap,
    io,
    os::unix::net::UnixStream,
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
    zygotes: Mutex<HashMap<(PathBuf, bool), Arc<Parent>>>,
}

/// A zygote, and what it sees. It never sees a package: those are for workers, in their sandbox.
#[derive(Debug)]
struct Parent {
    zygote: Arc<Zygote>,
    view: ZygoteView,
}

/// What a file runs on.
struct Chosen {
    interpreter: PathBuf,
    version: PythonVersion,
    /// The environment with its packages, where it has any.
    environment: Option<PathBuf>,
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
        let Chosen { interpreter, version, environment } =
            self.choose(&program.dependencies, machine).await?;
        let parent = self.parent(&interpreter, program.confinement.network, &machine.sandbox)?;
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
        let forking = parent.zygote.fork(&descriptors, namespaces);
        let preparing = async {
            machine.sandbox.prepare(
                &program.confinement,
                &self.files(&interpreter, environment.as_deref()),
                StartsBy::Fork(&parent.view),
                Listening::Nowhere,
            )
        };
        let (forked, prepared) = tokio::join!(forking, preparing);
        let (forked, prepared) = (forked?, prepared?);
        let recipe = recipe(&prepared);
        hand_over(&prepared, &ends.calls).map_err(|error| {
            Failure::new(Reason::SandboxFailed, format!("hand over the sandbox: {error}"))
        })?;
        let identity = if namespaces == 0 { Identity::Shared } else { Identity::Own };
        let limits = machine.enforcer.of_process(&program.limits, reserved_bytes(program.language), identity);
        machine.enforcer.confine(forked.pid, &limits)?;
        Ok(Started {
            pid: forked.pid,
            exit: forked.exit,
            killer: Killer::Zygote(Arc::clone(&parent.zygote)),
            ends,
            runtime: format!("python {version}"),
            module: None,
            packages: environment,
            group,
            recipe,
            enforcement: prepared.enforcement,
        })
    }

    /// What a worker of this interpreter has to read, and what it may run where it may run anything.
    fn files(&self, interpreter: &Path, environment: Option<&Path>) -> LanguageFiles {
        let prefix = interpreter.parent().and_then(Path::parent).map(Path::to_owned);
        let prefixes: Vec<PathBuf> = prefix.into_iter().chain(environment.map(Path::to_owned)).collect();
        let readable = prefixes.iter().cloned().chain([self.runners.python_folder()]).collect();
        LanguageFiles { readable, programs: prefixes, always_executable: Vec::new() }
    }

    /// The program a file of these dependencies runs on, the folder of modules it may import, and all it reads.
    pub(crate) async fn program_for(
        &self,
        dependencies: &Dependencies,
        machine: &Machine,
    ) -> Result<(PathBuf, PathBuf, LanguageFiles), Failure> {
        let Chosen { interpreter, environment, .. } = self.choose(dependencies, machine).await?;
        let files = self.files(&interpreter, environment.as_deref());
        let program = environment.map_or(interpreter, |environment| environment.join("bin/python"));
        Ok((program, self.runners.python_shims(), files))
    }

    /// The running zygote of this interpreter. It runs no agent and no package, and lives where its workers will: in a
    /// network with nothing in it, unless they may use the real one.
    fn parent(
        &self,
        interpreter: &Path,
        network: NetworkMode,
        sandbox: &Sandbox,
    ) -> Result<Arc<Parent>, Failure> {
        let key = (interpreter.to_owned(), network == NetworkMode::Any);
        let mut zygotes = self.zygotes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parent) = zygotes.get(&key).filter(|parent| !parent.zygote.is_gone()) {
            return Ok(Arc::clone(parent));
        }
        let refuse = |error: std::io::Error| {
            Failure::new(Reason::StartFailed, format!("start {}: {error}", interpreter.display()))
        };
        let view = sandbox.zygote_view(&self.files(interpreter, None));
        let entry = sandbox.zygote_entry(&view, network).map_err(refuse)?;
        let zygote = Zygote::start(interpreter, &self.runners.python_zygote(), entry).map_err(refuse)?;
        let parent = Arc::new(Parent { zygote: Arc::new(zygote), view });
        zygotes.insert(key, Arc::clone(&parent));
        Ok(parent)
    }

    async fn choose(&self, dependencies: &Dependencies, machine: &Machine) -> Result<Chosen, Failure> {
        let base = interpreter::choose(self.interpreters().await, dependencies.requires_python.as_deref())?;
        let chosen =
            |environment| Chosen { interpreter: base.path.clone(), version: base.version, environment };
        if dependencies.is_empty() {
            return Ok(chosen(None));
        }
        let mut all = [&dependencies.required[..], &dependencies.optional[..]].concat();
        all.sort();
        let failure = match self.environments.environment(base, &all, machine).await {
            Ok(environment) => return Ok(chosen(Some(environment))),
            Err(failure) => failure,
        };
        // What is only optional must not keep an agent from running.
        match (&dependencies.required[..], &dependencies.optional[..]) {
            (_, []) => Err(failure),
            ([], _) => Ok(chosen(None)),
            (required, _) => Ok(chosen(Some(self.environments.environment(base, required, machine).await?))),
        }
    }
}

/// Gives a worker what it cannot make itself: its file rules and what it sees of files.
fn hand_over(prepared: &Prepared, calls: &UnixStream) -> io::Result<()> {
    if let Some(ruleset) = &prepared.ruleset {
        sandbox::hand_to_worker(calls, ruleset)?;
    }
    if let Some(PreparedRoot::Over(_, mounts)) = &prepared.root {
        mounts.iter().try_for_each(|(_, mount)| sandbox::hand_to_worker(calls, mount))?;
    }
    Ok(())
}

/// The part of the sandbox that a forked worker applies to itself.
fn recipe(prepared: &Prepared) -> Recipe {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    Recipe {
        namespaces: match &prepared.root {
            Some(PreparedRoot::Over(namespaces, mounts)) => Some(NamespaceRecipe {
                mounts: mounts.iter().map(|(target, _)| target.clone()).collect(),
                has_proxy: namespaces.has_proxy,
            }),
            _ => None,
        },
        filter: prepared.filter.as_ref().map(|filter| STANDARD.encode(filter.bytes())),
        has_rules: prepared.ruleset.is_some(),
        proc_access: sandbox::access_to_proc(),
        proxy_port: sandbox::PROXY_PORT,
    }
}
