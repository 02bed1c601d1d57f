//! The connection to an app: HTTP/2 on a Unix socket, opened once and kept.

use hyper_util::rt::TokioIo;
use std::{io, path::Path};
use tokio::net::UnixStream;
use tonic::transport::{self, Endpoint};
use tower::service_fn;

/// What apps are asked through: every call is recorded on its way.
pub(super) use super::inspector::Recorded as Channel;

/// Largest message either way: what servers of this contract take unless they say otherwise.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Small for each answer and large for all together, so that an app that sends faster than is read is slowed down. With
/// less room for all, many small unread frames end the whole connection instead.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Connects to a socket that somebody listens on.
pub(super) async fn connect(socket: &Path) -> io::Result<transport::Channel> {
    // Opened before the rest, so that nobody who listens is told from somebody who does not speak the protocol.
    let stream = UnixStream::connect(socket).await?;
    let mut first = Some(stream);
    let again = socket.to_owned();
    let connector = service_fn(move |_| {
        let (first, again) = (first.take(), again.clone());
        async move {
            let stream = match first {
                Some(stream) => stream,
                None => UnixStream::connect(again).await?,
            };
            Ok::<_, io::Error>(TokioIo::new(stream))
        }
    });
    // The address is never looked up; it only stands in the requests.
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .connect_with_connector(connector)
        .await
        .map_err(io::Error::other)
}
