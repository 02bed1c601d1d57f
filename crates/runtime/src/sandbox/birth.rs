//! A new process, made in its namespaces at once, that shares the host's memory until it becomes its program.
//!
//! To copy the memory of a large host takes longer than everything else at a start, and a process that was forked into
//! its namespaces needs another one beside it for as long as it lives. Here nothing is copied and nobody stays: the thread
//! that asks stands still until the new process is its program, or says why it could not become it.

use super::watch;
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use std::{
    cell::Cell,
    io,
    os::fd::{AsFd as _, FromRawFd as _, OwnedFd},
    ptr,
};
use tokio::io::unix::AsyncFd;

/// Room for the steps, which call little and allocate nothing; only touched as far as it is used.
const STACK_BYTES: usize = 256 << 10;

/// Below the stack, closed: whoever needs more than there is must not write into something else.
const GUARD_BYTES: usize = 64 << 10;

/// A process that was just made. Its id is its own until it is waited for, which is up to whoever holds this.
#[derive(Debug)]
pub(crate) struct Born {
    pub(crate) pid: u32,
    /// Becomes readable when it ends.
    held: OwnedFd,
}

impl Born {
    /// The descriptor that holds it, looked at by the runtime. Where that is not possible the process is ended.
    pub(crate) fn watch(self) -> io::Result<AsyncFd<OwnedFd>> {
        watch(self.held).map_err(|(held, error)| {
            match pidfd_send_signal(&held, Signal::KILL).and_then(|()| collect(&held)) {
                Ok(()) => error,
                Err(unended) => unended.into(),
            }
        })
    }
}

/// Waits for the end of a process that is about to end.
fn collect(held: &OwnedFd) -> rustix::io::Result<()> {
    waitid(WaitId::PidFd(held.as_fd()), WaitIdOptions::EXITED).map(drop)
}

/// Which step a new process is at, for whoever asks why it did not become a program.
#[derive(Debug)]
pub(super) struct Progress(Cell<&'static str>);

impl Progress {
    /// Says what is tried next.
    pub(super) fn at(&self, step: &'static str) {
        self.0.set(step);
    }
}

/// What the new process finds: its steps, and where it says why they did not lead to a program. It is the only one that
/// runs in this memory meanwhile, as far as this value goes.
struct Cradle<'a> {
    steps: &'a dyn Fn(&Progress) -> io::Error,
    progress: Progress,
    failed_with: Cell<i32>,
}

/// Makes a process in new namespaces of these kinds and lets it take its steps; they come back only when they did not
/// lead to a program, and that is then the answer.
///
/// The steps may only make system calls on what was prepared before: no allocation and no lock, for the memory is the
/// host's and its other threads go on.
#[expect(unsafe_code, reason = "no safe call makes a process without copying the host")]
pub(super) fn give_birth(
    namespaces: libc::c_int,
    steps: &dyn Fn(&Progress) -> io::Error,
) -> io::Result<Born> {
    let stack = Stack::new()?;
    let cradle = Cradle { steps, progress: Progress(Cell::new("")), failed_with: Cell::new(0) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD | namespaces;
    let mut held: libc::c_int = -1;
    // A handler of the host that ran in the new process would run in the host's memory.
    let quiet = Quiet::begin()?;
    // SAFETY: the stack is ours and as large as it says, what the new process reads lives until this call returns, which
    // it does once nobody else runs in this memory, and the kernel writes one descriptor.
    let pid = unsafe {
        libc::clone(begin, stack.top(), flags, (&raw const cradle).cast_mut().cast(), &raw mut held)
    };
    let made = if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) };
    drop(quiet);
    let pid = made?.unsigned_abs();
    // SAFETY: the kernel made this descriptor for us a moment ago.
    let born = Born { pid, held: unsafe { OwnedFd::from_raw_fd(held) } };
    match (cradle.failed_with.get(), cradle.progress.0.get()) {
        (0, _) => Ok(born),
        (code, step) => {
            collect(&born.held)?;
            let error = io::Error::from_raw_os_error(code);
            Err(if step.is_empty() {
                error
            } else {
                io::Error::new(error.kind(), format!("{step}: {error}"))
            })
        }
    }
}

#[expect(unsafe_code, reason = "the kernel hands on a pointer")]
extern "C" fn begin(cradle: *mut libc::c_void) -> libc::c_int {
    // SAFETY: it is the one above, and lives until this process is over or another program.
    let cradle = unsafe { &*cradle.cast::<Cradle<'_>>() };
    forget_handlers();
    let why = (cradle.steps)(&cradle.progress);
    cradle.failed_with.set(why.raw_os_error().unwrap_or(libc::EIO));
    1
}

/// From here on a signal means what it means to every new program, and none is held back. Broken pipes end a program
/// unless it wants otherwise; the host wants otherwise for itself only.
#[expect(unsafe_code, reason = "the safe forms may allocate or take locks")]
fn forget_handlers() {
    // SAFETY: plain structures that are zeroed, which is what the calls below expect, and numbers of signals.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        for signal in 1..=libc::SIGRTMAX() {
            let is_handled = libc::sigaction(signal, ptr::null(), &raw mut action) == 0
                && action.sa_sigaction != libc::SIG_DFL
                && (action.sa_sigaction != libc::SIG_IGN || signal == libc::SIGPIPE);
            if is_handled {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const default, ptr::null_mut());
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// While this lives, the thread hears no signal.
struct Quiet(libc::sigset_t);

impl Quiet {
    #[expect(unsafe_code, reason = "the calls have no safe form")]
    fn begin() -> io::Result<Self> {
        // SAFETY: two sets of ours, which the calls fill.
        let (answer, before) = unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            (libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before), before)
        };
        if answer == 0 { Ok(Self(before)) } else { Err(io::Error::from_raw_os_error(answer)) }
    }
}

impl Drop for Quiet {
    #[expect(unsafe_code, reason = "the call has no safe form")]
    fn drop(&mut self) {
        // SAFETY: the set is the one that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// Memory for the calls of the new process.
struct Stack(*mut libc::c_void);

impl Stack {
    #[expect(unsafe_code, reason = "the calls have no safe form")]
    fn new() -> io::Result<Self> {
        let size = GUARD_BYTES + STACK_BYTES;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: new memory, at no place in particular, of which the lowest part is then closed.
        unsafe {
            let memory = libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let stack = Self(memory);
            match libc::mprotect(memory, GUARD_BYTES, libc::PROT_NONE) {
                0 => Ok(stack),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Stacks grow downwards.
    fn top(&self) -> *mut libc::c_void {
        self.0.wrapping_byte_add(GUARD_BYTES + STACK_BYTES)
    }
}

impl Drop for Stack {
    #[expect(unsafe_code, reason = "the call has no safe form")]
    fn drop(&mut self) {
        // SAFETY: the memory is ours and nobody runs on it any more.
        unsafe { libc::munmap(self.0, GUARD_BYTES + STACK_BYTES) };
    }
}
