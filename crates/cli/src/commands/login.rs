//! `roost login`: signing in at GitHub, so that Copilot's models answer.

use crate::{
    args::LoginArguments,
    config::Config,
    output::{NOT_OK, Output},
    partner::{Method, Partner},
};
use roost_protocol::{Failure, Reason};
use serde_json::Value;
use std::{process::ExitCode, time::Duration};

/// GitHub itself is asked by the host, no more often than it allows; this only looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

pub(crate) async fn login(
    config: Config,
    arguments: &LoginArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find(config).await?;
    if arguments.status {
        return status(&partner, output).await;
    }
    let path = if arguments.switch { "/login/switch" } else { "/login" };
    let begun = partner.ask(Method::Post, path, Some(&Value::Object(serde_json::Map::new()))).await?;
    let text = |name: &str| begun[name].as_str().unwrap_or_default().to_owned();
    if output.json {
        output.document(&begun);
        if !arguments.wait {
            return Ok(ExitCode::SUCCESS);
        }
    } else {
        output.line(&format!("Open {} and type this code: {}", text("verification_uri"), text("user_code")));
        output.note("Waiting for you to finish there. Ctrl-C leaves; the code stays good for some minutes.");
    }
    loop {
        let answer = partner.ask(Method::Post, "/login/poll", None).await?;
        match answer["status"].as_str() {
            Some("pending") => tokio::time::sleep(LOOK_EVERY).await,
            Some("ok") => {
                if output.json {
                    output.document(&answer);
                } else {
                    output.line(answer["message"].as_str().unwrap_or("Signed in."));
                }
                return Ok(ExitCode::SUCCESS);
            }
            _ => {
                let message = answer["error"].as_str().unwrap_or(Reason::LoginFailed.sentence());
                return Err(Failure::new(Reason::LoginFailed, message));
            }
        }
    }
}

async fn status(partner: &Partner, output: &Output) -> Result<ExitCode, Failure> {
    let report = partner.ask(Method::Get, "/debug/auth", None).await?;
    let state = report["state"].as_str().unwrap_or("none").to_owned();
    if output.json {
        output.document(&report);
    } else {
        let said = match state.as_str() {
            "ready" => "signed in, and Copilot answers",
            "pending" => "there is a token; it was not tried yet",
            "no_access" => "signed in with an account that has no access to Copilot: `roost login --switch`",
            "rejected" => "GitHub no longer takes the token: `roost login`",
            _ => "nobody is signed in: `roost login`",
        };
        output.line(said);
    }
    Ok(ExitCode::from(if state == "ready" || state == "pending" { 0 } else { NOT_OK }))
}
