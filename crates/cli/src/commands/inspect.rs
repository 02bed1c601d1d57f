//! `roost inspect`: what a native app was asked and answered.

use crate::{
    args::InspectArguments,
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded},
};
use futures::StreamExt as _;
use roost_protocol::Failure;
use serde_json::Value;
use std::process::ExitCode;

pub(crate) async fn inspect(
    config: Config,
    arguments: &InspectArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find_running(config).await?;
    let (app, payloads) = (percent_encoded(&arguments.app), arguments.payloads);
    if !arguments.follow {
        let path = format!("/v1/native/{app}/calls?payloads={payloads}");
        let listed = partner.ask(Method::Get, &path, None).await?;
        if output.json {
            output.document(&listed);
        } else {
            listed["events"].as_array().into_iter().flatten().for_each(|event| show(event, *output));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let path = format!("/api/v1/dev/apps/{app}/grpc?payloads={payloads}");
    let mut events = partner.stream(Method::Get, &path, None).await?;
    let follow = async {
        while let Some(event) = events.next().await {
            show(&event?, *output);
        }
        Ok(ExitCode::SUCCESS)
    };
    tokio::select! {
        ended = follow => ended,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}

/// One document on a line for programs, one line for people.
fn show(event: &Value, output: Output) {
    if output.json {
        output.line(&event.to_string());
        return;
    }
    if let Some(lost) = event["lost"].as_u64() {
        output.note(&format!("{lost} events were lost: they came faster than they were read"));
        return;
    }
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let time = text("timestamp").get(11..23).unwrap_or_default();
    let arrow = if event["direction"] == "request" { "→" } else { "←" };
    let method = text("method").trim_start_matches("/apps.v0.");
    let mut line = format!("{time} {arrow} {method} {} B", event["bytes"]);
    if let Some(number) = event["streamSeq"].as_u64() {
        line.push_str(&format!(" #{number}"));
    }
    if let (Some(status), Some(took)) = (event["status"].as_i64(), event["durationMs"].as_f64()) {
        line.push_str(&format!(" status {status} after {took:.3} ms"));
    }
    if let Some(error) = event["error"].as_str().filter(|error| !error.is_empty()) {
        line.push_str(&format!(": {}", error.escape_debug()));
    }
    output.line(&line);
    if let Some(payload) = event.get("payload") {
        output.line(&format!("    {payload}"));
    }
}
