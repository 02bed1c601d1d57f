//! `roost audit`: the record of every decision, and whether it is whole.

use super::open;
use crate::{
    args::{Audit, AuditArguments},
    config::Config,
    output::{NOT_OK, Output},
};
use jiff::{Span, Timestamp, Zoned, civil::Date};
use roost_host::{AuditFilter, AuditRow};
use roost_protocol::{AppId, Failure, Reason};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) async fn audit(
    config: Config,
    arguments: &AuditArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let since = arguments.since.as_deref().map(point_in_time).transpose()?;
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

/// A time, a date in this time zone, or a span before now.
fn point_in_time(text: &str) -> Result<Timestamp, Failure> {
    let now = Zoned::now();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(date) = text.parse::<Date>()
        && let Ok(start) = date.to_zoned(now.time_zone().clone())
    {
        return Ok(start.timestamp());
    }
    let before = text.parse::<Span>().ok().and_then(|span| now.checked_sub(span).ok());
    before.map(|time| time.timestamp()).ok_or_else(|| {
        Failure::new(Reason::WrongUse, format!("`{text}` is no time"))
            .with_next("write 2026-11-01T12:00:00Z, 2026-11-01, or a span such as 2h or 3d")
    })
}

#[cfg(test)]
mod tests {
    use super::point_in_time;

    #[test]
    fn times_dates_and_spans_are_understood() {
        for good in ["2026-11-01T12:00:00Z", "2026-11-01", "2h", "3d", "90m"] {
            assert!(point_in_time(good).is_ok(), "{good}");
        }
        for bad in ["", "yesterday", "-1", "2026-13-01"] {
            assert!(point_in_time(bad).is_err(), "{bad}");
        }
    }
}
