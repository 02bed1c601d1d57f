//! A connection to a real server that requests are passed on to, one after the other.

use super::{
    answer::Stopped,
    connection::{HEADERS_MAX, Session},
    ledger::Row,
    passage::Admitted,
    strict::HEAD_BYTES_MAX,
    target::Target,
};
use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming, SizeHint},
    client::conn::http1::{Builder, SendRequest},
};
use hyper_util::rt::TokioIo;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
    time::timeout,
};

/// How long a kept connection may take to be ready again: it only has to notice that the last answer is complete.
const REUSE_WAIT_MAX: Duration = Duration::from_millis(100);

/// A server that answers.
pub(super) struct Upstream {
    target: Target,
    row: Arc<Row>,
    sender: SendRequest<Outgoing>,
    _driver: Driver,
}

/// Why there is no answer.
pub(super) enum NotSent {
    /// The request never left and can be sent elsewhere.
    Unused(Box<Request<Outgoing>>),
    /// It left, or cannot be sent at all.
    Stopped(Stopped),
}

impl Upstream {
    /// Connects, with TLS where the request came out of TLS.
    pub(super) async fn open(session: &Session, admitted: &Admitted) -> Result<Self, Stopped> {
        let target = admitted.target().clone();
        let server = session.setup.passage.connect(admitted, &session.activity).await?;
        let row = server.row().clone();
        let (sender, driver) = if session.is_inside() {
            speak(session.setup.trust.connect(&target, server).await?, &target).await?
        } else {
            speak(server, &target).await?
        };
        Ok(Self { target, row, sender, _driver: driver })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// True when the last answer is complete and the server still there.
    pub(super) async fn is_ready_again(&mut self) -> bool {
        matches!(timeout(REUSE_WAIT_MAX, self.sender.ready()).await, Ok(Ok(())))
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, NotSent> {
        let is_broken = request.body().is_broken.clone();
        let mut failed = match self.sender.try_send_request(request).await {
            Ok(response) => {
                self.row.requested();
                return Ok(response);
            }
            Err(failed) => failed,
        };
        if let Some(unused) = failed.take_message() {
            return Err(NotSent::Unused(Box::new(unused)));
        }
        self.row.requested();
        Err(NotSent::Stopped(if is_broken.load(Ordering::Relaxed) {
            Stopped::Malformed("the body of the request ended early or is not framed as it should be")
        } else {
            Stopped::Unreachable(format!("{} did not answer as a web server does", self.target))
        }))
    }
}

/// Begins HTTP/1 on a connection.
async fn speak<S>(server: S, target: &Target) -> Result<(SendRequest<Outgoing>, Driver), Stopped>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .handshake(TokioIo::new(server))
        .await
        .map_err(|_| Stopped::Unreachable(format!("{target} ended the connection at once")))?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection to a server ended early");
        }
    });
    Ok((sender, Driver(driver)))
}

/// The task that moves bytes to and from a server; ends with its owner.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of an agent's request on its way out, which remembers whether the agent broke it.
pub(super) struct Outgoing {
    inner: Incoming,
    is_broken: Arc<AtomicBool>,
}

impl Outgoing {
    pub(super) fn new(inner: Incoming) -> Self {
        Self { inner, is_broken: Arc::default() }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        if let Some(Err(_)) = frame {
            self.is_broken.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
