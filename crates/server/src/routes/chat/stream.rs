//! `POST /chat/stream`: the turn as server-sent events, under the names the 0.6.16 kernel uses.
//!
//! The turn lives inside the body: a client that leaves drops the body, and with it the turn.

use super::{
    Profile,
    envelope::{Said, error_body, success},
    request::{Incoming, Invalid, Message},
    with_kept_history,
};
use axum::{
    Extension,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures::{
    Stream,
    future::BoxFuture,
    stream::{self, StreamExt as _},
};
use roost_host::{
    ChatFailure, Host,
    chat::{TurnEvent, UnknownLine, log_lines},
};
use roost_protocol::Failure;
use serde_json::{Value, json};
use std::{convert::Infallible, time::Duration};
use tokio::sync::mpsc;

/// Proxies close silent connections after a minute or less.
const PING_EVERY: Duration = Duration::from_secs(10);

/// One message in, its answer as it is written. A request that is not valid gets an ordinary answer.
#[utoipa::path(post, path = "/chat/stream", tag = "chat", request_body = Object, responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(crate) async fn stream(
    State(host): State<Host>,
    Extension(of_listener): Extension<Profile>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let profile = match Profile::asked(&headers, of_listener) {
        Ok(profile) => profile,
        Err(failure) => return super::error_answer(Profile::V1, failure.into()),
    };
    let incoming = match Incoming::read(profile, &headers, body) {
        Ok(incoming) => incoming,
        Err(Invalid(failure)) => return super::error_answer(profile, failure.into()),
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let turn = Box::pin(run(host, profile, incoming, sender));
    let events =
        events(turn, receiver).map(|event| Ok::<_, Infallible>(Event::default().data(event.to_string())));
    let keep_alive = KeepAlive::new().interval(PING_EVERY).text("ping");
    Sse::new(events).keep_alive(keep_alive).into_response()
}

/// Runs the turn; what happens goes to the sender, the last event is returned. The channel has no bound of its own:
/// what a model may write and agents may return is bounded where it arrives.
async fn run(
    host: Host,
    profile: Profile,
    incoming: Incoming,
    sender: mpsc::UnboundedSender<Value>,
) -> Value {
    match turn(&host, incoming, &sender).await {
        Ok(said) => {
            let mut done = success(profile, &said, host.modes());
            done["type"] = json!("done");
            done["streamed"] = json!(true);
            done
        }
        Err(failure) => {
            let upstream = match &failure {
                ChatFailure::Model(failure) => Some(failure.clone()),
                ChatFailure::Other(_) => None,
            };
            let mut error = error_body(&Failure::from(failure), upstream.as_ref());
            error["type"] = json!("error");
            error
        }
    }
}

async fn turn(
    host: &Host,
    incoming: Incoming,
    sender: &mpsc::UnboundedSender<Value>,
) -> Result<Said, ChatFailure> {
    let Incoming { message, session, user_guid, .. } = incoming;
    let request = match message {
        Message::Ask(request) => with_kept_history(*request, &session, host)?,
        Message::Greeting(text) => return Ok(Said::greeting(text, session, user_guid)),
    };
    let on_event = |event: TurnEvent| {
        // Nobody listening means that the client left; the turn is about to be dropped.
        sender.send(shown(event)).ok();
    };
    let answer = host.converse(request, Some(&on_event)).await?;
    if let super::Session::Kept { id, .. } = &session {
        host.append_to_conversation(id, &answer.said)?;
    }
    Ok(Said { answer, session, user_guid })
}

/// An event as clients see it. `tool` events are ours; clients of the 0.6.16 kernel skip types they do not know.
fn shown(event: TurnEvent) -> Value {
    match event {
        TurnEvent::Piece(text) => json!({ "type": "delta", "text": text }),
        TurnEvent::ToolStarted(call) => {
            json!({ "type": "tool", "state": "started", "id": call.id, "name": call.name, "args": call.arguments })
        }
        TurnEvent::ToolFinished(log) => {
            let mut event = log.record();
            event["type"] = json!("tool");
            event["state"] = json!("finished");
            event
        }
        TurnEvent::RoundFinished(logs) => {
            json!({ "type": "agent", "logs": log_lines(&logs, UnknownLine::Bare) })
        }
    }
}

enum Stage {
    Running(BoxFuture<'static, Value>),
    Ending(Value),
    Over,
}

/// What happens in the turn, then its last event. Everything that was told on the way comes before the last one, also
/// when the turn ended in the same moment.
fn events(
    turn: BoxFuture<'static, Value>,
    receiver: mpsc::UnboundedReceiver<Value>,
) -> impl Stream<Item = Value> {
    stream::unfold((Stage::Running(turn), receiver), |(stage, mut receiver)| async move {
        let last = match stage {
            Stage::Over => return None,
            Stage::Ending(last) => last,
            Stage::Running(mut turn) => tokio::select! {
                biased;
                Some(event) = receiver.recv() => return Some((event, (Stage::Running(turn), receiver))),
                last = &mut turn => last,
            },
        };
        match receiver.try_recv() {
            Ok(event) => Some((event, (Stage::Ending(last), receiver))),
            Err(_) => Some((last, (Stage::Over, receiver))),
        }
    })
}
