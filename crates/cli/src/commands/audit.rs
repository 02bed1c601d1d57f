//! `roost audit`: the record of every decision, and whether it is whole.

use super::open;
use crate::{
    args::{Audit, AuditArguments},
    config::Config,
    moments::past_moment,
    output::{NOT_OK, Output},
};
use roost_host::{AuditFilter, AuditRow};
use roost_protocol::{AppId, Failure};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) async fn audit(
    config: Config,
    arguments: &AuditArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let since = arguments.since.as_deref().map(past_moment).transpose()?;
    let host = open(config).await?;
    if let Some(Audit::Verify) = arguments.what {
        let verified = host.verify_audit()?;
        if output.json {
            output.document(&json!({ "ok": true, "rows": verified.rows, "segments": verified.segments }));
        } else {
            output.line(&format!(
                "{} rows in {} files: nothing was changed.",
                verified.rows, verified.segments
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let app = arguments.app.as_deref().map(AppId::new);
    let listing = host.audit(&AuditFilter { app, since, limit: Some(arguments.limit) })?;
    if output.json {
        let broken = listing.broken.as_ref().map(ToString::to_string);
        output.document(&json!({ "rows": listing.rows, "left_out": listing.left_out, "broken": broken }));
    } else {
        for row in &listing.rows {
            output.line(&line(row));
        }
        if listing.left_out > 0 {
            output.note(&format!("{} older rows are not shown; --limit shows more", listing.left_out));
        }
        if let Some(broken) = &listing.broken {
            output.note(&format!("the log is broken at {broken}; see `roost audit verify`"));
        }
    }
    Ok(if listing.broken.is_none() { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
}

/// One row for a person: when, who, what, and how it was decided.
fn line(row: &AuditRow) -> String {
    let word = |value: serde_json::Result<Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let time = row.time.strftime("%Y-%m-%d %H:%M:%S");
    let about = row.right.as_deref().or(row.detail.as_deref()).unwrap_or_default();
    let detail = row.detail.as_deref().filter(|_| row.right.is_some()).map(|detail| format!(" ({detail})"));
    let why = row.why.map(|why| format!(" [{}]", why.code())).unwrap_or_default();
    let count = if row.count > 1 { format!(" x{}", row.count) } else { String::new() };
    format!(
        "{time}  {:24}  {:8} {:8} {about}{}{count}{why}",
        row.app,
        word(serde_json::to_value(row.what)),
        word(serde_json::to_value(row.decision)),
        detail.unwrap_or_default(),
    )
}
