//! `roost open`: an address that lets the owner's browser in, once.

use crate::{config::Config, output::Output, running::RunningHost};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::process::ExitCode;

pub(crate) async fn open(config: Config, output: &Output) -> Result<ExitCode, Failure> {
    let running = RunningHost::find(&config.host.home).await.filter(RunningHost::is_the_owners);
    let running = running.ok_or_else(|| {
        Failure::new(Reason::HostUnreachable, "no host of this home is running")
            .with_next("start it with `roost up`")
    })?;
    let made = running.document("POST", "/owner/tickets", None).await?;
    let ticket = made["ticket"].as_str().unwrap_or_default();
    let url = page_address(running.address(), ticket);
    if output.json {
        output.document(&json!({ "url": url, "expires_in": made["expires_in"] }));
    } else {
        output.line(&url);
        output.note("Open this in your browser. It works once, within ten minutes.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Behind `#`, so that no browser ever sends it anywhere; the page takes it out of the address at once.
pub(super) fn page_address(host: &str, ticket: &str) -> String {
    format!("{host}/#ticket={ticket}")
}
