//! `roost run FILE`: no project, no configuration, no home needed beforehand.

use super::{chain, consent, open};
use crate::{args::RunArguments, config::Config, output::Output, words};
use roost_host::OpenFile;
use roost_protocol::{AgentDescription, AgentName, CallOutcome, Failure, Reason};
use std::{path::Path, process::ExitCode};

pub(crate) async fn run(config: Config, run: &RunArguments, output: &Output) -> Result<ExitCode, Failure> {
    let file = run.file.clone().unwrap_or_default();
    let mut steps = words::steps(&file.to_string_lossy(), &run.words)?;
    steps.steps[0].wants_help |= run.help;
    let person = config.person.clone();
    let host = open(config).await?;
    let mut outcomes: Vec<CallOutcome> = Vec::new();
    for step in &steps.steps {
        if !step.wants_help {
            consent::ask(&host, &step.target, &person, *output).await?;
        }
        let file = host.open_file(Path::new(&step.target)).await?;
        let agent = chosen(&file, step.agent.as_deref())?;
        let name = AgentName::parse(&agent.name)
            .map_err(|error| Failure::new(Reason::InvalidName, error.to_string()))?;
        if step.wants_help {
            let target =
                chain::Target { name, description: &agent.description, parameters: &agent.parameters };
            return Ok(chain::show_help(*output, &format!("roost run {}", step.target), &target));
        }
        let request = chain::request(step, &agent.parameters, steps.user.as_ref(), &outcomes)?;
        let outcome = file.call(&name, &request).await?;
        let has_failed = outcome.error.is_some();
        outcomes.push(outcome);
        if has_failed {
            break;
        }
    }
    Ok(chain::show(*output, &steps, &outcomes))
}

/// The agent to run: the named one, or the only one.
fn chosen<'a>(file: &'a OpenFile, name: Option<&str>) -> Result<&'a AgentDescription, Failure> {
    let agents = &file.description.agents;
    let names = || agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => agents.iter().find(|agent| agent.name == name).ok_or_else(|| {
            Failure::new(Reason::UnknownAgent, format!("the file has no agent `{name}`; it has {}", names()))
        }),
        None if agents.len() > 1 => {
            Err(Failure::new(Reason::WrongUse, format!("the file has several agents: {}", names()))
                .with_next(format!("choose one, for example with `--agent {}`", agents[0].name)))
        }
        None => Ok(&agents[0]),
    }
}
