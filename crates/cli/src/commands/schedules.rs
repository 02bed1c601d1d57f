//! `roost schedules`: things that are done at set times.

use crate::{
    args::{SchedulesArguments, SchedulesVerb},
    config::Config,
    output::{NOT_OK, Output},
    partner::{Method, Partner, percent_encoded},
};
use roost_protocol::Failure;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) async fn schedules(
    config: Config,
    arguments: SchedulesArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let partner = Partner::find_trusted(config).await?;
    let at = |name: &str, rest: &str| format!("/v1/schedules/{}{rest}", percent_encoded(name));
    match arguments.verb.unwrap_or(SchedulesVerb::List) {
        SchedulesVerb::List => {
            let listed = partner.ask(Method::Get, "/v1/schedules", None).await?;
            output.show(&listed, list);
        }
        SchedulesVerb::Add { name, expression, message, deliver } => {
            let new =
                json!({ "name": name, "expression": expression, "message": message, "deliver": deliver });
            let added = partner.ask(Method::Post, "/v1/schedules", Some(&new)).await?;
            output.show(&added, one);
        }
        SchedulesVerb::Remove { name } => {
            let removed = partner.ask(Method::Delete, &at(&name, ""), None).await?;
            output.show(&removed, |_, output| output.line(&format!("removed {name}")));
        }
        SchedulesVerb::Enable { name } => {
            output.show(&partner.ask(Method::Post, &at(&name, "/enable"), None).await?, one);
        }
        SchedulesVerb::Disable { name } => {
            output.show(&partner.ask(Method::Post, &at(&name, "/disable"), None).await?, one);
        }
        SchedulesVerb::Run { name } => {
            let ran = partner.ask(Method::Post, &at(&name, "/run"), None).await?;
            output.show(&ran, entry);
            return Ok(if ran["success"] == true { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) });
        }
        SchedulesVerb::History { name, limit, offset } => {
            let path = at(&name, &format!("/history?limit={limit}&offset={offset}"));
            output.show(&partner.ask(Method::Get, &path, None).await?, |page, output| {
                rows(&page["entries"]).iter().for_each(|one| entry(one, output));
                output.note(&format!("{} in all", page["total"]));
            });
        }
        SchedulesVerb::Scheduler { scheduler } => {
            let asked = scheduler.map(|scheduler| json!({ "scheduler": scheduler }));
            let method = if asked.is_some() { Method::Put } else { Method::Get };
            let known = partner.ask(method, "/v1/schedulers", asked.as_ref()).await?;
            output.show(&known, |known, output| {
                for scheduler in rows(&known["schedulers"]) {
                    let mark = if *scheduler == known["default"] { "  new schedules go here" } else { "" };
                    output.line(&format!("{}{mark}", text(scheduler)));
                }
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(listed: &Value, output: Output) {
    let schedules = rows(&listed["schedules"]);
    if schedules.is_empty() {
        output.line("No schedules. `roost schedules add NAME \"0 0 9 * * *\" MESSAGE` makes one.");
    }
    schedules.iter().for_each(|schedule| one(schedule, output));
    for silent in rows(&listed["unanswered"]) {
        output.note(&format!("{}: {}", text(&silent["scheduler"]), text(&silent["reason"]["message"])));
    }
}

fn one(schedule: &Value, output: Output) {
    let next = match (schedule["enabled"] == true, schedule["next_run"].as_str()) {
        (false, _) => "off".to_owned(),
        (true, None) => "on".to_owned(),
        (true, Some(next)) => format!("next {next}"),
    };
    let (name, expression) = (text(&schedule["name"]), text(&schedule["expression"]));
    output.line(&format!("{name}  {expression}  {next}  {}", line(&schedule["message"])));
    if let Some(error) = schedule["last_error"].as_str().filter(|error| !error.is_empty()) {
        output.line(&format!("    last time: {}", error.escape_debug()));
    }
}

fn entry(entry: &Value, output: Output) {
    let how = match (entry["finished_at"].is_null(), entry["success"] == true) {
        (true, _) => "goes on",
        (false, true) => "ok",
        (false, false) => "failed",
    };
    let mut told = format!("{}  {how}", text(&entry["started_at"]));
    if let Some(missed) = entry["missed"].as_i64().filter(|missed| *missed > 0) {
        told.push_str(&format!("  (for {missed} missed before, too)"));
    }
    if let Some(run) = entry["run"].as_str() {
        told.push_str(&format!("  {run}"));
    }
    output.line(&told);
    // An answer that was not delivered is there beside the error.
    for said in [&entry["error"], &entry["output"]].into_iter().filter(|said| !text(said).is_empty()) {
        output.line(&format!("    {}", line(said)));
    }
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The beginning of a text, on one line.
fn line(value: &Value) -> String {
    text(value).chars().take(120).flat_map(char::escape_debug).collect()
}
