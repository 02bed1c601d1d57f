//! How a worker's process ended.

use roost_protocol::{Failure, Reason};
use tokio::sync::watch;

/// The end of a process, as the kernel reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It exited with this status.
    Status(i32),
    /// A signal ended it.
    Signal(i32),
    /// Nobody could tell how.
    Unknown,
}

impl Exit {
    /// Reads a wait status as the kernel encodes it.
    pub(crate) fn from_wait_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Status((status >> 8) & 0xff),
            signal => Self::Signal(signal),
        }
    }

    /// What the caller of an agent is told when its process ended in the middle of a question.
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Status(status) => Failure::new(
                Reason::AgentExited,
                format!("the agent's process ended itself with status {status}"),
            ),
            Self::Signal(signal) => Failure::new(
                Reason::AgentCrashed,
                format!("the agent's process died of {}", signal_name(signal)),
            ),
            Self::Unknown => Failure::new(Reason::AgentCrashed, "the agent's process is gone"),
        }
    }
}

/// Tells when a process ended; every clone is told.
pub(crate) type ExitWatch = watch::Receiver<Option<Exit>>;

/// Waits for the end of the process.
pub(crate) async fn ended(watch: &mut ExitWatch) -> Exit {
    match watch.wait_for(Option::is_some).await {
        Ok(exit) => exit.unwrap_or(Exit::Unknown),
        Err(_) => Exit::Unknown,
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
