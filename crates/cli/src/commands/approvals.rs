//! `roost approvals`: what models want to do and a person decides.

use crate::{
    args::{ApprovalsArguments, ApprovalsVerb},
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded},
};
use roost_protocol::Failure;
use serde_json::Value;
use std::process::ExitCode;

pub(crate) async fn approvals(
    config: Config,
    arguments: ApprovalsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find_for_files(config).await?;
    let (verb, id, word) = match arguments.verb.unwrap_or(ApprovalsVerb::List) {
        ApprovalsVerb::List => {
            let listed = partner.ask(Method::Get, "/v1/approvals", None).await?;
            list(&listed, *output);
            return Ok(ExitCode::SUCCESS);
        }
        ApprovalsVerb::Approve { id } => ("approve", id, "approved"),
        ApprovalsVerb::Deny { id } => ("deny", id, "denied"),
    };
    let path = format!("/v1/approvals/{}/{verb}", percent_encoded(&id));
    let answer = partner.ask(Method::Post, &path, None).await?;
    if output.json {
        output.document(&answer);
    } else {
        output.line(&format!("{word} {id}: {}", text(&answer["page"])));
    }
    Ok(ExitCode::SUCCESS)
}

fn list(listed: &Value, output: Output) {
    if output.json {
        output.document(listed);
        return;
    }
    let approvals = listed["approvals"].as_array().map(Vec::as_slice).unwrap_or_default();
    if approvals.is_empty() {
        output.line("Nothing waits for approval.");
    }
    for approval in approvals {
        let action = text(&approval["action"]);
        let what = if matches!(action, "install" | "uninstall") { "app" } else { "page" };
        output.line(&format!("{}  {action} the {what} {}", text(&approval["id"]), text(&approval["page"])));
        for ask in approval["asks"].as_array().into_iter().flatten() {
            output.line(&format!("    it may ask to {}", text(ask)));
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
