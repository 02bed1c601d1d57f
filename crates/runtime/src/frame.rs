//! Frames on a Unix stream: a big-endian `u32` length, then that many bytes of JSON.

use roost_protocol::FRAME_BYTES_MAX;
use serde::{Serialize, de::DeserializeOwned};
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

const HEADER_BYTES: usize = 4;

/// Room a worker's buffer keeps between calls; one large result must not stay in memory for the worker's life.
const KEPT_BYTES: usize = 64 << 10;

/// One side of a frame connection. A read that is cancelled may lose bytes: the connection must not be used again.
#[derive(Debug)]
pub(crate) struct Frames {
    stream: UnixStream,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl Frames {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, outgoing: Vec::new(), incoming: Vec::new() }
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
        self.stream.write_all(&self.outgoing).await?;
        self.outgoing.shrink_to(KEPT_BYTES);
        Ok(())
    }

    /// The next frame; `None` when the other side closed between frames.
    pub(crate) async fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.incoming.clear();
        let mut wanted = HEADER_BYTES;
        while self.incoming.len() < wanted {
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                let between_frames = self.incoming.is_empty();
                return if between_frames { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
            if wanted == HEADER_BYTES && self.incoming.len() >= HEADER_BYTES {
                wanted = self.announced_end()?;
            }
        }
        if self.incoming.len() > wanted {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes after the answer"));
        }
        let value = serde_json::from_slice(&self.incoming[HEADER_BYTES..])?;
        self.incoming.shrink_to(KEPT_BYTES);
        Ok(Some(value))
    }

    fn announced_end(&mut self) -> io::Result<usize> {
        let mut header = [0; HEADER_BYTES];
        header.copy_from_slice(&self.incoming[..HEADER_BYTES]);
        let length = u32::from_be_bytes(header) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too large"));
        }
        // Not reserved at once: a length is only a claim until the bytes arrive.
        self.incoming.reserve((HEADER_BYTES + length).min(KEPT_BYTES));
        Ok(HEADER_BYTES + length)
    }
}

#[cfg(test)]
mod tests {
    use super::Frames;
    use serde_json::{Value, json};
    use tokio::{io::AsyncWriteExt, net::UnixStream};

    #[tokio::test]
    async fn a_frame_arrives_as_it_was_sent_however_large() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut left, mut right) = (Frames::new(left), Frames::new(right));
        for text in ["", "ä", &"x".repeat(1 << 20)] {
            let sending = async { left.send(&json!({ "text": text }), b"").await.unwrap() };
            let receiving = async { right.receive::<Value>().await.unwrap().unwrap() };
            assert_eq!(tokio::join!(sending, receiving).1["text"], text);
        }
        drop(left);
        assert!(right.receive::<Value>().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn garbage_half_frames_and_giant_claims_are_errors() {
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\x02x", b"\0\0\0\x02{]", b"\0\0\0\x02{}{}", b"\0\0"] {
            let (mut left, right) = UnixStream::pair().unwrap();
            left.write_all(bytes).await.unwrap();
            drop(left);
            assert!(Frames::new(right).receive::<Value>().await.is_err(), "{bytes:?}");
        }
    }
}
