//! Namespaces of a worker: its own processes, its own identity, its own network.

use crate::confinement::Confinement;
use roost_protocol::NetworkMode;
use std::{ffi::CString, io, path::PathBuf};

/// What a worker makes for itself.
#[derive(Debug, Clone)]
pub(crate) struct Namespaces {
    /// Kinds, as the kernel numbers them.
    pub(crate) flags: libc::c_int,
    /// True when a listener for the proxy is wanted in the new network.
    pub(crate) has_proxy: bool,
}

/// Identity, processes, shared memory and mounts: every worker has its own.
pub(super) const OF_EVERY_WORKER: libc::c_int =
    libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWNS;

/// Places that all programs of a machine share.
pub(super) const TEMPORARY: &str = "/tmp";
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// Folders of a worker's own, and the shared places in which it sees them: from, to. A place in which something lies that
/// the worker needs is no folder of its own.
pub(crate) fn own_places(confinement: &Confinement) -> Vec<(PathBuf, PathBuf)> {
    let scratch = &confinement.scratch;
    [(&scratch.shared_memory, SHARED_MEMORY), (&scratch.temporary, TEMPORARY)]
        .into_iter()
        .filter(|(_, place)| !confinement.needs(place))
        .map(|(own, place)| (own.clone(), place.into()))
        .collect()
}

impl Namespaces {
    /// For one worker. Without network it needs none of its own: the empty one of its zygote is as good, because its
    /// filter lets it open no socket in it. One that has a proxy makes its network when it knows that it has.
    pub(super) fn of_worker(confinement: &Confinement) -> Self {
        Self { flags: OF_EVERY_WORKER, has_proxy: confinement.network == NetworkMode::Hosts }
    }

    /// For a process that runs no agent itself: an identity and mounts of its own and a network with nothing in it,
    /// unless its workers may use the real one.
    pub(crate) fn of_zygote(network: NetworkMode) -> Self {
        let empty_network = if network == NetworkMode::Any { 0 } else { libc::CLONE_NEWNET };
        Self { flags: libc::CLONE_NEWUSER | libc::CLONE_NEWNS | empty_network, has_proxy: false }
    }

    /// For a process that nothing is prepared for beforehand: it makes its own empty network.
    pub(crate) fn with_own_network(mut self, network: NetworkMode) -> Self {
        if network != NetworkMode::Any {
            self.flags |= libc::CLONE_NEWNET;
        }
        self
    }
}

/// Who a process is inside a namespace of its own, as text for the kernel: the same as outside, and nobody else.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) user: CString,
    pub(super) group: CString,
}

impl Maps {
    pub(super) fn of_this_user() -> io::Result<Self> {
        let map = |id: u32| CString::new(format!("{id} {id} 1")).map_err(io::Error::other);
        Ok(Self {
            user: map(rustix::process::geteuid().as_raw())?,
            group: map(rustix::process::getegid().as_raw())?,
        })
    }
}
