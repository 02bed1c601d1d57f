//! `roost agents`: every agent with its state, and why it is not ready.

use super::open;
use crate::{args::AgentsArguments, config::Config, output::Output, running::RunningHost};
use indicatif::{ProgressBar, ProgressStyle};
use roost_host::{NoProgress, Progress};
use roost_protocol::{AgentListing, AgentState, Failure, Serving};
use serde_json::json;
use std::process::ExitCode;

/// Below this many files nobody needs a bar.
const BAR_FROM_FILES: usize = 10;

pub(crate) async fn agents(
    config: Config,
    arguments: &AgentsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let folder = config.host.home.agents().to_owned();
    let agents = match RunningHost::find(&config.host.home).await {
        Some(running) if arguments.refresh => running.agents_asked_again().await?,
        Some(running) => running.agents().await?,
        None => in_private_host(config, arguments, output).await?,
    };
    if output.json {
        output.document(&json!({ "agents": agents }));
        return Ok(ExitCode::SUCCESS);
    }
    if agents.is_empty() {
        output.line(&format!("No agents in {}.", folder.display()));
        output.line("Make one with `roost new agent Hello`, or copy a file there.");
    }
    let width = agents.iter().map(|agent| agent.name.len()).max().unwrap_or_default().min(40);
    for agent in &agents {
        output.line(&line(agent, width));
    }
    let failed = agents.iter().filter(|agent| agent.state != AgentState::Ready).count();
    if failed > 0 {
        output.note(&format!("{failed} not ready; `roost why NAME` says more"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn in_private_host(
    config: Config,
    arguments: &AgentsArguments,
    output: &Output,
) -> Result<Vec<AgentListing>, Failure> {
    let host = open(config).await?;
    if arguments.refresh {
        host.forget_descriptions();
    }
    if !output.shows_progress() {
        return host.agents(&NoProgress).await;
    }
    let bar = Bar(ProgressBar::hidden());
    let agents = host.agents(&bar).await?;
    bar.0.finish_and_clear();
    Ok(agents)
}

fn line(agent: &AgentListing, width: usize) -> String {
    let state = match (agent.state, agent.serving) {
        (AgentState::Ready, _) => "ready",
        (AgentState::Failed, Some(Serving::LastGood)) => "last-good",
        (AgentState::Failed, _) => "failed",
        (AgentState::Shadowed, _) => "shadowed",
        (AgentState::Disabled, _) => "disabled",
    };
    let about = match &agent.reason {
        Some(failure) => {
            let line = failure.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{}{line}: {} [{}]", agent.file, failure.message, failure.reason.code())
        }
        None => first_sentence(&agent.description),
    };
    format!("{:width$}  {state:9}  {about}", agent.name)
}

fn first_sentence(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = flat.find(". ").map_or(flat.len(), |dot| dot + 1);
    flat[..end].chars().take(100).collect()
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn described(&self, done: usize, of: usize) {
        if of < BAR_FROM_FILES {
            return;
        }
        if self.0.is_hidden() {
            self.0.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("looking at agents {bar:30} {pos}/{len}") {
                self.0.set_style(style);
            }
        }
        self.0.set_length(of as u64);
        self.0.set_position(done as u64);
    }
}
