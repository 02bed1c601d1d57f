//! `roost up`: the host, until it is told to stop.

use super::open;
use crate::{args::UpArguments, config::Config, output::Output, running};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) async fn up(
    mut config: Config,
    arguments: UpArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let listening = roost_server::listen(arguments.port.unwrap_or(config.port)).await?;
    let port = listening.port();
    config.host.working_directory = config.host.home.root().to_owned();
    config.host.environment.insert("PORT".to_owned(), port.to_string());
    let host = open(config).await?;
    let record = running::publish(host.home(), port)?;
    let watching = roost_host::watch(&host)?;
    let stop = stop_signal()?;
    let address = format!("http://127.0.0.1:{port}");
    if output.json {
        output.document(&json!({ "address": address, "pid": std::process::id() }));
    } else {
        output.line(&format!("listening on {address}"));
    }
    output.note(&format!("agents are read from {}", host.home().agents().display()));
    let served = listening.serve(host.clone(), stop).await;
    drop((watching, record));
    host.flush()?;
    served.map(|()| ExitCode::SUCCESS)
}

/// Resolves when a person or the system wants the host to stop.
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    let refuse =
        |error: std::io::Error| Failure::new(Reason::Internal, format!("listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(refuse)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(refuse)?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
