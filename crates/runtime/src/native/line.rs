//! The socket of an app as its connection uses it: through the event loop, or on the spot for an answer that comes at once.
//!
//! A thread that stays awake has the answer of a quick app sooner than a sleeping processor would be woken for it. The
//! event loop does not know the socket meanwhile: it would be woken by every answer that somebody already waits for.

use crate::asking::{Asked, Asking};
use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};
use std::{
    io,
    os::unix::net::UnixStream as StdUnixStream,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
    task::yield_now,
};

/// The socket itself.
#[derive(Debug)]
pub(super) struct Line {
    socket: StdUnixStream,
    in_event_loop: Option<UnixStream>,
    watch: Arc<Watch>,
}

/// How the next answer of an app is waited for.
#[derive(Debug)]
pub(super) struct Watch {
    asking: Asking,
    stage: Mutex<Stage>,
    last_answer_took: Mutex<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Through the event loop.
    Away,
    /// A question is to be sent; whoever carries it stays until then.
    Asked(Instant),
    /// It was sent.
    Waiting(Instant),
    /// Something came.
    Answered,
}

impl Watch {
    pub(super) fn new(asking: &Asking) -> Arc<Self> {
        let (stage, last_answer_took) = (Mutex::new(Stage::Away), Mutex::default());
        Arc::new(Self { asking: asking.clone(), stage, last_answer_took })
    }

    /// A question is about to be asked.
    pub(super) fn begin(&self) -> Asked {
        let among = self.asking.enter();
        let on_the_spot = among.on_the_spot(*lock(&self.last_answer_took));
        let stage =
            if on_the_spot.is_zero() { Stage::Away } else { Stage::Asked(Instant::now() + on_the_spot) };
        *lock(&self.stage) = stage;
        among
    }

    /// It was answered.
    pub(super) fn answered(&self, after: Duration) {
        *lock(&self.last_answer_took) = after;
    }

    /// Carries what goes through a connection on such a line, as far as that goes now.
    ///
    /// Invariant: whoever returns from here is called again when something arrives, by the event loop or by itself.
    pub(super) fn carry<T>(
        &self,
        context: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        loop {
            let was_away = matches!(*lock(&self.stage), Stage::Away);
            if let Poll::Ready(done) = poll(context) {
                return Poll::Ready(done);
            }
            let mut stage = lock(&self.stage);
            match *stage {
                Stage::Asked(until) => *stage = Stage::Waiting(until),
                // Sending takes so long that nothing was read: whoever may send again is called again.
                Stage::Waiting(_) => return Poll::Pending,
                // Another question began meanwhile, or nothing came in time.
                Stage::Away if !was_away => {}
                Stage::Away => return Poll::Pending,
                Stage::Answered => {
                    *stage = Stage::Away;
                    // Told to the event loop once there is nothing else to do: most likely the next question comes before.
                    let is_back = pin!(yield_now()).as_mut().poll(context).is_ready();
                    debug_assert!(!is_back, "whoever yields is called again");
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Watch {
    /// The same by whoever waits for the answer, until it comes or has taken too long. Afterwards somebody has to be asked
    /// to carry again.
    pub(super) fn carry_on_the_spot<T>(&self, mut poll: impl FnMut() -> Poll<T>) -> Poll<T> {
        loop {
            if let Poll::Ready(done) = poll() {
                return Poll::Ready(done);
            }
            let mut stage = lock(&self.stage);
            match *stage {
                Stage::Asked(until) => *stage = Stage::Waiting(until),
                Stage::Waiting(_) | Stage::Answered | Stage::Away => return Poll::Pending,
            }
        }
    }

    /// True when the question that was begun last is waited for on the spot.
    pub(super) fn is_on_the_spot(&self) -> bool {
        matches!(*lock(&self.stage), Stage::Asked(_))
    }
}

impl Line {
    /// Connects to a socket that somebody listens on.
    pub(super) async fn open(socket: &std::path::Path, watch: &Arc<Watch>) -> io::Result<Self> {
        let socket = UnixStream::connect(socket).await?.into_std()?;
        Ok(Self { socket, in_event_loop: None, watch: Arc::clone(watch) })
    }

    /// The same socket as the event loop knows it.
    fn registered(&mut self) -> io::Result<Pin<&mut UnixStream>> {
        if self.in_event_loop.is_none() {
            self.in_event_loop = Some(UnixStream::from_std(self.socket.try_clone()?)?);
        }
        self.in_event_loop.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// What is there already, or comes until then.
    fn receive(&self, buffer: &mut ReadBuf<'_>, until: Option<Instant>) -> Poll<io::Result<()>> {
        loop {
            match recv(&self.socket, buffer.initialize_unfilled(), RecvFlags::DONTWAIT) {
                Ok((_, length)) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if until.is_some_and(|until| Instant::now() < until) => {
                    rustix::thread::sched_yield();
                }
                Err(Errno::AGAIN) => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stage = *lock(&self.watch.stage);
        match stage {
            Stage::Away => {}
            // Not at the event loop: whoever carries comes back at once.
            Stage::Asked(_) | Stage::Answered => return self.receive(buffer, None),
            Stage::Waiting(until) => {
                self.in_event_loop = None;
                let received = self.receive(buffer, Some(until));
                let came = received.is_ready();
                *lock(&self.watch.stage) = if came { Stage::Answered } else { Stage::Away };
                if came {
                    return received;
                }
            }
        }
        self.registered()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => self.registered()?.poll_write(context, bytes),
            sent => Poll::Ready(sent.map_err(io::Error::from)),
        }
    }

    /// Nothing is kept back.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.shutdown(std::net::Shutdown::Write))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
