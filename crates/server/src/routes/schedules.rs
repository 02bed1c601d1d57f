//! Things that are done at set times. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{JsonBody, PathOf, QueryOf},
};
use axum::{Json, extract::State};
use roost_host::{
    Host,
    schedules::{HistoryEntry, NewSchedule, Schedule, ScheduleList, SchedulerList},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Entries that are shown when nobody says how many.
const HISTORY_USUAL: u32 = 20;

/// A part of a history.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HistoryPage {
    limit: Option<u32>,
    offset: u32,
}

/// What became of a schedule, newest first.
#[derive(Debug, Serialize)]
pub(crate) struct HistoryBody {
    entries: Vec<HistoryEntry>,
    total: i64,
}

/// Who gets new schedules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchedulerChoice {
    scheduler: String,
}

/// Every schedule, of the host and of native apps.
#[utoipa::path(get, path = "/v1/schedules", tag = "schedules", responses((status = 200, body = Object)))]
pub(crate) async fn list(_: Owner, State(host): State<Host>) -> Result<Json<ScheduleList>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().list().await?))
}

/// Keeps a new schedule: `{name, expression, message}`; the expression is cron with six fields, seconds first.
#[utoipa::path(post, path = "/v1/schedules", tag = "schedules", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn add(
    _: Owner,
    State(host): State<Host>,
    JsonBody(new): JsonBody<NewSchedule>,
) -> Result<Json<Schedule>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().add(new).await?))
}

/// One schedule. Of a native app it is called `APP/NAME`, with the slash as `%2F`.
#[utoipa::path(get, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn show(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
) -> Result<Json<Schedule>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().get(&name).await?))
}

/// Changes a schedule; what is sent is all of it.
#[utoipa::path(put, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn change(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
    JsonBody(new): JsonBody<NewSchedule>,
) -> Result<Json<Schedule>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().update(NewSchedule { name, ..new }).await?))
}

/// Removes a schedule with its history.
#[utoipa::path(delete, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn remove(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
) -> Result<Json<Value>, ErrorAnswer> {
    host.start_native_apps().await;
    host.schedules().remove(&name).await?;
    Ok(Json(json!({ "removed": name })))
}

/// Switches a schedule on, from now on.
#[utoipa::path(post, path = "/v1/schedules/{name}/enable", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn enable(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
) -> Result<Json<Schedule>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().enable(&name).await?))
}

/// Switches a schedule off.
#[utoipa::path(post, path = "/v1/schedules/{name}/disable", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn disable(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
) -> Result<Json<Schedule>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().disable(&name).await?))
}

/// Runs a schedule now; answered when it is done.
#[utoipa::path(post, path = "/v1/schedules/{name}/run", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn run(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
) -> Result<Json<HistoryEntry>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().run(&name).await?))
}

/// What became of a schedule, newest first.
#[utoipa::path(get, path = "/v1/schedules/{name}/history", tag = "schedules", params(("name" = String, Path), ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)), responses((status = 200, body = Object)))]
pub(crate) async fn history(
    _: Owner,
    State(host): State<Host>,
    PathOf(name): PathOf,
    QueryOf(page): QueryOf<HistoryPage>,
) -> Result<Json<HistoryBody>, ErrorAnswer> {
    host.start_native_apps().await;
    let limit = page.limit.unwrap_or(HISTORY_USUAL);
    let (entries, total) = host.schedules().history(&name, limit, page.offset).await?;
    Ok(Json(HistoryBody { entries, total }))
}

/// Who keeps schedules, and who gets new ones.
#[utoipa::path(get, path = "/v1/schedulers", tag = "schedules", responses((status = 200, body = Object)))]
pub(crate) async fn schedulers(
    _: Owner,
    State(host): State<Host>,
) -> Result<Json<SchedulerList>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().schedulers().await?))
}

/// Lets new schedules go to `built-in` or to a native app.
#[utoipa::path(put, path = "/v1/schedulers", tag = "schedules", request_body = Object, responses((status = 200, body = Object)))]
pub(crate) async fn choose(
    _: Owner,
    State(host): State<Host>,
    JsonBody(choice): JsonBody<SchedulerChoice>,
) -> Result<Json<SchedulerList>, ErrorAnswer> {
    host.start_native_apps().await;
    Ok(Json(host.schedules().choose(&choice.scheduler).await?))
}
