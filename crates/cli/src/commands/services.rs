//! `roost services`: every service with its state, and why it is not ready.

use crate::{
    config::Config,
    output::Output,
    partner::{Method, Partner, understood},
};
use roost_protocol::{AgentState, EndpointListing, Failure, Serving};
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn services(config: Config, output: &Output) -> Result<ExitCode, Failure> {
    let folder = config.host.home.services().to_owned();
    let mut answer = Partner::find(config).await?.ask(Method::Get, "/v1/services", None).await?;
    let services: Vec<EndpointListing> = understood(answer["services"].take())?;
    if output.json {
        output.document(&json!({ "services": services }));
        return Ok(ExitCode::SUCCESS);
    }
    if services.is_empty() {
        output.line(&format!("No services in {}.", folder.display()));
        output.line("A service is a file NAME_service.py there, with a function handle(method, path, body).");
    }
    let width = services.iter().map(|service| service.name.len()).max().unwrap_or_default().min(40);
    for service in &services {
        output.line(&line(service, width));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(service: &EndpointListing, width: usize) -> String {
    let state = match (service.state, service.serving) {
        (AgentState::Ready, _) => "ready",
        (AgentState::Failed, Some(Serving::LastGood)) => "last-good",
        (AgentState::Failed, _) => "failed",
        (AgentState::Shadowed, _) => "shadowed",
        (AgentState::Disabled, _) => "disabled",
    };
    let about = match &service.reason {
        Some(failure) => {
            let line = failure.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{}{line}: {} [{}]", service.file, failure.message, failure.reason.code())
        }
        None => format!("/api/{}  {}", service.name, service.description),
    };
    format!("{:width$}  {state:9}  {about}", service.name)
}
