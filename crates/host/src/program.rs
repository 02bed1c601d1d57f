//! From an agent file to a program the runtime can run.

use crate::{
    calls::Calls,
    confinement,
    gate::{Gate, Generation},
    perform::because_of,
    roster::Roster,
    secrets::Values,
    settings::{Home, HostSettings},
    standing::{Places, Standing, app_id},
    vault::{ResolvedSecret, Vault, VaultState, secret_of},
};
use roost_apps::{AgentFile, PythonSource};
use roost_protocol::{
    Asks, Dependencies, Digest, Failure, FileKind, HostPort, HostTraffic, Language, Limits, Right,
    VariableName,
};
use roost_runtime::{Agent, LoadFailed, Loaded, Program, PythonVersion, Runtime};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A file that can be asked, and what its receipts say.
pub(crate) struct Runnable {
    /// Name of the folders that are its own.
    pub(crate) own: String,
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) digest: Digest,
    pub(crate) limits: Limits,
    /// Names only.
    pub(crate) environment: Vec<String>,
    pub(crate) rights: Vec<Right>,
    granted: Vec<Granted>,
    pub(crate) standing: Arc<Standing>,
    /// Values of the vault that the agent sees, or uses behind a placeholder.
    pub(crate) secrets: Arc<[ResolvedSecret]>,
    /// Names that the rights in force are about, whether the vault has them or not.
    secret_names: Vec<VariableName>,
    prepared_with: PreparedWith,
}

/// What a program was prepared from. Where one of them changed, it is prepared again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PreparedWith {
    /// State of the grants that the rights were read from.
    grants: Generation,
    /// State of the vault that the values were read from.
    vault: VaultState,
}

impl Runnable {
    /// Tells the grants that they were used, and ends those for one call. An agent without grants is not counted.
    pub(crate) fn count_use(&self, gate: &Gate, traffic: &[HostTraffic], touched: &[String], forked: bool) {
        if self.granted.is_empty() {
            return;
        }
        let is_used = |granted: &&Granted| match &granted.right {
            Right::Network(target) => traffic.iter().any(|one| {
                HostPort::parse(&one.host)
                    .is_ok_and(|host| target.covers(&HostPort { port: Some(one.port), ..host }))
            }),
            Right::Subprocess => forked,
            // Where use cannot be seen, it is taken for granted: better to suggest too little than to break an agent.
            _ => granted.seen_as.as_ref().is_none_or(|seen_as| touched.contains(seen_as)),
        };
        let used: Vec<Right> =
            self.granted.iter().filter(is_used).map(|granted| granted.right.clone()).collect();
        let caller = &self.standing.caller;
        let grants = gate.grants();
        let counted = grants
            .note_run(&caller.app, &used)
            .and_then(|()| grants.consume_once(&caller.app, &caller.digest));
        if let Err(failure) = counted {
            tracing::warn!(%failure, "count the use of grants");
        }
    }
}

/// What holds for a program, and since when.
pub(crate) struct Rights {
    rights: Vec<Right>,
    granted: Vec<Granted>,
    standing: Arc<Standing>,
    secrets: Arc<[ResolvedSecret]>,
    secret_names: Vec<VariableName>,
    prepared_with: PreparedWith,
}

/// A right that a person gave, and how its use shows in a worker.
struct Granted {
    right: Right,
    seen_as: Option<String>,
}

/// The programs that callable agents are answered by. Dropping one ends its workers.
#[derive(Default)]
pub(crate) struct Runnables(Mutex<HashMap<(PathBuf, Digest), Arc<Runnable>>>);

impl Runnables {
    /// A program that was prepared with the grants and the secrets as they are now.
    pub(crate) fn get(&self, path: &Path, digest: Digest, workshop: &Workshop) -> Option<Arc<Runnable>> {
        let found = self.lock().get(&(path.to_owned(), digest)).cloned();
        found.filter(|runnable| {
            let now = PreparedWith {
                grants: workshop.gate.grants().generation(Some(&runnable.standing.caller.app)),
                vault: workshop.vault.state(&runnable.secret_names),
            };
            now == runnable.prepared_with
        })
    }

    /// Keeps a program; where two callers prepared the same, the first one stays.
    pub(crate) fn keep(&self, path: &Path, runnable: Runnable) -> Arc<Runnable> {
        let key = (path.to_owned(), runnable.digest);
        let runnable = Arc::new(runnable);
        let mut all = self.lock();
        let kept = all.entry(key).or_insert_with(|| Arc::clone(&runnable));
        if kept.prepared_with != runnable.prepared_with {
            *kept = runnable;
        }
        Arc::clone(kept)
    }

    /// Bytes that nobody can call any more need no workers.
    pub(crate) fn retain_used(&self, roster: &Roster) {
        self.lock().retain(|(path, digest), _| roster.uses(path, digest));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(PathBuf, Digest), Arc<Runnable>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of an agent file and where they belong.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) file_name: String,
    pub(crate) kind: FileKind,
    pub(crate) language: Language,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) digest: Digest,
}

impl From<&AgentFile> for Source {
    fn from(file: &AgentFile) -> Self {
        Self {
            path: file.path.clone(),
            file_name: file.file_name.clone(),
            kind: file.kind,
            language: file.language,
            bytes: Arc::clone(&file.bytes),
            digest: file.digest,
        }
    }
}

/// What is needed to make a program of a file.
pub(crate) struct Workshop {
    pub(crate) runtime: Runtime,
    pub(crate) settings: Arc<HostSettings>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) vault: Vault,
    pub(crate) calls: Arc<Calls>,
}

impl Workshop {
    /// Checks a file as far as that is possible without running it, and prepares it to be run with the rights that
    /// hold now.
    pub(crate) async fn prepare(&self, file: Source, folder: PathBuf) -> Result<Runnable, Failure> {
        let (program, prepared) = self.program(file, folder).await?;
        self.calls.introduce(program.file.clone(), Arc::clone(&prepared.standing), &prepared.rights);
        Ok(Runnable {
            own: program.own.clone(),
            digest: program.digest,
            limits: program.limits.clone(),
            environment: program.environment.keys().cloned().collect(),
            rights: prepared.rights,
            granted: prepared.granted,
            standing: prepared.standing,
            secrets: prepared.secrets,
            secret_names: prepared.secret_names,
            prepared_with: prepared.prepared_with,
            agent: self.runtime.agent(program),
        })
    }

    /// The program of a file, and what is known of its rights.
    pub(crate) async fn program(&self, file: Source, folder: PathBuf) -> Result<(Program, Rights), Failure> {
        // Before the rights are looked at: a grant that is made meanwhile makes the next call prepare it again.
        let app = app_id(&file.path, &self.settings.home);
        let grants = self.gate.grants().generation(Some(&app));
        let (dependencies, asks) = self.read(&file).await?;
        let standing = Arc::new(Standing::new(&file.path, file.digest, asks, &self.settings.home));
        let in_force = standing.in_force(&self.gate, self.settings.surface.user_home.as_deref());
        let secret_names: Vec<VariableName> = in_force.rights.iter().filter_map(secret_of).cloned().collect();
        let resolved = self.vault.resolve(&secret_names).await?;
        let values = Values { vault: &resolved.secrets, variables: &self.settings.variables };
        let own = self.settings.agents.get(&settings_key(&file.path, &file.file_name, &self.settings.home));
        let limits = own.map_or(&self.settings.limits, |own| &own.limits).clone();
        let mut environment = self.settings.environment.clone();
        environment.extend(own.map(|own| own.environment.clone()).unwrap_or_default());
        let confinement = confinement::confinement(
            &file.path,
            &in_force.rights,
            &self.settings,
            values,
            &mut environment,
            || self.runtime.proxy_certificate(),
        )?;
        let withheld = in_force.withheld.into_iter().filter(|name| !environment.contains_key(name)).collect();
        let granted: Vec<Granted> =
            in_force.granted.iter().map(|right| self.granted(right, file.language)).collect();
        let watched = granted.iter().filter_map(|granted| granted.seen_as.clone()).collect();
        let program = Program {
            own: confinement::own_name(&file.path, &self.settings.home),
            file: file.path,
            kind: file.kind,
            folder,
            language: file.language,
            source: file.bytes,
            digest: file.digest,
            dependencies,
            limits,
            environment,
            working_directory: self.settings.working_directory.clone(),
            confinement,
            withheld,
            watched,
        };
        let prepared = Rights {
            rights: in_force.rights,
            granted,
            standing,
            secrets: resolved.secrets.into(),
            secret_names,
            prepared_with: PreparedWith { grants, vault: resolved.state },
        };
        Ok((program, prepared))
    }

    /// Only Python workers see which files and variables are used.
    fn granted(&self, right: &Right, language: Language) -> Granted {
        let home = self.settings.surface.user_home.as_deref().unwrap_or(Path::new("/"));
        let seen_as = match right {
            Right::Files { place, .. } => Some(place.path(home).display().to_string()),
            Right::Environment(name) => Some(name.as_str().to_owned()),
            _ => None,
        };
        Granted { right: right.clone(), seen_as: seen_as.filter(|_| language == Language::Python) }
    }

    /// What the text says: the packages it needs and the rights it asks for.
    async fn read(&self, file: &Source) -> Result<(Dependencies, Asks), Failure> {
        let version = grammar(self.runtime.python_version().await);
        match file.language {
            Language::Python => {
                let source = PythonSource::parse(&file.bytes, version)?;
                Ok((roost_apps::dependencies(&source)?, roost_apps::python_asks(&source)?))
            }
            Language::TypeScript => {
                Ok((Dependencies::default(), roost_apps::asks(file.language, &file.bytes, version)?))
            }
        }
    }

    /// Why a file did not load, in the light of what was refused to it.
    pub(crate) fn refused_to_load(&self, failed: LoadFailed, runnable: &Runnable) -> Failure {
        let refused = runnable.standing.explain(&self.gate, failed.refused, self.places());
        because_of(failed.failure, &refused)
    }

    /// Where things lie, for naming them.
    pub(crate) fn places(&self) -> Places<'_> {
        Places { home: &self.settings.home, user_home: self.settings.surface.user_home.as_deref() }
    }

    /// Records what a file that loaded was refused meanwhile; its first call says so too.
    pub(crate) fn record_refusals(&self, loaded: &Loaded, runnable: &Runnable) {
        drop(runnable.standing.explain(&self.gate, loaded.refused.clone(), self.places()));
    }

    /// Who a file is to the gate, without preparing to run it.
    pub(crate) async fn standing(&self, file: &Source) -> Result<Standing, Failure> {
        let (_, asks) = self.read(file).await?;
        Ok(Standing::new(&file.path, file.digest, asks, &self.settings.home))
    }
}

/// The section of the settings that is about a file. One of a source does not get what was meant for the home's own.
pub(crate) fn settings_key(path: &Path, file_name: &str, home: &Home) -> String {
    match home.source_of(path) {
        Some(source) => format!("{source}/{file_name}"),
        None => file_name.to_owned(),
    }
}

/// The grammar a file is checked against.
pub(crate) fn grammar(version: PythonVersion) -> roost_apps::PythonVersion {
    let narrow = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    roost_apps::PythonVersion { major: narrow(version.major), minor: narrow(version.minor) }
}

#[cfg(test)]
mod tests;
