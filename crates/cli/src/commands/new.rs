//! `roost new agent NAME`: a file that works as it is.

use crate::{
    args::{New, NewArguments, NewLanguage},
    config::Config,
    output::Output,
};
use roost_host::{NewAgent, create_home, new_agent};
use roost_protocol::{AgentName, Failure, Language, Reason};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn new(config: &Config, arguments: NewArguments, output: &Output) -> Result<ExitCode, Failure> {
    let New::Agent { name, language, description, folder } = arguments.what;
    let name =
        AgentName::parse(&name).map_err(|error| Failure::new(Reason::InvalidName, error.to_string()))?;
    let folder = match folder {
        Some(folder) => folder,
        None => {
            create_home(&config.host.home)?;
            config.host.home.agents().to_owned()
        }
    };
    let language = match language {
        NewLanguage::Python => Language::Python,
        NewLanguage::Typescript => Language::TypeScript,
    };
    let path = new_agent(&folder, &NewAgent { name: name.clone(), language, description })?;
    if output.json {
        output.document(&json!({ "agent": name, "file": path }));
    } else {
        output.line(&path.display().to_string());
        output.note(&format!("Try it: roost run {} query=hello", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
