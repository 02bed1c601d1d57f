//! Connects for a program that listens on Unix sockets and has a network.
//!
//! Neither the file rules nor the filter can tell a connection to a computer from one to another program's Unix socket.
//! So the program never connects itself: the host takes the very socket it means, looks at that and at a copy of the
//! address, and connects it when both are of the internet. What was looked at is what is used: the program's memory and
//! its list of descriptors are not looked at again, and changing them meanwhile changes nothing.

use super::notices::{Listener, Refused};
use roost_protocol::{Refusal, RefusedBy};
use rustix::{
    io::Errno,
    net::{AddressFamily, Shutdown, shutdown, sockopt::socket_domain},
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};
use std::{
    fs, io,
    os::fd::{AsRawFd as _, OwnedFd, RawFd},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Connections of one program that are being made at the same time. Each has a thread, for a socket that waits makes
/// whoever connects it wait.
const AT_ONCE_MAX: usize = 16;

/// Longest address there is.
const ADDRESS_BYTES_MAX: usize = size_of::<libc::sockaddr_storage>();

/// Whether a program's connections are made for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connecting {
    /// None is made: it has no network, or cannot reach a Unix socket.
    Never,
    /// Those to computers.
    ToComputers,
}

/// The connections that are being made for one program. Dropping it gives them up.
#[derive(Debug, Default)]
pub(super) struct Connections(Arc<Mutex<Vec<Arc<OwnedFd>>>>);

/// A call to connect that waits for its answer.
pub(super) struct Wanted {
    pub(super) listener: Arc<Listener>,
    pub(super) notice: libc::seccomp_notif,
    pub(super) refused: Arc<Refused>,
    /// Counts what was refused.
    pub(super) answered: Arc<AtomicU64>,
}

/// Why a connection is not made.
enum Not {
    /// It leads to another program of this machine.
    Allowed,
    /// The kernel says no, or what was asked makes no sense.
    Possible(Errno),
    /// Nobody waits for it any more.
    Awaited,
}

impl From<Errno> for Not {
    fn from(error: Errno) -> Self {
        Self::Possible(error)
    }
}

impl Connections {
    /// Makes a connection without waiting for it.
    pub(super) fn make(&self, wanted: Wanted) {
        let ours = Arc::clone(&self.0);
        if lock(&ours).len() >= AT_ONCE_MAX {
            return wanted.listener.answer_or_note(wanted.notice.id, Errno::AGAIN.raw_os_error());
        }
        let (listener, id) = (Arc::clone(&wanted.listener), wanted.notice.id);
        let made = std::thread::Builder::new().name("connect".to_owned()).spawn(move || wanted.answer(&ours));
        if let Err(error) = made {
            tracing::warn!(%error, "connect for an app");
            listener.answer_or_note(id, Errno::AGAIN.raw_os_error());
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        // Whoever waits for a connection wakes up when it cannot come about any more.
        for socket in lock(&self.0).iter() {
            shutdown(&**socket, Shutdown::Both).ok();
        }
    }
}

impl Wanted {
    fn answer(self, ours: &Mutex<Vec<Arc<OwnedFd>>>) {
        let error = match self.connect(ours) {
            Ok(()) => 0,
            Err(Not::Possible(error)) => error.raw_os_error(),
            Err(Not::Awaited) => return,
            Err(Not::Allowed) => {
                // Noted before it is answered: the answer may end the call whose receipt this belongs to.
                self.refused.note(Refusal {
                    what: super::syscalls::CONNECT_TO_PROGRAM.to_owned(),
                    right: None,
                    by: RefusedBy::Syscalls,
                    count: 1,
                    next: String::new(),
                });
                self.answered.fetch_add(1, Ordering::Relaxed);
                Errno::PERM.raw_os_error()
            }
        };
        self.listener.answer_or_note(self.notice.id, error);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the kernel reads only the lower half of these arguments"
    )]
    fn connect(&self, ours: &Mutex<Vec<Arc<OwnedFd>>>) -> Result<(), Not> {
        let [descriptor, address, length, ..] = self.notice.data.args;
        let process = process_of(self.notice.pid).ok_or(Not::Awaited)?;
        let process = pidfd_open(process, PidfdFlags::empty()).map_err(|_| Not::Awaited)?;
        let address = copy(self.notice.pid, address, length as i32)?;
        let socket = Arc::new(pidfd_getfd(process, descriptor as RawFd, PidfdGetfdFlags::empty())?);
        // The number of a process may be another's by now, unless the call still waits: then it was the caller's.
        if !self.listener.is_waiting(self.notice.id) {
            return Err(Not::Awaited);
        }
        let is_internet =
            |family: AddressFamily| [AddressFamily::INET, AddressFamily::INET6].contains(&family);
        let family = AddressFamily::from_raw(u16::from_ne_bytes([address[0], address[1]]));
        // No address at all takes a connection back, which resolvers of names do.
        if !is_internet(socket_domain(&socket)?) || !(is_internet(family) || family == AddressFamily::UNSPEC)
        {
            return Err(Not::Allowed);
        }
        lock(ours).push(Arc::clone(&socket));
        let connected = connect(&socket, &address);
        lock(ours).retain(|one| !Arc::ptr_eq(one, &socket));
        connected.map_err(Not::from)
    }
}

/// The process that a thread belongs to.
fn process_of(thread: u32) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    Pid::from_raw(group.trim().parse().ok()?)
}

/// A copy of an address in another process.
#[expect(unsafe_code, reason = "memory of another process is read by its address")]
fn copy(thread: u32, address: u64, length: i32) -> Result<Vec<u8>, Errno> {
    let length = usize::try_from(length).ok().filter(|length| *length <= ADDRESS_BYTES_MAX);
    // What is too short to name a family is no address.
    let length = length.filter(|length| *length >= 2).ok_or(Errno::INVAL)?;
    let mut bytes = vec![0_u8; length];
    let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let theirs = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    let thread = libc::pid_t::try_from(thread).map_err(|_| Errno::SRCH)?;
    // SAFETY: the kernel writes at most as many bytes as there are; the other address is one of another process.
    let read = unsafe { libc::process_vm_readv(thread, &raw const ours, 1, &raw const theirs, 1, 0) };
    if usize::try_from(read).is_ok_and(|read| read == length) { Ok(bytes) } else { Err(Errno::FAULT) }
}

#[expect(unsafe_code, reason = "the safe form takes addresses that were taken apart before")]
fn connect(socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    let length = libc::socklen_t::try_from(address.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel reads as many bytes as there are.
    let answer = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    if answer == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
