//! What native apps print: the end of it, or live. For the owner only.

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
    native::{NativeLog, NativeStream},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{convert::Infallible, time::Duration};

/// How often it is looked whether an app printed something.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Proxies close connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// Which of the two streams.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Wanted {
    stream: WantedStream,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WantedStream {
    #[default]
    Stdout,
    Stderr,
}

impl From<WantedStream> for NativeStream {
    fn from(wanted: WantedStream) -> Self {
        match wanted {
            WantedStream::Stdout => Self::Output,
            WantedStream::Stderr => Self::Errors,
        }
    }
}

/// The end of what a native app printed.
#[utoipa::path(get, path = "/v1/native/{id}/log", tag = "apps", params(("id" = String, Path), ("stream" = Option<String>, Query)), responses((status = 200, body = Object)))]
pub(crate) async fn tail(
    _: Owner,
    State(host): State<Host>,
    PathOf(id): PathOf,
    QueryOf(wanted): QueryOf<Wanted>,
) -> Result<Json<Value>, ErrorAnswer> {
    let read = host.native_log(&id, wanted.stream.into()).await?.read()?;
    Ok(Json(json!({ "text": String::from_utf8_lossy(&read) })))
}

/// The end of what a native app printed and what it prints from now on, as server-sent events with one text each.
#[utoipa::path(get, path = "/api/v1/dev/apps/{id}/logs", tag = "apps", params(("id" = String, Path), ("stream" = Option<String>, Query)), responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(crate) async fn follow(
    _: Owner,
    State(host): State<Host>,
    stopping: Option<Extension<Stopping>>,
    PathOf(id): PathOf,
    QueryOf(wanted): QueryOf<Wanted>,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, ErrorAnswer> {
    let log = host.native_log(&id, wanted.stream.into()).await?;
    let stopping = stopping.map(|Extension(stopping)| stopping);
    let events = stream::unfold((log, stopping), |(mut log, stopping)| async move {
        let text = next(&mut log, stopping.as_ref()).await?;
        Some((Ok(Sent::default().data(json!(text).to_string())), (log, stopping)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)))
}

/// What is printed next; nothing when the host stops, or the log cannot be read any more.
async fn next(log: &mut NativeLog, stopping: Option<&Stopping>) -> Option<String> {
    loop {
        let read = log.read().ok()?;
        if !read.is_empty() {
            return Some(String::from_utf8_lossy(&read).into_owned());
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = Stopping::wait(stopping) => return None,
        }
    }
}
