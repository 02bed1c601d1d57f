//! What the app answers as a model: what the last message of the person says.

use crate::{
    App,
    contract::{
        CancelRequest, CancelResponse, Empty, GatewayEvent, GatewayRequest, HealthCheckRequest,
        HealthCheckResponse, PollRequest, PollResponse, SettingsMap, gateway_service_server::GatewayService,
    },
};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::json;
use std::future::pending;
use tonic::{Request, Response, Status};

/// Events of an answer that is long.
const MANY: usize = 200_000;

type Events = BoxStream<'static, Result<GatewayEvent, Status>>;

fn event(kind: &str, content: impl Into<String>) -> Result<GatewayEvent, Status> {
    let (r#type, content) = (kind.to_owned(), content.into());
    Ok(GatewayEvent { r#type, content, model: "test".to_owned(), request_id: String::new() })
}

fn all(events: Vec<Result<GatewayEvent, Status>>) -> Events {
    stream::iter(events).boxed()
}

fn call(id: &str) -> Result<GatewayEvent, Status> {
    event(
        "tool_call",
        json!({ "id": id, "name": "echo", "arguments": json!({ "call": id }).to_string() }).to_string(),
    )
}

/// Two calls first; what came back of them then.
fn with_tools(request: &GatewayRequest) -> Events {
    let results: Vec<String> = request
        .messages
        .iter()
        .filter(|message| message.role == "tool")
        .map(|message| format!("{}={}", message.tool_call_id, message.content))
        .collect();
    if results.is_empty() {
        return all(vec![call("one"), call("two"), event("done", "")]);
    }
    let calls = request.messages.iter().find(|message| !message.tool_calls.is_empty());
    let calls = calls.map(|message| message.tool_calls.clone()).unwrap_or_default();
    all(vec![event("text", format!("{} after {calls}", results.join(" "))), event("done", "")])
}

/// Ends the process once the events before were sent.
fn dies() -> Events {
    stream::once(async {
        tokio::task::yield_now().await;
        std::process::abort()
    })
    .boxed()
}

#[tonic::async_trait]
impl GatewayService for App {
    type StreamStream = Events;

    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }

    async fn stream(&self, request: Request<GatewayRequest>) -> Result<Response<Events>, Status> {
        let request = request.into_inner();
        let last = request.messages.iter().rev().find(|message| message.role == "user");
        let said = last.map(|message| message.content.clone()).unwrap_or_default();
        let text = |text: &str| event("text", text);
        Ok(Response::new(match said.as_str() {
            "many" => stream::iter(0..MANY).map(|_| event("text", "x")).boxed(),
            "endless" => stream::repeat(()).map(|()| event("text", "x".repeat(1 << 16))).boxed(),
            "hang" => pending().await,
            "hang in the middle" => all(vec![text("half")]).chain(stream::pending()).boxed(),
            "die in the middle" => all(vec![text("half")]).chain(dies()).boxed(),
            "error" => all(vec![text("half"), event("error", "on purpose"), event("done", "")]),
            "bad call" => all(vec![event("tool_call", "[1"), text("and more"), event("done", "")]),
            "much" => all(vec![event("text", "x".repeat(5 << 20)), event("done", "")]),
            "status" => return Err(Status::internal("on purpose")),
            "use tools" => with_tools(&request),
            "no done" => all(vec![text("all of it")]),
            "who am I" => {
                let user = request.user.map(|user| json!({ "id": user.user_id, "token": user.token }));
                let told = json!({ "user": user, "named": !request.request_id.is_empty() });
                all(vec![event("text", told.to_string()), event("done", "")])
            }
            _ => all(vec![
                event("thinking", "hm"),
                text("Hel"),
                event("of the future", "?"),
                text("lo"),
                event("done", ""),
                text(" never heard"),
            ]),
        }))
    }

    async fn poll(&self, _: Request<PollRequest>) -> Result<Response<PollResponse>, Status> {
        Ok(Response::new(PollResponse { events: Vec::new(), complete: true }))
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        if let Ok(mut cancelled) = self.cancelled.lock() {
            cancelled.push(request.into_inner().request_id);
        }
        Ok(Response::new(CancelResponse { cancelled: true }))
    }

    async fn configure(&self, _: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }
}
