//! A package tried out in the sandbox, alone and without rights.

use super::launch::{AppPlaces, program};
use crate::{contract::ContractResult, host::Host};
use roost_apps::{ContractCheck, native::NativePackage};
use roost_protocol::{AgentName, Failure, Reason, Refusal};
use roost_runtime::{NativeApp, NativePart, NativeProgram, Scratch};
use serde_json::Value;
use std::{collections::BTreeSet, io, path::Path, time::Instant};

/// Starts a copy of the package's app without any rights, and ends it again when it answered: nothing of it stays. An
/// error says why it did not.
pub async fn native_answers(host: &Host, package: &NativePackage) -> Result<(), Failure> {
    let unusable = |error: io::Error| Failure::new(Reason::Internal, format!("unpack the app: {error}"));
    let stage = tempfile::tempdir().map_err(unusable)?;
    let program = staged(host, package, stage.path()).map_err(unusable)?;
    let app = host.runtime().start_native(&program).await?;
    app.stop().await;
    Ok(())
}

/// Starts the package's app from a copy, asks it everything that its capabilities promise and that is wired here, and ends
/// it. Nothing of it stays.
pub async fn native_tests(host: &Host, package: &NativePackage) -> Result<ContractResult, Failure> {
    let unusable =
        |error: io::Error| Failure::new(Reason::Internal, format!("unpack the app to test: {error}"));
    let stage = tempfile::tempdir().map_err(unusable)?;
    let program = staged(host, package, stage.path()).map_err(unusable)?;
    let mut tests = Vec::new();
    let begun = Instant::now();
    match host.runtime().start_native(&program).await {
        Err(failure) => tests.push(check("starts", Err(failure))),
        Ok(app) => {
            let took = format!("healthy after {} ms", begun.elapsed().as_millis());
            tests.push(check("starts", Ok(took)));
            ask(&app, &program, &mut tests).await;
            tests.push(within_its_bounds(&app.take_refused()));
            let begun = Instant::now();
            app.stop().await;
            tests.push(check("ends", Ok(format!("gone after {} ms", begun.elapsed().as_millis()))));
        }
    }
    Ok(ContractResult { ok: tests.iter().all(|test| test.passed), tests, not_tested: Vec::new() })
}

async fn ask(app: &NativeApp, program: &NativeProgram, tests: &mut Vec<ContractCheck>) {
    for service in &program.services {
        let health = app.health(*service).await;
        let told = health.map(|health| format!("{} {}", health.name, health.version));
        tests.push(check(health_test(*service), told));
    }
    if program.services.contains(&NativePart::Tool) {
        ask_tool(app, tests).await;
    }
    for service in &program.services {
        match app.probe(*service).await {
            Ok(probed) => tests.extend(probed.into_iter().map(|one| check(one.call, one.outcome))),
            Err(failure) => tests.push(check(service.wire_name(), Err(failure))),
        }
    }
}

/// A tool is judged by more than that it answers: a model has to be able to use it.
async fn ask_tool(app: &NativeApp, tests: &mut Vec<ContractCheck>) {
    match app.describe_tool().await {
        Err(failure) => tests.push(check("tool_describes_itself", Err(failure))),
        Ok(tool) => {
            tests.push(check("tool_describes_itself", Ok(tool.description.clone())));
            let name = AgentName::parse(&tool.name).map(|name| format!("the name is {name}"));
            tests.push(check(
                "tool_name_is_tool_safe",
                name.map_err(|error| Failure::new(Reason::InvalidName, error.to_string())),
            ));
            tests.push(check("tool_schema_is_an_object", schema(&tool.schema)));
        }
    }
    let answer = app.execute(b"{}".to_vec()).await.map(|answer| {
        let how = if answer.is_error { "an error of its own" } else { "a result" };
        format!("{how}, {} characters", answer.content.chars().count())
    });
    tests.push(check("tool_answers", answer));
}

fn schema(bytes: &[u8]) -> Result<String, Failure> {
    let schema: Option<Value> = serde_json::from_slice(bytes).ok();
    match schema.filter(|schema| schema["type"] == "object") {
        Some(schema) => {
            let count = schema["properties"].as_object().map_or(0, serde_json::Map::len);
            Ok(format!("{count} parameters"))
        }
        None => Err(Failure::plain(Reason::InvalidSchema)),
    }
}

fn health_test(service: NativePart) -> &'static str {
    match service {
        NativePart::Gateway => "gateway_is_healthy",
        NativePart::Tool => "tool_is_healthy",
        NativePart::Comm => "comm_is_healthy",
        NativePart::Channel => "channel_is_healthy",
        NativePart::Ui => "ui_is_healthy",
        NativePart::Schedule => "schedule_is_healthy",
        NativePart::Hooks => "hooks_are_healthy",
    }
}

/// What was refused is told; an app that works without it is none the worse.
fn within_its_bounds(refused: &[Refusal]) -> ContractCheck {
    if refused.is_empty() {
        return ContractCheck::new("stays_in_its_sandbox", true, "nothing was refused to it");
    }
    let what: BTreeSet<&str> = refused.iter().map(|refusal| refusal.what.as_str()).collect();
    let what: Vec<&str> = what.into_iter().collect();
    ContractCheck::new("stays_in_its_sandbox", true, format!("refused to it: {}", what.join(", ")))
}

fn check(test: &'static str, outcome: Result<String, Failure>) -> ContractCheck {
    match outcome {
        Ok(message) => ContractCheck::new(test, true, message),
        Err(failure) => {
            ContractCheck::new(test, false, format!("{} [{}]", failure.message, failure.reason.code()))
        }
    }
}

/// A copy of the app with folders of its own.
fn staged(host: &Host, package: &NativePackage, stage: &Path) -> io::Result<NativeProgram> {
    let folder = stage.join("app");
    package.unpack(&folder)?;
    let places = AppPlaces {
        data: folder.join("data"),
        run: stage.join("run"),
        mark: stage.join("process"),
        scratch: Scratch::below(&stage.join("scratch")),
        folder: folder.clone(),
    };
    program(&host.inner.settings, package.manifest(), folder.join(package.binary().0), places, &[])
}
