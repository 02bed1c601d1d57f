//! `roost why X`: one cause, the evidence, the next step.

use super::open;
use crate::{
    args::WhyArguments,
    config::Config,
    output::{NOT_OK, Output},
};
use roost_host::why::explain;
use roost_protocol::Failure;
use std::process::ExitCode;

pub(crate) async fn why(
    config: Config,
    arguments: &WhyArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let host = open(config).await?;
    let explanation = explain(&host, &arguments.subject).await?;
    if output.json {
        output.document(&explanation);
    } else {
        let code = explanation.reason.map(|reason| format!(" [{}]", reason.code())).unwrap_or_default();
        output.line(&format!("{}: {}{code}", explanation.subject, explanation.cause));
        if let Some(place) = &explanation.place {
            output.line(&format!("  at:   {place}"));
        }
        for line in &explanation.evidence {
            output.line(&format!("  log:  {line}"));
        }
        output.line(&format!("  next: {}", explanation.next));
    }
    Ok(if explanation.works { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}
