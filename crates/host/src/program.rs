//! From an agent file to a program the runtime can run.

use crate::{roster::Roster, settings::HostSettings};
use roost_apps::{AgentFile, PythonSource};
use roost_protocol::{Dependencies, Digest, Failure, Language, Limits};
use roost_runtime::{Agent, Program, PythonVersion, Runtime};
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A file that can be asked, and what its receipts say.
pub(crate) struct Runnable {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) digest: Digest,
    pub(crate) limits: Limits,
    /// Names only.
    pub(crate) environment: Vec<String>,
}

/// The programs that callable agents are answered by. Dropping one ends its workers.
#[derive(Default)]
pub(crate) struct Runnables(Mutex<HashMap<(PathBuf, Digest), Arc<Runnable>>>);

impl Runnables {
    pub(crate) fn get(&self, path: &Path, digest: Digest) -> Option<Arc<Runnable>> {
        self.lock().get(&(path.to_owned(), digest)).cloned()
    }

    /// Keeps a program; where two callers prepared the same, the first one stays.
    pub(crate) fn keep(&self, path: &Path, runnable: Runnable) -> Arc<Runnable> {
        let key = (path.to_owned(), runnable.digest);
        Arc::clone(self.lock().entry(key).or_insert_with(|| Arc::new(runnable)))
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
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) file_name: String,
    pub(crate) language: Language,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) digest: Digest,
}

impl From<&AgentFile> for Source {
    fn from(file: &AgentFile) -> Self {
        Self {
            path: file.path.clone(),
            file_name: file.file_name.clone(),
            language: file.language,
            bytes: Arc::clone(&file.bytes),
            digest: file.digest,
        }
    }
}

/// Checks a file as far as that is possible without running it, and prepares it to be run.
pub(crate) async fn prepare(
    file: Source,
    folder: PathBuf,
    runtime: &Runtime,
    settings: &HostSettings,
) -> Result<Runnable, Failure> {
    let dependencies = match file.language {
        Language::Python => {
            let version = runtime.python_version().await;
            roost_apps::dependencies(&PythonSource::parse(&file.bytes, grammar(version))?)?
        }
        Language::TypeScript => Dependencies::default(),
    };
    let own = settings.agents.get(&file.file_name);
    let limits = own.map_or(&settings.limits, |own| &own.limits).clone();
    let mut environment: BTreeMap<String, String> = settings.environment.clone();
    environment.extend(own.map(|own| own.environment.clone()).unwrap_or_default());
    let names = environment.keys().cloned().collect();
    let agent = runtime.agent(Program {
        file: file.path,
        folder,
        language: file.language,
        source: file.bytes,
        digest: file.digest,
        dependencies,
        limits: limits.clone(),
        environment,
        working_directory: settings.working_directory.clone(),
    });
    Ok(Runnable { agent, digest: file.digest, limits, environment: names })
}

/// The grammar a file is checked against.
pub(crate) fn grammar(version: PythonVersion) -> roost_apps::PythonVersion {
    let narrow = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    roost_apps::PythonVersion { major: narrow(version.major), minor: narrow(version.minor) }
}
