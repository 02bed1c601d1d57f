//! The files a worker can reach: which of them its root shows, and a Landlock ruleset for the same.
//!
//! Both are made in the host from the same descriptors and handed over as descriptors: the worker has nothing to look
//! up, and a path that changes meanwhile cannot change what was decided.

use super::{
    LanguageFiles, StartsBy,
    namespaces::{SHARED_MEMORY, TEMPORARY, own_places},
    places::OpenPlace,
    root::{self, View},
};
use crate::confinement::{Confinement, GrantedPlace};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use roost_protocol::{Failure, NetworkMode, Reason};
use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// Folders of programs and libraries.
const PROGRAM_FOLDERS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// What programs read to find out about the system. No other file of `/etc`: some hold secrets.
const SYSTEM_FILES: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/default/locale",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/networks",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/lsb-release",
    "/etc/fonts",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/inputrc",
    "/etc/terminfo",
    "/etc/bash.bashrc",
    "/etc/profile",
    "/etc/shells",
    "/etc/gitconfig",
    "/etc/papersize",
    "/etc/java-17-openjdk",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
    "/var/cache/fontconfig",
    "/var/lib/ca-certificates",
];

/// Devices that hold nothing.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Where processes are seen.
const PROCESSES: &str = "/proc";

/// Names of a process's own descriptors.
const STANDARD_STREAMS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Rights that make sense on something that is not a folder.
const ON_FILES: BitFlags<AccessFs> = landlock::make_bitflags!(AccessFs::{
    Execute | ReadFile | WriteFile | Truncate | IoctlDev
});

/// The same places for every worker, opened once.
#[derive(Debug)]
pub(super) struct SystemPlaces {
    programs: Vec<OpenPlace>,
    files: Vec<OpenPlace>,
    devices: Vec<OpenPlace>,
    /// What every process sees of the machine.
    pub(super) view: View,
}

impl SystemPlaces {
    pub(super) fn open() -> Self {
        let mut view = View::default();
        let mut programs = Vec::new();
        for folder in PROGRAM_FOLDERS.iter().map(Path::new) {
            let Ok(place) = OpenPlace::open(folder) else { continue };
            // On most machines one folder of programs is a link into another.
            match std::fs::read_link(folder) {
                Ok(link) => view.add_link(folder.to_owned(), link),
                Err(_) => view.add(&place, root::Access::Read),
            }
            programs.push(place);
        }
        let mut open = |paths: &[&str], access| {
            let opened = paths.iter().filter_map(|path| {
                let place = OpenPlace::open(Path::new(path)).ok()?;
                view.add_at(path.into(), &place, access);
                Some(place)
            });
            opened.collect()
        };
        let files = open(SYSTEM_FILES, root::Access::Read);
        let devices = open(DEVICES, root::Access::Device);
        for (path, link) in STANDARD_STREAMS {
            view.add_link(path.into(), link.into());
        }
        for folder in [TEMPORARY, SHARED_MEMORY, PROCESSES].map(Path::new).into_iter().map(Path::to_owned) {
            view.add_folder(folder);
        }
        folders_below_root().for_each(|folder| view.add_folder(folder));
        Self { programs, files, devices, view }
    }
}

/// Folders right below the root, so that something can be mounted there later. Only their names are seen.
fn folders_below_root() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// What one worker has of its own, opened once for its rules and its mounts.
#[derive(Debug, Default)]
pub(super) struct OwnPlaces {
    readable: Vec<OpenPlace>,
    writable: Vec<OpenPlace>,
    pub(super) view: View,
}

impl OwnPlaces {
    /// Opens what the confinement names. What is not there needs no rule; what is not what was granted is refused.
    pub(super) fn open(confinement: &Confinement) -> Result<Self, Failure> {
        let mut own = Self::default();
        for path in &confinement.readable {
            // A link is not what the host put there: it is left out, for the host sends what has to be read.
            if let Ok(place) = OpenPlace::open(path) {
                own.read(place);
            }
        }
        for path in confinement.writable.iter().chain(confinement.scratch.folders()) {
            match OpenPlace::open(path) {
                Ok(place) => own.write(place),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(not_opened(path, &error)),
            }
        }
        for GrantedPlace { path, is_writable } in &confinement.granted {
            match OpenPlace::open(path) {
                Ok(place) if confinement.is_closed(&place.real) => return Err(leads_to_closed(path)),
                Ok(place) if *is_writable => own.write(place),
                Ok(place) => own.read(place),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(not_opened(path, &error)),
            }
        }
        for (from, to) in own_places(confinement) {
            let place = OpenPlace::open(&from).map_err(|error| not_opened(&from, &error))?;
            own.view.add_at(to, &place, root::Access::Write);
        }
        Ok(own)
    }

    fn read(&mut self, place: OpenPlace) {
        self.view.add(&place, root::Access::Read);
        self.readable.push(place);
    }

    fn write(&mut self, place: OpenPlace) {
        // A device that a person granted has to be one; no other place may hold any.
        let is_device = place.real.starts_with("/dev");
        self.view.add(&place, if is_device { root::Access::Device } else { root::Access::Write });
        self.writable.push(place);
    }
}

fn not_opened(path: &Path, error: &io::Error) -> Failure {
    if error.raw_os_error() == Some(libc::ELOOP) {
        let message =
            format!("{} is, or lies behind, a symbolic link, which a grant does not follow", path.display());
        return Failure::new(Reason::SandboxFailed, message)
            .with_next("grant the folder that the link leads to, if it is meant");
    }
    Failure::new(Reason::SandboxFailed, format!("open {}: {error}", path.display()))
}

fn leads_to_closed(path: &Path) -> Failure {
    Failure::new(Reason::DeniedByPolicy, format!("{} leads to a place that no grant opens", path.display()))
}

/// Files of a language, opened once for the rules and the mounts of whoever runs it.
#[derive(Debug, Default)]
pub(super) struct LanguagePlaces {
    readable: Vec<OpenPlace>,
    programs: Vec<OpenPlace>,
    always_executable: Vec<OpenPlace>,
    pub(super) view: View,
}

impl LanguagePlaces {
    /// They are the machine's and the host's own: links in their paths are followed, and both paths are seen.
    pub(super) fn open(language: &LanguageFiles) -> Self {
        let mut view = View::default();
        let mut open = |paths: &[PathBuf]| {
            let opened = paths.iter().filter_map(|path| {
                let place = OpenPlace::open(&path.canonicalize().ok()?).ok()?;
                view.add(&place, root::Access::Read);
                view.add_at(path.clone(), &place, root::Access::Read);
                Some(place)
            });
            opened.collect()
        };
        let readable = open(&language.readable);
        let programs = open(&language.programs);
        let always_executable = open(&language.always_executable);
        Self { readable, programs, always_executable, view }
    }
}

/// The rules for one worker.
pub(super) fn ruleset(
    abi: u32,
    system: &SystemPlaces,
    own: &OwnPlaces,
    language: &LanguagePlaces,
    confinement: &Confinement,
    starts_by: StartsBy,
) -> Result<OwnedFd, RulesetError> {
    let abi = ABI::from(i32::try_from(abi).unwrap_or_default());
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    // No devices: with enough powers, one could be a disk.
    let write = (AccessFs::from_write(abi) | read) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let run = read | AccessFs::Execute;
    let mut wanted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .scope(Scope::from_all(abi))?;
    if confinement.network == NetworkMode::None {
        wanted = wanted.handle_access(AccessNet::from_all(abi))?;
    }
    let mut rules = wanted.create()?;
    let for_programs = if confinement.may_start_programs { run } else { read };
    rules = allow_all(rules, &system.programs, for_programs)?;
    rules = allow_all(rules, &system.files, read)?;
    rules = allow_all(rules, &system.devices, AccessFs::ReadFile | AccessFs::WriteFile)?;
    rules = allow_all(rules, &language.readable, read)?;
    rules = allow_all(rules, &own.readable, read)?;
    rules = allow_all(rules, &own.writable, write)?;
    if confinement.may_start_programs {
        rules = allow_all(rules, &language.programs, run)?;
    }
    if matches!(starts_by, StartsBy::Exec(_)) {
        rules = allow_all(rules, &language.always_executable, run)?;
    }
    let descriptor: Option<OwnedFd> = rules.into();
    Ok(descriptor.unwrap_or_else(|| unreachable!("the kernel has Landlock, so there is a ruleset")))
}

fn allow_all(
    mut rules: RulesetCreated,
    places: &[OpenPlace],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for place in places {
        let access = if place.is_folder { access } else { access & ON_FILES };
        rules = rules.add_rule(PathBeneath::new(place, access))?;
    }
    Ok(rules)
}

/// What a worker may do below its own `/proc`, which exists only once it runs: it adds this rule itself. Never
/// writing: settings of the whole kernel lie there.
pub(crate) fn access_to_proc() -> u64 {
    (AccessFs::ReadFile | AccessFs::ReadDir).bits()
}
