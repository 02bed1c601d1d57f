//! The limits of a worker: on each of its processes, and on all of them together.

use crate::{
    cgroup::{Cgroups, Group},
    process::as_pid,
};
use roost_protocol::{Enforcement, Failure, Language, Limits, Reason};
use rustix::process::{Resource, Rlimit, prlimit};

/// What the engines of TypeScript reserve at their start and never use; the kernel counts it as data all the same.
/// Their heap has a limit of its own.
const ENGINE_RESERVES_BYTES: u64 = 768 << 20;

/// What this machine can limit, found once.
#[derive(Debug, Clone)]
pub(crate) struct Enforcer {
    cgroups: Cgroups,
    is_root: bool,
}

impl Enforcer {
    pub(crate) fn detect() -> Self {
        Self { cgroups: Cgroups::detect(), is_root: rustix::process::geteuid().is_root() }
    }

    /// What limits add to the enforcement that receipts state.
    pub(crate) fn complete(&self, mut enforcement: Enforcement) -> Enforcement {
        let mut sort = |name: &str, holds: bool| {
            let list = if holds { &mut enforcement.enforced } else { &mut enforcement.missing };
            list.push(name.to_owned());
        };
        for always in
            ["wall_time", "cpu_time", "open_files", "output", "result", "file_size", "memory_per_process"]
        {
            sort(always, true);
        }
        sort("memory_of_all_processes", self.cgroups.enforces_memory());
        // The kernel exempts root from the per-user limit on processes.
        sort("processes", self.cgroups.enforces_processes() || !self.is_root);
        enforcement
    }

    /// A control group with these limits, where there can be one; nothing is in it yet.
    pub(crate) fn group(&self, limits: &Limits) -> Result<Option<Group>, Failure> {
        if !self.cgroups.enforces_processes() && !self.cgroups.enforces_memory() {
            return Ok(None);
        }
        self.cgroups.make(limits).map(Some).map_err(|error| refuse("the group", &error))
    }

    /// Limits of one process. With an identity of its own only its own processes count against it.
    pub(crate) fn of_process(
        &self,
        limits: &Limits,
        reserved: u64,
        identity: Identity,
    ) -> Vec<ResourceLimit> {
        let mut all = vec![
            ResourceLimit(Resource::Data, libc::RLIMIT_DATA, limits.memory_bytes().saturating_add(reserved)),
            ResourceLimit(Resource::Nofile, libc::RLIMIT_NOFILE, limits.open_files),
            ResourceLimit(Resource::Fsize, libc::RLIMIT_FSIZE, limits.disk_bytes()),
            ResourceLimit(Resource::Core, libc::RLIMIT_CORE, 0),
        ];
        if !self.is_root {
            let others = match identity {
                Identity::Own => 0,
                Identity::Shared => tasks_of_this_user(),
            };
            let processes = limits.processes.saturating_add(others);
            all.push(ResourceLimit(Resource::Nproc, libc::RLIMIT_NPROC, processes));
        }
        all
    }

    /// Limits a process that runs already.
    pub(crate) fn confine(&self, pid: u32, limits: &[ResourceLimit]) -> Result<(), Failure> {
        let process = as_pid(pid).ok_or_else(|| refuse("a process", &"no such id"))?;
        for ResourceLimit(resource, _, value) in limits {
            let limit = Rlimit { current: Some(*value), maximum: Some(*value) };
            prlimit(Some(process), *resource, limit).map_err(|error| refuse("a process", &error))?;
        }
        Ok(())
    }
}

/// What programs of a language reserve and do not use. Data rather than address space is limited, for the same reason.
pub(crate) fn reserved_bytes(language: Language) -> u64 {
    match language {
        Language::Python => 0,
        Language::TypeScript => ENGINE_RESERVES_BYTES,
    }
}

/// One limit: as our library and as the C library name it, and its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceLimit(pub(crate) Resource, pub(crate) libc::__rlimit_resource_t, pub(crate) u64);

/// Whether the kernel counts a worker's processes apart from the rest of its user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Own,
    Shared,
}

fn refuse(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::StartFailed, format!("limit {what} of a worker: {error}"))
}

/// Descriptors a host with hundreds of workers needs: each has its sockets, its log and its notices.
const OWN_DESCRIPTORS: u64 = 65_536;

/// Lets this process open as many files as it may, where fewer are set: what a shell gives is meant for programs that
/// still use `select`. Workers get their own limit.
pub(crate) fn raise_own_descriptors() {
    use rustix::process::{getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(OWN_DESCRIPTORS, |maximum| maximum.min(OWN_DESCRIPTORS));
    if now.current.is_some_and(|current| current < wanted)
        && let Err(error) =
            setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum })
    {
        tracing::debug!(%error, "raise the limit on open files");
    }
}

/// The kernel counts all of a user's tasks together, so the limit has to start from what is there.
fn tasks_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::geteuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == own))
        .map(|entry| std::fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64))
        .sum()
}
