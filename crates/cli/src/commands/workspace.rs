//! `roost workspace`: files with history, from the command line.

mod desk; // asking the host
mod table; // rows, sizes and times for people
mod files; // the files themselves
mod versions; // what they were
mod parcels; // all of them at once
mod agents; // what agents may do and would like to do
mod watch; // what happens

use self::desk::Desk;
use crate::{
    args::{WorkspaceArguments, WorkspaceVerb},
    config::Config,
    output::Output,
};
use roost_protocol::Failure;
use std::process::ExitCode;

pub(crate) async fn workspace(
    config: Config,
    arguments: WorkspaceArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let WorkspaceArguments { workspace, app, verb } = arguments;
    // What a person gets wrong is said before anything is started.
    let verb = files::checked(verb)?;
    let desk = Desk::open(config, workspace.or(app.map(|id| format!("app.{id}"))), *output).await?;
    match verb {
        WorkspaceVerb::Ls { prefix } => files::list(&desk, prefix.as_deref()).await,
        WorkspaceVerb::Cat { path, version } => files::print(&desk, &path, version).await,
        WorkspaceVerb::Put { path, file, if_match, content_type } => {
            files::put(&desk, &path, &file, if_match, content_type).await
        }
        WorkspaceVerb::Rm { path } => files::remove(&desk, &path).await,
        WorkspaceVerb::Mv { from, to } => files::rename(&desk, &from, &to).await,
        WorkspaceVerb::Search { text, regex, ignore_case, prefix, limit } => {
            let flags = [("regex", regex), ("ignoreCase", ignore_case)];
            files::search(&desk, &text, &flags, prefix.as_deref(), limit).await
        }
        WorkspaceVerb::Usage => files::usage(&desk).await,
        WorkspaceVerb::Log { path } => versions::log(&desk, &path).await,
        WorkspaceVerb::Diff { path, from, to } => versions::diff(&desk, &path, from, to).await,
        WorkspaceVerb::Restore { path, version } => versions::restore(&desk, &path, version).await,
        WorkspaceVerb::Undelete { path } => versions::undelete(&desk, &path).await,
        WorkspaceVerb::Purge { path, .. } => versions::purge(&desk, &path).await,
        WorkspaceVerb::Export { file, no_history, force } => {
            parcels::export(&desk, &file, no_history, force).await
        }
        WorkspaceVerb::Import { file, dry_run, on_conflict } => {
            parcels::import(&desk, &file, dry_run, on_conflict).await
        }
        WorkspaceVerb::Rules { verb } => agents::rules(&desk, verb).await,
        WorkspaceVerb::Proposals { verb } => agents::proposals(&desk, verb).await,
        WorkspaceVerb::Watch => watch::watch(&desk).await,
    }?;
    Ok(ExitCode::SUCCESS)
}
