//! Finds the program that runs TypeScript agents: Deno where it is found, else Node.

use crate::{
    agent::Program,
    process::find_program,
    programs::{Programs, Surface},
};
use roost_protocol::{Failure, NetworkMode, Reason};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Which program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Has permission flags of its own.
    Deno,
    /// Common; its own permissions are in the way of ordinary agents.
    Node,
}

/// A program that can run TypeScript workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Which one.
    pub kind: EngineKind,
    /// Where it is.
    pub path: PathBuf,
    /// Its version, for example `2.9.8`.
    pub version: String,
}

/// Oldest Node whose sockets and modules the runner was tried with.
const NODE_MAJOR_MIN: u32 = 20;

/// What Deno may read on every machine. The kernel is asked with the longer list of `sandbox::files`.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/timezone",
    "/proc",
    "/sys/devices/system",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// Places for temporary files, which are the worker's own where the kernel allows it.
const TEMPORARY: &[&str] = &["/tmp", "/dev/shm", "/dev/null"];

impl Engine {
    /// The best one on this machine.
    pub(crate) async fn find(surface: &Surface, programs: &Programs) -> Result<Self, Failure> {
        let mut folders = surface.search_path.clone();
        folders.extend(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
        folders.extend(surface.user_home.as_ref().map(|home| home.join(".deno/bin")));
        let mut too_old = None;
        for (kind, name) in [(EngineKind::Deno, "deno"), (EngineKind::Node, "node")] {
            let Some(path) = find_program(name, &folders) else { continue };
            let answer = programs.ask(&path, &["--version"]).await?;
            let version = answer.split_whitespace().find(|word| word.contains('.')).unwrap_or_default();
            let version = version.trim_start_matches('v').to_owned();
            let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
            let fits = match kind {
                EngineKind::Deno => major >= 2,
                EngineKind::Node => major >= NODE_MAJOR_MIN,
            };
            if fits {
                return Ok(Self { kind, path, version });
            }
            too_old = Some(format!("{name} {version} is too old"));
        }
        let seen = too_old.unwrap_or_else(|| "neither deno nor node was found".to_owned());
        let message = format!("{seen}; TypeScript agents need Deno 2 or Node {NODE_MAJOR_MIN}");
        Err(Failure::new(Reason::RuntimeMissing, message)
            .with_next("install Deno or Node, then run `roost doctor`"))
    }

    /// For receipts and `doctor`.
    pub(crate) fn label(&self) -> String {
        let name = match self.kind {
            EngineKind::Deno => "deno",
            EngineKind::Node => "node",
        };
        format!("{name} {}", self.version)
    }

    /// Arguments that start the runner. The heap may take three quarters of the memory, so that the engine itself
    /// says that memory is short before the kernel does.
    ///
    /// Deno also refuses by itself what the kernel refuses, from the same confinement. Node could (`--permission`) and
    /// is not asked to: with it `existsSync` throws for paths outside, `fchmod`, `futimes` and `symlink` are refused
    /// even in the agent's own folders, and native modules cannot be loaded. The kernel holds either of them.
    pub(crate) fn arguments(&self, runner: PathBuf, program: &Program) -> Vec<OsString> {
        let limits = &program.limits;
        let heap = format!("--max-old-space-size={}", limits.memory_mb.saturating_mul(3) / 4);
        let mut arguments: Vec<OsString> = match self.kind {
            EngineKind::Deno => vec![
                "run".into(),
                "--quiet".into(),
                "--no-config".into(),
                "--no-lock".into(),
                "--no-prompt".into(),
                "--no-remote".into(),
                "--no-npm".into(),
                "--node-modules-dir=none".into(),
                format!("--v8-flags={heap}").into(),
            ],
            EngineKind::Node => vec!["--no-warnings".into(), heap.into()],
        };
        if self.kind == EngineKind::Deno {
            arguments.extend(permissions(&runner, program));
        }
        arguments.push(runner.into());
        arguments
    }
}

/// What Deno may do. Variables are all given: the environment holds only what the agent may see.
fn permissions(runner: &Path, program: &Program) -> Vec<OsString> {
    let confinement = &program.confinement;
    let system = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut writable = system(TEMPORARY);
    writable.extend(confinement.writable.iter().chain(confinement.scratch.folders()).cloned());
    let mut readable = system(SYSTEM);
    readable
        .extend(writable.iter().chain(&confinement.readable).chain([&program.working_directory]).cloned());
    readable.extend(runner.parent().map(Path::to_owned));
    // Converted modules lie in the same cache as the runner: `typescript` beside `runners/<digest>/typescript`.
    readable.extend(runner.ancestors().nth(4).map(|cache| cache.join("typescript")));
    let mut given = vec![
        list("--allow-read=", &readable),
        list("--allow-write=", &writable),
        "--allow-env".into(),
        "--allow-sys".into(),
        "--deny-import".into(),
    ];
    if confinement.may_start_programs {
        given.push("--allow-run".into());
    }
    match confinement.network {
        NetworkMode::None => {}
        // Deno asks for the computer, not for the proxy in between, which is the one that decides.
        NetworkMode::Hosts | NetworkMode::Any => given.push("--allow-net".into()),
    }
    given
}

/// Paths as Deno takes them: parted by commas. It compares names, so that a path behind a link is allowed under both of
/// its names. It has no way to write a comma in a path: there, the nearest folder above without one stands for it.
fn list(flag: &str, paths: &[PathBuf]) -> OsString {
    let real = paths.iter().filter_map(|path| path.canonicalize().ok());
    let names = paths.iter().cloned().chain(real).filter_map(|path| {
        let mut names = path.ancestors().filter_map(Path::to_str);
        names.find(|name| !name.contains(',')).map(str::to_owned)
    });
    let all: BTreeSet<String> = names.collect();
    format!("{flag}{}", all.into_iter().collect::<Vec<_>>().join(",")).into()
}

#[cfg(test)]
mod tests {
    use super::list;
    use std::{os::unix::fs::symlink, path::PathBuf};

    #[test]
    fn a_path_with_a_comma_is_stood_for_by_a_folder_without() {
        let paths = ["/nowhere/a,b/c", "/elsewhere/c"].map(PathBuf::from);
        assert_eq!(list("--allow-read=", &paths), "--allow-read=/elsewhere/c,/nowhere");
    }

    #[test]
    fn a_folder_behind_a_link_has_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (real, link) = (root.join("real"), root.join("link"));
        std::fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        let expected = format!("--allow-read={},{}", link.display(), real.display());
        assert_eq!(list("--allow-read=", &[link]), expected.as_str());
    }
}
