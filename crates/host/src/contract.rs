//! The registry's ten contract tests: five read the file, five run it in a worker. A bundle's agent is tested alone,
//! under the name it will have, and its page in a browser.

mod page; // a real browser, where there is one

use crate::{
    host::{Host, OpenFile},
    perform::Request,
    program::grammar,
};
use roost_apps::{
    AgentFile, Bundle, ContractCheck, Files, PythonSource, Validation, ValidationError, has_docstring,
    has_manifest, manifest_fields, name_format, no_hardcoded_secrets,
};
use roost_protocol::{AgentName, Failure, Language, Reason};
use serde::Serialize;
use std::{io, path::Path, time::Duration};

/// What the registry allows a file to run on its own.
const STANDALONE_WITHIN: Duration = Duration::from_secs(15);

/// The outcome of all tests of one file.
#[derive(Debug, Serialize)]
pub struct ContractResult {
    /// True when every test passed.
    pub ok: bool,
    /// In the order of the registry.
    pub tests: Vec<ContractCheck>,
    /// What could not be tested here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_tested: Vec<&'static str>,
}

/// Runs all tests that a file of this language has.
pub async fn contract_tests(host: &Host, path: &Path) -> Result<ContractResult, Failure> {
    let file = AgentFile::read(path)?;
    let tests = match file.language {
        Language::Python => python_tests(host, &file).await?,
        Language::TypeScript => {
            let mut tests = running_tests(host, path).await;
            tests.push(no_hardcoded_secrets(&String::from_utf8_lossy(&file.bytes)));
            tests
        }
    };
    Ok(ContractResult { ok: tests.iter().all(|test| test.passed), tests, not_tested: Vec::new() })
}

async fn python_tests(host: &Host, file: &AgentFile) -> Result<Vec<ContractCheck>, Failure> {
    let source = PythonSource::parse(&file.bytes, grammar(host.runtime().python_version().await))?;
    let mut tests = vec![has_manifest(&source), manifest_fields(&source), name_format(&source)];
    tests.extend(running_tests(host, &file.path).await);
    tests.push(standalone(host, file).await);
    tests.extend([has_docstring(&source), no_hardcoded_secrets(source.text())]);
    Ok(tests)
}

async fn running_tests(host: &Host, path: &Path) -> Vec<ContractCheck> {
    let opened = host.open_file(path).await;
    let failed = |failure: &Failure| {
        ["has_basic_agent", "instantiation", "runtime_name_is_tool_safe", "perform_returns_str"]
            .map(|test| ContractCheck::new(test, false, failure.message.clone()))
            .to_vec()
    };
    let file = match opened {
        Ok(file) => file,
        Err(failure) => return failed(&failure),
    };
    let agent = &file.description.agents[0];
    let Ok(name) = AgentName::parse(&agent.name) else { return Vec::new() };
    vec![
        ContractCheck::new("has_basic_agent", true, format!("class {}", agent.class)),
        ContractCheck::new("instantiation", true, "constructed without arguments"),
        ContractCheck::new("runtime_name_is_tool_safe", true, format!("the name is {name}")),
        perform_returns_text(&file, &name).await,
    ]
}

async fn perform_returns_text(file: &OpenFile, name: &AgentName) -> ContractCheck {
    let test = "perform_returns_str";
    match file.call(name, &Request::default()).await {
        Ok(outcome) => match outcome.error {
            None => ContractCheck::new(test, true, format!("{} characters", outcome.output.chars().count())),
            Some(failure) => ContractCheck::new(test, false, failure.message),
        },
        Err(failure) => ContractCheck::new(test, false, failure.message),
    }
}

/// The file as a program of its own, confined as its worker would be.
async fn standalone(host: &Host, file: &AgentFile) -> ContractCheck {
    let test = "standalone_execution";
    let ran = async {
        let program = host.inner.program_alone(file).await?;
        host.runtime().run_alone(program, STANDALONE_WITHIN).await
    };
    match ran.await {
        Ok(ran) if ran.succeeded => ContractCheck::new(test, true, "exits with status 0"),
        Ok(ran) => {
            let last = ran.stderr.trim().lines().last().unwrap_or("no message").to_owned();
            ContractCheck::new(test, false, format!("does not exit with status 0: {last}"))
        }
        Err(failure) => ContractCheck::new(test, false, failure.message),
    }
}

/// The contract tests of a bundle's agent, on exactly the bytes that passed the gate.
pub(crate) async fn bundle_tests(host: &Host, bundle: &Bundle) -> Result<ContractResult, Failure> {
    let Some((path, bytes)) = bundle.agent() else {
        return Err(Failure::new(
            Reason::NoAgent,
            "the bundle has no agent to test: its files are elsewhere",
        ));
    };
    let failed = |error: io::Error| not_written(&error);
    let name = path.rsplit('/').next().unwrap_or(path);
    let agent = Files::from_contents([(name.to_owned(), bytes.to_vec())])
        .map_err(|_| Failure::new(Reason::Internal, "the agent's name is not one"))?;
    let folder = tempfile::tempdir().map_err(failed)?;
    agent.write_beneath(folder.path()).map_err(failed)?;
    contract_tests(host, &folder.path().join(name)).await
}

/// The same, and its page in a browser: for who made the bundle.
pub async fn bundle_and_page_tests(host: &Host, bundle: &Bundle) -> Result<ContractResult, Failure> {
    let mut result = bundle_tests(host, bundle).await?;
    match page::page_loads(bundle, &host.inner.settings.surface.search_path).await {
        Some(page::PageLoad::Tried(check)) => {
            result.ok &= check.passed;
            result.tests.push(check);
        }
        Some(page::PageLoad::NotTried(why)) => result.not_tested.push(why),
        None => {}
    }
    Ok(result)
}

fn not_written(error: &io::Error) -> Failure {
    Failure::new(Reason::Internal, format!("write what is to be tested: {error}"))
}

/// Everything that can be refused without running the file.
pub async fn validate_file(host: &Host, path: &Path) -> Validation {
    let mut validation =
        roost_apps::validate_agent_file(path, grammar(host.runtime().python_version().await));
    let typescript = AgentFile::read(path).ok().filter(|file| file.language == Language::TypeScript);
    if let Some(file) = typescript
        && let Err(failure) = roost_runtime::check_typescript(&file.bytes, &file.path)
    {
        let line = failure.line.map(|line| format!(":{line}")).unwrap_or_default();
        validation.ok = false;
        validation.errors.push(ValidationError {
            code: failure.reason.code(),
            message: failure.message,
            path: format!("{}{line}", path.display()),
        });
    }
    validation
}
