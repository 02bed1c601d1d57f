//! One environment per set of packages: made by uv, locked with hashes, shared by agents with the same set.
//!
//! An environment is built beside its final place and moved there by one rename. Nothing is ever installed into one
//! that exists.

use super::interpreter::Interpreter;
use crate::{
    alone::Standalone,
    confinement::{Confinement, Scratch},
    languages::{Machine, Needs},
    process::{self, Ran, find_program},
    programs::Surface,
    sandbox::{LanguageFiles, Listening},
};
use roost_protocol::{Digest, Failure, Level, Limits, NetworkMode, Reason};
use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Packages may be large and the line slow; a person sees progress meanwhile.
const INSTALL_WITHIN: Duration = Duration::from_secs(600);

/// Written last: an environment without it is not one.
const LOCK_FILE: &str = "requirements.lock";

/// One version of a package, and what its file must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPackage {
    /// Its name at the index.
    pub name: String,
    /// The exact version.
    pub version: String,
    /// SHA-256 of its wheel, in hexadecimal.
    pub sha256: String,
}

/// The environments of one home.
#[derive(Debug)]
pub(crate) struct Environments {
    folder: PathBuf,
    tools: PathBuf,
    surface: Surface,
    making: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

impl Environments {
    pub(crate) fn new(cache: &Path, surface: Surface) -> Self {
        let folder = cache.join("environments");
        Self { folder, tools: cache.join("tools"), surface, making: Mutex::default() }
    }

    /// Where the packages live, and how many sets there are.
    pub(crate) fn summary(&self) -> (PathBuf, usize) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        (self.folder.clone(), entries.filter(|entry| entry.path().join(LOCK_FILE).is_file()).count())
    }

    /// The environment with these packages; made now if it is not there yet.
    pub(crate) async fn environment(
        &self,
        base: &Interpreter,
        requirements: &[String],
        machine: &Machine,
    ) -> Result<PathBuf, Failure> {
        let home = self.place(base, requirements);
        if home.join(LOCK_FILE).is_file() {
            return Ok(home);
        }
        let lock = Arc::clone(
            self.making.lock().unwrap_or_else(PoisonError::into_inner).entry(home.clone()).or_default(),
        );
        let _one_at_a_time = lock.lock().await;
        if !home.join(LOCK_FILE).is_file() {
            self.make(base, requirements, &home, machine).await?;
        }
        Ok(home)
    }

    /// The uv that makes environments, if one was found or fetched before.
    pub(crate) fn uv(&self) -> Option<PathBuf> {
        let mut folders = vec![self.tools.join("bin")];
        folders.extend(self.surface.search_path.iter().cloned());
        if let Some(home) = &self.surface.user_home {
            folders.extend([home.join(".local/bin"), home.join(".cargo/bin")]);
        }
        find_program("uv", &folders)
    }

    /// Unpacks one wheel into a folder. Only wheels: a source package would run its own code.
    pub(crate) async fn fetch(
        &self,
        base: &Interpreter,
        package: &LockedPackage,
        folder: &Path,
    ) -> Result<(), Failure> {
        let unavailable = |error: io::Error| {
            Failure::new(Reason::DownloadFailed, format!("write to {}: {error}", folder.display()))
        };
        let wanted = tempfile::NamedTempFile::new().map_err(unavailable)?;
        let LockedPackage { name, version, sha256 } = package;
        fs::write(wanted.path(), format!("{name}=={version} --hash=sha256:{sha256}\n"))
            .map_err(unavailable)?;
        let uv = match self.uv() {
            Some(uv) => uv,
            None => self.fetch_uv(base).await?,
        };
        let arguments: Vec<OsString> = words(&[
            "pip",
            "install",
            "--quiet",
            "--no-config",
            "--no-deps",
            "--require-hashes",
            "--no-cache",
        ])
        .chain(words(&["--only-binary", ":all:", "--link-mode", "copy", "--python"]))
        .chain([base.path.clone().into(), "--target".into(), folder.into()])
        .chain(["--requirement".into(), wanted.path().into()])
        .collect();
        let ran = process::run(&uv, &arguments, &self.surface.tool_environment, INSTALL_WITHIN).await?;
        if ran.succeeded {
            return Ok(());
        }
        let said = last_line(&ran.stderr);
        if ran.stderr.contains("Hash mismatch") {
            return Err(Failure::new(Reason::DigestMismatch, format!("{name} {version}: {said}")));
        }
        Err(Failure::new(Reason::DownloadFailed, format!("{name} {version}: {said}")))
    }

    fn place(&self, base: &Interpreter, requirements: &[String]) -> PathBuf {
        let mut key = format!("{}\n{}\n", base.version, base.path.display());
        requirements.iter().for_each(|requirement| key.extend([requirement, "\n"]));
        self.folder.join(Digest::of(key.as_bytes()).to_string())
    }

    async fn make(
        &self,
        base: &Interpreter,
        requirements: &[String],
        home: &Path,
        machine: &Machine,
    ) -> Result<(), Failure> {
        let unavailable = |error: io::Error| {
            Failure::new(Reason::DependencyUnavailable, format!("make {}: {error}", home.display()))
        };
        fs::create_dir_all(&self.folder).map_err(unavailable)?;
        let staging =
            tempfile::Builder::new().prefix(".making-").tempdir_in(&self.folder).map_err(unavailable)?;
        let wanted = staging.path().join("requirements.in");
        let locked = staging.path().join("locked.txt");
        let environment = staging.path().join("environment");
        let python = environment.join("bin/python");
        fs::write(&wanted, requirements.join("\n") + "\n").map_err(unavailable)?;
        tracing::info!(packages = requirements.join(", "), "making an environment");
        let uv = match self.uv() {
            Some(uv) => uv,
            None => self.fetch_uv(base).await?,
        };
        let steps: [Vec<OsString>; 3] = [
            words(&[
                "pip",
                "compile",
                "--quiet",
                "--no-config",
                "--generate-hashes",
                "--only-binary",
                ":all:",
                "--no-header",
            ])
            .chain(["--python".into(), base.path.clone().into()])
            .chain(["--output-file".into(), locked.clone().into(), wanted.into()])
            .collect(),
            words(&["venv", "--quiet", "--no-config", "--no-project", "--relocatable"])
                .chain(["--python".into(), base.path.clone().into(), environment.clone().into()])
                .collect(),
            // Wheels only: a source package would run its own code here, outside every sandbox.
            words(&["pip", "sync", "--quiet", "--no-config", "--require-hashes", "--only-binary", ":all:"])
                .chain(["--python".into(), python.into(), locked.clone().into()])
                .collect(),
        ];
        let mut before = None;
        for arguments in steps {
            // Packages come with the last step; what was there before them must be the same afterwards.
            before = Skeleton::of(&environment).ok();
            let ran = process::run(&uv, &arguments, &self.surface.tool_environment, INSTALL_WITHIN).await?;
            if !ran.succeeded {
                return Err(explain(&ran, requirements));
            }
        }
        if before.is_none() || Skeleton::of(&environment).ok() != before {
            let message = "a package changed the environment that it was installed into";
            return Err(Failure::new(Reason::DependencyInvalid, message));
        }
        compile(base, &environment, staging.path(), machine).await?;
        make_read_only(&environment).map_err(unavailable)?;
        fs::rename(&locked, environment.join(LOCK_FILE)).map_err(unavailable)?;
        match fs::rename(&environment, home) {
            // Another host of this home was quicker with the same set.
            Err(_) if home.join(LOCK_FILE).is_file() => Ok(()),
            result => result.map_err(unavailable),
        }
    }

    async fn fetch_uv(&self, base: &Interpreter) -> Result<PathBuf, Failure> {
        let arguments: Vec<OsString> = words(&[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            "--target",
        ])
        .chain([self.tools.clone().into(), "uv".into()])
        .collect();
        let ran = process::run(&base.path, &arguments, &self.surface.tool_environment, INSTALL_WITHIN).await;
        self.uv().ok_or_else(|| {
            let said = ran.map_or_else(|failure| failure.message, |ran| last_line(&ran.stderr));
            Failure::new(
                Reason::DependencyUnavailable,
                format!("uv is not installed and could not be fetched: {said}"),
            )
            .with_next("install uv, for example with `pip install uv`, then run `roost agents --refresh`")
        })
    }
}

/// The parts of an environment that decide which Python runs in it.
#[derive(Debug, PartialEq, Eq)]
struct Skeleton {
    configuration: Vec<u8>,
    interpreter: PathBuf,
}

impl Skeleton {
    fn of(environment: &Path) -> io::Result<Self> {
        let configuration = environment.join("pyvenv.cfg");
        let is_file = fs::symlink_metadata(&configuration)?.is_file();
        Ok(Self {
            configuration: if is_file { fs::read(configuration)? } else { Vec::new() },
            interpreter: fs::read_link(environment.join("bin/python"))?,
        })
    }
}

/// Compiles all modules, which otherwise every worker would do again at its start. Nothing of them is run, and whoever
/// reads them is confined.
async fn compile(
    base: &Interpreter,
    environment: &Path,
    staging: &Path,
    machine: &Machine,
) -> Result<(), Failure> {
    let scratch = Scratch::below(&staging.join("scratch"));
    for folder in scratch.folders() {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::new(Reason::DependencyUnavailable, format!("make {}: {error}", folder.display()))
        })?;
    }
    let confinement = Confinement {
        readable: Vec::new(),
        writable: vec![environment.to_owned()],
        granted: Vec::new(),
        closed: Vec::new(),
        own_folders: 0,
        scratch,
        may_start_programs: false,
        network: NetworkMode::None,
        secrets: Vec::new(),
        required: Level::ProcessOnly,
    };
    let limits = Limits::default();
    let prefix = base.path.parent().and_then(Path::parent).map(Path::to_owned);
    let compiling = Standalone {
        interpreter: &base.path,
        arguments: words(&["-I", "-S", "-m", "compileall", "-q"])
            .chain([environment.join("lib").into()])
            .collect(),
        environment: &BTreeMap::new(),
        needs: Needs {
            confinement: &confinement,
            limits: &limits,
            reserved_bytes: 0,
            listening: Listening::Nowhere,
        },
        files: LanguageFiles { readable: prefix.into_iter().collect(), ..LanguageFiles::default() },
        name: "the compiler of packages".to_owned(),
    };
    let compiled = compiling.run(machine, INSTALL_WITHIN).await?;
    if !compiled.succeeded {
        // Some packages ship files for other versions of Python; those stay as they are.
        tracing::debug!(said = compiled.stderr, "compile packages");
    }
    Ok(())
}

/// Takes the right to write from every file. Links are left alone: what they lead to is not the environment's.
fn make_read_only(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            make_read_only(&entry.path())?;
        } else if kind.is_file() {
            let mut permissions = entry.metadata()?.permissions();
            permissions.set_readonly(true);
            fs::set_permissions(entry.path(), permissions)?;
        }
    }
    Ok(())
}

fn words<'a>(words: &'a [&'a str]) -> impl Iterator<Item = OsString> + 'a {
    words.iter().map(OsString::from)
}

/// Tells a wrong requirement from a network that is not there.
fn explain(ran: &Ran, requirements: &[String]) -> Failure {
    let text = ran.stderr.trim();
    let is_network = [
        "error sending request",
        "dns error",
        "Connection",
        "timed out",
        "Network",
        "offline",
        "network was disabled",
        "Could not connect",
    ]
    .iter()
    .any(|sign| text.contains(sign));
    let is_wrong = [
        "No solution found",
        "unsatisfiable",
        "not found in the package registry",
        "Couldn't parse requirement",
    ]
    .iter()
    .any(|sign| text.contains(sign));
    let packages = requirements.join(", ");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat: String = flat.chars().take(400).collect();
    if is_wrong && !is_network {
        Failure::new(Reason::DependencyInvalid, format!("no packages satisfy {packages}: {flat}"))
    } else {
        Failure::new(Reason::DependencyUnavailable, format!("{packages} could not be installed: {flat}"))
    }
}

fn last_line(text: &str) -> String {
    text.trim().lines().last().unwrap_or("no reason was given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::explain;
    use crate::process::Ran;
    use roost_protocol::Reason;

    #[test]
    fn no_network_and_no_such_package_are_told_apart() {
        let reason = |stderr: &str| {
            let ran = Ran { succeeded: false, stdout: String::new(), stderr: stderr.to_owned() };
            explain(&ran, &["x".to_owned()]).reason
        };
        assert_eq!(reason("  × No solution found when resolving dependencies"), Reason::DependencyInvalid);
        assert_eq!(reason("error: Failed to fetch\n  Caused by: dns error"), Reason::DependencyUnavailable);
        assert_eq!(reason("something else"), Reason::DependencyUnavailable);
    }
}
