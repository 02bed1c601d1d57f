//! `roost validate PATH`: everything that can be refused without running it.

use super::open;
use crate::{
    args::{RuleSet, ValidateArguments},
    config::Config,
    output::{NOT_OK, Output},
};
use roost_apps::{
    Arrival, BundleReport, BundleSource, Rules, Submission, look_at, read_at_most, validate_bundle,
};
use roost_host::validate_file;
use roost_protocol::{Failure, Reason};
use std::{path::Path, process::ExitCode};

/// Largest catalog that is read; one with ten thousand entries has a tenth of it.
const CATALOG_BYTES_MAX: u64 = 64 << 20;

pub(crate) async fn validate(
    config: Config,
    arguments: &ValidateArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let found = look_at(&arguments.path)?;
    let source = match &found {
        Arrival::File => return validate_agent(config, &arguments.path, output).await,
        Arrival::Folder => BundleSource::Folder(&arguments.path),
        Arrival::Zip(bytes) => BundleSource::Zip(bytes),
    };
    let rules = match arguments.rules {
        RuleSet::Reference => Rules::Reference,
        RuleSet::Spec => Rules::Spec,
    };
    let report = validate_bundle(source, &submission(arguments)?, rules);
    show(&report, output);
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}

/// What the command line says beside the bundle.
fn submission(arguments: &ValidateArguments) -> Result<Submission, Failure> {
    let submitter = arguments.publisher.as_ref();
    let submitter =
        submitter.map(|name| if name.starts_with('@') { name.clone() } else { format!("@{name}") });
    let catalog = match &arguments.catalog {
        None => None,
        Some(path) => {
            let unreadable = |message: String| {
                Failure::new(Reason::BadArguments, format!("--catalog {}: {message}", path.display()))
            };
            let bytes =
                read_at_most(path, CATALOG_BYTES_MAX).map_err(|error| unreadable(error.to_string()))?;
            Some(serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?)
        }
    };
    Ok(Submission { submitter, payload_id: arguments.payload_id.clone(), catalog })
}

/// The gate's answer.
pub(crate) fn show(report: &BundleReport, output: &Output) {
    if output.json {
        output.document(report);
    } else if report.ok {
        output.line("ok");
    } else {
        for error in &report.errors {
            output.line(&error.to_string());
        }
    }
}

async fn validate_agent(config: Config, path: &Path, output: &Output) -> Result<ExitCode, Failure> {
    let host = open(config).await?;
    let validation = validate_file(&host, path).await;
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
