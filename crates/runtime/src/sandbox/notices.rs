//! Hears what the system call filter refused in one worker, and answers for the host: no. Connections of a program that
//! has a network are made for it.

use super::{
    connecting::{Connecting, Connections, Wanted},
    syscalls,
};
use roost_protocol::{Refusal, RefusedBy};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
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
    pub(crate) fn listen(
        listener: OwnedFd,
        refused: Arc<Refused>,
        connecting: Connecting,
    ) -> io::Result<Self> {
        let listener = Arc::new(Listener(listener));
        // SAFETY: the descriptor is owned by what it is registered with, which closes it last.
        let listener = unsafe { AsyncFd::register(listener)? };
        Ok(Self(tokio::spawn(answer_all(listener, refused, connecting))))
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answer_all(listener: AsyncFd<Arc<Listener>>, refused: Arc<Refused>, connecting: Connecting) {
    let answered = Arc::new(AtomicU64::new(0));
    let connections = Connections::default();
    while answered.load(Ordering::Relaxed) < ANSWERED_MAX {
        let Ok(mut ready) = listener.readable().await else { return };
        let from = listener.get_ref();
        // An error means that the caller was killed or interrupted before we looked, or that there is nothing yet.
        if let Ok(notice) = from.receive() {
            let (number, arguments) = (i64::from(notice.data.nr), notice.data.args);
            if number == libc::SYS_connect && connecting == Connecting::ToComputers {
                let (listener, refused) = (Arc::clone(from), Arc::clone(&refused));
                connections.make(Wanted { listener, notice, refused, answered: Arc::clone(&answered) });
            } else {
                let (what, right) = syscalls::in_words(number, arguments);
                // Noted before it is answered: the answer may end the call whose receipt this belongs to.
                refused.note(Refusal { what, right, by: RefusedBy::Syscalls, count: 1, next: String::new() });
                answered.fetch_add(1, Ordering::Relaxed);
                from.answer_or_note(notice.id, libc::EPERM);
            }
        }
        if from.is_finished() {
            return;
        }
        if !from.has_more() {
            ready.clear_ready();
        }
    }
}

/// Where refused calls are heard and answered.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Listener {
    /// Receives one call that waits.
    #[expect(unsafe_code, reason = "notifications are read by ioctl")]
    fn receive(&self) -> io::Result<libc::seccomp_notif> {
        if !self.has_more() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // SAFETY: the structure is plain numbers, and the kernel wants it to be zero.
        let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one notice into the structure of that type.
        let answer =
            unsafe { libc::ioctl(self.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut notice) };
        if answer == 0 { Ok(notice) } else { Err(io::Error::last_os_error()) }
    }

    /// Tells the caller how its call went: 0, or the number of an error.
    pub(super) fn answer_or_note(&self, id: u64, error: i32) {
        if let Err(error) = self.answer(id, error) {
            tracing::debug!(%error, "answer a refused system call");
        }
    }

    #[expect(unsafe_code, reason = "notifications are answered by ioctl")]
    fn answer(&self, id: u64, error: i32) -> io::Result<()> {
        let response = libc::seccomp_notif_resp { id, val: 0, error: -error, flags: 0 };
        // SAFETY: the kernel reads one response from the structure of that type.
        let answer = unsafe {
            libc::ioctl(self.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const response)
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// True when the call still waits for its answer, so that whoever made it is still there.
    #[expect(unsafe_code, reason = "the question is asked by ioctl")]
    pub(super) fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the kernel reads one number.
        let answer =
            unsafe { libc::ioctl(self.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &raw const id) };
        answer == 0
    }

    /// True when a call waits: receiving without one would block the thread.
    fn has_more(&self) -> bool {
        self.events().contains(rustix::event::PollFlags::IN)
    }

    /// True when nobody is left whose calls could be refused.
    fn is_finished(&self) -> bool {
        let events = self.events();
        events.contains(rustix::event::PollFlags::HUP) && !events.contains(rustix::event::PollFlags::IN)
    }

    fn events(&self) -> rustix::event::PollFlags {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut wanted = [PollFd::new(&self.0, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut wanted, Some(&at_once)) {
            Ok(_) => wanted[0].revents(),
            Err(_) => PollFlags::empty(),
        }
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
