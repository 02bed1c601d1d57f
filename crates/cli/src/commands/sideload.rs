//! `roost sideload` and `roost unsideload`: a native app from the folder in which it is written.

use super::install::done;
use crate::{
    args::{RemoveArguments, SideloadArguments},
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded, understood},
};
use roost_host::library::{Choice, Installed, Removed};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn sideload(
    config: Config,
    arguments: SideloadArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let by = config.person.clone();
    let partner = Partner::find_trusted(config).await?;
    let rights = if arguments.asked { Choice::Asked } else { Choice::Policy };
    let folder = std::path::absolute(&arguments.folder)
        .map_err(|error| Failure::new(Reason::Unreadable, error.to_string()))?;
    let asked = json!({ "path": folder, "rights": rights, "by": by });
    let installed: Installed = understood(partner.ask(Method::Post, "/v1/sideloads", Some(&asked)).await?)?;
    if !output.json {
        output.note("Nobody vouches for a sideloaded app.");
    }
    done(&installed, *output);
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn unsideload(
    config: Config,
    arguments: RemoveArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find_trusted(config).await?;
    let path = format!("/v1/sideloads/{}", percent_encoded(&arguments.id));
    let removed: Removed = understood(partner.ask(Method::Delete, &path, None).await?)?;
    if output.json {
        output.document(&removed);
    } else {
        output.line(&format!("removed {}; its folder is as it was", removed.removed));
        output.line(&format!("  its data stays: {}", removed.workspace.display()));
    }
    Ok(ExitCode::SUCCESS)
}
