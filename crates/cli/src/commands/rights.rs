//! `roost rights APP`: what an app asks for, in plain words, and what it has.

use super::open;
use crate::{args::RightsArguments, config::Config, output::Output};
use roost_host::{AppRights, RightState, RightStateKind};
use roost_protocol::{Evidence, Failure, Right};
use serde_json::json;
use std::process::ExitCode;

/// One example of each right, in the order of their reach.
const EVERY_RIGHT: &[&str] = &[
    "network:*",
    "network:api.example.com",
    "network:api.example.com:8443",
    "network:*.example.com",
    "subprocess",
    "files:read:~/Documents",
    "files:write:~/.notes",
    "env:EXAMPLE_KEY",
    "secret:EXAMPLE_KEY@api.example.com:authorization",
    "agents:read",
    "agents:write",
    "agents:call:Weather*",
    "memory:read",
    "memory:write",
    "model",
    "workspace:read:/docs/*",
    "workspace:write:/docs/*",
    "events:watch:agent:*",
    "events:emit:app:me:*",
    "hooks:message.before",
    "schedule",
    "notifications",
    "clipboard",
    "storage:1048576",
    "feature:session:create",
];

pub(crate) async fn rights(
    config: Config,
    arguments: &RightsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let Some(app) = arguments.app.as_deref().filter(|_| !arguments.list) else {
        list(*output);
        return Ok(ExitCode::SUCCESS);
    };
    let host = open(config).await?;
    let found = host.rights(app).await?;
    if output.json {
        output.document(&found);
    } else {
        show(*output, &found);
    }
    Ok(ExitCode::SUCCESS)
}

fn list(output: Output) {
    let all: Vec<Right> = EVERY_RIGHT.iter().filter_map(|text| text.parse().ok()).collect();
    if output.json {
        let rights: Vec<_> =
            all.iter().map(|right| json!({ "example": right, "sentence": right.sentence() })).collect();
        output.document(&json!({ "rights": rights }));
        return;
    }
    let width = all.iter().map(|right| right.to_string().len()).max().unwrap_or_default();
    for right in &all {
        output.line(&format!("{:width$}  {}", right.to_string(), right.sentence()));
    }
}

fn show(output: Output, found: &AppRights) {
    let how = if found.declared { "declares" } else { "asks for" };
    if found.rights.is_empty() {
        output.line(&format!("{} {how} nothing beyond its own folders.", found.app));
        return;
    }
    output.line(&format!("{} {how}:", found.app));
    for right in &found.rights {
        output.line(&format!("  {:11}  {}", state(right.state), right.sentence));
        let known = match (right.evidence, right.line) {
            (Some(Evidence::Tried), _) => ", tried and refused".to_owned(),
            (_, Some(line)) => format!(", line {line}"),
            _ => String::new(),
        };
        output.line(&format!("  {:11}  {}{known}", "", right.right));
    }
    let next: Vec<&RightState> =
        found.rights.iter().filter(|right| right.state == RightStateKind::NotGranted).collect();
    match next[..] {
        [] => {}
        [only] => output.note(&format!("next: {}", only.next.as_deref().unwrap_or_default())),
        _ => output.note(&format!("next: roost grant {} --asked, or one right at a time", found.app)),
    }
}

pub(super) fn state(state: RightStateKind) -> &'static str {
    match state {
        RightStateKind::GrantedOnce => "once",
        RightStateKind::GrantedVersion => "version",
        RightStateKind::GrantedAlways => "always",
        RightStateKind::Policy => "by policy",
        RightStateKind::NotGranted => "no",
        RightStateKind::NotAsked => "not asked",
        RightStateKind::Forbidden => "forbidden",
        RightStateKind::Unusable => "unusable",
    }
}
