//! An app that outlived its host: known by its process, when that began and in which boot, so that nobody else's process
//! is ever taken for it.

use crate::process;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::{fs, io, path::Path};

/// What is written down of a running app, outside everything it may write to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    pid: u32,
    /// In the kernel's ticks since the boot.
    began: u64,
    boot: String,
}

/// Longest mark that is read; one is far shorter.
const MARK_BYTES_MAX: u64 = 4 << 10;

/// Writes down which process runs, for a host that comes later.
pub(super) fn mark(path: &Path, pid: u32) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let mark = Mark { pid, began: began(pid).ok_or_else(gone)?, boot: boot().ok_or_else(gone)? };
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec(&mark).map_err(io::Error::other)?)?;
    fs::rename(new, path)
}

/// Ends the process that an earlier host left, if it still is that process, and forgets it.
pub(super) fn end_earlier(path: &Path) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() <= MARK_BYTES_MAX)
        && let Ok(bytes) = fs::read(path)
        && let Ok(mark) = serde_json::from_slice::<Mark>(&bytes)
    {
        end(&mark);
    }
    forget(path);
}

/// Nothing runs any more.
pub(super) fn forget(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "forget the process of an app");
    }
}

fn end(mark: &Mark) {
    let Some(pid) = process::as_pid(mark.pid) else { return };
    // Held first and looked at then: what was looked at cannot become another process meanwhile.
    let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if boot().as_ref() != Some(&mark.boot) || began(mark.pid) != Some(mark.began) {
        return;
    }
    tracing::warn!(pid = mark.pid, "end an app that an earlier host left running");
    // Its group first, which exists for as long as the process does; in a set of processes of its own all end with it.
    if let Err(error) = rustix::process::kill_process_group(pid, Signal::KILL) {
        tracing::debug!(pid = mark.pid, %error, "end the group of an app");
    }
    if let Err(error) = pidfd_send_signal(&held, Signal::KILL) {
        tracing::debug!(pid = mark.pid, %error, "end an app");
    }
}

/// When a process began; nothing when there is none.
fn began(pid: u32) -> Option<u64> {
    const BEGAN_AFTER_NAME: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything, also spaces and brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(BEGAN_AFTER_NAME)?.parse().ok()
}

fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Mark, began, boot, end_earlier, mark};
    use crate::process::idle_process;
    use std::fs;

    #[tokio::test]
    async fn only_the_process_that_was_marked_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mark");
        let mut child = idle_process().unwrap();
        let pid = child.id();
        let other = |began, boot| serde_json::to_vec(&Mark { pid, began, boot }).unwrap();
        let now = began(pid).unwrap();
        for wrong in [
            other(now + 1, boot().unwrap()),
            other(now, "another".to_owned()),
            b"{".to_vec(),
            vec![b' '; 10_000],
        ] {
            fs::write(&path, wrong).unwrap();
            end_earlier(&path);
            assert!(child.try_wait().unwrap().is_none(), "another process was ended");
            assert!(!path.exists());
        }
        mark(&path, pid).unwrap();
        end_earlier(&path);
        assert_eq!(child.wait().await.unwrap(), crate::exit::Exit::Signal(9));
        assert!(!path.exists());
    }
}
