//! `roost up`: the host, until it is told to stop.

use super::{open, open::page_address};
use crate::{args::UpArguments, config::Config, output::Output, running};
use futures::{FutureExt as _, future::try_join_all};
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use roost_server::Profile;
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
    let neighbours = std::mem::take(&mut config.neighbours);
    let mut more = Vec::new();
    for (port, profile) in std::mem::take(&mut config.listeners) {
        more.push((roost_server::listen(port).await?, profile));
    }
    let host = open(config).await?;
    // Made before anybody can ask for it, so that every command finds the same one.
    host.owner()?;
    let book = roost_host::keep_book(&host);
    let others: Vec<(u16, Profile)> = more.iter().map(|(other, profile)| (other.port(), *profile)).collect();
    let record = running::publish(host.home(), port, &others)?;
    let watching = roost_host::watch(&host)?;
    let believing = roost_host::library::keep_believed(&host);
    let renewing = roost_host::native::keep_connected(&host);
    look_for_models(&host);
    start_native_apps(&host);
    let stop = stop_signal()?.shared();
    let address = format!("http://127.0.0.1:{port}");
    if output.json {
        output.document(&json!({ "address": address, "pid": std::process::id() }));
    } else {
        output.line(&format!("listening on {address}"));
    }
    for (port, profile) in &others {
        output.note(&format!("also listening on http://127.0.0.1:{port}, answering as {}", profile.name()));
    }
    // Only to a person: what is written to a log is read by others, and later.
    if output.shows_progress() {
        let ticket = host.invite_browser()?.ticket;
        output.note(&format!("the page, once and within ten minutes: {}", page_address(&address, &ticket)));
        output.note("another such address: roost open");
    }
    output.note(&format!("agents are read from {}", host.home().agents().display()));
    let main = listening.serve(host.clone(), neighbours.clone(), Profile::default(), stop.clone());
    let rest = more
        .into_iter()
        .map(|(other, profile)| other.serve(host.clone(), neighbours.clone(), profile, stop.clone()));
    let serving = async { tokio::join!(main, try_join_all(rest)) };
    let (served, rest) = tokio::select! {
        served = serving => served,
        never = host.take_what_waits() => match never {},
        never = host.keep_schedules() => match never {},
    };
    rest?;
    drop((watching, believing, renewing, record, book));
    host.native_apps().stop_all().await;
    host.flush()?;
    served.map(|()| ExitCode::SUCCESS)
}

/// Finds servers on this machine while the first clients arrive.
fn look_for_models(host: &Host) {
    let models = host.models().clone();
    // A login that a person is in the middle of goes on.
    models.login().resume();
    // Ends by itself after some hundred milliseconds.
    drop(tokio::spawn(async move { models.discover().await }));
}

/// Starts the native apps of the home while the first clients arrive.
fn start_native_apps(host: &Host) {
    let host = host.clone();
    // Ends by itself when each of them answers or was given up.
    drop(tokio::spawn(async move { host.start_native_apps().await }));
}

/// Resolves when a person or the system wants the host to stop.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
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
