//! What happened lately, and an issue to be written about it.
//!
//! Nothing is ever sent anywhere by the host itself: a report is an address that a person opens, reads and sends.

use super::voice::Done;
use crate::{
    error::ErrorAnswer,
    request::{JsonBody, JsonOrNothing, QueryOf},
};
use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use roost_host::{BookEvent, Host};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the form for a new issue is.
const NEW_ISSUE: &str = "/issues/new";

/// Events that are shown when nobody says how many.
const TAIL: usize = 100;

/// What fits into an address that browsers and GitHub accept.
const DESCRIPTION_CHARACTERS_MAX: usize = 4000;
const TITLE_CHARACTERS_MAX: usize = 80;

/// How much to show.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TailQuery {
    /// The newest so many; 100 when missing.
    tail: Option<usize>,
}

/// The newest events.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Diagnostics {
    version: &'static str,
    model: Option<String>,
    /// How many events there were since the host started.
    uptime_events: u64,
    /// Oldest first: `{time, kind, detail}`.
    #[schema(value_type = Vec<Object>)]
    events: Vec<BookEvent>,
}

/// The newest events of the host.
#[utoipa::path(get, path = "/diagnostics", tag = "diagnostics", params(TailQuery), responses((status = 200, body = Diagnostics)))]
pub(crate) async fn tail(
    State(host): State<Host>,
    QueryOf(query): QueryOf<TailQuery>,
) -> Result<Json<Diagnostics>, ErrorAnswer> {
    let events = host.book().tail(query.tail.unwrap_or(TAIL));
    Ok(Json(Diagnostics { version: VERSION, model: None, uptime_events: host.book().noted(), events }))
}

/// The whole book, to be kept.
#[utoipa::path(get, path = "/diagnostics/book.json", tag = "diagnostics", responses((status = 200, body = Object)))]
pub(crate) async fn book(State(host): State<Host>) -> Result<Response, ErrorAnswer> {
    let document = json!({ "version": VERSION, "events": host.book().tail(usize::MAX) });
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"book.json\""),
    ];
    Ok((headers, text).into_response())
}

/// Forgets all events.
#[utoipa::path(post, path = "/diagnostics/clear", tag = "diagnostics", responses((status = 200, body = Done)))]
pub(crate) async fn clear(
    State(host): State<Host>,
    _: JsonOrNothing<Map<String, Value>>,
) -> Result<Json<Done>, ErrorAnswer> {
    host.book().clear()?;
    Ok(Json(Done::ok("all events were forgotten")))
}

/// What a person wants to report.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ReportBody {
    description: String,
    /// Taken and not used: an issue is public, and events may name what is not.
    #[serde(default, rename = "client_events")]
    #[schema(value_type = Vec<Object>)]
    _client_events: Value,
}

/// Where to report it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Report {
    /// Always `ok`.
    status: &'static str,
    /// Opens a form with the description and the version filled in; none where the settings name no tracker. Nothing
    /// was sent.
    issue_url: Option<String>,
}

/// An address where a person can report something; nothing is sent by the host.
#[utoipa::path(post, path = "/diagnostics/report", tag = "diagnostics", request_body = ReportBody, responses((status = 200, body = Report)))]
pub(crate) async fn report(
    State(host): State<Host>,
    JsonBody(body): JsonBody<ReportBody>,
) -> Result<Json<Report>, ErrorAnswer> {
    let description: String = body.description.trim().chars().take(DESCRIPTION_CHARACTERS_MAX).collect();
    if description.is_empty() {
        return Err(ErrorAnswer::new(Reason::BadRequest, "description is required"));
    }
    let title: String =
        description.lines().next().unwrap_or_default().chars().take(TITLE_CHARACTERS_MAX).collect();
    let text = format!("{description}\n\nRoost {VERSION}\n");
    let issue_url = host.tracker().map(|tracker| {
        let tracker = tracker.trim_end_matches('/');
        format!("{tracker}{NEW_ISSUE}?title={}&body={}", in_address(&title), in_address(&text))
    });
    Ok(Json(Report { status: "ok", issue_url }))
}

/// Text as the value of a query.
fn in_address(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::in_address;

    #[test]
    fn text_stays_one_value_of_a_query() {
        assert_eq!(in_address("a b&c=d\n#ü%"), "a%20b%26c%3Dd%0A%23%C3%BC%25");
    }
}
