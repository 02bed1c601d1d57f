//! The files a worker can reach, as a Landlock ruleset.
//!
//! Made in the host and handed over as a descriptor: the worker has nothing to look up, and a path that changes
//! meanwhile cannot change what was decided.

use super::{LanguageFiles, StartsBy};
use crate::confinement::Confinement;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use roost_protocol::NetworkMode;
use std::{
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
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

/// Rights that make sense on something that is not a folder.
const ON_FILES: BitFlags<AccessFs> = landlock::make_bitflags!(AccessFs::{
    Execute | ReadFile | WriteFile | Truncate | IoctlDev
});

/// The same places for every worker, opened once.
#[derive(Debug)]
pub(super) struct SystemPlaces {
    programs: Vec<OwnedPlace>,
    files: Vec<OwnedPlace>,
    devices: Vec<OwnedPlace>,
}

#[derive(Debug)]
struct OwnedPlace {
    descriptor: PathFd,
    is_folder: bool,
}

impl OwnedPlace {
    /// `None` when there is nothing at this path: what is not there needs no rule.
    fn open(path: &Path) -> Option<Self> {
        let descriptor = PathFd::new(path).ok()?;
        let kind = rustix::fs::fstat(descriptor.as_fd()).ok()?.st_mode;
        let is_folder = rustix::fs::FileType::from_raw_mode(kind).is_dir();
        Some(Self { descriptor, is_folder })
    }

    fn allow(
        &self,
        rules: RulesetCreated,
        access: BitFlags<AccessFs>,
    ) -> Result<RulesetCreated, RulesetError> {
        let access = if self.is_folder { access } else { access & ON_FILES };
        rules.add_rule(PathBeneath::new(&self.descriptor, access))
    }
}

impl SystemPlaces {
    pub(super) fn open() -> Self {
        let open =
            |paths: &[&str]| paths.iter().filter_map(|path| OwnedPlace::open(Path::new(path))).collect();
        Self { programs: open(PROGRAM_FOLDERS), files: open(SYSTEM_FILES), devices: open(DEVICES) }
    }
}

/// The rules for one worker.
pub(super) fn ruleset(
    abi: u32,
    system: &SystemPlaces,
    confinement: &Confinement,
    language: &LanguageFiles,
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
    for place in &system.programs {
        rules = place.allow(rules, for_programs)?;
    }
    for place in &system.files {
        rules = place.allow(rules, read)?;
    }
    for place in &system.devices {
        rules = place.allow(rules, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    rules = allow_all(rules, &language.readable, read)?;
    rules = allow_all(rules, &confinement.readable, read)?;
    rules = allow_all(rules, &confinement.writable, write)?;
    rules = allow_all(rules, confinement.scratch.folders(), write)?;
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
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for path in paths {
        if let Some(place) = OwnedPlace::open(path.as_ref()) {
            rules = place.allow(rules, access)?;
        }
    }
    Ok(rules)
}

/// What a worker may do below its own `/proc`, which exists only once it runs: it adds this rule itself. Never
/// writing: settings of the whole kernel lie there.
pub(crate) fn access_to_proc() -> u64 {
    (AccessFs::ReadFile | AccessFs::ReadDir).bits()
}
