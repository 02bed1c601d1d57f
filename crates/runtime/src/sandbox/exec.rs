//! What happens in a new process between fork and exec.

use crate::process::WhenHostDies;
use std::{io, os::unix::process::CommandExt as _, process::Command};

/// Makes the process leave the host's session and step back behind it, die with the thread that starts it where that is wanted, keep its own orphans below itself, and inherit no
/// descriptor from `first_foreign` on, whoever left it open in the host.
#[expect(unsafe_code, reason = "code between fork and exec cannot be added otherwise")]
pub(crate) fn before_exec(command: &mut Command, first_foreign: u32, when_host_dies: WhenHostDies) {
    // SAFETY: the closure only makes system calls: no allocation, no lock, nothing that another thread of the
    // parent could hold at the moment of the fork.
    unsafe {
        command.pre_exec(move || {
            leave_session()?;
            step_back()?;
            if when_host_dies == WhenHostDies::End {
                set(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
            }
            set(libc::PR_SET_CHILD_SUBREAPER, 1)?;
            close_from(first_foreign)
        });
    }
}

/// A session of its own: no terminal to write to, a group to end it by, and a share of the processors apart from the
/// host's where the kernel shares them out by session.
#[expect(unsafe_code, reason = "the safe form is not documented for use after fork")]
fn leave_session() -> io::Result<()> {
    // SAFETY: takes nothing and returns a number.
    if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The host answers everybody, an agent only its caller: when processors are short, the host goes first.
#[expect(unsafe_code, reason = "the safe form may allocate for its error")]
fn step_back() -> io::Result<()> {
    // SAFETY: only numbers go in and out.
    let answer = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, super::AGENT_NICENESS) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn close_from(first: u32) -> io::Result<()> {
    // Closed by exec rather than now: one of them tells the parent whether exec worked.
    // SAFETY: descriptors are only marked; no memory is read.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "prctl has no safe form that is documented for use after fork")]
fn set(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: prctl with these options reads no memory of ours.
    let answer = unsafe { libc::prctl(option, value, 0, 0, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
