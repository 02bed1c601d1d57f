//! What the kernel enforces on a worker. The only module that may use `unsafe`.
//!
//! The host prepares everything as data: a Landlock ruleset as a descriptor, a system call filter as instructions,
//! mounts and identity maps as text. The new process only applies it, before it reads a byte of the agent: Python
//! workers in runners/python/sandbox.py after their fork, engines of TypeScript in `entry` before their exec.

mod kernel; // what this kernel can
mod places; // what a path leads to
mod root; // which files exist for a process
mod mounting; // and the steps that mount them
mod files; // the same for Landlock
mod syscalls; // seccomp: which system calls
mod filter; // and the instructions that say so
mod notices; // what the filter refused
mod connecting; // and what the host does instead
mod namespaces; // network, processes, identity
mod birth; // a new process
mod entry; // and what it does before it is its program
mod image; // the program to become
mod descriptors; // what a worker hands to its host
mod observed; // and what the kernel says of it

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
    syscalls::Listening,
};

use self::{
    files::{LanguagePlaces, OwnPlaces, SystemPlaces},
    kernel::Kernel,
    namespaces::Maps,
    observed::Outside,
    places::OpenPlace,
    syscalls::{Executing, Filters, Metadata, Wish},
};
use crate::confinement::{Confinement, Layer};
use roost_protocol::{Enforcement, Failure, Level, NetworkMode, Reason};
use std::{
    ffi::CStr,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

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
#[derive(Debug, Clone, Copy)]
pub(crate) enum StartsBy<'a> {
    /// Already runs, with the view of its zygote: nothing has to be executed.
    Fork(&'a ZygoteView),
    /// Becomes the program at this path.
    Exec(&'static CStr),
}

/// What this machine can enforce, found once.
#[derive(Debug)]
pub(crate) struct Sandbox {
    kernel: Kernel,
    system: SystemPlaces,
    filters: Filters,
    outside: Outside,
}

/// Everything one worker has to apply.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ruleset: Option<OwnedFd>,
    pub(crate) filter: Option<Arc<syscalls::Filter>>,
    pub(crate) root: Option<PreparedRoot>,
    pub(crate) enforcement: Enforcement,
}

/// How a process comes to a root of its own.
#[derive(Debug)]
pub(crate) enum PreparedRoot {
    /// It makes namespaces, and everything it sees.
    Whole(Namespaces, root::Part),
    /// It has that of its zygote, and puts these over it.
    Over(Namespaces, Vec<(PathBuf, OwnedFd)>),
}

impl Prepared {
    /// True when the process is in namespaces of its own.
    pub(crate) fn has_namespaces(&self) -> bool {
        self.root.is_some()
    }
}

/// What a zygote sees: the machine and the language, and nothing of any agent.
#[derive(Debug, Clone)]
pub(crate) struct ZygoteView(root::View);

impl Sandbox {
    /// Looks at the kernel, once. Layers that the operator left out count as missing.
    pub(crate) fn detect(left_out: &[Layer]) -> Self {
        let system = SystemPlaces::open();
        let kernel = Kernel::detect(left_out, &system.view);
        tracing::debug!(?kernel, "what the kernel can enforce");
        Self { kernel, system, filters: Filters::default(), outside: Outside::look() }
    }

    /// The best level there can be here.
    pub(crate) fn level(&self) -> Level {
        self.kernel.level()
    }

    /// The namespaces a worker is made in.
    pub(crate) fn namespaces(&self, confinement: &Confinement) -> Option<Namespaces> {
        self.kernel.namespaces.then(|| Namespaces::of_worker(confinement))
    }

    /// What a zygote of this language sees.
    pub(crate) fn zygote_view(&self, language: &LanguageFiles) -> ZygoteView {
        ZygoteView(self.system.view.with(&LanguagePlaces::open(language).view))
    }

    /// How a zygote with this view is made ready.
    pub(crate) fn zygote_entry(&self, view: &ZygoteView, network: NetworkMode) -> io::Result<Entry> {
        if !self.kernel.namespaces {
            return Ok(Entry::default());
        }
        let mut view = view.0.clone();
        view.add(&OpenPlace::open(Path::new("/proc"))?, root::Access::Processes);
        Entry::of_zygote(&Namespaces::of_zygote(network), view.whole()?)
    }

    /// Reads from outside what holds for a process, and refuses it when that is less than was promised.
    pub(crate) fn observe(&self, pid: u32, promised: &Enforcement) -> io::Result<Vec<String>> {
        self.outside.observe(pid, promised)
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
        starts_by: StartsBy<'_>,
        listening: Listening,
    ) -> Result<Prepared, Failure> {
        self.check_level(confinement)?;
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Failure::new(Reason::SandboxFailed, format!("prepare {what}: {error}"))
        };
        let own = OwnPlaces::open(confinement)?;
        let language = LanguagePlaces::open(language);
        let ruleset = match self.kernel.landlock {
            Some(abi) => {
                let made = files::ruleset(abi, &self.system, &own, &language, confinement, starts_by);
                Some(made.map_err(|error| failed("the file rules", &error))?)
            }
            None => None,
        };
        let root = self.root(confinement, &own, &language, starts_by);
        let root = root.map_err(|error| failed("the root folder", &error))?;
        let filter = if self.kernel.seccomp {
            let may_execute = match starts_by {
                _ if confinement.may_start_programs => Executing::Anything,
                StartsBy::Fork(_) => Executing::Nothing,
                StartsBy::Exec(path) => Executing::Once(path.as_ptr() as u64),
            };
            let metadata = if root.is_some() { Metadata::HeldByRoot } else { Metadata::Refused };
            let network = confinement.network;
            Some(self.filters.get(Wish { network, may_execute, listening, metadata }))
        } else {
            None
        };
        let enforcement = self.kernel.enforcement(confinement.network);
        Ok(Prepared { ruleset, filter, root, enforcement })
    }

    /// The files that exist for a worker: those of the machine, of its language, and its own.
    fn root(
        &self,
        confinement: &Confinement,
        own: &OwnPlaces,
        language: &LanguagePlaces,
        starts_by: StartsBy<'_>,
    ) -> io::Result<Option<PreparedRoot>> {
        let Some(namespaces) = self.namespaces(confinement) else { return Ok(None) };
        let of_worker = language.view.with(&own.view);
        match starts_by {
            StartsBy::Fork(ZygoteView(base)) => {
                let parts = base.parts_over(&of_worker)?;
                let mounts = mounting::detach(&parts, &Maps::of_this_user()?)?;
                let targets = parts.iter().map(root::Part::target);
                Ok(Some(PreparedRoot::Over(namespaces, targets.zip(mounts).collect())))
            }
            StartsBy::Exec(_) => {
                let namespaces = namespaces.with_own_network(confinement.network);
                Ok(Some(PreparedRoot::Whole(namespaces, self.system.view.with(&of_worker).whole()?)))
            }
        }
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
