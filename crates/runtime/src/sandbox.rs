//! What the kernel enforces on a worker. The only module that may use `unsafe`.
//!
//! The host prepares everything as data: a Landlock ruleset as a descriptor, a system call filter as instructions,
//! mounts and identity maps as text. The new process only applies it, before it reads a byte of the agent: Python
//! workers in runners/python/sandbox.py after their fork, engines of TypeScript in `entry` before their exec.

mod kernel; // what this kernel can
mod files; // Landlock: which files
mod syscalls; // seccomp: which system calls
mod filter; // and the instructions that say so
mod notices; // what the filter refused
mod connecting; // and what the host does instead
mod namespaces; // network, processes, identity
mod birth; // a new process
mod entry; // and what it does before it is its program
mod image; // the program to become
mod descriptors; // what a worker hands to its host

pub use self::kernel::landlock_abi;
pub(crate) use self::{
    birth::Born,
    connecting::Connecting,
    descriptors::{HandedOver, hand_to_worker, receive_descriptors, watch},
    entry::{Entry, Newborn},
    files::access_to_proc,
    image::Image,
    namespaces::{Namespaces, own_places},
    notices::{Notices, Refused},
    syscalls::{Listening, UNIX_SOCKET},
};

use self::{
    files::SystemPlaces,
    kernel::Kernel,
    syscalls::{Executing, Filters},
};
use crate::confinement::{Confinement, Layer};
use roost_protocol::{Enforcement, Failure, Level, NetworkMode, Reason};
use std::{ffi::CStr, os::fd::OwnedFd, path::PathBuf, sync::Arc};

/// How far agents stand behind the host in the queue for a processor.
pub(crate) const AGENT_NICENESS: i32 = 5;

/// How far those stand back that compute for long.
pub(crate) const LONG_COMPUTING_NICENESS: i32 = 15;

/// Where the proxy listens in a worker's own network.
pub(crate) const PROXY_PORT: u16 = 3128;

/// Files of the language itself: the interpreter or engine, its libraries, the runner.
#[derive(Debug, Clone, Default)]
pub(crate) struct LanguageFiles {
    pub(crate) readable: Vec<PathBuf>,
    /// Programs that may be started when the agent may start programs.
    pub(crate) programs: Vec<PathBuf>,
    /// Programs without which the worker itself could not start.
    pub(crate) always_executable: Vec<PathBuf>,
}

/// Whether the filter may refuse to start programs, or the worker has to become one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartsBy {
    /// Already runs: nothing has to be executed.
    Fork,
    /// Becomes the program at this path.
    Exec(&'static CStr),
}

/// What this machine can enforce, found once.
#[derive(Debug)]
pub(crate) struct Sandbox {
    kernel: Kernel,
    system: SystemPlaces,
    filters: Filters,
}

/// Everything one worker has to apply.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ruleset: Option<OwnedFd>,
    pub(crate) filter: Option<Arc<syscalls::Filter>>,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) enforcement: Enforcement,
}

impl Prepared {
    /// The same, with a network of its own that nothing was prepared for beforehand.
    pub(crate) fn with_own_network(mut self, network: NetworkMode) -> Self {
        self.namespaces = self.namespaces.map(|namespaces| namespaces.with_own_network(network));
        self
    }
}

impl Sandbox {
    /// Looks at the kernel, once. Layers that the operator left out count as missing.
    pub(crate) fn detect(left_out: &[Layer]) -> Self {
        let kernel = Kernel::detect(left_out);
        tracing::debug!(?kernel, "what the kernel can enforce");
        Self { kernel, system: SystemPlaces::open(), filters: Filters::default() }
    }

    /// The best level there can be here.
    pub(crate) fn level(&self) -> Level {
        self.kernel.level()
    }

    pub(crate) fn has_namespaces(&self) -> bool {
        self.kernel.namespaces
    }

    /// The namespaces a worker is made in.
    pub(crate) fn namespaces(&self, confinement: &Confinement) -> Option<Namespaces> {
        self.kernel.namespaces.then(|| Namespaces::of_worker(confinement))
    }

    /// What a worker with this network would be told to enforce, before it exists.
    pub(crate) fn enforcement(&self, network: NetworkMode) -> Enforcement {
        self.kernel.enforcement(network)
    }

    /// Makes what a worker has to apply; refuses when the machine cannot give what the confinement demands.
    pub(crate) fn prepare(
        &self,
        confinement: &Confinement,
        language: &LanguageFiles,
        starts_by: StartsBy,
        listening: Listening,
    ) -> Result<Prepared, Failure> {
        self.check_level(confinement)?;
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Failure::new(Reason::SandboxFailed, format!("prepare {what}: {error}"))
        };
        let ruleset = match self.kernel.landlock {
            Some(abi) => {
                let made = files::ruleset(abi, &self.system, confinement, language, starts_by);
                Some(made.map_err(|error| failed("the file rules", &error))?)
            }
            None => None,
        };
        let filter = if self.kernel.seccomp {
            let may_execute = match starts_by {
                _ if confinement.may_start_programs => Executing::Anything,
                StartsBy::Fork => Executing::Nothing,
                StartsBy::Exec(path) => Executing::Once(path.as_ptr() as u64),
            };
            Some(self.filters.get(confinement.network, may_execute, listening))
        } else {
            None
        };
        let namespaces = self.namespaces(confinement);
        let enforcement = self.kernel.enforcement(confinement.network);
        Ok(Prepared { ruleset, filter, namespaces, enforcement })
    }

    fn check_level(&self, confinement: &Confinement) -> Result<(), Failure> {
        let level = self.level();
        if level < confinement.required {
            let message = format!(
                "agents here must be confined as `{}`, and this machine can only `{}`: it lacks {}",
                confinement.required.as_str(),
                level.as_str(),
                self.kernel.lacking().join(", "),
            );
            return Err(Failure::new(Reason::SandboxUnavailable, message).with_next(format!(
                "see `roost doctor`; to accept less, set `require = \"{}\"` under `[sandbox]` in roost.toml",
                level.as_str()
            )));
        }
        if confinement.network == NetworkMode::Hosts && !self.kernel.namespaces {
            let message = "named computers can be reached only from a network namespace, which this machine does not give";
            return Err(Failure::new(Reason::SandboxUnavailable, message)
                .with_next("see `roost doctor`; `network:*` needs no namespace"));
        }
        Ok(())
    }
}
