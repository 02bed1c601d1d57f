//! `roost apps` and `roost remove`: what is installed, and taking it away.

use crate::{
    args::RemoveArguments,
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded, understood},
};
use roost_host::library::{AppListing, Removed};
use roost_protocol::Failure;
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn apps(config: Config, output: &Output) -> Result<ExitCode, Failure> {
    let partner = Partner::find_trusted(config).await?;
    let mut answer = partner.ask(Method::Get, "/v1/apps", None).await?;
    let apps: Vec<AppListing> = understood(answer["apps"].take())?;
    if output.json {
        output.document(&json!({ "apps": apps }));
        return Ok(ExitCode::SUCCESS);
    }
    if apps.is_empty() {
        output.line("No apps are installed. Find one with `roost store search`.");
    }
    for app in &apps {
        let publisher = app.publisher.as_deref().map(|by| format!("{by}/")).unwrap_or_default();
        let version = app.version.as_deref().unwrap_or("-");
        output.line(&format!(
            "{publisher}{}  {version}  {}  safety {}  {}",
            app.id,
            app.state.word(),
            app.grade,
            app.origin.sentence()
        ));
        if let Some(failure) = &app.reason {
            output.line(&format!("    {} [{}]", failure.message, failure.reason.code()));
            output.line(&format!("    next: {}", failure.next_step()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn remove(
    config: Config,
    arguments: RemoveArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find_trusted(config).await?;
    let path = format!("/v1/apps/{}", percent_encoded(&arguments.id));
    let removed: Removed = understood(partner.ask(Method::Delete, &path, None).await?)?;
    if output.json {
        output.document(&removed);
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&format!("removed {} {}", removed.removed, removed.version));
    output.line(&format!("  its workspace stays: {}", removed.workspace.display()));
    for kept in &removed.kept {
        output.line(&format!("  your changed file is kept as {}", kept.display()));
    }
    Ok(ExitCode::SUCCESS)
}
