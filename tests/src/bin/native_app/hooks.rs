//! Hooks of the app: which ones, and what becomes of a payload, stands in its name.

use crate::{
    App,
    contract::{
        Empty, HealthCheckRequest, HealthCheckResponse, HookList, HookRegistration, HookRequest,
        HookResponse, hook_service_server::HookService,
    },
};
use serde_json::{Value, json};
use std::future::pending;
use tonic::{Request, Response, Status};

/// Every point there is, and one that there is not.
const HOOKS: [(&str, &str); 12] = [
    ("tool.pre_execute", "filter"),
    ("tool.post_execute", "filter"),
    ("message.pre_send", "filter"),
    ("message.post_receive", "filter"),
    ("memory.pre_store", "filter"),
    ("memory.pre_recall", "filter"),
    ("session.message_append", "action"),
    ("prompt.system_sections", "filter"),
    ("steering.generate", "filter"),
    ("response.stream", "filter"),
    ("no.such_hook", "filter"),
    ("tool.pre_execute", "teleport"),
];

#[tonic::async_trait]
impl HookService for App {
    async fn apply_filter(&self, request: Request<HookRequest>) -> Result<Response<HookResponse>, Status> {
        let HookRequest { hook, payload, .. } = request.into_inner();
        let mut value: Value = serde_json::from_slice(&payload).unwrap_or(Value::Null);
        let plain = |value: &Value| HookResponse {
            payload: value.to_string().into_bytes(),
            ..HookResponse::default()
        };
        let answer = match self.name() {
            "hook hangs" => pending::<HookResponse>().await,
            "hook fails" => return Err(Status::internal("on purpose")),
            "hook errs" => HookResponse { error: "on purpose".to_owned(), ..HookResponse::default() },
            "hook garbles" => HookResponse { payload: b"{".to_vec(), ..HookResponse::default() },
            "hook handles" => {
                let content = json!({ "content": "handled", "is_error": false, "results": ["handled"] });
                HookResponse {
                    payload: content.to_string().into_bytes(),
                    handled: true,
                    error: String::new(),
                }
            }
            "hook dies" => std::process::abort(),
            "hook keeps" => HookResponse::default(),
            // Marks what it saw, so that a test can read who was there and in which order.
            name => {
                mark(&hook, &mut value, name);
                plain(&value)
            }
        };
        Ok(Response::new(answer))
    }

    async fn do_action(&self, request: Request<HookRequest>) -> Result<Response<Empty>, Status> {
        let HookRequest { hook, payload, .. } = request.into_inner();
        eprintln!("action {hook} {}", String::from_utf8_lossy(&payload));
        if self.is("hook hangs") {
            pending::<()>().await;
        }
        Ok(Response::new(Empty {}))
    }

    async fn list_hooks(&self, _: Request<Empty>) -> Result<Response<HookList>, Status> {
        let priority = if self.name().contains("early") { 1 } else { 0 };
        let hooks = HOOKS.iter().map(|(hook, kind)| HookRegistration {
            hook: (*hook).to_owned(),
            r#type: (*kind).to_owned(),
            priority,
        });
        Ok(Response::new(HookList { hooks: hooks.collect() }))
    }

    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }
}

fn mark(hook: &str, value: &mut Value, name: &str) {
    let add = |value: &mut Value| {
        let before = value.as_str().unwrap_or_default().to_owned();
        *value = json!(format!("{before} +{name}"));
    };
    match hook {
        "tool.pre_execute" => value["input"]["marked"] = json!(name),
        "tool.post_execute" => add(&mut value["result"]["content"]),
        "message.pre_send" => add(&mut value["system_prompt"]),
        "message.post_receive" => add(&mut value["response_text"]),
        "memory.pre_store" => add(&mut value["value"]),
        "response.stream" => add(&mut value["event"]["content"]),
        "prompt.system_sections" => {
            if let Some(sections) = value["sections"].as_array_mut() {
                sections.push(json!(format!("section of {name}")));
            }
        }
        "steering.generate" => {
            if let Some(messages) = value["messages"].as_array_mut() {
                messages.push(json!({ "role": "system", "content": format!("steered by {name}") }));
            }
        }
        _ => {}
    }
}
