//! `roost pages`: the page apps of this home.

use crate::{
    args::{PagesArguments, PagesVerb},
    config::Config,
    output::Output,
    partner::{Exchange, Method, Partner, failure_in, percent_encoded},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::{fs::OpenOptions, io::Write as _, path::PathBuf, process::ExitCode};

pub(crate) async fn pages(
    config: Config,
    arguments: PagesArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match arguments.verb.unwrap_or(PagesVerb::List) {
        PagesVerb::List => {
            let listed = Partner::find_for_files(config).await?.ask(Method::Get, "/v1/pages", None).await?;
            if output.json {
                output.document(&listed);
            } else {
                list(listed["pages"].as_array().map(Vec::as_slice).unwrap_or_default(), *output);
            }
        }
        PagesVerb::Show { id } => {
            let page = Partner::find_for_files(config).await?.ask(Method::Get, &path(&id), None).await?;
            if output.json {
                output.document(&page);
            } else {
                show(&page, *output);
            }
        }
        PagesVerb::Create { id, name } => {
            let asked = json!({ "id": id, "name": name });
            let partner = Partner::find_for_files(config).await?;
            let made = partner.ask(Method::Post, "/v1/pages", Some(&asked)).await?;
            done(&made, &format!("made {id}: its files are apps/{id}/ of the workspace"), *output);
        }
        PagesVerb::Import { path, replace } => {
            let zip = roost_host::pages::packed(&path)?;
            let address = format!("/v1/pages/import?replace={replace}");
            let asked = Exchange { method: Method::Post, path: &address, headers: &[], body: zip };
            let (status, bytes) = Partner::find_for_files(config).await?.exchange(asked).await?;
            let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            if status >= 400 {
                return Err(failure_in(&answer));
            }
            done(&answer, &format!("took {}; nothing was granted to it", text(&answer["id"])), *output);
        }
        PagesVerb::Export { id, output: file } => {
            let file = file.unwrap_or_else(|| PathBuf::from(format!("{id}.zip")));
            export(config, &id, file, *output).await?;
        }
        PagesVerb::Remove { id } => {
            let partner = Partner::find_for_files(config).await?;
            let answer = partner.ask(Method::Delete, &path(&id), None).await?;
            done(&answer, &format!("removed {id}"), *output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn path(id: &str) -> String {
    format!("/v1/pages/{}", percent_encoded(id))
}

async fn export(config: Config, id: &str, file: PathBuf, output: Output) -> Result<(), Failure> {
    let address = format!("{}/export", path(id));
    let asked = Exchange { method: Method::Get, path: &address, headers: &[], body: Vec::new() };
    let (status, zip) = Partner::find_for_files(config).await?.exchange(asked).await?;
    if status >= 400 {
        return Err(failure_in(&serde_json::from_slice(&zip).unwrap_or_default()));
    }
    let shown = file.display().to_string();
    let written = OpenOptions::new().write(true).create_new(true).open(&file);
    let written = written.and_then(|mut opened| opened.write_all(&zip).and_then(|()| opened.sync_all()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(Reason::AlreadyExists, format!("{shown} is there already"))
        }
        _ => Failure::new(Reason::Unreadable, format!("{shown}: {error}")),
    })?;
    done(&json!({ "id": id, "file": shown, "bytes": zip.len() }), &format!("wrote {shown}"), output);
    Ok(())
}

fn done(answer: &Value, sentence: &str, output: Output) {
    if output.json {
        output.document(answer);
    } else {
        output.line(sentence);
    }
}

fn list(pages: &[Value], output: Output) {
    if pages.is_empty() {
        output.line("No pages. Make one with `roost pages create ID`.");
    }
    for page in pages {
        if page["state"] == "ready" {
            output.line(&format!(
                "{}  {} {}",
                text(&page["id"]),
                text(&page["name"]),
                text(&page["version"])
            ));
        } else {
            output.line(&format!("{}  cannot be mounted", text(&page["id"])));
            problems(page, output);
        }
    }
}

fn show(page: &Value, output: Output) {
    output.line(&format!("{}  {} {}", text(&page["id"]), text(&page["name"]), text(&page["version"])));
    problems(page, output);
    for right in page["rights"].as_array().into_iter().flatten() {
        output.line(&format!(
            "    {}: {} ({})",
            text(&right["right"]),
            text(&right["sentence"]),
            text(&right["state"])
        ));
    }
}

fn problems(page: &Value, output: Output) {
    for problem in page["problems"].as_array().into_iter().flatten() {
        output.line(&format!("    {} {}", text(&problem["field"]), text(&problem["message"])));
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
