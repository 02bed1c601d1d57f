//! The connection to an app: HTTP/2 on a Unix socket, opened once and kept.
//!
//! A call goes straight into the connection's own queue, and whoever asked is woken straight from it, or carries the
//! connection itself for as long as a quick app takes to answer. Clients with more in between hand every call from task to
//! task, and each of those hands takes longer than an app that answers.

use super::line::{Line, Watch};
use crate::asking::Asking;
use bytes::Bytes;
use futures::task::AtomicWaker;
use h2::{
    RecvStream,
    client::{ResponseFuture, SendRequest},
};
use http_body_util::BodyExt as _;
use hyper::{
    body::{Body, Frame},
    http::{
        Request, Response, Uri,
        uri::{Authority, Parts, Scheme},
    },
};
use std::{
    future::poll_fn,
    io,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    task::{Context, Poll, Waker, ready},
    time::Instant,
};
use tokio::task::coop::consume_budget;
use tonic::{Code, Status, body::Body as Message};

/// What apps are asked through: every call is recorded on its way.
pub(super) use super::inspector::Recorded as Channel;

/// Largest message either way: what servers of this contract take unless they say otherwise.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Small for each answer and large for all together, so that an app that sends faster than is read is slowed down. With
/// less room for all, many small unread frames end the whole connection instead.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// An open connection. It closes once all clones are gone and all calls are over.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    socket: Arc<Path>,
    asking: Asking,
    current: Arc<Mutex<Opened>>,
}

/// One connection as long as the app keeps it.
#[derive(Debug, Clone)]
struct Opened {
    requests: SendRequest<Bytes>,
    carrying: Arc<Carrying>,
}

/// What goes through a connection has to be carried: by a task of its own, or by whoever waits for an answer.
#[derive(Debug)]
struct Carrying {
    watch: Arc<Watch>,
    /// Absent once it is over. Whoever finds it locked leaves it to whom has it.
    connection: Mutex<Option<h2::client::Connection<Line, Bytes>>>,
    /// The task of its own.
    carrier: AtomicWaker,
}

impl Connection {
    /// Connects to a socket that somebody listens on.
    pub(super) async fn open(socket: &Path, asking: &Asking) -> io::Result<Self> {
        let current = Arc::new(Mutex::new(Opened::new(socket, asking).await?));
        Ok(Self { socket: socket.into(), asking: asking.clone(), current })
    }

    /// Sends a question, and returns when the answer begins. Many apps begin a stream with its first message, which may
    /// never come: nobody who waits for one counts among those who wait for an answer.
    pub(super) async fn send(
        &self,
        request: Request<Message>,
        is_stream: bool,
    ) -> Result<Response<Received>, Status> {
        let (mut head, message) = request.into_parts();
        // Every question of the contract is one message.
        let message = message.collect().await?.to_bytes();
        head.uri = addressed(head.uri)?;
        // Answers that are waited for on the spot never let anybody else have the thread.
        consume_budget().await;
        let Opened { mut requests, carrying } = self.ready().await?;
        let began = Instant::now();
        let asked = (!is_stream).then(|| carrying.watch.begin());
        let (mut answer, mut question) =
            requests.send_request(Request::from_parts(head, ()), false).map_err(lost)?;
        question.send_data(message, true).map_err(lost)?;
        let on_the_spot = if asked.is_some() { carrying.answer_on_the_spot(&mut answer) } else { None };
        let answer = match on_the_spot {
            Some(answer) => answer.map_err(lost)?,
            None => answer.await.map_err(lost)?,
        };
        if asked.is_some() {
            carrying.watch.answered(began.elapsed());
        }
        Ok(answer.map(|answer| Received { answer, is_whole: false }))
    }

    /// The connection, opened once more where the app closed it.
    async fn ready(&self) -> Result<Opened, Status> {
        let Opened { requests, carrying } = self.current().clone();
        if let Ok(requests) = requests.ready().await {
            return Ok(Opened { requests, carrying });
        }
        let opened = Opened::new(&self.socket, &self.asking).await;
        let opened = opened.map_err(|error| Status::unavailable(error.to_string()))?;
        self.current().clone_from(&opened);
        Ok(opened)
    }

    fn current(&self) -> MutexGuard<'_, Opened> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    async fn new(socket: &Path, asking: &Asking) -> io::Result<Self> {
        let watch = Watch::new(asking);
        let line = Line::open(socket, &watch).await?;
        let (requests, connection) = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .enable_push(false)
            .handshake(line)
            .await
            .map_err(io::Error::other)?;
        let connection = Mutex::new(Some(connection));
        let carrying = Arc::new(Carrying { watch, connection, carrier: AtomicWaker::new() });
        // Ends when nobody can ask any more, or with the app.
        let carrier = Arc::clone(&carrying);
        drop(tokio::spawn(poll_fn(move |context| carrier.carry(context))));
        Ok(Self { requests, carrying })
    }
}

impl Carrying {
    /// The connection, unless somebody else carries it.
    fn connection(&self) -> Option<MutexGuard<'_, Option<h2::client::Connection<Line, Bytes>>>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// By a task of its own, until it is over.
    fn carry(&self, context: &mut Context<'_>) -> Poll<()> {
        // First: whoever carries it instead wakes this task afterwards.
        self.carrier.register(context.waker());
        let Some(mut held) = self.connection() else { return Poll::Pending };
        let Some(connection) = &mut *held else { return Poll::Ready(()) };
        let carried = self.watch.carry(context, |context| Pin::new(&mut *connection).poll(context));
        carried.map(|carried| is_over(&mut held, carried))
    }

    /// By whoever asked, as long as that may wait on the spot. Nobody is woken meanwhile: who would be is here.
    fn answer_on_the_spot(
        &self,
        answer: &mut ResponseFuture,
    ) -> Option<Result<Response<RecvStream>, h2::Error>> {
        if !self.watch.is_on_the_spot() {
            return None;
        }
        let mut held = self.connection()?;
        let mut nobody = Context::from_waker(Waker::noop());
        let carried = held
            .as_mut()
            .map(|connection| self.watch.carry_on_the_spot(|| Pin::new(&mut *connection).poll(&mut nobody)));
        if let Some(Poll::Ready(carried)) = carried {
            is_over(&mut held, carried);
        }
        drop(held);
        // Always: it may have come meanwhile, found the connection taken, and waits for this.
        self.carrier.wake();
        match Pin::new(answer).poll(&mut nobody) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }
}

fn is_over(
    held: &mut MutexGuard<'_, Option<h2::client::Connection<Line, Bytes>>>,
    carried: Result<(), h2::Error>,
) {
    **held = None;
    if let Err(error) = carried {
        tracing::debug!(%error, "the connection to an app");
    }
}

/// The address is never looked up; it only stands in the requests.
fn addressed(uri: Uri) -> Result<Uri, Status> {
    let mut parts = Parts::from(uri);
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(Authority::from_static("localhost"));
    Uri::from_parts(parts).map_err(|error| Status::internal(error.to_string()))
}

/// What is sent back, piece by piece, and how the call ended.
#[derive(Debug)]
pub(super) struct Received {
    answer: RecvStream,
    is_whole: bool,
}

impl Body for Received {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if !self.is_whole {
            if let Some(piece) = ready!(self.answer.poll_data(context)) {
                let piece = piece.map_err(lost)?;
                // It is on its way to whoever asked: the app may send as much again.
                self.answer.flow_control().release_capacity(piece.len()).map_err(lost)?;
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            self.is_whole = true;
        }
        let trailers = ready!(self.answer.poll_trailers(context)).map_err(lost)?;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_end_stream()
    }
}

/// Why a call did not come to its end, as a status: by the table of gRPC over HTTP/2.
fn lost(error: h2::Error) -> Status {
    let code = match error.reason() {
        None => Code::Unavailable,
        Some(h2::Reason::REFUSED_STREAM) => Code::Unavailable,
        Some(h2::Reason::CANCEL) => Code::Cancelled,
        Some(h2::Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        Some(h2::Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
        Some(_) => Code::Internal,
    };
    Status::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::Connection;
    use crate::asking::Asking;
    use bytes::Bytes;
    use http_body_util::BodyExt as _;
    use hyper::http::{Request, Response};
    use std::{path::Path, time::Duration};
    use tokio::{net::UnixListener, task::JoinHandle, time::timeout};
    use tonic::body::Body as Message;

    /// Longer than any test waits for anything that works.
    const LONG: Duration = Duration::from_secs(10);

    /// Answers so many questions on each connection with what was asked, then closes it.
    fn answer_each(socket: &Path, questions: usize) -> JoinHandle<()> {
        let listener = UnixListener::bind(socket).unwrap();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let mut connection = h2::server::handshake(stream).await.unwrap();
                for _ in 0..questions {
                    let (question, mut answer) = connection.accept().await.unwrap().unwrap();
                    tokio::spawn(async move {
                        let mut question = question.into_body();
                        let said = question.data().await.unwrap().unwrap();
                        answer
                            .send_response(Response::new(()), false)
                            .unwrap()
                            .send_data(said, true)
                            .unwrap();
                    });
                }
                connection.graceful_shutdown();
                while let Some(Ok(_)) = connection.accept().await {}
            }
        })
    }

    async fn ask(connection: &Connection, said: &'static str) -> Result<Bytes, tonic::Status> {
        let message = Message::new(http_body_util::Full::from(said));
        let answer =
            connection.send(Request::post("/apps.v0.Test/Say").body(message).unwrap(), false).await?;
        Ok(answer.into_body().collect().await?.to_bytes())
    }

    /// Returns when the connection is known to be closed.
    async fn closed(connection: &Connection) {
        loop {
            let current = connection.current().clone();
            if current.requests.ready().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_connection_that_the_app_closed_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("app.sock");
        let app = answer_each(&socket, 50);
        let connection = Connection::open(&socket, &Asking::default()).await.unwrap();
        for _ in 0..3 {
            for _ in 0..50 {
                assert_eq!(timeout(LONG, ask(&connection, "again")).await.unwrap().unwrap(), "again");
            }
            // Heard although the answers before were waited for on the spot.
            timeout(LONG, closed(&connection)).await.unwrap();
        }
        app.abort();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_questions_at_once_are_all_answered_each_with_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("app.sock");
        let app = answer_each(&socket, usize::MAX);
        let connection = Connection::open(&socket, &Asking::default()).await.unwrap();
        let asking = ["one", "two", "three", "four"].map(|said| {
            let connection = connection.clone();
            tokio::spawn(async move {
                for _ in 0..500 {
                    assert_eq!(timeout(LONG, ask(&connection, said)).await.unwrap().unwrap(), said);
                }
            })
        });
        for asked in asking {
            asked.await.unwrap();
        }
        app.abort();
    }

    #[tokio::test]
    async fn a_stream_that_does_not_begin_keeps_nobody_from_waiting_on_the_spot() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("app.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (tell, told) = tokio::sync::oneshot::channel();
        let app = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let unanswered = connection.accept().await.unwrap().unwrap();
            tell.send(()).unwrap();
            while let Some(Ok(_)) = connection.accept().await {}
            drop(unanswered);
        });
        let asking = Asking::default();
        let connection = Connection::open(&socket, &asking).await.unwrap();
        let listening = tokio::spawn(async move {
            let request = Request::post("/apps.v0.Test/Listen").body(Message::empty()).unwrap();
            connection.send(request, true).await.map(drop)
        });
        timeout(LONG, told).await.unwrap().unwrap();
        assert_ne!(asking.enter().on_the_spot(Duration::ZERO), Duration::ZERO);
        assert!(!listening.is_finished());
        listening.abort();
        app.abort();
    }
}
