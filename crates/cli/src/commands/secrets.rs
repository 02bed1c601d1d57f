//! `roost secrets`: the vault of this home. Values go in and are never shown.

use crate::{
    args::{SecretsArguments, SecretsVerb},
    config::Config,
    hidden_input::read_hidden,
    output::Output,
    partner::{Method, Partner, understood},
};
use roost_host::{
    KeyPlace, SecretValue, Secrets,
    catalogs::{gated_secret, gated_secret_label},
};
use roost_protocol::{Failure, Reason, VariableName};
use serde_json::json;
use std::{
    io::{self, IsTerminal as _, Read as _},
    process::ExitCode,
};

/// More than the largest value with its line end: whatever is longer is refused for its size.
const INPUT_BYTES_MAX: u64 = 128 << 10;

pub(crate) async fn secrets(
    config: Config,
    arguments: SecretsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match arguments.verb.unwrap_or(SecretsVerb::List) {
        SecretsVerb::List => {
            let partner = Partner::find_trusted(config).await?;
            list(&understood(partner.ask(Method::Get, "/secrets", None).await?)?, *output);
        }
        SecretsVerb::Set { name } => {
            let path = path(&name)?;
            // Before anything is started: whoever types does not wait.
            let value = read_value(&name)?;
            let asked = json!({ "value": value.expose() });
            let answer = Partner::find_trusted(config).await?.ask(Method::Put, &path, Some(&asked)).await?;
            if output.json {
                output.document(&answer);
            } else {
                let how = if answer["replaced"] == true { "has a new value" } else { "is set" };
                output.line(&format!("{name} {how}"));
            }
        }
        SecretsVerb::Remove { name } => {
            let path = path(&name)?;
            let answer = Partner::find_trusted(config).await?.ask(Method::Delete, &path, None).await?;
            if output.json {
                output.document(&answer);
            } else {
                output.line(&format!("removed {name}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a secret is; a name needs no escaping.
fn path(name: &str) -> Result<String, Failure> {
    // A token for a private repository has a name of its own form.
    let name =
        gated_secret(name).filter(|_| name.contains('/')).map_or_else(|| VariableName::parse(name), Ok);
    let name = name.map_err(|error| {
        Failure::new(Reason::WrongUse, error.to_string())
            .with_next("use letters, digits and `_`, no digit first, as in EXAMPLE_KEY")
    })?;
    Ok(format!("/secrets/{}", name.as_str()))
}

/// From the person at the terminal, else from standard input without its last line end. Never from the command line,
/// which every user of the machine can read.
fn read_value(name: &str) -> Result<SecretValue, Failure> {
    let unreadable = |error: io::Error| Failure::new(Reason::WrongUse, format!("read the value: {error}"));
    let mut bytes = Vec::new();
    if io::stdin().is_terminal() {
        let typed = read_hidden(&format!("Value of {name} (not shown)")).map_err(unreadable)?;
        bytes = typed.ok_or_else(|| Failure::new(Reason::WrongUse, "nothing was set"))?;
    } else {
        io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.ends_with(b"\n") {
            bytes.truncate(bytes.len() - if bytes.ends_with(b"\r\n") { 2 } else { 1 });
        }
    }
    SecretValue::parse(&bytes).map_err(|error| {
        Failure::new(Reason::WrongUse, error.to_string())
            .with_next(format!("give the value on standard input: `roost secrets set {name} < file`"))
    })
}

fn list(secrets: &Secrets, output: Output) {
    if output.json {
        output.document(secrets);
        return;
    }
    if secrets.secrets.is_empty() {
        output.line("No secrets. Set one with `roost secrets set NAME`.");
    }
    for secret in &secrets.secrets {
        let name = gated_secret_label(&secret.name).unwrap_or_else(|| secret.name.clone());
        output.line(&format!("{name}  set {}", secret.set_at.strftime("%Y-%m-%d %H:%M UTC")));
        for user in &secret.used_by {
            output.line(&format!("    {}: {}", user.app, user.right));
        }
    }
    match secrets.key {
        Some(KeyPlace::File) => output.note("Their key lies beside them, in keys/vault.key of the home."),
        Some(KeyPlace::Keychain) => output.note("Their key is in the keychain."),
        None => {}
    }
}
