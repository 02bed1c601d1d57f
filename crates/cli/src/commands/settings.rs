//! `roost settings`: what can be set of a native app, and setting it. Secrets are never shown.

use crate::{
    args::SettingsArguments,
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

pub(crate) async fn settings(
    config: Config,
    arguments: SettingsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut values = Map::new();
    for pair in &arguments.values {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::new(Reason::WrongUse, format!("`{pair}` is not KEY=VALUE")));
        };
        values.insert(key.to_owned(), json!(value));
    }
    let path = format!("/v1/native-apps/{}/settings", percent_encoded(&arguments.app));
    let partner = Partner::find_trusted(config).await?;
    let is_change = !values.is_empty() || !arguments.unset.is_empty();
    let answer = if is_change {
        let secrets: Map<String, Value> =
            values.keys().filter(|_| arguments.secret).map(|key| (key.clone(), json!(true))).collect();
        let change = json!({ "settings": values, "unset": arguments.unset, "secrets": secrets });
        partner.ask(Method::Put, &path, Some(&change)).await?
    } else {
        partner.ask(Method::Get, &path, None).await?
    };
    if output.json {
        output.document(&answer);
    } else {
        show(&answer, is_change, *output);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(answer: &Value, is_change: bool, output: Output) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let settings = answer["settings"].as_array().map(Vec::as_slice).unwrap_or_default();
    if settings.is_empty() {
        output.line(&format!("{} says nothing of what can be set, and nothing is.", text(&answer["app"])));
    }
    for setting in settings {
        let value = match (setting["value"].as_str(), setting["default"].as_str()) {
            (Some(value), _) => value.to_owned(),
            (None, Some(default)) => format!("(not set; {default})"),
            (None, None) => "(not set)".to_owned(),
        };
        output.line(&format!("{}={value}  {}", text(&setting["key"]), text(&setting["type"])));
        if let Some(description) = setting["description"].as_str() {
            output.line(&format!("    {description}"));
        }
    }
    for key in answer["missing"].as_array().into_iter().flatten() {
        output.note(&format!("{} needs {}", text(&answer["app"]), text(key)));
    }
    match answer["reason"]["message"].as_str() {
        Some(why) => output.note(&format!("the app was not told: {why}")),
        None if is_change && answer["told"] == false => output.note("the app is told at its next start"),
        None => {}
    }
}
