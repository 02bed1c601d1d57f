//! `roost test PATH`: the contract tests of an agent file, of a bundle that passes the gate with its page, or of a native
//! app.

use super::{native_package, open, validate::show};
use crate::{
    args::TestArguments,
    config::Config,
    output::{NOT_OK, Output},
};
use roost_apps::{Arrival, Bundle, BundleReport, Submission, look_at, native::look_for_native};
use roost_host::{ContractResult, bundle_and_page_tests, contract_tests, native::native_tests};
use roost_protocol::Failure;
use std::process::ExitCode;

pub(crate) async fn test(
    config: Config,
    arguments: &TestArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    if look_for_native(&arguments.path)?.is_some() {
        let package = native_package(&arguments.path)?;
        let host = open(config).await?;
        return Ok(told(&native_tests(&host, &package).await?, output));
    }
    let bundle = match look_at(&arguments.path)? {
        Arrival::File => {
            let host = open(config).await?;
            return Ok(told(&contract_tests(&host, &arguments.path).await?, output));
        }
        Arrival::Folder => Bundle::from_folder(&arguments.path, &Submission::default()),
        Arrival::Zip(bytes) => Bundle::from_zip(&bytes, &Submission::default()),
    };
    let bundle = match bundle {
        Ok(bundle) => bundle,
        Err(errors) => {
            show(&BundleReport::refused(errors), output);
            return Ok(ExitCode::from(NOT_OK));
        }
    };
    let host = open(config).await?;
    Ok(told(&bundle_and_page_tests(&host, &bundle).await?, output))
}

fn told(result: &ContractResult, output: &Output) -> ExitCode {
    if output.json {
        output.document(result);
    } else {
        for test in &result.tests {
            output.line(&format!(
                "{}  {}: {}",
                if test.passed { "pass" } else { "FAIL" },
                test.test,
                test.message
            ));
        }
        for why in &result.not_tested {
            output.line(&format!("note  {why}"));
        }
        let passed = result.tests.iter().filter(|test| test.passed).count();
        output.line(&format!("{passed} of {} passed", result.tests.len()));
    }
    if result.ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) }
}
