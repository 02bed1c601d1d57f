//! Running the steps of a chain: each gets the slush of the one before.

use crate::{
    output::{NOT_OK, Output},
    words::{Step, Steps},
};
use roost_host::{Request, arguments_from_words};
use roost_protocol::{AgentName, CallOutcome, Failure, NetworkMode, Reason, UserGuid};
use serde_json::{Map, Value};
use std::process::ExitCode;

/// An agent that a step names.
pub(crate) struct Target<'a> {
    pub(crate) name: AgentName,
    pub(crate) description: &'a str,
    pub(crate) parameters: &'a Value,
}

/// The request of one step.
pub(crate) fn request(
    step: &Step,
    parameters: &Value,
    user: Option<&UserGuid>,
    before: &[CallOutcome],
) -> Result<Request, Failure> {
    let mut arguments: Map<String, Value> = step.json.clone().unwrap_or_default();
    arguments.extend(arguments_from_words(&step.words, parameters)?);
    Ok(Request {
        arguments,
        user: user.cloned(),
        query: None,
        slush: before.last().and_then(|outcome| outcome.slush.clone()),
        breadcrumbs: before.iter().map(|outcome| outcome.agent.to_string()).collect(),
        ..Request::default()
    })
}

/// The agent's own help, made from its schema.
pub(crate) fn show_help(output: Output, command: &str, target: &Target<'_>) -> ExitCode {
    if output.json {
        output.document(&serde_json::json!({
            "agent": target.name, "description": target.description, "parameters": target.parameters,
        }));
        return ExitCode::SUCCESS;
    }
    output.line(&format!("{}: {}\n\nUsage: {command} [key=value]...", target.name, target.description));
    let required: Vec<&str> =
        target.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) =
        target.parameters["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        output.line("\nIt takes no arguments.");
        return ExitCode::SUCCESS;
    };
    output.line("\nArguments:");
    let width = properties.keys().map(String::len).max().unwrap_or_default();
    for (name, property) in properties {
        let kind = match (&property["enum"], &property["type"]) {
            (Value::Array(allowed), _) => allowed
                .iter()
                .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join("|"),
            (_, Value::String(kind)) => kind.clone(),
            _ => "text".to_owned(),
        };
        let must = if required.contains(&name.as_str()) { ", required" } else { "" };
        let default = property.get("default").map(|value| format!(" [default: {value}]")).unwrap_or_default();
        let description = property["description"].as_str().unwrap_or_default();
        output.line(&format!("  {name:width$}  {description} ({kind}{must}){default}"));
    }
    ExitCode::SUCCESS
}

/// Prints the outcome of the last step, or of the one that failed.
pub(crate) fn show(output: Output, steps: &Steps, outcomes: &[CallOutcome]) -> ExitCode {
    let Some(last) = outcomes.last() else {
        return output.failure(&Failure::plain(Reason::WrongUse));
    };
    if output.json {
        output.document(last);
    } else {
        match &last.error {
            None => output.line(&last.output),
            Some(failure) => output.explain(failure),
        }
        show_refusals(output, last);
        if output.verbose || steps.verbose {
            outcomes.iter().for_each(|outcome| show_receipt(output, outcome));
        }
    }
    if last.error.is_none() { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) }
}

/// What was refused is said also when the agent answered: it may have answered without.
fn show_refusals(output: Output, outcome: &CallOutcome) {
    let told = outcome.error.as_ref().map(Failure::next_step);
    for refusal in outcome.receipt.refused.iter().filter(|refusal| Some(refusal.next.as_str()) != told) {
        output.note(&format!("refused: {} ({} times)", refusal.what, refusal.count));
        output.note(&format!("  next: {}", refusal.next));
    }
    if !outcome.receipt.refused.is_empty() {
        output.note(&format!("  `roost why {}` says more", outcome.receipt.call));
    }
}

fn show_receipt(output: Output, outcome: &CallOutcome) {
    let receipt = &outcome.receipt;
    let how = if receipt.worker.reused { "reused" } else { "started" };
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    let milliseconds = |microseconds: u64| microseconds as f64 / 1000.0;
    output.note(&format!(
        "{} ({}): {:.2} ms, {:.2} ms CPU, {} kB, {} worker {} ({}), content {}",
        outcome.agent,
        receipt.call,
        milliseconds(receipt.duration_us),
        milliseconds(receipt.cpu_us),
        receipt.peak_memory_kb,
        how,
        receipt.worker.pid,
        receipt.worker.runtime,
        receipt.digest.short(),
    ));
    let enforcement = &receipt.enforcement;
    let landlock = enforcement.landlock_abi.map_or("none".to_owned(), |abi| format!("ABI {abi}"));
    output.note(&format!(
        "  sandbox {}: Landlock {landlock}, seccomp {}, namespaces {}, network {}",
        enforcement.level.as_str(),
        if enforcement.seccomp { "on" } else { "off" },
        list(&enforcement.namespaces),
        network(receipt.enforcement.network),
    ));
    output.note(&format!(
        "  enforced: {}; not enforced: {}",
        list(&enforcement.enforced),
        list(&enforcement.missing)
    ));
    let rights: Vec<String> = receipt.rights.iter().map(ToString::to_string).collect();
    output.note(&format!("  rights: {}; environment: {}", list(&rights), list(&receipt.environment)));
    for host in &receipt.traffic {
        output.note(&format!(
            "  reached {}:{}: {} requests, {} bytes out, {} bytes in",
            host.host, host.port, host.requests, host.sent_bytes, host.received_bytes
        ));
    }
    if receipt.stray_processes > 0 {
        output.note(&format!("  {} processes were left over and ended", receipt.stray_processes));
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn network(mode: NetworkMode) -> &'static str {
    match mode {
        NetworkMode::None => "none",
        NetworkMode::Hosts => "named computers only",
        NetworkMode::Any => "any",
    }
}
