//! `roost validate PATH`: everything that can be refused without running it.

use super::open;
use crate::{
    args::{RuleSet, ValidateArguments},
    config::Config,
    output::{NOT_OK, Output},
};
use roost_apps::{
    Arrival, BundleReport, BundleSource, Rules, Submission, look_at,
    native::{NativeArrival, NativeReport, NativeSource, NativeSummary, look_for_native, validate_native},
    read_at_most, validate_bundle,
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
    match look_for_native(&arguments.path)? {
        Some(NativeArrival::Napp(bytes)) => return Ok(judged(NativeSource::Napp(&bytes), output)),
        Some(NativeArrival::Folder) => return Ok(judged(NativeSource::Folder(&arguments.path), output)),
        None => {}
    }
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

fn judged(source: NativeSource<'_>, output: &Output) -> ExitCode {
    let report = validate_native(source);
    show_native(&report, output);
    if report.ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) }
}

/// What is found out about a native package.
pub(crate) fn show_native(report: &NativeReport, output: &Output) {
    if output.json {
        return output.document(report);
    }
    for error in &report.errors {
        output.line(&error.to_string());
    }
    if let Some(app) = &report.app {
        tell(app, *output);
    }
}

fn tell(app: &NativeSummary, output: Output) {
    let list = |texts: Vec<String>| if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") };
    output.line("ok");
    output.line(&format!("{} ({}) {}", app.name, app.id, app.version));
    output.line(&format!("  offers: {}", list(app.provides.iter().map(ToString::to_string).collect())));
    let asked = app.permissions.iter().map(|asked| format!("{} ({})", asked.permission, asked.right));
    output.line(&format!("  asks for: {}", list(asked.collect())));
    if !app.overrides.is_empty() {
        output.line(&format!("  may answer in place of the host at: {}", app.overrides.join(", ")));
    }
    let bytes: usize = app.files.iter().map(|file| file.bytes).sum();
    output.line(&format!("  {} files, {bytes} bytes, digest {}", app.files.len(), app.digest));
    output.line(&match &app.signed_by {
        Some(signed) => {
            format!("  signed by key {}; `roost keys verify` says whether it is trusted", signed.key_id)
        }
        None => "  not signed".to_owned(),
    });
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
