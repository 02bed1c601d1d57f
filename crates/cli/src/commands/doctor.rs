//! `roost doctor`: what this machine has, and what each missing thing costs.

use super::open;
use crate::{
    config::Config,
    output::{NOT_OK, Output},
};
use roost_host::doctor::{FindingState, examine};
use roost_protocol::Failure;
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn doctor(config: Config, output: &Output) -> Result<ExitCode, Failure> {
    let host = open(config).await?;
    let findings = examine(&host).await;
    let ok = findings.iter().all(|finding| finding.state != FindingState::Missing);
    if output.json {
        output.document(&json!({ "ok": ok, "findings": findings }));
    } else {
        for finding in &findings {
            let state = match finding.state {
                FindingState::Ok => "ok     ",
                FindingState::Limited => "limited",
                FindingState::Missing => "missing",
            };
            output.line(&format!("{state}  {:12}  {}", finding.name, finding.detail));
            if let Some(cost) = &finding.cost {
                output.line(&format!("{:23}cost: {cost}", ""));
            }
            if let Some(next) = &finding.next {
                output.line(&format!("{:23}next: {next}", ""));
            }
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}
