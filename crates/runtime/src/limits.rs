//! Applies limits to a worker from outside, after it exists and before it knows what to load.

use crate::{
    cgroup::{Cgroups, Group},
    process::as_pid,
    sandbox,
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

    /// What receipts state.
    pub(crate) fn enforcement(&self) -> Enforcement {
        let mut enforced = vec!["wall_time", "cpu_time", "open_files", "output", "result"];
        let mut missing = Vec::new();
        let mut sort = |name, holds| if holds { enforced.push(name) } else { missing.push(name) };
        sort("memory_per_process", true);
        sort("memory_of_all_processes", self.cgroups.enforces_memory());
        // The kernel exempts root from the per-user limit on processes.
        sort("processes", self.cgroups.enforces_processes() || !self.is_root);
        sort("kernel_sandbox", false);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        Enforcement { level: sandbox::LEVEL.to_owned(), enforced: owned(enforced), missing: owned(missing) }
    }

    /// Limits one process and everything it will start.
    pub(crate) fn confine(
        &self,
        pid: u32,
        limits: &Limits,
        language: Language,
    ) -> Result<Option<Group>, Failure> {
        let refuse = |what: &str, error: &dyn std::fmt::Display| {
            Failure::new(Reason::StartFailed, format!("limit {what} of a worker: {error}"))
        };
        let process = as_pid(pid).ok_or_else(|| refuse("a process", &"no such id"))?;
        let set = |resource, value: u64, name: &str| {
            let limit = Rlimit { current: Some(value), maximum: Some(value) };
            prlimit(Some(process), resource, limit).map(drop).map_err(|error| refuse(name, &error))
        };
        // Data rather than address space: runtimes reserve far more addresses than they use.
        let reserved = match language {
            Language::Python => 0,
            Language::TypeScript => ENGINE_RESERVES_BYTES,
        };
        set(Resource::Data, limits.memory_bytes().saturating_add(reserved), "memory")?;
        set(Resource::Nofile, limits.open_files, "open files")?;
        set(Resource::Core, 0, "core dumps")?;
        if !self.is_root {
            set(Resource::Nproc, limits.processes.saturating_add(tasks_of_this_user()), "processes")?;
        }
        if !self.cgroups.enforces_processes() && !self.cgroups.enforces_memory() {
            return Ok(None);
        }
        self.cgroups.confine(pid, limits).map(Some).map_err(|error| refuse("the group", &error))
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
