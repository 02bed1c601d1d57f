//! Asking the host about one workspace, and what its refusals mean to a person.

use crate::{
    config::Config,
    output::Output,
    partner::{Exchange, Method, Partner, percent_encoded, unreachable},
};
use axum::body::Bytes;
use roost_protocol::{Failure, Reason};
use serde_json::Value;

/// Where all addresses of a workspace begin.
const TOP: &str = "/v1/host/workspace";

/// One workspace of the host that answers.
pub(super) struct Desk {
    partner: Partner,
    workspace: Option<String>,
    pub(super) output: Output,
}

impl Desk {
    pub(super) async fn open(
        config: Config,
        workspace: Option<String>,
        output: Output,
    ) -> Result<Self, Failure> {
        Ok(Self { partner: Partner::find_for_files(config).await?, workspace, output })
    }

    /// A question without a body.
    pub(super) async fn get(&self, what: &str, query: &[(&str, &str)]) -> Result<Value, Failure> {
        document(&self.send(Method::Get, &address(what, query), &[], Vec::new()).await?)
    }

    /// The same, answered by bytes.
    pub(super) async fn bytes(&self, what: &str, query: &[(&str, &str)]) -> Result<Bytes, Failure> {
        self.send(Method::Get, &address(what, query), &[], Vec::new()).await
    }

    /// A request with a document.
    pub(super) async fn post(&self, what: &str, body: &Value) -> Result<Value, Failure> {
        document(&self.tell(Method::Post, &address(what, &[]), &[], body).await?)
    }

    /// The same with another method and headers; the answer may be empty.
    pub(super) async fn tell(
        &self,
        method: Method,
        address: &str,
        headers: &[(&'static str, String)],
        body: &Value,
    ) -> Result<Bytes, Failure> {
        let headers = [headers, &[("content-type", "application/json".to_owned())]].concat();
        self.send(method, address, &headers, body.to_string().into_bytes()).await
    }

    /// Any request.
    pub(super) async fn send(
        &self,
        method: Method,
        address: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<Bytes, Failure> {
        let mut headers = headers.to_vec();
        if let Some(workspace) = &self.workspace {
            headers.push(("roost-workspace", workspace.clone()));
        }
        let asked = Exchange { method, path: address, headers: &headers, body };
        let (status, bytes) = self.partner.exchange(asked).await?;
        if status < 400 { Ok(bytes) } else { Err(refused(&bytes)) }
    }

    /// Prints the answer for programs, or these lines for people.
    pub(super) fn say(&self, answer: &Value, lines: impl FnOnce(&Value) -> Vec<String>) {
        if self.output.json {
            self.output.document(answer);
        } else {
            lines(answer).iter().for_each(|line| self.output.line(line));
        }
    }
}

/// An address with a query, every value escaped.
pub(super) fn address(what: &str, query: &[(&str, &str)]) -> String {
    let mut address = format!("{TOP}/{what}");
    for (index, (name, value)) in query.iter().enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        address.push_str(&format!("{mark}{name}={}", percent_encoded(value)));
    }
    address
}

/// The address of a file: its name is one segment.
pub(super) fn file(path: &str) -> String {
    format!("files/{}", percent_encoded(path))
}

pub(super) fn document(bytes: &Bytes) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|error| unreachable(&format!("the host's answer: {error}")))
}

/// A refusal of the contract as a failure of a command.
fn refused(bytes: &[u8]) -> Failure {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let details = &value["details"];
    let code = value["error"].as_str().unwrap_or_default();
    let reason = match code {
        "validation_error" => Reason::WrongUse,
        "not_found" => Reason::UnknownFile,
        "workspace_conflict" => Reason::FileChanged,
        "workspace_too_large" => Reason::WorkspaceFull,
        "unauthenticated" | "forbidden" => Reason::OwnerOnly,
        "capability_not_provided" => Reason::WorkspacesOff,
        "rate_limited" => Reason::Busy,
        _ => serde_json::from_value(details["reason"].clone()).unwrap_or(Reason::Internal),
    };
    let mut message = value["message"].as_str().unwrap_or(reason.sentence()).to_owned();
    if let Some(field) = details["field"].as_str() {
        message = format!("{field}: {message}");
    }
    let failure = Failure::new(reason, message);
    match next_step(details) {
        Some(next) => failure.with_next(next),
        None => failure,
    }
}

/// What to do where the details say more than the reason.
fn next_step(details: &Value) -> Option<String> {
    if let Some(paths) = details["conflict"].as_array() {
        let names: Vec<&str> = paths.iter().filter_map(Value::as_str).take(5).collect();
        let more = if paths.len() > names.len() { ", …" } else { "" };
        let names = names.join(", ");
        return Some(format!(
            "{names}{more}: keep them with --on-conflict skip, or replace them with replace"
        ));
    }
    if details["pinned"] == true {
        return Some("remove the runs that saw it first".to_owned());
    }
    match (details["limit"].as_str(), details["currentVersion"].as_i64()) {
        (Some("maxTransferBytes" | "maxTransferVersions"), _) => {
            Some("leave versions out with --no-history".to_owned())
        }
        (_, Some(0)) => Some("there is no such file now; see `roost workspace ls`".to_owned()),
        (_, Some(version)) => Some(format!("its newest version is {version}; look at it and try again")),
        _ => None,
    }
}
