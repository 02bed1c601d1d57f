//! What happens in a workspace, as it happens.

use super::{
    desk::Desk,
    table::{rows, time, word},
};
use roost_protocol::Failure;
use serde_json::Value;

/// How long one question waits for something to happen, in seconds; then it is asked again.
const WAIT_SECONDS: &str = "30";

/// Prints a line for every change from now on, until somebody ends it.
pub(super) async fn watch(desk: &Desk) -> Result<(), Failure> {
    let mut seen = desk.get("usage", &[]).await?["revision"].as_i64().unwrap_or_default();
    if !desk.output.json {
        desk.output.note("Waiting for changes; Ctrl-C ends it.");
    }
    let follow = async {
        loop {
            let after = seen.to_string();
            let page = desk.get("events/poll", &[("after", &after), ("timeout", WAIT_SECONDS)]).await?;
            for event in rows(&page["events"]) {
                show(desk, event);
                seen = seen.max(event["sequence"].as_i64().unwrap_or_default());
            }
        }
    };
    tokio::select! {
        ended = follow => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// One document on a line for programs, one line for people.
fn show(desk: &Desk, event: &Value) {
    if desk.output.json {
        desk.output.line(&event.to_string());
        return;
    }
    let (path, version) = (word(&event["path"]), &event["version"]);
    desk.output.line(&format!("{}  {path}  v{version}", time(&event["timestamp"])));
}
