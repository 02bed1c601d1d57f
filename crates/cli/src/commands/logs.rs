//! `roost logs`: what a native app printed.

use crate::{
    args::LogsArguments,
    config::Config,
    output::Output,
    partner::{Method, Partner, percent_encoded},
};
use futures::StreamExt as _;
use roost_protocol::Failure;
use std::{
    io::{self, Write as _},
    process::ExitCode,
};

pub(crate) async fn logs(
    config: Config,
    arguments: &LogsArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let app = percent_encoded(&arguments.app);
    let stream = if arguments.stderr { "stderr" } else { "stdout" };
    if !arguments.follow {
        let partner = Partner::find_for_files(config).await?;
        let path = format!("/v1/native/{app}/log?stream={stream}");
        let read = partner.ask(Method::Get, &path, None).await?;
        if output.json {
            output.document(&read);
        } else {
            print(read["text"].as_str().unwrap_or_default());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let partner = Partner::find_running(config).await?;
    let path = format!("/api/v1/dev/apps/{app}/logs?stream={stream}");
    let mut texts = partner.stream(Method::Get, &path, None).await?;
    let follow = async {
        while let Some(text) = texts.next().await {
            let text = text?;
            if output.json {
                output.line(&text.to_string());
            } else {
                print(text.as_str().unwrap_or_default());
            }
        }
        Ok(ExitCode::SUCCESS)
    };
    tokio::select! {
        ended = follow => ended,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}

/// As it was printed, without what would move a terminal's cursor or change its colours.
fn print(text: &str) {
    let shown: String = text.chars().filter(|one| !one.is_control() || matches!(one, '\n' | '\t')).collect();
    let mut stdout = io::stdout().lock();
    // A reader that left wants no more of it.
    stdout.write_all(shown.as_bytes()).and_then(|()| stdout.flush()).ok();
}
