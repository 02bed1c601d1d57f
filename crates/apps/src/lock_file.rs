//! One process at a time: a file whose lock the kernel gives back when its holder dies.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How often a taken lock is tried again: well below what a person or the time limit of a batch notices.
const RETRY: Duration = Duration::from_millis(1);

/// Held until dropped.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

impl LockFile {
    /// Waits for the lock, and no longer than `wait_max`. The file is made where it is missing and never removed:
    /// whoever waits for a removed file would hold a lock that nobody else sees.
    pub fn take(path: &Path, wait_max: Duration) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if start.elapsed() < wait_max => thread::sleep(RETRY),
                Err(TryLockError::WouldBlock) => {
                    let message = format!("{} is held by another process", path.display());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LockFile;
    use std::{io::ErrorKind, time::Duration};

    #[test]
    fn a_second_holder_waits_no_longer_than_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = LockFile::take(&path, Duration::ZERO).unwrap();
        let second = LockFile::take(&path, Duration::from_millis(5));
        assert_eq!(second.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(first);
        assert!(LockFile::take(&path, Duration::ZERO).is_ok());
    }
}
