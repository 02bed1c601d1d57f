//! Whom a command talks to: the running host of the home, or one of its own for as long as the command lasts.
//!
//! Both are asked the same requests; a private host answers them without a port.

use crate::{commands::open, config::Config, running::RunningHost};
use axum::{Router, body::Body, http::Request};
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream::BoxStream};
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use roost_server::{Door, Neighbours};
use serde_json::Value;
use tower::ServiceExt as _;

/// Largest answer that is not a stream.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// Largest answer that is a file: everything of a workspace that may travel, and its wrapping.
const FILE_BYTES_MAX: usize = 1 << 30;

/// Longest line of a stream: an event with everything an agent may return.
const EVENT_BYTES_MAX: usize = 64 << 20;

/// A host that can be asked.
pub(crate) enum Partner {
    /// The running one.
    Running(RunningHost),
    /// One of its own.
    Private { router: Router, authorization: String },
}

/// A request without a body is a GET.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// A request with headers of its own and any body.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'static str, String)],
    pub(crate) body: Vec<u8>,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

impl Partner {
    /// The running host of the home, else a new one.
    pub(crate) async fn find(config: Config) -> Result<Self, Failure> {
        match RunningHost::find(&config.host.home).await {
            Some(running) => Ok(Self::Running(running)),
            None => Self::private(config).await,
        }
    }

    /// The running host and no other, for what only that one knows.
    pub(crate) async fn find_running(config: Config) -> Result<Self, Failure> {
        let running = RunningHost::find(&config.host.home).await.map(Self::Running);
        running.ok_or_else(|| {
            Failure::new(Reason::HostUnreachable, "no host of this home runs")
                .with_next("start it with `roost up`")
        })
    }

    /// The same for what nobody else may hear: a running host counts only if it surely is the owner's.
    pub(crate) async fn find_trusted(config: Config) -> Result<Self, Failure> {
        match RunningHost::find(&config.host.home).await {
            Some(running) if running.is_the_owners() => Ok(Self::Running(running)),
            _ => Self::private(config).await,
        }
    }

    /// The same for questions about files, for which no agent must be known.
    pub(crate) async fn find_for_files(config: Config) -> Result<Self, Failure> {
        match RunningHost::find(&config.host.home).await {
            Some(running) if running.is_the_owners() => Ok(Self::Running(running)),
            _ => {
                let neighbours = config.neighbours.clone();
                Self::answering(open(config).await?, neighbours)
            }
        }
    }

    async fn private(config: Config) -> Result<Self, Failure> {
        let neighbours = config.neighbours.clone();
        let host = open(config).await?;
        // The agents must be known before the first question.
        host.agents(&roost_host::NoProgress).await?;
        Self::answering(host, neighbours)
    }

    fn answering(host: Host, neighbours: Neighbours) -> Result<Self, Failure> {
        let authorization = format!("Bearer {}", host.owner()?.as_str());
        let router = roost_server::router(host, Door { neighbours, ..Door::default() });
        Ok(Self::Private { router, authorization })
    }

    /// One question, one document.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let (status, bytes) = match self {
            Self::Running(running) => {
                let response = running.send(method.name(), path, body).await?;
                let status = response.status().as_u16();
                (status, response.bytes().await.map_err(|error| unreachable(&error))?)
            }
            Self::Private { .. } => {
                let response = self.route(method, path, body).await?;
                let status = response.status().as_u16();
                let bytes = axum::body::to_bytes(response.into_body(), ANSWER_BYTES_MAX).await;
                (status, bytes.map_err(|error| unreachable(&error))?)
            }
        };
        if status == 204 {
            return Ok(Value::Null);
        }
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::new(Reason::HostUnreachable, format!("the host's answer: {error}")))?;
        if status < 400 { Ok(value) } else { Err(failure_in(&value)) }
    }

    /// One request of any kind: its status and all of its body.
    pub(crate) async fn exchange(&self, asked: Exchange<'_>) -> Result<(u16, axum::body::Bytes), Failure> {
        let Exchange { method, path, headers, body } = asked;
        match self {
            Self::Running(running) => {
                let response = running.exchange(method.name(), path, headers, body).await?;
                let status = response.status().as_u16();
                Ok((status, response.bytes().await.map_err(|error| unreachable(&error))?))
            }
            Self::Private { router, authorization } => {
                let mut request = Request::builder()
                    .method(method.name())
                    .uri(path)
                    .header("host", "127.0.0.1")
                    .header("authorization", authorization);
                for (name, value) in headers {
                    request = request.header(*name, value);
                }
                let request = request.body(Body::from(body));
                let request = request.map_err(|error| Failure::new(Reason::WrongUse, error.to_string()))?;
                let response = match router.clone().oneshot(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                };
                let status = response.status().as_u16();
                let bytes = axum::body::to_bytes(response.into_body(), FILE_BYTES_MAX).await;
                Ok((status, bytes.map_err(|error| unreachable(&error))?))
            }
        }
    }

    /// One question, answered by events. Dropping the stream ends what was asked for.
    pub(crate) async fn stream(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<BoxStream<'static, Result<Value, Failure>>, Failure> {
        let (status, bytes) = match self {
            Self::Running(running) => {
                let response = running.send(method.name(), path, body).await?;
                (
                    response.status().as_u16(),
                    response.bytes_stream().map_err(|error| unreachable(&error)).boxed(),
                )
            }
            Self::Private { .. } => {
                let response = self.route(method, path, body).await?;
                let status = response.status().as_u16();
                let stream = response.into_body().into_data_stream();
                (status, stream.map_err(|error| unreachable(&error)).boxed())
            }
        };
        if status < 400 {
            return Ok(events(bytes).boxed());
        }
        let whole: Vec<axum::body::Bytes> = bytes.try_collect().await?;
        Err(failure_in(&serde_json::from_slice(&whole.concat()).unwrap_or_default()))
    }

    async fn route(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<axum::response::Response, Failure> {
        let Self::Private { router, authorization, .. } = self else {
            return Err(Failure::new(Reason::Internal, "a running host is asked over its port"));
        };
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder()
            .method(method.name())
            .uri(path)
            .header("host", "127.0.0.1")
            .header("authorization", authorization)
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| Failure::new(Reason::WrongUse, error.to_string()))?;
        match router.clone().oneshot(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }
}

/// The data of server-sent events, one JSON document each.
fn events(
    bytes: BoxStream<'static, Result<axum::body::Bytes, Failure>>,
) -> impl Stream<Item = Result<Value, Failure>> {
    futures::stream::try_unfold((bytes, Vec::new()), |(mut bytes, mut held)| async move {
        loop {
            if let Some(end) = held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = held.drain(..=end).collect();
                let Some(data) = line.strip_prefix(b"data:") else { continue };
                let event = serde_json::from_slice(data)
                    .map_err(|error| Failure::new(Reason::HostUnreachable, format!("an event: {error}")))?;
                return Ok(Some((event, (bytes, held))));
            }
            match bytes.next().await {
                Some(piece) => held.extend_from_slice(&piece?),
                None => return Ok(None),
            }
            if held.len() > EVENT_BYTES_MAX {
                return Err(Failure::new(Reason::HostUnreachable, "an event has no end"));
            }
        }
    })
}

/// The failure in an answer of the host.
pub(crate) fn failure_in(value: &Value) -> Failure {
    if let Some(message) = value["message"].as_str() {
        return refusal_in(value, message);
    }
    let reason = serde_json::from_value(value["reason"].clone()).unwrap_or(Reason::Internal);
    Failure {
        reason,
        message: value["error"].as_str().unwrap_or(reason.sentence()).to_owned(),
        line: value["line"].as_u64().and_then(|line| u32::try_from(line).ok()),
        next: value["next"].as_str().map(str::to_owned),
    }
}

/// The failure in a refusal of the OpenWOP contract, whose `error` is a code.
fn refusal_in(value: &Value, message: &str) -> Failure {
    let named = serde_json::from_value(value["details"]["reason"].clone()).ok();
    let reason = named.unwrap_or(match value["error"].as_str() {
        Some("unauthenticated" | "key_expired" | "key_revoked" | "forbidden") => Reason::OwnerOnly,
        _ => Reason::BadRequest,
    });
    Failure::new(reason, message)
}

pub(crate) fn unreachable(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::HostUnreachable, error.to_string())
}

/// An answer as what it should be.
pub(crate) fn understood<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| unreachable(&error))
}

/// A name as one segment of an address.
pub(crate) fn percent_encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::events;
    use futures::StreamExt as _;

    #[tokio::test]
    async fn events_are_found_however_they_are_cut() {
        let text = "data: {\"type\":\"delta\",\"text\":\"é\"}\n\n: ping\n\ndata: {\"type\":\"done\"}\n\n";
        for size in 1..text.len() {
            let pieces: Vec<_> = text
                .as_bytes()
                .chunks(size)
                .map(|piece| Ok(axum::body::Bytes::copy_from_slice(piece)))
                .collect();
            let found: Vec<_> = events(futures::stream::iter(pieces).boxed()).collect().await;
            let types: Vec<String> =
                found.into_iter().map(|event| event.unwrap()["type"].to_string()).collect();
            assert_eq!(types, ["\"delta\"", "\"done\""], "pieces of {size}");
        }
    }
}
