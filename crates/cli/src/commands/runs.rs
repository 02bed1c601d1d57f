//! `roost runs`: what happened, and going through it again.

use crate::{
    args::{RunsArguments, RunsVerb},
    config::Config,
    output::{NOT_OK, Output},
    partner::{Method, Partner, percent_encoded},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::{fs, path::Path, process::ExitCode};

/// Characters of a value that a line shows.
const SHOWN_CHARACTERS: usize = 160;

pub(crate) async fn runs(
    config: Config,
    arguments: RunsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let verb = arguments.verb.unwrap_or(RunsVerb::List { limit: 20 });
    let document = match &verb {
        RunsVerb::Import { file } => Some(read(file)?),
        _ => None,
    };
    let partner = Partner::find(config).await?;
    let at = |run: &str, rest: &str| format!("/v1/runs/{}{rest}", percent_encoded(run));
    match verb {
        RunsVerb::List { limit } => {
            list(&partner.ask(Method::Get, &format!("/v1/runs?limit={limit}"), None).await?, *output);
        }
        RunsVerb::Show { run } => {
            let shown = partner.ask(Method::Get, &at(&run, ""), None).await?;
            show(&shown, &events(&partner, &at(&run, "/events/poll")).await?, *output);
        }
        RunsVerb::Replay { run } => {
            let replayed = partner.ask(Method::Post, &at(&run, ":replay"), None).await?;
            return Ok(replay(&replayed, *output));
        }
        RunsVerb::Export { run, file } => {
            let document = partner.ask(Method::Get, &at(&run, "/export"), None).await?;
            write(&document, file.as_deref(), *output)?;
        }
        RunsVerb::Import { .. } => {
            let answer = partner.ask(Method::Post, "/v1/run-imports", document.as_ref()).await?;
            if output.json {
                output.document(&answer);
            } else {
                output.line(&format!("{} is here as {}", text(&answer["from"]), text(&answer["run"])));
            }
        }
        RunsVerb::Cancel { run } => {
            let answer = partner.ask(Method::Post, &at(&run, "/cancel"), None).await?;
            if output.json {
                output.document(&answer);
            } else {
                output.line(&format!("{run} is {}", text(&answer["status"])));
            }
        }
        RunsVerb::Remove { run } => {
            partner.ask(Method::Delete, &at(&run, ""), None).await?;
            if output.json {
                output.document(&json!({ "removed": run }));
            } else {
                output.line(&format!("removed {run}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Every event of a run, page by page.
async fn events(partner: &Partner, path: &str) -> Result<Vec<Value>, Failure> {
    let mut events: Vec<Value> = Vec::new();
    loop {
        let last = events.last().and_then(|event| event["sequence"].as_i64()).unwrap_or(-1);
        let page = partner.ask(Method::Get, &format!("{path}?lastSequence={last}&timeout=1"), None).await?;
        let found = page["events"].as_array().cloned().unwrap_or_default();
        let is_over = found.is_empty() || page["isComplete"] == true;
        events.extend(found);
        if is_over {
            return Ok(events);
        }
    }
}

fn list(answer: &Value, output: Output) {
    if output.json {
        output.document(answer);
        return;
    }
    let runs = answer["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    if runs.is_empty() {
        output.line("no runs yet; `roost chat` and `roost call` make some");
    }
    for run in runs {
        output.line(&format!(
            "{}  {:<9}  {:<8}  {:<16}  {}",
            text(&run["runId"]),
            text(&run["status"]),
            text(&run["kind"]),
            text(&run["startedAt"]).get(..16).unwrap_or_default().replace('T', " "),
            cut(text(&run["title"]), 60),
        ));
    }
}

fn show(run: &Value, events: &[Value], output: Output) {
    if output.json {
        let mut document = run.clone();
        document["events"] = json!(events);
        output.document(&document);
        return;
    }
    output.line(&format!("{} {} ({})", text(&run["kind"]), text(&run["title"]), text(&run["status"])));
    let files = run["workspace"].as_array().map(Vec::as_slice).unwrap_or_default();
    for file in files {
        output.line(&format!("  saw {} in version {}", text(&file["path"]), file["version"]));
    }
    for event in events {
        let payload = &event["payload"];
        let detail = ["text", "output", "error", "message", "arguments"]
            .iter()
            .find_map(|key| payload.get(key).filter(|value| !value.is_null()))
            .map(|value| value["content"].as_str().map_or_else(|| value.to_string(), str::to_owned))
            .unwrap_or_default();
        let node = event["nodeId"].as_str().map(|node| format!(" {node}")).unwrap_or_default();
        let time = text(&event["timestamp"]).get(11..23).unwrap_or_default();
        output.line(&format!("  {time} {}{node}  {}", text(&event["type"]), cut(&detail, SHOWN_CHARACTERS)));
    }
}

fn replay(replayed: &Value, output: Output) -> ExitCode {
    let is_same = replayed["same"] == true;
    if output.json {
        output.document(replayed);
    } else if is_same && replayed["steps"] == 0 {
        output.line("no model and no agent answered in it, so nothing could come out differently");
    } else if is_same {
        output.line(&format!("the same again, byte for byte: {} steps", replayed["steps"]));
    } else {
        let difference = &replayed["difference"];
        output.line(&format!("differs in {}", text(&difference["what"])));
        output.line(&format!("  then: {}", text(&difference["recorded"])));
        output.line(&format!("  now:  {}", text(&difference["replayed"])));
    }
    if is_same { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) }
}

fn read(file: &Path) -> Result<Value, Failure> {
    let wrong = |why: String| Failure::new(Reason::WrongUse, format!("{}: {why}", file.display()));
    let bytes = fs::read(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}

fn write(document: &Value, file: Option<&Path>, output: Output) -> Result<(), Failure> {
    let Some(file) = file else {
        output.document(document);
        return Ok(());
    };
    if file.exists() {
        return Err(Failure::new(Reason::AlreadyExists, format!("{} is there already", file.display())));
    }
    fs::write(file, document.to_string())
        .map_err(|error| Failure::new(Reason::WrongUse, format!("{}: {error}", file.display())))?;
    let files = document["files"].as_array().map_or(0, Vec::len);
    if output.json {
        output.document(&json!({ "file": file, "files": files }));
    } else {
        output.line(&format!("wrote {} with {files} files", file.display()));
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn cut(text: &str, characters: usize) -> String {
    let line = text.replace('\n', " ");
    if line.chars().count() <= characters {
        line
    } else {
        line.chars().take(characters).chain(['…']).collect()
    }
}
