//! Bodies: read up to a limit, and let go of when nobody wants them.
//!
//! A client that is still sending when its connection closes often never sees the answer. So what was refused is still
//! taken from the connection for a while, and thrown away.

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use futures::StreamExt as _;
use std::time::Duration;

/// What is thrown away at most, and for how long.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
const DISCARDED_WITHIN: Duration = Duration::from_secs(5);

/// A body on its way.
pub(crate) struct Arriving {
    pieces: axum::body::BodyDataStream,
    announced: Option<usize>,
    /// The client sends only after it was told to.
    waits: bool,
    is_over: bool,
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is longer than it may be; as long as was announced, or at least that long.
    TooLong(usize),
    /// The connection broke.
    Broken,
}

impl Arriving {
    pub(crate) fn new(headers: &HeaderMap, body: Body) -> Self {
        let announced =
            headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let waits = headers.contains_key(header::EXPECT);
        Self { pieces: body.into_data_stream(), announced, waits, is_over: false }
    }

    /// All of it. One that is announced as too long is not even begun.
    pub(crate) async fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, Unread> {
        if let Some(announced) = self.announced.filter(|announced| *announced > bytes_max) {
            return Err(Unread::TooLong(announced));
        }
        let mut bytes = Vec::with_capacity(self.announced.unwrap_or_default());
        while let Some(piece) = self.pieces.next().await {
            self.waits = false;
            let piece = piece.map_err(|_| {
                self.is_over = true;
                Unread::Broken
            })?;
            if bytes.len() + piece.len() > bytes_max {
                return Err(Unread::TooLong(bytes.len() + piece.len()));
            }
            bytes.extend_from_slice(&piece);
        }
        self.is_over = true;
        Ok(bytes)
    }

    /// Throws away what still comes.
    pub(crate) async fn discard(mut self) {
        if self.is_over || self.waits {
            return;
        }
        let all = async {
            let mut left = DISCARDED_BYTES_MAX;
            while let Some(Ok(piece)) = self.pieces.next().await {
                let Some(less) = left.checked_sub(piece.len()) else { return };
                left = less;
            }
        };
        // A client that takes its time is left alone with the rest.
        tokio::time::timeout(DISCARDED_WITHIN, all).await.ok();
    }
}
