//! What native apps were asked and answered: the latest, or live. For the owner only.

use crate::{
    error::ErrorAnswer,
    owner::Owner,
    request::{PathOf, QueryOf},
    serve::Stopping,
};
use axum::{
    Extension, Json,
    extract::State,
    response::{
        Sse,
        sse::{Event as Sent, KeepAlive},
    },
};
use futures::{Stream, stream};
use roost_host::{
    Host,
    native::{Direction, EventKind, Followed, Following, InspectedEvent, Payloads},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::VecDeque, convert::Infallible, time::Duration};

/// Events that a new reader gets first.
const BACKFILL: usize = 200;

/// Proxies close connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// What to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Shown {
    /// Also the messages themselves, without secrets; they are kept for as long as somebody asks so.
    payloads: bool,
    /// At most so many of the latest.
    limit: Option<usize>,
}

/// One message on its way.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventBody {
    id: u64,
    timestamp: String,
    app_id: String,
    method: String,
    #[serde(rename = "type")]
    kind: &'static str,
    direction: &'static str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Value>,
}

/// The latest calls of a native app, oldest first.
#[utoipa::path(get, path = "/v1/native/{id}/calls", tag = "apps", params(("id" = String, Path), ("payloads" = Option<bool>, Query), ("limit" = Option<usize>, Query)), responses((status = 200, body = Object)))]
pub(crate) async fn list(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    QueryOf(shown): QueryOf<Shown>,
) -> Result<Json<Value>, ErrorAnswer> {
    host.native_apps().state(&id)?;
    let recent = host.inspector().recent(&id, shown.limit.unwrap_or(BACKFILL));
    let events: Vec<EventBody> = recent.iter().map(|event| body(&host, event, shown.payloads)).collect();
    Ok(Json(json!({ "events": events })))
}

/// The latest calls of a native app and those from now on, as server-sent events. A reader that is too slow loses some
/// and is told how many, by an event `lost`.
#[utoipa::path(get, path = "/api/v1/dev/apps/{id}/grpc", tag = "apps", params(("id" = String, Path), ("payloads" = Option<bool>, Query), ("limit" = Option<usize>, Query)), responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(crate) async fn follow(
    _: Owner,
    State(host): State<Host>,
    stopping: Option<Extension<Stopping>>,
    PathOf(id): PathOf,
    QueryOf(shown): QueryOf<Shown>,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, ErrorAnswer> {
    host.native_apps().state(&id)?;
    let payloads = if shown.payloads { Payloads::Kept } else { Payloads::LeftOut };
    let (before, following) = host.inspector().follow(&id, shown.limit.unwrap_or(BACKFILL), payloads);
    let stopping = stopping.map(|Extension(stopping)| stopping);
    let reader = Reader { host, before: before.into(), following, payloads: shown.payloads, stopping };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)))
}

/// One open stream.
struct Reader {
    host: Host,
    before: VecDeque<InspectedEvent>,
    following: Following,
    payloads: bool,
    stopping: Option<Stopping>,
}

impl Reader {
    async fn next(&mut self) -> Option<Sent> {
        if let Some(event) = self.before.pop_front() {
            return Some(self.sent(&event));
        }
        let next = tokio::select! {
            next = self.following.next() => next,
            () = Stopping::wait(self.stopping.as_ref()) => return None,
        };
        Some(match next {
            Followed::Event(event) => self.sent(&event),
            Followed::Lost(count) => Sent::default().event("lost").data(json!({ "lost": count }).to_string()),
        })
    }

    fn sent(&self, event: &InspectedEvent) -> Sent {
        let body = body(&self.host, event, self.payloads);
        Sent::default().id(event.id.to_string()).data(json!(body).to_string())
    }
}

fn body(host: &Host, event: &InspectedEvent, payloads: bool) -> EventBody {
    EventBody {
        id: event.id,
        timestamp: jiff::Timestamp::try_from(event.at).unwrap_or_default().to_string(),
        app_id: event.app.to_string(),
        method: event.method().to_owned(),
        kind: match event.kind {
            EventKind::Unary => "unary",
            EventKind::StreamOpen => "stream_open",
            EventKind::StreamReceive => "stream_recv",
        },
        direction: match event.direction {
            Direction::Request => "request",
            Direction::Response => "response",
        },
        bytes: event.bytes,
        status: event.status,
        duration_ms: event.duration.map(|duration| duration.as_secs_f64() * 1000.0),
        error: host.inspector().error(event),
        stream_seq: event.stream_sequence,
        payload: if payloads { host.inspector().payload(event) } else { None },
    }
}
