//! What a worker may touch. Decided by the host, enforced by `sandbox`; nothing here decides.

use roost_protocol::{Level, NetworkMode};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What one worker may touch, besides the system's own files and those of its language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confinement {
    /// Files and folders of the host that it may read.
    pub readable: Vec<PathBuf>,
    /// Files and folders of the host that it may read and change; those that count against its disk limit come first.
    pub writable: Vec<PathBuf>,
    /// Places of the person's that were granted.
    pub granted: Vec<GrantedPlace>,
    /// Places that no grant opens, whatever leads there.
    pub closed: Vec<PathBuf>,
    /// How many of the writable folders are the agent's own and count against its disk limit.
    pub own_folders: usize,
    /// Its own temporary folder; also seen as `/tmp` and `/dev/shm` where the kernel allows it.
    pub scratch: Scratch,
    /// True when it may start programs.
    pub may_start_programs: bool,
    /// What it may reach.
    pub network: NetworkMode,
    /// Values that the proxy fills in for it.
    pub secrets: Vec<crate::proxy::SecretUse>,
    /// The level below which it must not run.
    pub required: Level,
}

impl Confinement {
    /// True when something the worker needs lies below this folder, so that nothing may be put over it.
    pub(crate) fn needs(&self, folder: &str) -> bool {
        let granted = self.granted.iter().map(|place| &place.path);
        let mut all = self.readable.iter().chain(&self.writable).chain(self.scratch.folders()).chain(granted);
        all.any(|path| path.starts_with(folder))
    }

    /// True when a place is, holds, or lies in one that no grant opens.
    pub(crate) fn is_closed(&self, place: &Path) -> bool {
        self.closed.iter().any(|closed| closed.starts_with(place) || place.starts_with(closed))
    }

    /// Everything it may read, granted or of the host.
    pub(crate) fn all_readable(&self) -> impl Iterator<Item = &PathBuf> {
        let granted = self.granted.iter().filter(|place| !place.is_writable);
        self.readable.iter().chain(granted.map(|place| &place.path))
    }

    /// Everything it may change, granted or of the host.
    pub(crate) fn all_writable(&self) -> impl Iterator<Item = &PathBuf> {
        let granted = self.granted.iter().filter(|place| place.is_writable);
        self.writable.iter().chain(granted.map(|place| &place.path))
    }
}

/// A place that a person opened to an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrantedPlace {
    /// Where it is, as it was granted.
    pub path: PathBuf,
    /// True when it may also be changed.
    pub is_writable: bool,
}

/// Folders for what an agent need not keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scratch {
    /// Temporary files.
    pub temporary: PathBuf,
    /// Shared memory.
    pub shared_memory: PathBuf,
    /// Caches of libraries.
    pub cache: PathBuf,
}

impl Scratch {
    /// The folders below this one.
    #[must_use]
    pub fn below(folder: &std::path::Path) -> Self {
        Self { temporary: folder.join("tmp"), shared_memory: folder.join("shm"), cache: folder.join("cache") }
    }

    /// All of them.
    pub fn folders(&self) -> [&PathBuf; 3] {
        [&self.temporary, &self.shared_memory, &self.cache]
    }
}

/// A part of the sandbox that an operator may leave out, for a kernel that has trouble with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Files, and signals to other processes.
    Landlock,
    /// System calls.
    Seccomp,
    /// Network, processes, and who one is.
    Namespaces,
}
