//! The running host of a home: its record on disk, and calls to it.

use roost_host::{Home, Request};
use roost_protocol::{AgentListing, CallOutcome, Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{io::Write as _, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

/// Longer than any agent may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(3600);

/// What `roost up` leaves for other commands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    pub(crate) port: u16,
}

/// The record as long as the host runs.
pub(crate) struct Published {
    path: PathBuf,
    pid: u32,
}

fn path(home: &Home) -> PathBuf {
    home.run().join("host.json")
}

/// Leaves the record; it goes with the returned value.
pub(crate) fn publish(home: &Home, port: u16) -> Result<Published, Failure> {
    let path = path(home);
    let record = Record { pid: std::process::id(), port };
    let write = || -> std::io::Result<()> {
        let mut staging = tempfile::NamedTempFile::new_in(home.run())?;
        staging.as_file().set_permissions(std::fs::Permissions::from_mode(0o600))?;
        staging.write_all(&serde_json::to_vec(&record)?)?;
        staging.persist(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display())))?;
    Ok(Published { path, pid: record.pid })
}

impl Drop for Published {
    fn drop(&mut self) {
        // Another host may have started on this home since; then the record is its own.
        if read(&self.path).is_some_and(|record| record.pid == self.pid) {
            std::fs::remove_file(&self.path).ok();
        }
    }
}

fn read(path: &std::path::Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// A host of this home that answers.
#[derive(Debug, Clone)]
pub(crate) struct RunningHost {
    address: String,
}

impl RunningHost {
    /// The running host, if there is one. A record left behind by a crash leads nowhere and counts as none.
    pub(crate) async fn find(home: &Home) -> Option<Self> {
        let record = read(&path(home))?;
        let address = format!("http://127.0.0.1:{}", record.port);
        tokio::net::TcpStream::connect(("127.0.0.1", record.port)).await.ok()?;
        Some(Self { address })
    }

    /// All agents, as the running host knows them.
    pub(crate) async fn agents(&self) -> Result<Vec<AgentListing>, Failure> {
        self.listing("/v1/agents").await
    }

    /// The same after it asked every file again.
    pub(crate) async fn agents_asked_again(&self) -> Result<Vec<AgentListing>, Failure> {
        self.listing("/v1/agents?refresh=true").await
    }

    async fn listing(&self, path: &str) -> Result<Vec<AgentListing>, Failure> {
        let mut answer = self.get(path).await?;
        understood(answer["agents"].take())
    }

    /// Calls an agent there.
    pub(crate) async fn call(&self, name: &str, request: &Request) -> Result<CallOutcome, Failure> {
        let body = json!({
            "arguments": request.arguments,
            "user_guid": request.user,
            "slush": request.slush,
            "breadcrumbs": request.breadcrumbs,
        });
        let url = format!("{}/v1/agents/{}/call", self.address, percent_encoded(name));
        let answer = ask(move |agent| {
            read_answer(agent.post(&url).content_type("application/json").send(body.to_string()))
        })
        .await?;
        understood(answer)
    }

    async fn get(&self, path: &str) -> Result<Value, Failure> {
        let url = format!("{}{path}", self.address);
        ask(move |agent| read_answer(agent.get(&url).call())).await
    }
}

fn read_answer(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Value, ureq::Error> {
    let mut response = answer?;
    let is_error = !response.status().is_success();
    let text = response.body_mut().with_config().limit(u64::MAX).read_to_string()?;
    let mut value: Value = serde_json::from_str(&text).map_err(|error| ureq::Error::Io(error.into()))?;
    if is_error && let Some(object) = value.as_object_mut() {
        object.insert("failed".to_owned(), Value::Bool(true));
    }
    Ok(value)
}

async fn ask(
    question: impl FnOnce(&ureq::Agent) -> Result<Value, ureq::Error> + Send + 'static,
) -> Result<Value, Failure> {
    let asked = tokio::task::spawn_blocking(move || {
        let configuration = ureq::Agent::config_builder()
            .timeout_global(Some(ANSWER_WITHIN))
            .http_status_as_error(false)
            .proxy(None);
        question(&configuration.build().new_agent())
    });
    let unreachable =
        |error: &dyn std::fmt::Display| Failure::new(Reason::HostUnreachable, error.to_string());
    let value = asked.await.map_err(|error| unreachable(&error))?.map_err(|error| unreachable(&error))?;
    if value["failed"] == true {
        return Err(failure_in(&value));
    }
    Ok(value)
}

fn failure_in(value: &Value) -> Failure {
    let reason = serde_json::from_value(value["reason"].clone()).unwrap_or(Reason::Internal);
    Failure {
        reason,
        message: value["error"].as_str().unwrap_or(reason.sentence()).to_owned(),
        line: value["line"].as_u64().and_then(|line| u32::try_from(line).ok()),
        next: value["next"].as_str().map(str::to_owned),
    }
}

fn understood<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| Failure::new(Reason::HostUnreachable, error.to_string()))
}

/// A name as one segment of an address.
fn percent_encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}
