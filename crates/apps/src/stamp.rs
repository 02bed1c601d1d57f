//! What tells one state of a file from the next without reading it.
//!
//! A stamp can only prove that a file changed, never by itself that it did not: two writes within one tick of the
//! file system's clock leave the same stamp. So a stamp counts only once it had time to settle.

use roost_protocol::{Digest, Failure, Reason};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How much older than the reading a stamp must be: several of the 1 to 10 ms ticks in which file systems count.
const SETTLED_AFTER: Duration = Duration::from_millis(50);

/// One state of one file as the file system numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The device the file is on.
    pub device: u64,
    /// The file on that device.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Last change of content or attributes, in nanoseconds since 1970; a program cannot set this one.
    pub changed_ns: i64,
}

impl Stamp {
    /// The state of the file at this path now; symbolic links are followed.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        rustix::fs::stat(path)
            .map(|stat| Self::of_stat(&stat))
            .map_err(|error| Failure::new(Reason::Unreadable, std::io::Error::from(error).to_string()))
    }

    /// True when a digest of content read at `read_at` may be trusted for as long as the stamp stays equal.
    #[must_use]
    pub fn is_settled(&self, read_at: SystemTime) -> bool {
        let Ok(changed_ns) = u64::try_from(self.changed_ns) else { return true };
        let changed_at = UNIX_EPOCH + Duration::from_nanos(changed_ns);
        // A change after the reading, or a clock that was set back, is an error here: not settled.
        read_at.duration_since(changed_at).is_ok_and(|age| age >= SETTLED_AFTER)
    }

    #[allow(
        clippy::unnecessary_cast,
        reason = "the field types of stat differ between platforms; only equality matters"
    )]
    pub(crate) fn of_stat(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

/// One reading of a file: the state it was in, what was read, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The state before the first byte was read.
    pub stamp: Stamp,
    /// Digest of the content.
    pub digest: Digest,
    /// When reading began.
    pub read_at: SystemTime,
}

impl Seen {
    /// True when a file in state `now` still has the content that was read.
    #[must_use]
    pub fn is_current(&self, now: &Stamp) -> bool {
        self.stamp == *now && self.stamp.is_settled(self.read_at)
    }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::{SETTLED_AFTER, Seen, Stamp};
    use roost_protocol::Digest;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    fn stamp(changed_ns: i64) -> Stamp {
        Stamp { device: 1, inode: 2, size: 3, modified_ns: changed_ns, changed_ns }
    }

    fn at(nanoseconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(nanoseconds)
    }

    #[test]
    fn a_stamp_settles_fifty_milliseconds_after_the_change() {
        let changed = 1_700_000_000_000_000_000_i64;
        let settled = u64::try_from(changed).unwrap() + u64::try_from(SETTLED_AFTER.as_nanos()).unwrap();
        assert!(!stamp(changed).is_settled(at(settled - 1)));
        assert!(stamp(changed).is_settled(at(settled)));
    }

    #[test]
    fn a_change_in_the_future_is_not_settled() {
        let now = SystemTime::now();
        let later = now.duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(3600);
        assert!(!stamp(i64::try_from(later.as_nanos()).unwrap()).is_settled(now));
        assert!(!stamp(i64::MAX).is_settled(now));
    }

    #[test]
    fn a_change_before_1970_is_settled() {
        assert!(stamp(-5).is_settled(SystemTime::now()));
    }

    #[test]
    fn a_reading_is_current_only_for_an_equal_settled_stamp() {
        let seen = |read_at| Seen { stamp: stamp(1_000_000_000), digest: Digest::of(b"x"), read_at };
        let late = at(2_000_000_000);
        assert!(seen(late).is_current(&stamp(1_000_000_000)));
        assert!(!seen(late).is_current(&stamp(1_000_000_001)));
        assert!(!seen(at(1_000_000_001)).is_current(&stamp(1_000_000_000)));
    }

    #[test]
    fn every_part_of_the_stamp_tells_files_apart() {
        let base = stamp(7);
        for other in [
            Stamp { device: 9, ..base },
            Stamp { inode: 9, ..base },
            Stamp { size: 9, ..base },
            Stamp { modified_ns: 9, ..base },
            Stamp { changed_ns: 9, ..base },
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn the_stamp_of_a_rewritten_file_differs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x_agent.py");
        std::fs::write(&path, "a").unwrap();
        let first = Stamp::of(&path).unwrap();
        std::fs::write(&path, "bb").unwrap();
        assert_ne!(first, Stamp::of(&path).unwrap());
        assert_eq!(first.inode, Stamp::of(&path).unwrap().inode);
        assert!(Stamp::of(&folder.path().join("none")).is_err());
    }
}
