//! `roost new`: a file that works as it is.

use crate::{
    args::{New, NewArguments, NewLanguage},
    config::Config,
    output::Output,
};
use roost_host::{NewAgent, PeerAddress, create_home, new_agent, new_peer};
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
