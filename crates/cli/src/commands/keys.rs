//! `roost keys`: tokens that let programs use one workspace each, keys to sign with, and whom the home trusts. A token is
//! shown once, when it is made; the private half of a key never is.

mod trust; // signing keys, publishers, stores

use crate::{
    args::{Keys, KeysArguments, TokenArguments, TokenVerb},
    config::Config,
    moments::coming_moment,
    output::Output,
    partner::{Method, Partner, percent_encoded},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) async fn keys(
    config: Config,
    arguments: KeysArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match arguments.what {
        Keys::Token { verb } => tokens(config, verb, output).await,
        Keys::Signing { verb } => trust::signing(&config, verb, output).await,
        Keys::Publisher { verb } => trust::publisher(&config, verb, output).await,
        Keys::Store { verb } => trust::store(&config, verb, output).await,
        Keys::List => trust::list(&config, output),
        Keys::Verify { path } => trust::verify(&config, &path, output).await,
    }
}

async fn tokens(config: Config, verb: TokenVerb, output: &Output) -> Result<ExitCode, Failure> {
    match verb {
        TokenVerb::Create(wanted) => {
            let asked = asked(&wanted)?;
            let partner = Partner::find_trusted(config).await?;
            let made = partner.ask(Method::Post, "/tokens", Some(&asked)).await.map_err(wrong_use)?;
            if output.json {
                output.document(&made);
            } else {
                output.line(made["token"].as_str().unwrap_or_default());
                output.note(&format!("{}: {}. It is not shown again.", text(&made["id"]), uses(&made)));
            }
        }
        TokenVerb::List => {
            let listed = Partner::find_trusted(config).await?.ask(Method::Get, "/tokens", None).await?;
            if output.json {
                output.document(&listed);
            } else {
                list(listed["tokens"].as_array().map(Vec::as_slice).unwrap_or_default(), *output);
            }
        }
        TokenVerb::Revoke { id } => {
            let path = format!("/tokens/{}", percent_encoded(&id));
            let answer = Partner::find_trusted(config).await?.ask(Method::Delete, &path, None).await?;
            if output.json {
                output.document(&answer);
            } else {
                output.line(&format!("took {id} back"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn asked(wanted: &TokenArguments) -> Result<Value, Failure> {
    let mut asked = json!({
        "tenant": wanted.tenant,
        "workspace": wanted.workspace,
        "scopes": wanted.scopes,
    });
    if let Some(expires) = &wanted.expires {
        asked["expires"] = json!(coming_moment(expires)?);
    }
    if let Some(note) = &wanted.note {
        asked["note"] = json!(note);
    }
    if let Some(rate) = wanted.rate {
        asked["requestsPerSecond"] = json!(rate);
    }
    Ok(asked)
}

/// What the host calls a bad request was a bad command line.
fn wrong_use(failure: Failure) -> Failure {
    match failure.reason {
        Reason::BadRequest => {
            Failure::new(Reason::WrongUse, failure.message).with_next("see `roost keys token create --help`")
        }
        _ => failure,
    }
}

fn list(tokens: &[Value], output: Output) {
    if tokens.is_empty() {
        output.line("No tokens. Make one with `roost keys token create`.");
    }
    for token in tokens {
        let note = text(&token["note"]);
        let note = if note.is_empty() { String::new() } else { format!("  ({note})") };
        output.line(&format!("{}  {}{note}", text(&token["id"]), uses(token)));
    }
}

/// What a token is for and how long, in words.
fn uses(token: &Value) -> String {
    let scopes: Vec<&str> = token["scopes"].as_array().into_iter().flatten().map(text).collect();
    let until = match (token["revoked"].as_str(), token["expires"].as_str()) {
        (Some(revoked), _) => format!(", taken back {revoked}"),
        (None, Some(expires)) => format!(", until {expires}"),
        (None, None) => String::new(),
    };
    format!("{}/{} {}{until}", text(&token["tenant"]), text(&token["workspace"]), scopes.join(" "))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
