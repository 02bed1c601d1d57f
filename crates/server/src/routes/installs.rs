//! Installing while somebody watches: each step as it begins, then what came of it. For the owner only.

use super::apps::InstallRequest;
use crate::{
    error::{ErrorAnswer, ErrorBody},
    owner::Owner,
    request::JsonBody,
};
use axum::{
    extract::State,
    response::{
        Sse,
        sse::{Event as Sent, KeepAlive},
    },
};
use futures::{Stream, StreamExt as _, stream};
use roost_host::{
    Host,
    library::{InstallSource, Installed, Step},
};
use serde::Serialize;
use std::{convert::Infallible, time::Duration};

/// Proxies close connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// What happens; the last one is what came of it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Told {
    Step(Step),
    Installed(Box<Installed>),
    Failed(ErrorBody),
}

/// Installs an app as `POST /v1/apps` does, and tells how far it is, as server-sent events. Who stops listening stops
/// the fetching; an app that is being installed comes to its end.
#[utoipa::path(post, path = "/v1/app-installs", tag = "apps", request_body = Object, responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(crate) async fn install(
    _: Owner,
    State(host): State<Host>,
    JsonBody(asked): JsonBody<InstallRequest>,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, ErrorAnswer> {
    let source = InstallSource::parse(&asked.source)?;
    let (library, steps) = host.library().telling();
    let work = Box::pin(async move {
        match library.install(&source, asked.digest, &asked.rights, &asked.by()).await {
            Ok(installed) => Told::Installed(Box::new(installed)),
            Err(failure) => Told::Failed(failure.into()),
        }
    });
    let events = stream::unfold(Some((steps, work)), |going_on| async {
        let (mut steps, mut work) = going_on?;
        // What came of it is the last, so a step that was told before goes first.
        tokio::select! {
            biased;
            Some(step) = steps.recv() => Some((Told::Step(step), Some((steps, work)))),
            end = &mut work => Some((end, None)),
        }
    });
    let sent = events.map(|told| Ok(Sent::default().json_data(told).unwrap_or_default()));
    Ok(Sse::new(sent).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)))
}
