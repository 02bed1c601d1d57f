//! A native app that is a model: it says again what it was told, word by word, and uses a tool when it is told to.
//!
//! A real gateway asks another computer here; this one shows the form of its answers without any.

/// Messages and services, made from `proto/` by `build.rs`.
#[allow(dead_code, missing_docs, unreachable_pub, clippy::all, reason = "made from the contract")]
mod contract {
    tonic::include_proto!("apps.v0");
}

use contract::{
    CancelRequest, CancelResponse, Empty, GatewayEvent, GatewayRequest, HealthCheckRequest,
    HealthCheckResponse, PollRequest, PollResponse, SettingsMap,
    gateway_service_server::{GatewayService, GatewayServiceServer},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    error::Error,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    net::UnixListener,
    signal::unix::{SignalKind, signal},
};
use tokio_stream::{Stream, StreamExt as _, wrappers::UnixListenerStream};
use tonic::{Request, Response, Status, transport::Server};

/// Answers that are kept for whoever polls; the oldest go first.
const ANSWERS_MAX: usize = 100;

#[derive(Clone)]
struct Parrot {
    name: String,
    version: String,
    answers: Arc<Mutex<BTreeMap<String, Answer>>>,
}

/// What was said to one request so far.
#[derive(Clone, Default)]
struct Answer {
    events: Vec<GatewayEvent>,
    is_cancelled: bool,
}

impl Parrot {
    fn answers(&self) -> MutexGuard<'_, BTreeMap<String, Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event for those who poll; nothing once the answer was cancelled.
    fn keep(&self, event: GatewayEvent) -> Option<Result<GatewayEvent, Status>> {
        let mut answers = self.answers();
        let answer = answers.entry(event.request_id.clone()).or_default();
        if answer.is_cancelled {
            return None;
        }
        answer.events.push(event.clone());
        while answers.len() > ANSWERS_MAX {
            answers.pop_first();
        }
        Some(Ok(event))
    }
}

/// Everything that is said to a request.
fn events(request: &GatewayRequest) -> Vec<GatewayEvent> {
    let event = |kind: &str, content: String| GatewayEvent {
        r#type: kind.to_owned(),
        content,
        model: "parrot".to_owned(),
        request_id: request.request_id.clone(),
    };
    let last = request.messages.last().cloned().unwrap_or_default();
    let words: Vec<&str> = last.content.splitn(3, ' ').collect();
    let mut said = match words.as_slice() {
        ["use", tool, arguments]
            if last.role == "user" && request.tools.iter().any(|one| one.name == *tool) =>
        {
            let call = json!({ "id": "call-1", "name": tool, "arguments": arguments });
            vec![event("tool_call", call.to_string())]
        }
        _ => last.content.split_inclusive(' ').map(|word| event("text", word.to_owned())).collect(),
    };
    said.push(event("done", String::new()));
    said
}

#[tonic::async_trait]
impl GatewayService for Parrot {
    type StreamStream = Pin<Box<dyn Stream<Item = Result<GatewayEvent, Status>> + Send>>;

    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let (name, version) = (self.name.clone(), self.version.clone());
        Ok(Response::new(HealthCheckResponse { healthy: true, version, name }))
    }

    async fn stream(&self, request: Request<GatewayRequest>) -> Result<Response<Self::StreamStream>, Status> {
        let parrot = self.clone();
        let events = tokio_stream::iter(events(&request.into_inner()));
        Ok(Response::new(Box::pin(events.map_while(move |event| parrot.keep(event)))))
    }

    async fn poll(&self, request: Request<PollRequest>) -> Result<Response<PollResponse>, Status> {
        let answer = self.answers().get(&request.into_inner().request_id).cloned().unwrap_or_default();
        let complete =
            answer.is_cancelled || answer.events.last().is_some_and(|event| event.r#type == "done");
        Ok(Response::new(PollResponse { events: answer.events, complete }))
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        let mut answers = self.answers();
        let answer = answers.get_mut(&request.into_inner().request_id);
        let cancelled = answer.map(|answer| answer.is_cancelled = true).is_some();
        Ok(Response::new(CancelResponse { cancelled }))
    }

    async fn configure(&self, _: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        // It has no settings; the host may tell them all the same.
        Ok(Response::new(Empty {}))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let told = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
    let socket = told("NEBO_APP_SOCK")?;
    let parrot =
        Parrot { name: told("NEBO_APP_NAME")?, version: told("NEBO_APP_VERSION")?, answers: Arc::default() };
    let mut terminated = signal(SignalKind::terminate())?;
    let listener = UnixListener::bind(&socket)?;
    eprintln!("[{}] listening on {socket}", parrot.name);
    Server::builder()
        .add_service(GatewayServiceServer::new(parrot))
        .serve_with_incoming_shutdown(UnixListenerStream::new(listener), async move {
            terminated.recv().await;
        })
        .await?;
    Ok(())
}
