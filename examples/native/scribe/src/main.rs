//! A native app that takes part in what the host does: it adds to the system message, signs answers, and keeps a diary.

/// Messages and services, made from `proto/` by `build.rs`.
#[allow(dead_code, missing_docs, unreachable_pub, clippy::all, reason = "made from the contract")]
mod contract {
    tonic::include_proto!("apps.v0");
}

use contract::{
    Empty, HealthCheckRequest, HealthCheckResponse, HookList, HookRegistration, HookRequest, HookResponse,
    hook_service_server::{HookService, HookServiceServer},
};
use serde_json::{Value, json};
use std::{error::Error, fs::OpenOptions, io::Write as _, path::PathBuf};
use tokio::{
    net::UnixListener,
    signal::unix::{SignalKind, signal},
};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// Where it takes part, how, and how early: lower goes first. Each needs the permission `hook:NAME`.
const HOOKS: [(&str, &str, i32); 3] = [
    ("prompt.system_sections", "filter", 10),
    ("message.post_receive", "filter", 90),
    ("session.message_append", "action", 10),
];

struct Scribe {
    name: String,
    version: String,
    diary: PathBuf,
}

impl Scribe {
    /// Writes a line to its diary, in the only folder that it may write to.
    fn write_down(&self, line: &str) -> std::io::Result<()> {
        let mut diary = OpenOptions::new().create(true).append(true).open(&self.diary)?;
        writeln!(diary, "{line}")
    }
}

/// What becomes of a payload; nothing when it is not of the expected form.
fn changed(hook: &str, mut payload: Value) -> Option<Value> {
    match hook {
        "prompt.system_sections" => {
            payload["sections"].as_array_mut()?.push(json!("Answer in one paragraph."));
        }
        "message.post_receive" => {
            let text = payload["response_text"].as_str()?;
            payload["response_text"] = json!(format!("{text}\n\n— Scribe was here"));
        }
        _ => return None,
    }
    Some(payload)
}

#[tonic::async_trait]
impl HookService for Scribe {
    async fn list_hooks(&self, _: Request<Empty>) -> Result<Response<HookList>, Status> {
        let hooks = HOOKS.iter().map(|(hook, kind, priority)| HookRegistration {
            hook: (*hook).to_owned(),
            r#type: (*kind).to_owned(),
            priority: *priority,
        });
        Ok(Response::new(HookList { hooks: hooks.collect() }))
    }

    async fn apply_filter(&self, request: Request<HookRequest>) -> Result<Response<HookResponse>, Status> {
        let HookRequest { hook, payload, .. } = request.into_inner();
        let made = serde_json::from_slice(&payload).ok().and_then(|payload| changed(&hook, payload));
        // An empty payload keeps what there was; to answer `handled` takes an override in the manifest.
        let payload = made.map(|payload| payload.to_string().into_bytes()).unwrap_or_default();
        Ok(Response::new(HookResponse { payload, handled: false, error: String::new() }))
    }

    async fn do_action(&self, request: Request<HookRequest>) -> Result<Response<Empty>, Status> {
        let HookRequest { payload, .. } = request.into_inner();
        let payload: Value = serde_json::from_slice(&payload).unwrap_or_default();
        let line = format!("{}: {}", payload["role"].as_str().unwrap_or("?"), payload["content"]);
        self.write_down(&line).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(Empty {}))
    }

    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let (name, version) = (self.name.clone(), self.version.clone());
        Ok(Response::new(HealthCheckResponse { healthy: true, version, name }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let told = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
    let socket = told("NEBO_APP_SOCK")?;
    let scribe = Scribe {
        name: told("NEBO_APP_NAME")?,
        version: told("NEBO_APP_VERSION")?,
        diary: PathBuf::from(told("NEBO_APP_DATA")?).join("diary.txt"),
    };
    let mut terminated = signal(SignalKind::terminate())?;
    let listener = UnixListener::bind(&socket)?;
    eprintln!("[{}] listening on {socket}", scribe.name);
    Server::builder()
        .add_service(HookServiceServer::new(scribe))
        .serve_with_incoming_shutdown(UnixListenerStream::new(listener), async move {
            terminated.recv().await;
        })
        .await?;
    Ok(())
}
