//! What an import alone shows: programs, the network, the model, the memory, other agents.

use crate::asks::{findings::Findings, network_libraries};
use ruff_python_ast::{Stmt, StmtImportFrom};
use ruff_text_size::Ranged as _;

/// Modules that exist to start programs.
const PROGRAM_MODULES: &[&str] = &["subprocess", "asyncio.subprocess", "pty", "pexpect", "plumbum", "sh"];

/// Modules under which the kernels offer memory.
const MEMORY_MODULES: &[&str] =
    &["utils.azure_file_storage", "utils.storage_factory", "utils.dynamics_storage", "local_storage"];

/// Modules under which the kernels offer their model.
const MODEL_MODULES: &[&str] = &["utils.llm", "roost_completion"];

/// Reports what this import shows.
pub(super) fn look_at(statement: &Stmt, findings: &mut Findings) {
    let at = statement.start().to_usize();
    match statement {
        Stmt::Import(import) => {
            import.names.iter().for_each(|alias| module(at, alias.name.as_str(), findings))
        }
        Stmt::ImportFrom(import) => names_of(at, import, findings),
        _ => {}
    }
}

fn names_of(at: usize, import: &StmtImportFrom, findings: &mut Findings) {
    let written = import.module.as_ref().map_or("", |module| module.as_str());
    if import.level > 0 {
        return siblings(at, written, import, findings);
    }
    let from = written;
    module(at, from, findings);
    for alias in &import.names {
        let name = alias.name.as_str();
        let full = format!("{from}.{name}");
        match name {
            "AzureFileStorageManager" | "DynamicsStorageManager" => findings.right(at, "memory:write"),
            "call_llm" | "call_copilot" => findings.right(at, "model"),
            "AGENTS_PATH" => findings.agents(at),
            _ if super::calls::starts_programs(&full) => findings.right(at, "subprocess"),
            // `from urllib import request`: the name may be a module of its own.
            _ => module(at, &full, findings),
        }
    }
}

/// `from .weather_agent import x` and `from . import weather_agent`: files beside the agent, by the names agents have.
fn siblings(at: usize, module: &str, import: &StmtImportFrom, findings: &mut Findings) {
    let is_agent = |name: &str| name.ends_with("_agent") && name != "basic_agent";
    let mut names = import.names.iter().map(|alias| alias.name.as_str());
    if is_agent(module) || (module.is_empty() && names.any(is_agent)) {
        findings.right(at, "agents:read");
    }
}

fn module(at: usize, name: &str, findings: &mut Findings) {
    if PROGRAM_MODULES.contains(&name) {
        findings.right(at, "subprocess");
    } else if MEMORY_MODULES.contains(&name) {
        findings.right(at, "memory:write");
    } else if MODEL_MODULES.contains(&name) {
        findings.right(at, "model");
    } else if let Some(host) = network_libraries::of_python(name) {
        findings.network_library(at, host);
    } else if is_other_agent(name) {
        findings.right(at, "agents:read");
    }
}

/// `agents.weather_agent`, and not the base class.
fn is_other_agent(module: &str) -> bool {
    let below = module.strip_prefix("openrappter.").unwrap_or(module).strip_prefix("agents.");
    below.is_some_and(|below| !matches!(below.split('.').next(), Some("basic_agent" | "BasicAgent")))
}
