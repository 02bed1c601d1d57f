//! Every language agents are written in, behind one call.

use crate::{
    agent::Program,
    programs::{Programs, Surface},
    python::Python,
    runners::Runners,
    typescript::TypeScript,
    worker::Started,
};
use roost_protocol::{Failure, Language};
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

    pub(crate) async fn start(&self, program: &Program) -> Result<Started, Failure> {
        match program.language {
            Language::Python => self.python.start(program).await,
            Language::TypeScript => self.typescript.start(program).await,
        }
    }
}
