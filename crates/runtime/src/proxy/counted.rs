//! Bytes to and from real servers, counted where they pass, and the end of connections on which none do.

use super::ledger::Row;
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How long a connection may be silent: language models have been seen to think for minutes before their first
/// byte. A silent connection ends after this time at the earliest and twice this time at the latest.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// Whether anything moves on one connection of an agent.
#[derive(Debug, Default)]
pub(super) struct Activity(AtomicU64);

impl Activity {
    /// Ends when nothing has moved for too long. Looks now and then instead of setting a timer for every read.
    pub(super) async fn silence(&self) {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(SILENCE_MAX).await;
            let now = self.0.load(Ordering::Relaxed);
            if now == seen {
                return;
            }
            seen = now;
        }
    }

    fn moved(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A connection to a real server whose bytes are counted.
#[derive(Debug)]
pub(super) struct Counted<S> {
    inner: S,
    row: Arc<Row>,
    activity: Arc<Activity>,
}

impl<S> Counted<S> {
    pub(super) fn new(inner: S, row: Arc<Row>, activity: Arc<Activity>) -> Self {
        Self { inner, row, activity }
    }

    /// The line of the report that this connection fills.
    pub(super) fn row(&self) -> &Arc<Row> {
        &self.row
    }

    fn wrote(&self, result: io::Result<usize>) -> Poll<io::Result<usize>> {
        if let Ok(bytes) = result {
            self.row.sent(bytes);
            self.activity.moved(bytes);
        }
        Poll::Ready(result)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, into))?;
        let bytes = into.filled().len() - before;
        self.row.received(bytes);
        self.activity.moved(bytes);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.inner).poll_write(context, bytes));
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.inner).poll_write_vectored(context, parts));
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
