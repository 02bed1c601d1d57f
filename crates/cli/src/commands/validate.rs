//! `roost validate FILE`: everything that can be refused without running it.

use super::open;
use crate::{
    args::FileArguments,
    config::Config,
    output::{NOT_OK, Output},
};
use roost_host::validate_file;
use roost_protocol::Failure;
use std::process::ExitCode;

pub(crate) async fn validate(
    config: Config,
    arguments: &FileArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let host = open(config).await?;
    let validation = validate_file(&host, &arguments.file).await;
    if output.json {
        output.document(&validation);
    } else if validation.ok {
        output.line("ok");
    } else {
        for error in &validation.errors {
            output.line(&format!("{}: {} [{}]", error.path, error.message, error.code));
        }
    }
    Ok(if validation.ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}
