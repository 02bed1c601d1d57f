//! A native app: one tool for models, and answers for its page. The host starts it, asks it, and ends it.

mod page; // what the page asks
mod tool; // what a model asks

/// Messages and services, made from `proto/` by `build.rs`.
#[allow(dead_code, missing_docs, unreachable_pub, clippy::all, reason = "made from the contract")]
mod contract {
    tonic::include_proto!("apps.v0");
}

use contract::{
    HealthCheckResponse, SettingsMap, tool_service_server::ToolServiceServer,
    ui_service_server::UiServiceServer,
};
use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    net::UnixListener,
    signal::unix::{SignalKind, signal},
};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

/// What all parts of the app share.
#[derive(Clone)]
struct App {
    name: String,
    version: String,
    settings: Arc<Mutex<HashMap<String, String>>>,
}

impl App {
    fn health(&self) -> HealthCheckResponse {
        HealthCheckResponse { healthy: true, version: self.version.clone(), name: self.name.clone() }
    }

    /// Takes new settings: always all of them, never a change.
    fn configure(&self, settings: SettingsMap) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings.values;
    }

    /// What the app is about: a greeting, in the words of the setting `greeting`.
    fn greet(&self, who: &str) -> String {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        format!("{}, {who}!", settings.get("greeting").map_or("Good day", String::as_str))
    }
}

// One thread is enough, and quicker than several: almost all of the time is spent waiting.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let told = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
    let socket = told("NEBO_APP_SOCK")?;
    let app =
        App { name: told("NEBO_APP_NAME")?, version: told("NEBO_APP_VERSION")?, settings: Arc::default() };
    // Before anybody can ask: a request to end must not be missed.
    let mut terminated = signal(SignalKind::terminate())?;
    let listener = UnixListener::bind(&socket)?;
    eprintln!("[{}] listening on {socket}", app.name);
    Server::builder()
        .add_service(ToolServiceServer::new(app.clone()))
        .add_service(UiServiceServer::new(app))
        .serve_with_incoming_shutdown(UnixListenerStream::new(listener), async move {
            terminated.recv().await;
        })
        .await?;
    Ok(())
}
