//! Events of a run as they come: server-sent, or asked for again and again.
//!
//! What is sent comes from the database by its number; a notice only says when to look.

use super::{
    find,
    shown::{event_document, run_row},
};
use crate::{
    openwop::{Asker, Code, Refusal, RefusalBody, known_query},
    serve::Stopping,
};
use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{HeaderMap, Uri},
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures::{Stream, stream};
use roost_host::{
    Host, Scope,
    runs::{Run, RunEvent, run_topic},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    time::{Duration, Instant},
};
use tokio::sync::broadcast;

/// Proxies close silent connections after a minute or less.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// A notice can be lost, so there is a look by the clock too.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Events that are read at once.
const PAGE: i64 = 500;

/// Longest wait of one poll, in seconds.
const POLL_SECONDS_MAX: u64 = 60;

/// Longest time that events are gathered before they are sent, in milliseconds.
const BUFFER_MS_MAX: u64 = 5000;

/// What a stream can be limited to.
const MODES: [&str; 4] = ["values", "updates", "messages", "debug"];

/// What happens in a run, as server-sent events; ends with the run.
#[utoipa::path(get, path = "/v1/runs/{run}/events", tag = "runs", params(("run" = String, Path), ("streamMode" = Option<String>, Query), ("bufferMs" = Option<u64>, Query)), responses((status = 200, content_type = "text/event-stream", body = String), (status = 400, body = RefusalBody), (status = 404, body = RefusalBody)))]
pub(crate) async fn follow(
    State(host): State<Host>,
    asker: Asker,
    Path(id): Path<String>,
    stopping: Option<Extension<Stopping>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    asker.may(Scope::RunsRead)?;
    let query = known_query(&uri, &["streamMode", "bufferMs", "lastSequence"])?;
    let modes = modes(query.one("streamMode")?)?;
    let buffer = query.number("bufferMs", 0)?.unwrap_or(0).unsigned_abs();
    if buffer > BUFFER_MS_MAX {
        return Err(Refusal::invalid("bufferMs", format!("bufferMs is from 0 to {BUFFER_MS_MAX}")));
    }
    let run = find(&host, &asker.credential.owner, &id).await?;
    let last_seen = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last_seen = match last_seen {
        Some(text) => Some(
            text.parse::<i64>()
                .map_err(|_| Refusal::invalid("Last-Event-ID", "this is not the number of an event"))?,
        ),
        None => query.number("lastSequence", -1)?,
    };
    let notices = host.listen_to_runs().await?;
    let following = Following {
        after: last_seen.unwrap_or(-1),
        host,
        run,
        notices,
        modes,
        buffer: Duration::from_millis(buffer),
        stopping: stopping.map(|Extension(stopping)| stopping),
        ready: VecDeque::new(),
        is_over: false,
    };
    let keep_alive = KeepAlive::new().interval(COMMENT_EVERY).text("alive");
    Ok(Sse::new(following.events()).keep_alive(keep_alive).into_response())
}

fn modes(asked: Option<&str>) -> Result<Vec<&'static str>, Refusal> {
    let refuse = || {
        let message = "there is no such stream mode, or it cannot be combined with another";
        Refusal::new(Code::UnsupportedStreamMode, message).with("supported", json!(MODES))
    };
    let mut modes = Vec::new();
    for name in asked.unwrap_or("updates").split(',') {
        modes.push(MODES.into_iter().find(|mode| *mode == name.trim()).ok_or_else(refuse)?);
    }
    if modes.len() > 1 && modes.contains(&"values") { Err(refuse()) } else { Ok(modes) }
}

struct Following {
    host: Host,
    run: Run,
    after: i64,
    notices: broadcast::Receiver<roost_host::runs::Notice>,
    modes: Vec<&'static str>,
    buffer: Duration,
    stopping: Option<Stopping>,
    ready: VecDeque<Event>,
    is_over: bool,
}

impl Following {
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, |mut following| async move {
            loop {
                if let Some(event) = following.ready.pop_front() {
                    return Some((Ok(event), following));
                }
                if following.is_over {
                    return None;
                }
                if following.read().await.is_err() {
                    // The client comes back with the last number it has seen.
                    return None;
                }
                if following.ready.is_empty() && !following.is_over {
                    let Following { notices, run, buffer, stopping, .. } = &mut following;
                    tokio::select! {
                        () = async {
                            wait(notices, &run.id, LOOK_EVERY).await;
                            tokio::time::sleep(*buffer).await;
                        } => {}
                        // A run that is paused would keep the host from ending.
                        () = Stopping::wait(stopping.as_ref()) => return None,
                    }
                }
            }
        })
    }

    async fn read(&mut self) -> Result<(), Refusal> {
        // Asked first: whatever a run that ended has written is there when its events are read.
        let run = find(&self.host, &self.run.owner, &self.run.id).await?;
        let events = self.host.run_events(&run, self.after, PAGE).await?;
        for event in &events {
            self.after = event.sequence;
            if self.modes.contains(&"values") {
                self.ready.push_back(values(&run, event));
            } else if self.modes.iter().any(|mode| shows(mode, &event.kind)) {
                self.ready.push_back(sent(&run.id, event));
            }
        }
        self.is_over = run.status.is_final() && events.is_empty();
        Ok(())
    }
}

/// Whether a mode shows a kind of event: `messages` has what was said, the others have everything.
fn shows(mode: &str, kind: &str) -> bool {
    mode != "messages" || kind.starts_with("model.") || kind.starts_with("tool.")
}

fn sent(run: &str, event: &RunEvent) -> Event {
    let document = event_document(run, event);
    Event::default().id(event.sequence.to_string()).event(&event.kind).data(document.to_string())
}

/// How far the run is after an event.
fn values(run: &Run, event: &RunEvent) -> Event {
    let mut row = run_row(run);
    row["sequence"] = json!(event.sequence);
    Event::default().id(event.sequence.to_string()).event("values").data(row.to_string())
}

/// Returns when something happened in the run, or it is time to look.
async fn wait(notices: &mut broadcast::Receiver<roost_host::runs::Notice>, run: &str, within: Duration) {
    let topic = run_topic(run);
    let heard = async {
        loop {
            match notices.recv().await {
                Ok(notice) if *notice.topic != *topic => {}
                // Left behind means that something was missed.
                _ => break,
            }
        }
    };
    // Time that is up is a reason to look, too.
    tokio::time::timeout(within, heard).await.ok();
}

/// What happened in a run after an event; waits for something to happen.
#[utoipa::path(get, path = "/v1/runs/{run}/events/poll", tag = "runs", params(("run" = String, Path), ("lastSequence" = Option<i64>, Query), ("timeout" = Option<u64>, Query)), responses((status = 200, body = Object), (status = 404, body = RefusalBody)))]
pub(crate) async fn poll(
    State(host): State<Host>,
    asker: Asker,
    Path(id): Path<String>,
    stopping: Option<Extension<Stopping>>,
    uri: Uri,
) -> Result<Json<Value>, Refusal> {
    asker.may(Scope::RunsRead)?;
    let query = known_query(&uri, &["lastSequence", "timeout"])?;
    let last_sequence = query.number("lastSequence", -1)?.unwrap_or(-1);
    let seconds = query.number("timeout", 1)?.unwrap_or(1).unsigned_abs();
    if seconds > POLL_SECONDS_MAX {
        return Err(Refusal::invalid("timeout", format!("timeout is from 1 to {POLL_SECONDS_MAX} seconds")));
    }
    let owner = asker.credential.owner;
    let mut notices = host.listen_to_runs().await?;
    let mut deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let run = find(&host, &owner, &id).await?;
        let events = host.run_events(&run, last_sequence, PAGE).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !events.is_empty() || run.status.is_final() || left.is_zero() {
            let is_complete = run.status.is_final() && i64::try_from(events.len()).unwrap_or(PAGE) < PAGE;
            let events: Vec<Value> = events.iter().map(|event| event_document(&run.id, event)).collect();
            return Ok(Json(json!({ "events": events, "isComplete": is_complete })));
        }
        tokio::select! {
            () = wait(&mut notices, &id, left.min(LOOK_EVERY)) => {}
            () = Stopping::wait(stopping.as_deref()) => deadline = Instant::now(),
        }
    }
}
