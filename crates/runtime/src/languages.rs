//! Every language agents are written in, behind one call.

use crate::{
    agent::Program,
    cgroup::Group,
    confinement::{Confinement, Layer},
    limits::{Enforcer, Identity, ResourceLimit, reserved_bytes},
    programs::{Programs, Surface},
    python::Python,
    runners::Runners,
    sandbox::{Entry, LanguageFiles, Listening, Sandbox, StartsBy},
    typescript::TypeScript,
    worker::Started,
};
use roost_protocol::{Enforcement, Failure, Language, Limits, NetworkMode, Reason};
use std::{ffi::CStr, io, os::fd::RawFd, path::Path, sync::Arc};

/// Starts workers of any language.
#[derive(Debug)]
pub(crate) struct Languages {
    pub(crate) python: Python,
    pub(crate) typescript: TypeScript,
}

impl Languages {
    pub(crate) fn new(cache: &Path, surface: Surface, runners: Runners) -> Self {
        let programs = Arc::new(Programs::open(cache));
        Self {
            python: Python::new(cache, surface.clone(), Arc::clone(&programs), runners.clone()),
            typescript: TypeScript::new(cache, surface, programs, runners),
        }
    }

    pub(crate) async fn start(&self, program: &Program, machine: &Machine) -> Result<Started, Failure> {
        match program.language {
            Language::Python => self.python.start(program, machine).await,
            Language::TypeScript => self.typescript.start(program, machine).await,
        }
    }
}

/// What this machine can enforce, found once and shared by all workers.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) sandbox: Sandbox,
    pub(crate) enforcer: Enforcer,
}

impl Machine {
    pub(crate) fn detect(left_out: &[Layer]) -> Self {
        Self { sandbox: Sandbox::detect(left_out), enforcer: Enforcer::detect() }
    }

    /// The whole sandbox of a process that becomes the program at `path`: it hands descriptors over on `hand_over_on`.
    pub(crate) fn enclose(
        &self,
        needs: &Needs<'_>,
        files: &LanguageFiles,
        path: &'static CStr,
        hand_over_on: RawFd,
    ) -> Result<Enclosed, Failure> {
        let failed = |error: io::Error| {
            Failure::new(Reason::SandboxFailed, format!("prepare the sandbox of a process: {error}"))
        };
        let starts_by = StartsBy::Exec(path);
        let prepared = self.sandbox.prepare(needs.confinement, files, starts_by, needs.listening)?;
        let enforcement = prepared.enforcement.clone();
        let identity = if prepared.has_namespaces() { Identity::Own } else { Identity::Shared };
        let group = self.enforcer.group(needs.limits)?;
        let entrances = group.as_ref().map(Group::entrances).transpose().map_err(failed)?.unwrap_or_default();
        let limits = self.enforcer.of_process(needs.limits, needs.reserved_bytes, identity);
        let limits = limits.into_iter().map(|ResourceLimit(_, resource, value)| (resource, value)).collect();
        let entry = Entry::whole(prepared, entrances, limits, hand_over_on).map_err(failed)?;
        Ok(Enclosed { entry, group, enforcement })
    }

    /// What a worker with this network would have.
    pub(crate) fn enforcement(&self, network: NetworkMode) -> Enforcement {
        self.enforcer.complete(self.sandbox.enforcement(network))
    }
}

/// What a process that is to be enclosed may touch and use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs<'a> {
    pub(crate) confinement: &'a Confinement,
    pub(crate) limits: &'a Limits,
    /// What it reserves and does not use.
    pub(crate) reserved_bytes: u64,
    pub(crate) listening: Listening,
}

impl<'a> Needs<'a> {
    /// Those of an agent's worker.
    pub(crate) fn of(program: &'a Program) -> Self {
        Self {
            confinement: &program.confinement,
            limits: &program.limits,
            reserved_bytes: reserved_bytes(program.language),
            listening: Listening::Nowhere,
        }
    }
}

/// The sandbox of a process that is about to be started.
pub(crate) struct Enclosed {
    pub(crate) entry: Entry,
    pub(crate) group: Option<Group>,
    pub(crate) enforcement: Enforcement,
}
