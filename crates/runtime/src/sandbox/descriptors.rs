//! What a worker hands to its host while it enters its sandbox: descriptors, each with a byte that says what it is.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};
use tokio::io::{Interest, unix::AsyncFd};

/// Longer than any worker needs to enter its sandbox on a busy machine.
const HANDOVER: Duration = Duration::from_secs(20);

/// What was handed over.
#[derive(Debug, Default)]
pub(crate) struct HandedOver {
    /// Where refused system calls are heard.
    pub(crate) notices: Option<OwnedFd>,
    /// Where the proxy listens.
    pub(crate) proxy: Option<OwnedFd>,
}

impl HandedOver {
    /// Refuses a process that has a filter and lets nobody hear of it.
    pub(crate) fn check(&self, is_filtered: bool) -> io::Result<()> {
        let is_listener = |descriptor: &OwnedFd| {
            std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
                .is_ok_and(|link| link.to_string_lossy().contains("seccomp"))
        };
        match (&self.notices, is_filtered) {
            (None, false) => Ok(()),
            (Some(listener), _) if is_listener(listener) => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "refused system calls would be heard by nobody",
            )),
        }
    }
}

/// Kinds of descriptors, as runners name them.
pub(crate) const NOTICES: u8 = b'n';
pub(crate) const PROXY: u8 = b'p';
/// A piece of a root folder, ready to be mounted.
pub(crate) const MOUNT: u8 = b'm';
/// Nothing more comes.
pub(crate) const DONE: u8 = b'.';

/// Gives a descriptor to a worker, which expects it before it enters its sandbox.
pub(crate) fn hand_to_worker(socket: &UnixStream, descriptor: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    sendmsg(socket, &[IoSlice::new(b"r")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes a mount that a process which is over by now handed over.
pub(super) fn receive_mount(socket: &UnixStream) -> io::Result<OwnedFd> {
    match receive_one(socket.as_fd())? {
        (MOUNT, Some(descriptor)) => Ok(descriptor),
        _ => Err(io::Error::other("no mount was handed over")),
    }
}

/// Receives until the worker says that it is done, which it does before it reads the agent.
pub(crate) async fn receive_descriptors(socket: &UnixStream) -> io::Result<HandedOver> {
    let mut handed = HandedOver::default();
    let readable = tokio::net::UnixStream::from_std(socket.try_clone()?)?;
    let receiving = async {
        loop {
            let (kind, descriptor) =
                readable.async_io(Interest::READABLE, || receive_one(readable.as_fd())).await?;
            match (kind, descriptor) {
                (DONE, None) => return Ok(handed),
                (NOTICES, Some(descriptor)) => handed.notices = Some(descriptor),
                (PROXY, Some(descriptor)) => handed.proxy = Some(descriptor),
                _ => return Err(io::Error::other("the worker handed over something else")),
            }
        }
    };
    tokio::time::timeout(HANDOVER, receiving).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Lets the runtime say when there is something to read. What it does not take is given back.
#[expect(unsafe_code, reason = "the runtime takes descriptors on trust")]
pub(crate) fn watch(descriptor: OwnedFd) -> Result<AsyncFd<OwnedFd>, (OwnedFd, io::Error)> {
    // SAFETY: it is open, nobody else can close it, and it is owned by what watches it.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    watched.map_err(tokio::io::unix::AsyncFdRegisterError::into_parts)
}

fn receive_one(socket: BorrowedFd<'_>) -> io::Result<(u8, Option<OwnedFd>)> {
    let mut kind = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut kind)], &mut ancillary, flags)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok((kind[0], descriptors.next().and_then(|mut all| all.next())))
}
