//! What happened to the files of a workspace, as it happens: as server-sent events, or page by page.
//!
//! The database has the sequence; a notice only says that it is worth a look. Without one, everybody looks by
//! themselves every second, so that nothing is missed when a notice is.

use crate::{
    openwop::{Asker, Query, Refusal, moment, shown_token},
    serve::Stopping,
};
use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, HeaderName, Uri},
    response::{
        Sse,
        sse::{Event as Sent, KeepAlive},
    },
};
use futures::{Stream, stream};
use roost_host::{
    Host, NoCredential, Scope,
    workspace::{Event, EventPage, Owner, Workspaces},
};
use serde::Serialize;
use serde_json::json;
use std::{
    collections::VecDeque,
    convert::Infallible,
    time::{Duration, Instant},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use utoipa::ToSchema;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Proxies close connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// How long a missed notice can go unseen.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a stream goes on after its token was taken back.
const CREDENTIAL_EVERY: Duration = Duration::from_secs(10);

/// Events that are read at once; a reader asks again for more.
const PAGE_EVENTS: i64 = 1000;

/// Longest wait for a page, in seconds.
const TIMEOUT_SECONDS_MAX: i64 = 60;

/// One write.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkspaceEvent {
    sequence: i64,
    path: String,
    version: i64,
    timestamp: String,
}

/// A page of events.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkspaceEvents {
    /// In order.
    events: Vec<WorkspaceEvent>,
    /// The newest event there is.
    revision: i64,
    /// Present when events that were asked for are no longer kept: list the files again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reset: bool,
}

/// What happens to files from now on, or after an event that was seen, as server-sent events.
#[utoipa::path(get, path = "/v1/host/workspace/events", tag = "workspace",
    params(
        ("after" = Option<i64>, Query, description = "The last event that was seen; from now on when absent"),
        ("Last-Event-ID" = Option<i64>, Header, description = "The same; browsers send it by themselves"),
    ),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(crate) async fn follow(
    asker: Asker,
    State(host): State<Host>,
    stopping: Option<Extension<Stopping>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, Refusal> {
    let workspaces = asker.workspaces(&host, Scope::WorkspaceRead).await?;
    let after = match headers.get(LAST_EVENT_ID) {
        None => Query::of(&uri)?.number("after", 0)?,
        Some(seen) => Some(
            seen.to_str()
                .ok()
                .and_then(|seen| seen.trim().parse().ok())
                .filter(|seen| *seen >= 0)
                .ok_or_else(|| Refusal::invalid("Last-Event-ID", "this must be a whole number from 0 on"))?,
        ),
    };
    let mut watch = Watch::new(workspaces, asker.credential.owner);
    if after.is_none() {
        watch.after = watch.newest().await?;
    }
    watch.after = after.unwrap_or(watch.after);
    let token = shown_token(&headers).map(str::to_owned);
    let stopping = stopping.map(|Extension(stopping)| stopping);
    let following =
        Following { watch, held: VecDeque::new(), host, token, checked: Instant::now(), stopping };
    let events = stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok(event), following))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)))
}

/// What happened after an event, at once or as soon as something does.
#[utoipa::path(get, path = "/v1/host/workspace/events/poll", tag = "workspace",
    params(
        ("after" = Option<i64>, Query, description = "The last event that was seen; 0 when absent"),
        ("timeout" = Option<i64>, Query, description = "Seconds to wait when nothing happened yet, up to 60"),
    ),
    responses((status = 200, body = WorkspaceEvents)))]
pub(crate) async fn poll(
    asker: Asker,
    State(host): State<Host>,
    stopping: Option<Extension<Stopping>>,
    uri: Uri,
) -> Result<Json<WorkspaceEvents>, Refusal> {
    let workspaces = asker.workspaces(&host, Scope::WorkspaceRead).await?;
    let query = Query::of(&uri)?;
    let after = query.number("after", 0)?.unwrap_or_default();
    let timeout = query.number("timeout", 0)?.unwrap_or_default();
    if timeout > TIMEOUT_SECONDS_MAX {
        return Err(Refusal::invalid(
            "timeout",
            format!("a page is waited for at most {TIMEOUT_SECONDS_MAX} s"),
        ));
    }
    let deadline = Instant::now() + Duration::from_secs(timeout.unsigned_abs());
    let stopping = stopping.map(|Extension(stopping)| stopping);
    let mut watch = Watch::new(workspaces, asker.credential.owner);
    watch.after = after;
    let mut page = watch.look().await?;
    while page.events.is_empty() && !page.is_cut && Instant::now() < deadline {
        if watch.wait(deadline, stopping.as_ref()).await.is_none() {
            break;
        }
        page = watch.look().await?;
    }
    let events = page.events.into_iter().map(|Event { sequence, path, version, at, .. }| WorkspaceEvent {
        sequence,
        path,
        version,
        timestamp: moment(at),
    });
    Ok(Json(WorkspaceEvents { events: events.collect(), revision: page.newest, reset: page.is_cut }))
}

/// Somebody who waits for what happens next.
struct Watch {
    workspaces: Workspaces,
    owner: Owner,
    topic: String,
    notices: Notices,
    after: i64,
}

type Notices = Receiver<roost_host::workspace::Notice>;

impl Watch {
    /// Listens before it looks, so that nothing happens in between.
    fn new(workspaces: Workspaces, owner: Owner) -> Self {
        Self { notices: workspaces.listen(), topic: owner.topic(), workspaces, owner, after: 0 }
    }

    async fn newest(&self) -> Result<i64, Refusal> {
        Ok(self.workspaces.events(&self.owner, i64::MAX - 1, 1).await?.newest)
    }

    /// What happened since. A reader who has seen what never happened is told so, and begins at the end.
    async fn look(&mut self) -> Result<EventPage, Refusal> {
        let mut page = self.workspaces.events(&self.owner, self.after, PAGE_EVENTS).await?;
        page.is_cut |= self.after > page.newest;
        Ok(page)
    }

    /// Until it is worth a look; nothing when the host stops.
    async fn wait(&mut self, deadline: Instant, stopping: Option<&Stopping>) -> Option<()> {
        let deadline = deadline.min(Instant::now() + LOOK_EVERY);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(deadline.into()) => return Some(()),
                () = Stopping::wait(stopping) => return None,
                notice = self.notices.recv() => match notice {
                    Ok(notice) if notice.tenant == self.owner.tenant && *notice.topic == *self.topic => return Some(()),
                    // Somebody else's.
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return Some(()),
                    Err(RecvError::Closed) => {
                        tokio::time::sleep_until(deadline.into()).await;
                        return Some(());
                    }
                }
            }
        }
    }
}

/// One open stream.
struct Following {
    watch: Watch,
    held: VecDeque<Sent>,
    host: Host,
    token: Option<String>,
    checked: Instant,
    stopping: Option<Stopping>,
}

impl Following {
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(event) = self.held.pop_front() {
                return Some(event);
            }
            if !self.is_allowed().await {
                return None;
            }
            // A database that does not answer ends the stream; its reader comes back and misses nothing.
            let page = self.watch.look().await.ok()?;
            if page.is_cut {
                let reset = json!({ "revision": page.newest }).to_string();
                self.held.push_back(Sent::default().event("reset").data(reset));
                self.watch.after = page.events.first().map_or(page.newest, |event| event.sequence - 1);
            }
            for event in &page.events {
                let data = json!({ "path": event.path, "version": event.version }).to_string();
                let sent = Sent::default().id(event.sequence.to_string()).event("workspace.updated");
                self.held.push_back(sent.data(data));
                self.watch.after = event.sequence;
            }
            if self.held.is_empty() {
                self.watch.wait(Instant::now() + LOOK_EVERY, self.stopping.as_ref()).await?;
            }
        }
    }

    /// A token that was taken back, or whose time is over, does not go on listening.
    async fn is_allowed(&mut self) -> bool {
        if self.checked.elapsed() < CREDENTIAL_EVERY {
            return true;
        }
        self.checked = Instant::now();
        match self.host.credential(self.token.as_deref()).await {
            Ok(credential) => credential.scopes.contains(&Scope::WorkspaceRead),
            // Too often, or not to be known now: what was true before still counts.
            Err(refused) => matches!(refused, NoCredential::TooOften(_) | NoCredential::Unavailable(_)),
        }
    }
}
