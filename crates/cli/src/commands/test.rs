//! `roost test FILE`: the contract tests.

use super::open;
use crate::{
    args::FileArguments,
    config::Config,
    output::{NOT_OK, Output},
};
use roost_host::contract_tests;
use roost_protocol::Failure;
use std::process::ExitCode;

pub(crate) async fn test(
    config: Config,
    arguments: &FileArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let host = open(config).await?;
    let result = contract_tests(&host, &arguments.file).await?;
    if output.json {
        output.document(&result);
    } else {
        for test in &result.tests {
            output.line(&format!(
                "{}  {}: {}",
                if test.passed { "pass" } else { "FAIL" },
                test.test,
                test.message
            ));
        }
        let passed = result.tests.iter().filter(|test| test.passed).count();
        output.line(&format!("{passed} of {} passed", result.tests.len()));
    }
    Ok(if result.ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}
