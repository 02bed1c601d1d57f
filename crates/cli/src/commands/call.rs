//! `roost call AGENT`: through the running host of this home, else through a private one.

use super::{chain, consent, open};
use crate::{
    args::CallArguments,
    config::Config,
    output::Output,
    running::RunningHost,
    words::{self, Step, Steps},
};
use roost_host::{Host, Request};
use roost_protocol::{AgentListing, AgentName, CallOutcome, Failure, Reason};
use std::process::ExitCode;

/// Whoever runs the call.
enum Caller {
    Running(RunningHost),
    Private(Host),
}

pub(crate) async fn call(config: Config, call: &CallArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut steps = words::steps(call.agent.as_deref().unwrap_or_default(), &call.words)?;
    steps.steps[0].wants_help |= call.help;
    let person = config.person.clone();
    let caller = match RunningHost::find(&config.host.home).await {
        Some(running) => {
            if consent::can_ask(*output) {
                let host = open(config).await?;
                ask_about(&host, &steps, &person, *output).await?;
            }
            Caller::Running(running)
        }
        None => {
            let host = open(config).await?;
            ask_about(&host, &steps, &person, *output).await?;
            Caller::Private(host)
        }
    };
    let mut outcomes: Vec<CallOutcome> = Vec::new();
    for step in &steps.steps {
        match one(&caller, step, &steps, &outcomes, output).await? {
            Answer::Help(code) => return Ok(code),
            Answer::Outcome(outcome) => outcomes.push(*outcome),
        }
        if outcomes.last().is_some_and(|outcome| outcome.error.is_some()) {
            break;
        }
    }
    Ok(chain::show(*output, &steps, &outcomes))
}

/// Asks a person about every agent of the chain. One that is not known is told of when it is called.
async fn ask_about(host: &Host, steps: &Steps, person: &str, output: Output) -> Result<(), Failure> {
    for step in steps.steps.iter().filter(|step| !step.wants_help) {
        match consent::ask(host, &step.target, person, output).await {
            Err(failure) if failure.reason == Reason::UnknownAgent => {}
            asked => asked?,
        }
    }
    Ok(())
}

enum Answer {
    Help(ExitCode),
    Outcome(Box<CallOutcome>),
}

async fn one(
    caller: &Caller,
    step: &Step,
    steps: &Steps,
    before: &[CallOutcome],
    output: &Output,
) -> Result<Answer, Failure> {
    let listing = caller.agent(&step.target).await?;
    if step.wants_help {
        let name = AgentName::parse(&listing.name)
            .map_err(|error| Failure::new(Reason::InvalidName, error.to_string()))?;
        let target =
            chain::Target { name, description: &listing.description, parameters: &listing.parameters };
        return Ok(Answer::Help(chain::show_help(*output, &format!("roost call {}", step.target), &target)));
    }
    let request = chain::request(step, &listing.parameters, steps.user.as_ref(), before)?;
    caller.call(&step.target, &request).await.map(|outcome| Answer::Outcome(Box::new(outcome)))
}

impl Caller {
    /// The agent's entry, for its schema.
    async fn agent(&self, name: &str) -> Result<AgentListing, Failure> {
        match self {
            Self::Private(host) => host.agent(name).await,
            Self::Running(running) => {
                let callable = running
                    .agents()
                    .await?
                    .into_iter()
                    .find(|agent| agent.name == name && agent.serving.is_some());
                match callable {
                    Some(agent) => Ok(agent),
                    // The host itself says best what is wrong with the name.
                    None => Err(self.call(name, &Request::default()).await.err().unwrap_or_else(|| {
                        Failure::new(Reason::UnknownAgent, format!("no agent is called `{name}`"))
                    })),
                }
            }
        }
    }

    async fn call(&self, name: &str, request: &Request) -> Result<CallOutcome, Failure> {
        match self {
            Self::Private(host) => host.call(name, request).await,
            Self::Running(running) => running.call(name, request).await,
        }
    }
}
