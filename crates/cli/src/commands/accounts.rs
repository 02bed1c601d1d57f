//! `roost accounts`: accounts elsewhere that a native app uses. Tokens are never shown.

use crate::{
    args::{AccountsArguments, AccountsVerb},
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded},
};
use roost_protocol::Failure;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) async fn accounts(
    config: Config,
    arguments: AccountsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let app = percent_encoded(&arguments.app);
    let all = format!("/v1/native-apps/{app}/accounts");
    match arguments.verb {
        None => {
            let listed = Partner::find_trusted(config).await?.ask(Method::Get, &all, None).await?;
            output.show(&listed, |listed, output| list(&arguments.app, listed, output));
        }
        Some(AccountsVerb::Connect { provider, scopes }) => {
            // A provider sends the person back to the host that was asked: it must still be there.
            let partner = Partner::find_running(config).await?;
            let path = format!("{all}/{}", percent_encoded(&provider));
            let begun = partner.ask(Method::Post, &path, Some(&json!({ "scopes": scopes }))).await?;
            output.show(&begun, |begun, output| {
                output.line(text(&begun["url"]));
                output.note("Open this in your browser and sign in. It works once, within ten minutes.");
            });
        }
        Some(AccountsVerb::Disconnect { provider }) => {
            let partner = Partner::find_trusted(config).await?;
            // Failures of the route that disconnects have another form; an unknown app is told here.
            let known = partner.ask(Method::Get, &all, None).await?;
            let was_there = rows(&known).iter().any(|account| account["provider"] == provider.as_str());
            let path = format!("/api/v1/apps/{app}/oauth/{}", percent_encoded(&provider));
            let done = partner.ask(Method::Delete, &path, None).await?;
            output.show(&done, |_, output| {
                let how = if was_there { "is disconnected" } else { "was not connected" };
                output.line(&format!("{} {how}", provider.escape_debug()));
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &str, listed: &Value, output: Output) {
    if rows(listed).is_empty() {
        output.line(&format!("{app} uses no account. `roost accounts {app} connect PROVIDER` begins."));
    }
    for account in rows(listed) {
        let (provider, status) = (text(&account["provider"]), text(&account["connection_status"]));
        let ends = account["expires_at"].as_str().map(|at| format!("  until {at}")).unwrap_or_default();
        output.line(&format!("{provider}  {status}{ends}  {}", text(&account["scopes"]).escape_debug()));
    }
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
