//! A reader that lets only unambiguous HTTP/1 through to a parser that is more forgiving.
//!
//! hyper takes bare line feeds, repeated lengths and a length beside chunks, as many parsers do, each in its own way;
//! that is what smuggling lives from. Where the rules are broken this reader passes on a byte that no parser takes,
//! and nothing after it, so that the parser itself answers with 400 or fails the body.

mod framing; // where heads and bodies begin and end

use self::framing::Framing;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) use self::framing::HEAD_BYTES_MAX;

/// Not allowed in a request line, a header, a chunk's size or a trailer.
const POISON: u8 = 0;

/// A connection from an agent, read strictly and written as it is.
#[derive(Debug)]
pub(super) struct Strict<S> {
    inner: S,
    framing: Framing,
    is_broken: bool,
}

impl<S> Strict<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, framing: Framing::default(), is_broken: false }
    }

    /// The connection itself, once it is no longer HTTP.
    pub(super) fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_broken {
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, into))?;
        if let Err(position) = self.framing.scan(&into.filled()[before..]) {
            self.is_broken = true;
            into.set_filled(before + position);
            // There is room: this takes the place of the byte that broke the rules.
            into.put_slice(&[POISON]);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, parts)
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
