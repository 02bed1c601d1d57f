//! `roost grant`, `roost revoke` and `roost suggest`: giving rights and taking them back.

use super::open;
use crate::{
    args::{GrantArguments, RevokeArguments, SuggestArguments},
    config::Config,
    output::Output,
};
use roost_host::RightStateKind;
use roost_protocol::{Failure, Lasting, Reason, Right};
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn grant(
    config: Config,
    arguments: &GrantArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let lasting = match (arguments.once, arguments.this_version) {
        (true, _) => Lasting::Once,
        (_, true) => Lasting::Version,
        _ => Lasting::Always,
    };
    let by = config.person.clone();
    let host = open(config).await?;
    let rights: Vec<Right> = if arguments.asked {
        let all = host.rights(&arguments.app).await?.rights.into_iter();
        all.filter(|right| right.state == RightStateKind::NotGranted).map(|right| right.right).collect()
    } else {
        parse(&arguments.rights)?
    };
    let app = host.grant(&arguments.app, &rights, lasting, &by).await?;
    if output.json {
        output.document(&json!({ "app": app, "granted": rights, "lasting": lasting }));
        return Ok(ExitCode::SUCCESS);
    }
    if rights.is_empty() {
        output.line(&format!("{app} already has everything it asks for."));
    }
    let how_long = match lasting {
        Lasting::Once => "for one call",
        Lasting::Version => "until its file changes",
        Lasting::Always => "also when its file changes, as long as it asks for the same",
    };
    for right in &rights {
        output.line(&format!("{app} may now {} ({how_long}).", right.sentence()));
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn revoke(
    config: Config,
    arguments: &RevokeArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let rights: Vec<Option<Right>> =
        if arguments.all { vec![None] } else { parse(&arguments.rights)?.into_iter().map(Some).collect() };
    let host = open(config).await?;
    let mut removed = Vec::new();
    let mut wider = Vec::new();
    for right in &rights {
        let (_, revoked) = host.revoke(&arguments.app, right.as_ref()).await?;
        removed.extend(revoked.removed);
        wider.extend(revoked.wider);
    }
    if output.json {
        output.document(&json!({ "app": arguments.app, "revoked": removed, "still_given_by": wider }));
    } else {
        for grant in &removed {
            output.line(&format!("{} may no longer {}.", grant.app, grant.right.sentence()));
        }
        for grant in &wider {
            output.line(&format!("{} still has {}, which is wider.", grant.app, grant.right));
        }
        if removed.is_empty() && wider.is_empty() {
            output.line(&format!("{} had no such grant.", arguments.app));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn suggest(
    config: Config,
    arguments: &SuggestArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let host = open(config).await?;
    let unused = host.unused_grants(arguments.runs)?;
    let commands = host.revoke_commands(&unused);
    if output.json {
        output.document(&json!({ "runs": arguments.runs, "unused": unused, "commands": commands }));
        return Ok(ExitCode::SUCCESS);
    }
    for grant in &unused {
        output.line(&format!(
            "{}: {} was not used in the last {} runs",
            grant.app, grant.right, grant.runs_unused
        ));
    }
    if unused.is_empty() {
        output.line(&format!("Every grant was used in the last {} runs of its app.", arguments.runs));
    }
    for command in &commands {
        output.line(command);
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(rights: &[String]) -> Result<Vec<Right>, Failure> {
    let one = |text: &String| {
        text.parse::<Right>().map_err(|error| Failure::new(Reason::InvalidRight, error.to_string()))
    };
    rights.iter().map(one).collect()
}
