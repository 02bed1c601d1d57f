//! `roost repos`: the sources of agents, and what each of them brought.

use crate::{
    args::{Repos, ReposArguments},
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded, understood},
};
use roost_host::{NewSource, SourceChange, SourceListing};
use roost_protocol::{AgentState, Failure};
use serde_json::json;
use std::{path::Path, process::ExitCode};

pub(crate) async fn repos(
    config: Config,
    arguments: ReposArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find(config).await?;
    match arguments.what.unwrap_or(Repos::List) {
        Repos::List => {
            let mut answer = partner.ask(Method::Get, "/repos", None).await?;
            list(&understood::<Vec<SourceListing>>(answer["repos"].take())?, *output);
        }
        Repos::Add { url, reference, folder } => {
            let asked = json!(NewSource { url: absolute(url), reference, folder });
            changed(&understood(partner.ask(Method::Post, "/repos", Some(&asked)).await?)?, *output);
        }
        Repos::Sync { id } => {
            let path = format!("/repos/{}/sync", percent_encoded(&id));
            changed(&understood(partner.ask(Method::Post, &path, None).await?)?, *output);
        }
        Repos::Remove { id } => {
            partner.ask(Method::Delete, &format!("/repos/{}", percent_encoded(&id)), None).await?;
            if output.json {
                output.document(&json!({ "removed": id }));
            } else {
                output.line(&format!("removed {id}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A folder is meant from where the person is.
fn absolute(url: String) -> String {
    let is_folder = !url.contains("://") && Path::new(&url).is_dir();
    let path = std::path::absolute(&url).ok().filter(|_| is_folder);
    path.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or(url)
}

fn list(repos: &[SourceListing], output: Output) {
    if output.json {
        output.document(&json!({ "repos": repos }));
        return;
    }
    if repos.is_empty() {
        output.line("No sources are connected. Connect one with `roost repos add URL`.");
    }
    for repo in repos {
        let commit = repo.commit.as_deref().map(|commit| format!(" at {:.12}", commit)).unwrap_or_default();
        let state = if repo.state == AgentState::Ready { "ready" } else { "failed" };
        output.line(&format!("{}  {state}  {}{commit}", repo.id, repo.url));
        match &repo.reason {
            Some(failure) => output.line(&format!("    {} [{}]", failure.message, failure.reason.code())),
            None => output.line(&format!("    agents: {}", or_none(&repo.agents))),
        }
    }
}

fn changed(change: &SourceChange, output: Output) {
    if output.json {
        output.document(change);
        return;
    }
    let commit = change.repo.commit.as_deref().map(|commit| format!(" at {:.12}", commit));
    output.line(&format!("{}{}", change.repo.id, commit.unwrap_or_default()));
    for (what, names) in
        [("added", &change.added), ("changed", &change.changed), ("removed", &change.removed)]
    {
        if !names.is_empty() {
            output.line(&format!("    {what}: {}", names.join(", ")));
        }
    }
    if [&change.added, &change.changed, &change.removed].iter().all(|names| names.is_empty()) {
        output.line("    nothing changed");
    }
    output.line(&format!("    agents: {}", or_none(&change.repo.agents)));
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
