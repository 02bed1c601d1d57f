//! `roost validate PATH…`: everything that can be refused without running it.

use super::open;
use crate::{
    args::{RuleSet, ValidateArguments},
    config::Config,
    output::{NOT_OK, Output},
};
use roost_apps::{
    Arrival, BundleReport, BundleSource, Rules, Submission, Validation, ValidationError, look_at,
    native::{NativeArrival, NativeReport, NativeSource, NativeSummary, look_for_native, validate_native},
    read_at_most, validate_bundle,
};
use roost_host::validate_file;
use roost_protocol::{Failure, Reason};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Largest catalog that is read; one with ten thousand entries has a tenth of it.
const CATALOG_BYTES_MAX: u64 = 64 << 20;

/// What was found out about one path.
#[derive(Serialize)]
#[serde(untagged)]
enum Judged {
    Bundle(BundleReport),
    Native(Box<NativeReport>),
    Agent(Validation),
}

pub(crate) async fn validate(
    config: Config,
    arguments: &ValidateArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let submission = submission(arguments)?;
    let rules = match arguments.rules {
        RuleSet::Reference => Rules::Reference,
        RuleSet::Spec => Rules::Spec,
    };
    let found = judge_all(&arguments.paths, &submission, rules);
    // Only a host can judge an agent file, and most of what is judged is none.
    let needs_host = found.iter().any(|found| matches!(found, Ok(None)));
    let host = if needs_host { Some(open(config).await?) } else { None };
    let mut judged = Vec::new();
    for (path, found) in arguments.paths.iter().zip(found) {
        judged.push(match (found, &host) {
            (Ok(None), Some(host)) => Ok(Judged::Agent(validate_file(host, path).await)),
            (found, _) => found.and_then(|found| found.ok_or_else(|| Failure::plain(Reason::Internal))),
        });
    }
    let all_ok = judged.iter().all(|found| found.as_ref().is_ok_and(Judged::is_ok));
    if arguments.paths.len() > 1 {
        show_each(&arguments.paths, &judged, all_ok, output);
    } else {
        judged.into_iter().next().transpose()?.iter().for_each(|found| found.show(output));
    }
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}

/// All paths, as many at a time as there are processors; nothing where a host is needed.
fn judge_all(
    paths: &[PathBuf],
    submission: &Submission,
    rules: Rules,
) -> Vec<Result<Option<Judged>, Failure>> {
    let next = AtomicUsize::new(0);
    let found: Vec<Mutex<Option<_>>> = paths.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < paths.len()) {
            let judged = judge(&paths[at], submission, rules);
            *found[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(judged);
        }
    };
    let helpers = thread::available_parallelism().map_or(1, std::num::NonZero::get).min(paths.len()) - 1;
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(work);
        }
        work();
    });
    let taken = found.into_iter().map(|judged| judged.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken.map(|judged| judged.unwrap_or_else(|| Err(Failure::plain(Reason::Internal)))).collect()
}

fn judge(path: &Path, submission: &Submission, rules: Rules) -> Result<Option<Judged>, Failure> {
    let native = |source| Ok(Some(Judged::Native(Box::new(validate_native(source)))));
    match look_for_native(path)? {
        Some(NativeArrival::Napp(bytes)) => return native(NativeSource::Napp(&bytes)),
        Some(NativeArrival::Folder) => return native(NativeSource::Folder(path)),
        None => {}
    }
    let found = look_at(path)?;
    let source = match &found {
        Arrival::File => return Ok(None),
        Arrival::Folder => BundleSource::Folder(path),
        Arrival::Zip(bytes) => BundleSource::Zip(bytes),
    };
    Ok(Some(Judged::Bundle(validate_bundle(source, submission, rules))))
}

/// Each with its path.
fn show_each(paths: &[PathBuf], judged: &[Result<Judged, Failure>], all_ok: bool, output: &Output) {
    if output.json {
        let each = paths.iter().zip(judged).map(|(path, found)| {
            let mut told = match found {
                Ok(found) => json!(found),
                Err(failure) => json!({ "ok": false, "error": failure }),
            };
            if let Value::Object(fields) = &mut told {
                fields.shift_insert(0, "path".to_owned(), json!(path.display().to_string()));
            }
            told
        });
        return output.document(&json!({ "ok": all_ok, "results": each.collect::<Vec<_>>() }));
    }
    for (path, found) in paths.iter().zip(judged) {
        let lines = match found {
            Ok(found) if found.is_ok() => vec!["ok".to_owned()],
            Ok(found) => found.errors(),
            Err(failure) => vec![failure.message.clone()],
        };
        let path = path.display().to_string();
        for line in lines {
            // What is wrong with an agent file names it already, with the line.
            output.line(&if line.starts_with(&path) { line } else { format!("{path}: {line}") });
        }
    }
}

impl Judged {
    fn is_ok(&self) -> bool {
        match self {
            Self::Bundle(report) => report.ok,
            Self::Native(report) => report.ok,
            Self::Agent(validation) => validation.ok,
        }
    }

    fn errors(&self) -> Vec<String> {
        match self {
            Self::Bundle(report) => report.errors.iter().map(ToString::to_string).collect(),
            Self::Native(report) => report.errors.iter().map(ToString::to_string).collect(),
            Self::Agent(validation) => {
                let told =
                    |error: &ValidationError| format!("{}: {} [{}]", error.path, error.message, error.code);
                validation.errors.iter().map(told).collect()
            }
        }
    }

    fn show(&self, output: &Output) {
        match self {
            Self::Bundle(report) => show(report, output),
            Self::Native(report) => show_native(report, output),
            Self::Agent(validation) if output.json => output.document(validation),
            Self::Agent(validation) if validation.ok => output.line("ok"),
            Self::Agent(_) => self.errors().iter().for_each(|error| output.line(error)),
        }
    }
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
