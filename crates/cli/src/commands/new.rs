//! `roost new`: a file, or an app, that works as it is.

use crate::{
    args::{New, NewArguments, NewLanguage},
    config::Config,
    output::Output,
};
use roost_apps::{BundleId, Files, NewApp, Publisher, native::NewNativeApp, new_app};
use roost_host::{
    NewAgent, create_home, new_agent,
    peer::{PeerAddress, new_peer},
};
use roost_protocol::{AgentName, Failure, Language, Reason};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

pub(crate) fn new(config: &Config, arguments: NewArguments, output: &Output) -> Result<ExitCode, Failure> {
    match arguments.what {
        New::Agent { name, language, description, folder } => {
            let language = match language {
                NewLanguage::Python => Language::Python,
                NewLanguage::Typescript => Language::TypeScript,
            };
            let agent = NewAgent { name: parsed(&name)?, language, description };
            let path = new_agent(&target(config, folder)?, &agent)?;
            let next = format!("Try it: roost run {} query=hello", path.display());
            made(&agent.name, &path, &next, output);
        }
        New::App { id, publisher, name, summary, folder } => {
            let app = asked_app(&id, &publisher, name, summary)?;
            let path = folder.unwrap_or_default().join(app.id.as_str());
            let files = new_app(&app).map_err(|refused| unwritable(&path, &refused))?;
            write_app(&files, &path)?;
            if output.json {
                output.document(&json!({ "app": app.id.as_str(), "folder": path }));
            } else {
                output.line(&path.display().to_string());
                let shown = path.display();
                output.note(&format!("Try it: roost validate {shown}, then roost test {shown}"));
            }
        }
        New::Native { name, id, folder } => {
            let app = NewNativeApp::parse(&name, id.as_deref()).ok_or_else(|| {
                let message = format!("`{name}` is no name: use up to 40 lower-case letters, digits, `_` and `-`, a letter first");
                Failure::new(Reason::InvalidName, message)
            })?;
            let path = folder.unwrap_or_default().join(app.name());
            let files = app.files().map_err(|refused| unwritable(&path, &refused))?;
            write_app(&files, &path)?;
            if output.json {
                output.document(&json!({ "app": app.id().as_str(), "tool": app.name(), "folder": path }));
            } else {
                output.line(&path.display().to_string());
                let shown = path.display();
                output
                    .note(&format!("Try it: roost sideload {shown}, then roost call {} who=Ada", app.name()));
            }
        }
        New::Peer { name, url, description, folder } => {
            let address = PeerAddress::parse(&url)?;
            let agent = NewAgent { name: parsed(&name)?, language: Language::Python, description };
            let path = new_peer(&target(config, folder)?, &agent, &address)?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let next = format!("Let it reach that host: roost grant {file} network:{}", address.target());
            made(&agent.name, &path, &next, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the command line says of a new app, checked.
fn asked_app(id: &str, publisher: &str, name: Option<String>, summary: String) -> Result<NewApp, Failure> {
    let invalid = |message: String| Failure::new(Reason::InvalidName, message);
    let parsed = BundleId::parse(id).ok_or_else(|| {
        invalid(format!("`{id}` is no id: use up to 64 lower-case letters, digits and `_`, a letter first"))
    })?;
    let account = if publisher.starts_with('@') { publisher.to_owned() } else { format!("@{publisher}") };
    let publisher = Publisher::parse(&account)
        .ok_or_else(|| invalid(format!("`{account}` is no publisher, such as @me")))?;
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| id.replace('_', " "));
    let summary = if summary.trim().is_empty() { name.clone() } else { summary };
    Ok(NewApp { id: parsed, publisher, name, summary })
}

/// Writes the app's folder, which must not be there yet.
fn write_app(files: &Files, path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Err(Failure::new(Reason::AlreadyExists, format!("{} exists", path.display())));
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        std::fs::create_dir_all(above).map_err(|error| unwritable(path, &[error]))?;
    }
    files.write_beneath(path).map_err(|error| unwritable(path, &[error]))
}

fn unwritable(path: &Path, why: &[impl ToString]) -> Failure {
    let why: Vec<String> = why.iter().map(ToString::to_string).collect();
    Failure::new(Reason::Unreadable, format!("write {}: {}", path.display(), why.join(", ")))
}

fn parsed(name: &str) -> Result<AgentName, Failure> {
    AgentName::parse(name).map_err(|error| Failure::new(Reason::InvalidName, error.to_string()))
}

/// The folder that was named, else the home's agents folder.
fn target(config: &Config, folder: Option<PathBuf>) -> Result<PathBuf, Failure> {
    match folder {
        Some(folder) => Ok(folder),
        None => {
            create_home(&config.host.home)?;
            Ok(config.host.home.agents().to_owned())
        }
    }
}

fn made(name: &AgentName, path: &Path, next: &str, output: &Output) {
    if output.json {
        output.document(&json!({ "agent": name, "file": path }));
    } else {
        output.line(&path.display().to_string());
        output.note(next);
    }
}
