//! The three connections between the host and a worker: questions, host calls, and what the agent prints.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
};
use tokio::net::unix::pipe;

/// The host's ends.
#[derive(Debug)]
pub(crate) struct HostEnds {
    pub(crate) channel: UnixStream,
    pub(crate) calls: UnixStream,
    pub(crate) log: pipe::Receiver,
}

/// The worker's ends, to be handed over.
#[derive(Debug)]
pub(crate) struct WorkerEnds {
    pub(crate) channel: OwnedFd,
    pub(crate) calls: OwnedFd,
    pub(crate) log: OwnedFd,
}

/// Makes both.
pub(crate) fn connect() -> io::Result<(HostEnds, WorkerEnds)> {
    let (channel, worker_channel) = socket_pair()?;
    let (calls, worker_calls) = socket_pair()?;
    let (log, worker_log) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let log = pipe::Receiver::from_owned_fd(log)?;
    Ok((
        HostEnds { channel, calls, log },
        WorkerEnds { channel: worker_channel, calls: worker_calls, log: worker_log },
    ))
}

fn socket_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, theirs.into()))
}
