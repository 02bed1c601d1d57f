//! What passes by on its way to an app and back: counted as it goes, and kept only where somebody asked for it.

use super::{Direction, EventKind, InspectedEvent, Kept, PAYLOAD_BYTES_MAX, Trace};
use crate::native::connection::{Connection, Received};
use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use hyper::{
    body::{Body, Frame, SizeHint},
    http::{HeaderMap, Request, Response, uri::PathAndQuery},
};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Instant, SystemTime},
};
use tonic::{Code, Status, body::Body as Message};
use tower::Service;

/// Before every message on the wire: whether it is compressed, and its length.
const FRAME_BYTES: usize = 5;

/// So much of what an app says of a failure is kept.
const ERROR_CHARACTERS_MAX: usize = 300;

/// Calls that are answered by a stream.
const STREAMS: [&str; 4] = [
    "/apps.v0.GatewayService/Stream",
    "/apps.v0.CommService/Receive",
    "/apps.v0.ChannelService/Receive",
    "/apps.v0.ScheduleService/Triggers",
];

/// A connection whose calls are recorded.
#[derive(Debug, Clone)]
pub(in crate::native) struct Recorded {
    connection: Connection,
    trace: Arc<Trace>,
}

impl Recorded {
    pub(in crate::native) fn new(connection: Connection, trace: Arc<Trace>) -> Self {
        Self { connection, trace }
    }
}

impl Service<Request<Message>> for Recorded {
    type Response = Response<Answer>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Message>) -> Self::Future {
        let method = request.uri().path_and_query().cloned();
        let method = method.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let is_stream = STREAMS.contains(&method.path());
        let mut call = Call {
            trace: Arc::clone(&self.trace),
            method,
            is_stream,
            began: Instant::now(),
            messages: Messages::new(self.trace.keeps_payloads()),
            received: 0,
            is_over: false,
        };
        let (trace, method) = (Arc::clone(&call.trace), call.method.clone());
        let request = request.map(|message| Message::new(Question { message, trace, method, is_stream }));
        let connection = self.connection.clone();
        Box::pin(async move {
            match connection.send(request, is_stream).await {
                Ok(response) => {
                    // An answer without a message has its status among the headers.
                    if let Some((status, error)) = status_in(response.headers()) {
                        call.end(status, error);
                    }
                    Ok(response.map(|message| Answer { message, call }))
                }
                Err(status) => {
                    call.end(status.code().into(), Some(shortened(status.message())));
                    Err(status)
                }
            }
        })
    }
}

/// A question on its way. All questions of the contract are one message, which is one piece.
struct Question {
    message: Message,
    trace: Arc<Trace>,
    method: PathAndQuery,
    is_stream: bool,
}

impl Body for Question {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.message).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let content = data.slice(FRAME_BYTES.min(data.len())..);
            let payload = if self.trace.keeps_payloads() { kept(&content) } else { Kept::Nothing };
            let kind = if self.is_stream { EventKind::StreamOpen } else { EventKind::Unary };
            let event = event(&self.trace, &self.method, kind, Direction::Request);
            self.trace.record([InspectedEvent { bytes: content.len() as u64, payload, ..event }]);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.message.size_hint()
    }
}

/// An answer on its way.
pub(in crate::native) struct Answer {
    message: Received,
    call: Call,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.message).poll_frame(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.call.receive(data);
                } else if let Some(trailers) = frame.trailers_ref() {
                    let (status, error) = status_in(trailers).unwrap_or((Code::Unknown.into(), None));
                    self.call.end(status, error);
                }
            }
            Poll::Ready(Some(Err(status))) => {
                self.call.end(status.code().into(), Some(shortened(status.message())));
            }
            Poll::Ready(None) => self.call.end(Code::Unknown.into(), None),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.message.size_hint()
    }
}

/// One call until its end.
struct Call {
    trace: Arc<Trace>,
    method: PathAndQuery,
    is_stream: bool,
    began: Instant,
    messages: Messages,
    received: u64,
    is_over: bool,
}

impl Call {
    fn receive(&mut self, data: &Bytes) {
        let Self { messages, trace, method, received, is_stream, .. } = self;
        messages.pass(data);
        // An answer that is no stream is told with its status.
        if *is_stream && !messages.whole.is_empty() {
            let events = messages.whole.drain(..).map(|(bytes, payload)| {
                *received += 1;
                let event = event(trace, method, EventKind::StreamReceive, Direction::Response);
                InspectedEvent { bytes, payload, stream_sequence: Some(*received), ..event }
            });
            trace.record(events);
        }
    }

    /// Records how it ended, once.
    fn end(&mut self, status: i32, error: Option<String>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let kind = if self.is_stream { EventKind::StreamReceive } else { EventKind::Unary };
        let (bytes, payload) = self.messages.whole.pop().unwrap_or_default();
        let event = event(&self.trace, &self.method, kind, Direction::Response);
        let duration = Some(self.began.elapsed());
        self.trace.record([InspectedEvent {
            bytes,
            payload,
            status: Some(status),
            error,
            duration,
            ..event
        }]);
    }
}

impl Drop for Call {
    /// Whoever asked does not wait any more.
    fn drop(&mut self) {
        self.end(Code::Cancelled.into(), None);
    }
}

/// Messages as they are cut out of what arrives, however that is cut.
struct Messages {
    head: [u8; FRAME_BYTES],
    head_length: usize,
    length: usize,
    left: usize,
    /// The content so far; nothing where it is not kept.
    content: Option<BytesMut>,
    whole: Vec<(u64, Kept)>,
}

impl Messages {
    fn new(keeps_payloads: bool) -> Self {
        Self {
            head: [0; FRAME_BYTES],
            head_length: 0,
            length: 0,
            left: 0,
            content: keeps_payloads.then(BytesMut::new),
            whole: Vec::new(),
        }
    }

    fn pass(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.head_length < FRAME_BYTES {
                let take = (FRAME_BYTES - self.head_length).min(data.len());
                let (head, rest) = data.split_at(take);
                self.head[self.head_length..self.head_length + take].copy_from_slice(head);
                self.head_length += take;
                data = rest;
                if self.head_length < FRAME_BYTES {
                    return;
                }
                let [_, length @ ..] = self.head;
                self.length = u32::from_be_bytes(length) as usize;
                self.left = self.length;
            }
            let (content, rest) = data.split_at(self.left.min(data.len()));
            self.left -= content.len();
            data = rest;
            if let Some(kept) = &mut self.content
                && self.length <= PAYLOAD_BYTES_MAX
            {
                kept.extend_from_slice(content);
            }
            if self.left == 0 {
                self.head_length = 0;
                let payload = match &mut self.content {
                    None => Kept::Nothing,
                    Some(_) if self.length > PAYLOAD_BYTES_MAX => Kept::TooLarge,
                    Some(content) => Kept::Whole(content.split().freeze()),
                };
                self.whole.push((self.length as u64, payload));
            }
        }
    }
}

fn kept(content: &Bytes) -> Kept {
    // Copied: what is sent is a part of a larger piece, which would be kept with it.
    if content.len() > PAYLOAD_BYTES_MAX {
        Kept::TooLarge
    } else {
        Kept::Whole(Bytes::copy_from_slice(content))
    }
}

fn event(trace: &Trace, method: &PathAndQuery, kind: EventKind, direction: Direction) -> InspectedEvent {
    InspectedEvent {
        id: 0,
        at: SystemTime::now(),
        app: Arc::clone(&trace.app),
        method: method.clone(),
        kind,
        direction,
        bytes: 0,
        status: None,
        error: None,
        duration: None,
        stream_sequence: None,
        payload: Kept::Nothing,
    }
}

/// How a call ended, where these headers say so.
fn status_in(headers: &HeaderMap) -> Option<(i32, Option<String>)> {
    let status = headers.get("grpc-status")?.to_str().ok()?.parse().unwrap_or(Code::Unknown.into());
    let error =
        headers.get("grpc-message").map(|message| shortened(&String::from_utf8_lossy(message.as_bytes())));
    Some((status, error))
}

fn shortened(text: &str) -> String {
    text.chars().take(ERROR_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{FRAME_BYTES, Kept, Messages, PAYLOAD_BYTES_MAX};

    fn framed(content: &[u8]) -> Vec<u8> {
        let mut framed = vec![0];
        framed.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
        framed.extend(content);
        framed
    }

    #[test]
    fn messages_are_found_however_they_are_cut() {
        let all = [framed(b"one"), framed(b""), framed(b"three")].concat();
        for size in 1..=all.len() {
            let mut messages = Messages::new(true);
            all.chunks(size).for_each(|piece| messages.pass(piece));
            let found: Vec<(u64, Vec<u8>)> = messages
                .whole
                .into_iter()
                .map(|(bytes, kept)| match kept {
                    Kept::Whole(content) => (bytes, content.to_vec()),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(
                found,
                [(3, b"one".to_vec()), (0, Vec::new()), (5, b"three".to_vec())],
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn a_large_message_is_counted_and_not_kept() {
        let mut messages = Messages::new(true);
        let large = framed(&vec![1; PAYLOAD_BYTES_MAX + 1]);
        messages.pass(&large[..FRAME_BYTES + 7]);
        messages.pass(&large[FRAME_BYTES + 7..]);
        messages.pass(&framed(b"x"));
        assert!(
            matches!(messages.whole[0], (bytes, Kept::TooLarge) if bytes == PAYLOAD_BYTES_MAX as u64 + 1)
        );
        assert!(matches!(&messages.whole[1], (1, Kept::Whole(content)) if **content == *b"x"));
        let mut unkept = Messages::new(false);
        unkept.pass(&framed(b"x"));
        assert!(matches!(unkept.whole[0], (1, Kept::Nothing)));
    }
}
