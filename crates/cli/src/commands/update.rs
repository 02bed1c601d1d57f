//! `roost update`: newer versions, the one before, and those that wait for a yes.

use super::{consent, install::show_rights};
use crate::{
    args::UpdateArguments,
    config::Config,
    output::{NOT_OK, Output},
    partner::{Method, Partner, percent_encoded, understood},
};
use roost_host::library::{AppListing, UpdateOutcome, UpdateState};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn update(
    config: Config,
    arguments: UpdateArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let by = config.person.clone();
    let partner = Partner::find_trusted(config).await?;
    let UpdateArguments { id, rollback, approve, reject, now, yes } = arguments;
    let named = id.as_deref().map(percent_encoded).unwrap_or_default();
    if reject {
        let path = format!("/v1/apps/{named}/waiting");
        let app: AppListing = understood(partner.ask(Method::Delete, &path, None).await?)?;
        match output.json {
            true => output.document(&app),
            false => {
                let version = app.version.as_deref().unwrap_or("the version before");
                output.line(&format!("{} stays at {version}", app.id));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let updates: Vec<UpdateOutcome> = if approve {
        let waiting: UpdateOutcome =
            understood(partner.ask(Method::Get, &format!("/v1/apps/{named}/waiting"), None).await?)?;
        agree(&waiting, yes, *output)?;
        let path = format!("/v1/apps/{named}/approve");
        vec![understood(partner.ask(Method::Post, &path, Some(&json!({ "by": by }))).await?)?]
    } else if rollback {
        let path = format!("/v1/apps/{named}/rollback");
        vec![understood(partner.ask(Method::Post, &path, Some(&json!({ "by": by }))).await?)?]
    } else {
        let asked = json!({ "id": id, "now": now, "by": by });
        let mut answer = partner.ask(Method::Post, "/v1/app-updates", Some(&asked)).await?;
        understood(answer["updates"].take())?
    };
    let failed = updates.iter().any(|update| update.state == UpdateState::Failed);
    if output.json {
        output.document(&json!({ "updates": updates }));
    } else if updates.is_empty() {
        output.line("No apps are installed.");
    } else {
        updates.iter().for_each(|update| one(update, *output));
    }
    Ok(ExitCode::from(if failed { NOT_OK } else { 0 }))
}

/// Shows what is new and wants a yes to it.
fn agree(waiting: &UpdateOutcome, yes: bool, output: Output) -> Result<(), Failure> {
    if !output.json {
        let to = waiting.to.as_deref().unwrap_or("the new content");
        output.line(&format!("{} {to} asks for more than {} did:", waiting.app.id, waiting.from));
        show_rights(&waiting.new_rights, output);
        for word in waiting.wants.words() {
            output.line(&format!("  wants      {word}"));
        }
    }
    if yes || (consent::can_ask(output) && consent::says_yes("Give it that and let it serve?")) {
        return Ok(());
    }
    let mut rights: Vec<String> = waiting.new_rights.iter().map(|asked| asked.right.to_string()).collect();
    if rights.is_empty() {
        rights = waiting.wants.words();
    }
    let message = format!("nobody said yes to {}", rights.join(", "));
    Err(Failure::new(Reason::ConsentNeeded, message)
        .with_next(format!("roost update --approve {} --yes", waiting.app.id)))
}

fn one(update: &UpdateOutcome, output: Output) {
    let (id, from) = (&update.app.id, &update.from);
    let to = update.to.as_deref().unwrap_or("the new content");
    output.line(&match update.state {
        UpdateState::Updated => format!("{id}  {from} → {to}"),
        UpdateState::Current => format!("{id}  {from}, nothing newer"),
        UpdateState::Waiting => format!("{id}  {from}, {to} waits for your yes"),
        UpdateState::Young => format!("{id}  {from}, {to} is too young"),
        UpdateState::TakenBack => format!("{id}  {from}, {to} was taken back"),
        UpdateState::Failed => format!("{id}  {from}, not updated"),
    });
    if !update.new_rights.is_empty() {
        show_rights(&update.new_rights, output);
    }
    if let Some(failure) = &update.reason {
        output.line(&format!("    {} [{}]", failure.message, failure.reason.code()));
        output.line(&format!("    next: {}", failure.next_step()));
    }
    for kept in &update.kept {
        output.line(&format!("    your changed file is kept as {}", kept.display()));
    }
}
