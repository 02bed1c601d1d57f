//! `roost models`: which models there are, which one answers, and how to get another.

use crate::{
    args::{ModelsArguments, ModelsVerb},
    config::Config,
    output::Output,
    partner::{Method, Partner},
};
use indicatif::{ProgressBar, ProgressStyle};
use roost_host::local_models::{CatalogModel, LocalModelFile, LocalModels, PullProgress};
use roost_protocol::Failure;
use serde_json::{Value, json};
use std::process::ExitCode;

const WAYS: &str = "\
No model answers yet. Ways to one:
  roost login                        GitHub Copilot, with a GitHub account
  OPENAI_API_KEY=… in .env           OpenAI; OPENAI_BASE_URL for any compatible server
  ANTHROPIC_API_KEY=… in .env        Anthropic; AZURE_OPENAI_* for Azure, GITHUB_TOKEN for GitHub Models
  start Ollama or LM Studio          a server on this machine is found by itself
  roost models pull NAME             a model of your own on this machine; names below";

pub(crate) async fn models(
    config: Config,
    arguments: ModelsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match arguments.verb.unwrap_or(ModelsVerb::List) {
        ModelsVerb::List => list(config, output).await,
        ModelsVerb::Set { name } => {
            let partner = Partner::find(config).await?;
            let set = partner.ask(Method::Post, "/models/set", Some(&json!({ "model": name }))).await?;
            if output.json {
                output.document(&set);
            } else {
                output.line(&format!("{} answers from now on", set["model"].as_str().unwrap_or("no model")));
            }
            Ok(ExitCode::SUCCESS)
        }
        ModelsVerb::Pull { name } => pull(config, &name, output).await,
        ModelsVerb::Add { file, name } => {
            let models = LocalModels::of_home(&config.host);
            let added = models.add(&file, name.as_deref())?;
            said_added(&added, "as it was", output);
            Ok(ExitCode::SUCCESS)
        }
        ModelsVerb::Remove { name } => {
            LocalModels::of_home(&config.host).remove(&name)?;
            if output.json {
                output.document(&json!({ "removed": name }));
            } else {
                output.line(&format!("{name} is removed"));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn list(config: Config, output: &Output) -> Result<ExitCode, Failure> {
    let local = LocalModels::of_home(&config.host);
    let partner = Partner::find(config).await?;
    let listed = partner.ask(Method::Get, "/models", None).await?;
    let catalog = local.catalog();
    if output.json {
        let mut document = listed;
        document["catalog"] = catalog.iter().map(in_catalog).collect();
        document["local"] = json!(local.list());
        output.document(&document);
        return Ok(ExitCode::SUCCESS);
    }
    let current = listed["current"].as_str();
    // Without anybody to ask, a list of what others have would only confuse.
    let choices = current.and(listed["models"].as_array());
    for model in choices.into_iter().flatten() {
        let id = model["id"].as_str().unwrap_or_default();
        let mark = if Some(id) == current { "*" } else { " " };
        let missing = if model["available"] == false { "  (not for this account)" } else { "" };
        output.line(&format!("{mark} {id}  {}{missing}", model["provider"].as_str().unwrap_or_default()));
    }
    if current.is_none() {
        output.line(WAYS);
    }
    let here: Vec<String> = local.list().into_iter().map(|file| file.name).collect();
    for model in catalog.iter().filter(|model| !here.contains(&model.name)) {
        output.line(&format!(
            "  {}  {} MB to fetch, {} MB of memory, {}: {}",
            model.name,
            model.size_bytes >> 20,
            model.memory_mb,
            model.licence,
            model.title
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_catalog(model: &CatalogModel) -> Value {
    json!({
        "name": model.name, "title": model.title, "size_bytes": model.size_bytes, "sha256": model.sha256,
        "licence": model.licence, "memory_mb": model.memory_mb,
    })
}

async fn pull(config: Config, name: &str, output: &Output) -> Result<ExitCode, Failure> {
    let models = LocalModels::of_home(&config.host);
    let host = super::open(config).await?;
    let bar = if output.shows_progress() { ProgressBar::new(100) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}%  {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(name.to_owned());
    let on_progress = |progress: PullProgress| {
        bar.set_message(progress.doing.to_owned());
        bar.set_position(u64::from(progress.percent));
    };
    let pulled = models.pull(name, host.runtime(), &on_progress).await;
    bar.finish_and_clear();
    said_added(&pulled?, "its digest is right", output);
    Ok(ExitCode::SUCCESS)
}

fn said_added(added: &LocalModelFile, how: &str, output: &Output) {
    if output.json {
        output.document(added);
    } else {
        output.line(&format!("{} is here: {} MB, {how}", added.name, added.size_bytes >> 20));
        output.note("Use it with `roost chat`; it is started when it is first asked.");
    }
}
