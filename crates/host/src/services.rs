//! Services: files that answer requests below `/api/<name>`, in the same workers and under the same gate as agents.
//!
//! A service is called like an agent that takes a method, a path and a body, and whose output is an answer. What it says
//! is not trusted: `server` decides which of its headers are sent.

use crate::{host::Host, knowledge::NoProgress, perform::Request};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_protocol::{CallId, EndpointListing, Failure, Reason};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What a client asks of a service.
#[derive(Debug, Clone)]
pub struct EndpointRequest {
    /// GET, POST, PUT or DELETE.
    pub method: &'static str,
    /// What follows the name in the address, without the slash.
    pub path: String,
    /// The JSON object of the request; empty when it had none.
    pub body: Map<String, Value>,
}

/// What a service said, with the call it was said in.
#[derive(Debug)]
pub struct Served {
    /// The call, for `roost why`.
    pub call: CallId,
    /// The answer, or why there is none.
    pub answer: Result<EndpointAnswer, Failure>,
}

/// What a service answers.
#[derive(Debug, PartialEq, Eq)]
pub struct EndpointAnswer {
    /// From 200 to 599.
    pub status: u16,
    /// As the service gave them, in its order.
    pub headers: Vec<(String, String)>,
    /// What it sends.
    pub body: EndpointBody,
}

/// What a service sends.
#[derive(Debug, PartialEq, Eq)]
pub enum EndpointBody {
    /// JSON text.
    Json(String),
    /// Other text.
    Text(String),
    /// Bytes of any kind.
    Bytes(Vec<u8>),
}

/// The output of a service's worker.
#[derive(Deserialize)]
struct Said {
    status: u16,
    headers: Vec<(String, String)>,
    body: SaidBody,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SaidBody {
    Json(String),
    Text(String),
    Base64(String),
}

impl Host {
    /// Looks at the services folder and at every file that changed, and returns all services.
    pub async fn services(&self) -> Result<Vec<EndpointListing>, Failure> {
        let services = &self.inner.services;
        services.refresh(&NoProgress).await?;
        Ok(services.listings().into_iter().map(EndpointListing::from).collect())
    }

    /// Lets a service answer. An error means that nothing ran.
    pub async fn serve(&self, name: &str, request: EndpointRequest) -> Result<Served, Failure> {
        let arguments = Map::from_iter([
            ("method".to_owned(), Value::from(request.method)),
            ("path".to_owned(), Value::from(request.path)),
            ("body".to_owned(), Value::Object(request.body)),
        ]);
        // No sentence led to this call; none is guessed from the address.
        let request = Request { arguments, query: Some(String::new()), ..Request::default() };
        let outcome = self.inner.call(&self.inner.services, name, &request).await.map_err(of_the_service)?;
        let answer = match outcome.error {
            Some(failure) => Err(of_the_service(failure)),
            None => answer_in(&outcome.output),
        };
        Ok(Served { call: outcome.receipt.call, answer })
    }
}

/// Whatever goes wrong in a service is one thing to its clients; what happened, and what to do, stays in the words.
fn of_the_service(failure: Failure) -> Failure {
    let next = match failure.reason {
        Reason::UnknownService
        | Reason::Shadowed
        | Reason::Disabled
        | Reason::Busy
        | Reason::SandboxUnavailable
        | Reason::GrantsUnusable
        | Reason::AuditUnusable => return failure,
        Reason::AgentRaised | Reason::AgentExited | Reason::AgentCrashed | Reason::LoadCrashed => {
            failure.next
        }
        reason => failure.next.or_else(|| Some(reason.next().to_owned())),
    };
    Failure { reason: Reason::ServiceFailed, next, ..failure }
}

/// The worker checked it in the service's own process, which is no reason to believe it.
fn answer_in(output: &str) -> Result<EndpointAnswer, Failure> {
    let broken = |what: &str| Failure::new(Reason::ServiceFailed, format!("the service's answer {what}"));
    let said: Said = serde_json::from_str(output).map_err(|_| broken("is not one"))?;
    if !(200..=599).contains(&said.status) {
        return Err(broken("has a status that is not between 200 and 599"));
    }
    let body = match said.body {
        SaidBody::Json(text) => EndpointBody::Json(text),
        SaidBody::Text(text) => EndpointBody::Text(text),
        SaidBody::Base64(text) => {
            EndpointBody::Bytes(STANDARD.decode(text).map_err(|_| broken("has bytes that are garbled"))?)
        }
    };
    Ok(EndpointAnswer { status: said.status, headers: said.headers, body })
}

#[cfg(test)]
mod tests {
    use super::{EndpointBody, answer_in, of_the_service};
    use roost_protocol::{Failure, Reason};

    #[test]
    fn what_a_worker_says_is_read_strictly() {
        let answer =
            answer_in(r#"{"status": 201, "headers": [["x-a", "1"]], "body": {"json": "{}"}}"#).unwrap();
        assert_eq!((answer.status, answer.body), (201, EndpointBody::Json("{}".to_owned())));
        let bytes = answer_in(r#"{"status": 200, "headers": [], "body": {"base64": "AAE="}}"#).unwrap();
        assert_eq!(bytes.body, EndpointBody::Bytes(vec![0, 1]));
        for bad in [
            "",
            "{}",
            r#"{"status": 99, "headers": [], "body": {"json": ""}}"#,
            r#"{"status": 101, "headers": [], "body": {"json": ""}}"#,
            r#"{"status": 600, "headers": [], "body": {"json": ""}}"#,
            r#"{"status": 70000, "headers": [], "body": {"json": ""}}"#,
            r#"{"status": 200, "headers": [["a"]], "body": {"json": ""}}"#,
            r#"{"status": 200, "headers": [], "body": {"base64": "!"}}"#,
            r#"{"status": 200, "headers": [], "body": {}}"#,
        ] {
            assert_eq!(answer_in(bad).unwrap_err().reason, Reason::ServiceFailed, "{bad}");
        }
    }

    #[test]
    fn a_failure_keeps_its_words_and_its_next_step() {
        let limit = of_the_service(Failure::plain(Reason::TimeLimit));
        assert_eq!(limit.reason, Reason::ServiceFailed);
        assert!(limit.next_step().contains("wall_seconds"), "{}", limit.next_step());
        let raised = of_the_service(Failure::new(Reason::AgentRaised, "boom"));
        assert_eq!((raised.message.as_str(), raised.next_step()), ("boom", "see the service's log"));
        assert_eq!(of_the_service(Failure::plain(Reason::Busy)).reason, Reason::Busy);
    }
}
