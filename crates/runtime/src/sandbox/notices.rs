//! Hears what the system call filter refused in one worker, and answers for the host: no.

use super::syscalls;
use roost_protocol::{Refusal, RefusedBy};
use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{io::unix::AsyncFd, task::JoinHandle};

/// Different things that are remembered of one call; more are only counted with the last one.
const KINDS_MAX: usize = 64;

/// Refusals that are answered one by one. A worker that goes on is told by the kernel itself that there is no such
/// call, which costs the host nothing.
const ANSWERED_MAX: u64 = 10_000;

/// What was refused to a worker since somebody last looked.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<Vec<Refusal>>);

impl Refused {
    /// Counts one refusal.
    pub(crate) fn note(&self, refusal: Refusal) {
        let mut all = self.lock();
        let is_full = all.len() >= KINDS_MAX;
        let same = all.iter_mut().find(|known| known.what == refusal.what && known.right == refusal.right);
        match same {
            Some(known) => known.count += refusal.count,
            None if is_full => {
                if let Some(last) = all.last_mut() {
                    last.count += refusal.count;
                }
            }
            None => all.push(refusal),
        }
    }

    /// Everything since the last look.
    pub(crate) fn take(&self) -> Vec<Refusal> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Refusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens as long as it lives.
#[derive(Debug)]
pub(crate) struct Notices(JoinHandle<()>);

impl Notices {
    #[expect(unsafe_code, reason = "the descriptor must stay open as long as it is registered")]
    pub(crate) fn listen(listener: OwnedFd, refused: Arc<Refused>) -> io::Result<Self> {
        // SAFETY: the descriptor is owned by what it is registered with, which closes it last.
        let listener = unsafe { AsyncFd::register(listener)? };
        Ok(Self(tokio::spawn(answer_all(listener, refused))))
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answer_all(listener: AsyncFd<OwnedFd>, refused: Arc<Refused>) {
    for _ in 0..ANSWERED_MAX {
        let Ok(mut ready) = listener.readable().await else { return };
        // An error means that the caller was killed or interrupted before we looked, or that there is nothing yet.
        if let Ok(notice) = receive(listener.get_ref()) {
            let (what, right) = syscalls::in_words(i64::from(notice.data.nr), notice.data.args);
            // Noted before it is answered: the answer may end the call whose receipt this belongs to.
            refused.note(Refusal { what, right, by: RefusedBy::Syscalls, count: 1, next: String::new() });
            if let Err(error) = refuse(listener.get_ref(), notice.id) {
                tracing::debug!(%error, "answer a refused system call");
            }
        }
        if is_finished(listener.get_ref()) {
            return;
        }
        if !has_more(listener.get_ref()) {
            ready.clear_ready();
        }
    }
}

/// Receives one call that waits.
#[expect(unsafe_code, reason = "notifications are read by ioctl")]
fn receive(listener: &OwnedFd) -> io::Result<libc::seccomp_notif> {
    if !has_more(listener) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    // SAFETY: the structure is plain numbers, and the kernel wants it to be zero.
    let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one notice into the structure of that type.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut notice) };
    if answer == 0 { Ok(notice) } else { Err(io::Error::last_os_error()) }
}

/// Tells the caller that it may not.
#[expect(unsafe_code, reason = "notifications are answered by ioctl")]
fn refuse(listener: &OwnedFd, id: u64) -> io::Result<()> {
    let response = libc::seccomp_notif_resp { id, val: 0, error: -libc::EPERM, flags: 0 };
    // SAFETY: the kernel reads one response from the structure of that type.
    let answer = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const response)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// True when a call waits: receiving without one would block the thread.
fn has_more(listener: &OwnedFd) -> bool {
    events(listener).contains(rustix::event::PollFlags::IN)
}

/// True when nobody is left whose calls could be refused.
fn is_finished(listener: &OwnedFd) -> bool {
    let events = events(listener);
    events.contains(rustix::event::PollFlags::HUP) && !events.contains(rustix::event::PollFlags::IN)
}

fn events(listener: &OwnedFd) -> rustix::event::PollFlags {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut wanted = [PollFd::new(listener, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut wanted, Some(&at_once)) {
        Ok(_) => wanted[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS_MAX, Refused};
    use roost_protocol::{Refusal, RefusedBy};

    fn refusal(what: &str) -> Refusal {
        Refusal { what: what.to_owned(), right: None, by: RefusedBy::Syscalls, count: 1, next: String::new() }
    }

    #[test]
    fn equal_refusals_are_counted_and_none_is_kept_twice() {
        let refused = Refused::default();
        for _ in 0..1000 {
            refused.note(refusal("trace a process"));
        }
        refused.note(refusal("use io_uring"));
        let counts: Vec<u64> = refused.take().iter().map(|one| one.count).collect();
        assert_eq!(counts, [1000, 1]);
        assert!(refused.take().is_empty());
    }

    #[test]
    fn a_worker_that_tries_everything_cannot_fill_the_host() {
        let refused = Refused::default();
        for number in 0..1000 {
            refused.note(refusal(&number.to_string()));
        }
        let all = refused.take();
        assert_eq!(all.len(), KINDS_MAX);
        assert_eq!(all.iter().map(|one| one.count).sum::<u64>(), 1000);
    }
}
