//! Every language agents are written in, behind one call.

use crate::{
    agent::Program,
    confinement::Layer,
    limits::Enforcer,
    programs::{Programs, Surface},
    python::Python,
    runners::Runners,
    sandbox::Sandbox,
    typescript::TypeScript,
    worker::Started,
};
use roost_protocol::{Enforcement, Failure, Language, NetworkMode};
use std::{path::Path, sync::Arc};

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

    /// What a worker with this network would have.
    pub(crate) fn enforcement(&self, network: NetworkMode) -> Enforcement {
        self.enforcer.complete(self.sandbox.enforcement(network))
    }
}
