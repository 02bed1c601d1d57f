//! Frames on a Unix stream: a big-endian `u32` length, then that many bytes of JSON.

use roost_protocol::FRAME_BYTES_MAX;
use rustix::{
    buffer::spare_capacity,
    io::Errno,
    net::{RecvFlags, recv},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, Write as _},
    os::unix::net::UnixStream as StdUnixStream,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

const HEADER_BYTES: usize = 4;

/// Room a worker's buffer keeps between calls; one large result must not stay in memory for the worker's life.
const KEPT_BYTES: usize = 64 << 10;

/// One side of a frame connection. A question or answer that is cancelled may be half done: the connection must not
/// be used again.
///
/// The event loop knows the socket only from the first time somebody waits through it until somebody waits on the
/// spot: otherwise it would be woken by every answer, also by those that a thread is already waiting for.
#[derive(Debug)]
pub(crate) struct Frames {
    socket: StdUnixStream,
    in_event_loop: Option<UnixStream>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl Frames {
    /// The socket must not block.
    pub(crate) fn new(socket: StdUnixStream) -> Self {
        Self { socket, in_event_loop: None, outgoing: Vec::new(), incoming: Vec::new() }
    }

    /// Sends one frame, followed by raw bytes that the frame announced.
    pub(crate) async fn send(&mut self, frame: &impl Serialize, attachment: &[u8]) -> io::Result<()> {
        self.outgoing.clear();
        self.outgoing.extend_from_slice(&[0; HEADER_BYTES]);
        serde_json::to_writer(&mut self.outgoing, frame)?;
        let length = self.outgoing.len() - HEADER_BYTES;
        if length > FRAME_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the frame is too large"));
        }
        self.outgoing[..HEADER_BYTES]
            .copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        self.outgoing.extend_from_slice(attachment);
        self.flush().await
    }

    /// Sends raw bytes that a frame announced before.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.outgoing.clear();
        self.outgoing.extend_from_slice(bytes);
        self.flush().await
    }

    async fn flush(&mut self) -> io::Result<()> {
        let sent = match (&self.socket).write(&self.outgoing) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            sent => sent?,
        };
        if sent < self.outgoing.len() {
            let stream = registered(&mut self.in_event_loop, &self.socket)?;
            stream.write_all(&self.outgoing[sent..]).await?;
        }
        self.outgoing.shrink_to(KEPT_BYTES);
        Ok(())
    }

    /// The next frame; `None` when the other side closed between frames. Stays on this thread for up to
    /// `on_the_spot` before it gives the thread back: an answer that comes at once is there sooner than a sleeping
    /// processor and the event loop would notice it.
    pub(crate) async fn receive<T: DeserializeOwned>(
        &mut self,
        on_the_spot: Duration,
    ) -> io::Result<Option<T>> {
        self.incoming.clear();
        let mut wanted = self.receive_now(on_the_spot)?;
        while self.incoming.len() < wanted {
            let stream = registered(&mut self.in_event_loop, &self.socket)?;
            if stream.read_buf(&mut self.incoming).await? == 0 {
                let between_frames = self.incoming.is_empty();
                return if between_frames { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
            wanted = self.announced_end()?;
        }
        if self.incoming.len() > wanted {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes after the answer"));
        }
        let value = serde_json::from_slice(&self.incoming[HEADER_BYTES..])?;
        self.incoming.shrink_to(KEPT_BYTES);
        Ok(Some(value))
    }

    /// Takes what comes within the time, and says how much is wanted altogether.
    fn receive_now(&mut self, within: Duration) -> io::Result<usize> {
        if !within.is_zero() {
            self.in_event_loop = None;
            let started = Instant::now();
            self.incoming.reserve(KEPT_BYTES);
            loop {
                match recv(&self.socket, spare_capacity(&mut self.incoming), RecvFlags::DONTWAIT) {
                    Err(Errno::AGAIN) if started.elapsed() < within => rustix::thread::sched_yield(),
                    Err(Errno::AGAIN) => break,
                    // Nothing at all means the end, which the event loop sees as well.
                    received => {
                        received?;
                        break;
                    }
                }
            }
        }
        self.announced_end()
    }

    /// Where the frame ends, as far as that is known.
    fn announced_end(&mut self) -> io::Result<usize> {
        let Some(header) = self.incoming.first_chunk::<HEADER_BYTES>() else { return Ok(HEADER_BYTES) };
        let length = u32::from_be_bytes(*header) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too large"));
        }
        // Not reserved at once: a length is only a claim until the bytes arrive.
        self.incoming.reserve((HEADER_BYTES + length).min(KEPT_BYTES));
        Ok(HEADER_BYTES + length)
    }
}

/// The same socket as the event loop knows it.
fn registered<'a>(
    in_event_loop: &'a mut Option<UnixStream>,
    socket: &StdUnixStream,
) -> io::Result<&'a mut UnixStream> {
    match in_event_loop {
        Some(stream) => Ok(stream),
        none => Ok(none.insert(UnixStream::from_std(socket.try_clone()?)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::Frames;
    use serde_json::{Value, json};
    use std::{io::Write as _, os::unix::net::UnixStream, time::Duration};

    fn pair() -> (UnixStream, UnixStream) {
        let (left, right) = UnixStream::pair().unwrap();
        left.set_nonblocking(true).unwrap();
        right.set_nonblocking(true).unwrap();
        (left, right)
    }

    #[tokio::test]
    async fn a_frame_arrives_as_it_was_sent_however_large() {
        let (left, right) = pair();
        let (mut left, mut right) = (Frames::new(left), Frames::new(right));
        for text in ["", "ä", &"x".repeat(1 << 20)] {
            let sending = async { left.send(&json!({ "text": text }), b"").await.unwrap() };
            let receiving = async { right.receive::<Value>(Duration::ZERO).await.unwrap().unwrap() };
            assert_eq!(tokio::join!(sending, receiving).1["text"], text);
        }
        drop(left);
        assert!(right.receive::<Value>(Duration::ZERO).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_answer_that_is_already_there_needs_no_event_loop() {
        let (left, right) = pair();
        let (mut left, mut right) = (Frames::new(left), Frames::new(right));
        for number in 0..100 {
            left.send(&json!(number), b"").await.unwrap();
            assert_eq!(
                right.receive::<Value>(Duration::from_micros(number % 2)).await.unwrap().unwrap(),
                number
            );
        }
    }

    #[tokio::test]
    async fn garbage_half_frames_and_giant_claims_are_errors() {
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\x02x", b"\0\0\0\x02{]", b"\0\0\0\x02{}{}", b"\0\0"] {
            let (mut left, right) = pair();
            left.write_all(bytes).unwrap();
            drop(left);
            assert!(Frames::new(right).receive::<Value>(Duration::ZERO).await.is_err(), "{bytes:?}");
        }
    }
}
