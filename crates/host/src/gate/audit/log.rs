//! Appending to the log, under a lock that every process of the home takes for one batch.
//!
//! Rows are on disk before `head.json` names them. Whatever step fails, the log afterwards ends in a whole row, or is
//! brought to do so before the next one is written.

use super::super::disk::Disk;
use super::{
    pending::Waiting,
    reading,
    row::{self, Link, Subject},
    segments,
    tail::{self, HEAD, Head, NoTail, Torn},
};
use roost_apps::LockFile;
use roost_protocol::{Digest, Failure, Reason};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// A segment that long is followed by a new one, so that one file stays easy to look at and to copy.
const SEGMENT_BYTES_MAX: u64 = 16 << 20;

/// How long another process may hold the lock: a batch takes milliseconds, so a longer hold is a stuck process.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// The name of the lock.
pub(super) const LOCK: &str = "audit.lock";

/// The end of the log, ready to be written to.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    disk: Disk,
    segment_bytes_max: u64,
    /// Where our last batch ended; absent when that is not sure.
    end: Option<End>,
}

#[derive(Debug)]
struct End {
    head: Head,
    file: File,
}

/// A batch was not written as it should.
#[derive(Debug)]
pub(super) struct NotAppended {
    pub(super) failure: Failure,
    /// True when the rows are in the log all the same, and must not be written again.
    pub(super) rows_are_kept: bool,
}

impl From<Failure> for NotAppended {
    fn from(failure: Failure) -> Self {
        Self { failure, rows_are_kept: false }
    }
}

impl Log {
    /// Opens the log, makes it where it is missing, and repairs its end.
    pub(super) fn open(folder: &Path, disk: Disk) -> Result<Self, Failure> {
        Self::with_segments_of(folder, disk, SEGMENT_BYTES_MAX)
    }

    pub(super) fn with_segments_of(
        folder: &Path,
        disk: Disk,
        segment_bytes_max: u64,
    ) -> Result<Self, Failure> {
        let mut log = Self { folder: folder.to_owned(), disk, segment_bytes_max, end: None };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| log.unusable(&error))?;
        log.append(&[]).map_err(|error| error.failure)?;
        Ok(log)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the rows, on disk when this returns. Without rows only the end is looked at, and repaired.
    pub(super) fn append(&mut self, rows: &[Waiting]) -> Result<(), NotAppended> {
        let _lock =
            LockFile::take(&self.folder.join(LOCK), LOCK_WAIT_MAX).map_err(|error| self.unusable(&error))?;
        let (mut end, repairs) = match self.end.take() {
            Some(end) if self.is_still_the_end(&end) => (end, Vec::new()),
            _ => self.find_end()?,
        };
        let repairs: Vec<Waiting> =
            repairs.into_iter().map(|detail| Waiting::once(Subject::repaired(detail))).collect();
        if repairs.is_empty() && rows.is_empty() {
            self.end = Some(end);
            return Ok(());
        }
        if end.head.bytes >= self.segment_bytes_max {
            end = self.begin_segment(end.head.segment + 1, end.head.link())?;
        }
        let (bytes, link) = self.lines(repairs.iter().chain(rows), end.head.link())?;
        if let Err(error) = self.write_durably(&mut end.file, &bytes) {
            // Half a batch must not stay. If it cannot be taken back now, the next batch finds and repairs it.
            if let Err(error) = self.disk.truncate(&end.file, end.head.bytes) {
                tracing::warn!(%error, "a half-written batch stays in the audit log until it can be repaired");
            }
            return Err(self.unusable(&error).into());
        }
        end.head = Head::new(end.head.segment, end.head.bytes + bytes.len() as u64, link);
        if let Err(error) = self.write_head(&end.head) {
            return Err(NotAppended { failure: self.unusable(&error), rows_are_kept: true });
        }
        self.end = Some(end);
        Ok(())
    }

    /// True when nobody has written since, and the file is still the one that has the segment's name.
    fn is_still_the_end(&self, end: &End) -> bool {
        let is_known = matches!(Head::read(&self.folder), Ok(Some(Ok(head))) if head == end.head);
        let Ok(ours) = end.file.metadata() else { return false };
        let Ok(theirs) = fs::metadata(segments::path(&self.folder, end.head.segment)) else { return false };
        is_known && ours.ino() == theirs.ino() && ours.dev() == theirs.dev() && theirs.len() == end.head.bytes
    }

    /// Looks for the end, and puts right what a crash left. Tells what was repaired.
    fn find_end(&mut self) -> Result<(End, Vec<String>), Failure> {
        let found = tail::find(&self.folder).map_err(|error| self.no_tail(error))?;
        let Some(tail) = found else {
            // Before the first segment: rows without a head would look like a log whose head was taken away.
            self.write_head(&Head::empty()).map_err(|error| self.unusable(&error))?;
            return Ok((self.begin_segment(1, Link::first())?, Vec::new()));
        };
        if tail.head.segment == 0 {
            return Ok((self.begin_segment(1, Link::first())?, Vec::new()));
        }
        let path = segments::path(&self.folder, tail.head.segment);
        let file =
            OpenOptions::new().append(true).read(true).open(path).map_err(|error| self.unusable(&error))?;
        let mut repairs = Vec::new();
        if let Some(torn) = tail.torn {
            repairs.push(self.set_aside(&torn, &file, &tail.head).map_err(|error| self.unusable(&error))?);
        }
        if tail.rows_behind > 0 {
            // They were written and perhaps not yet on disk; once a head names them they must be.
            self.disk.sync(&file).map_err(|error| self.unusable(&error))?;
            repairs.push(format!("{HEAD} did not know the last {} rows", tail.rows_behind));
        }
        Ok((End { head: tail.head, file }, repairs))
    }

    /// Moves half a row out of the log: first the copy, then the cut, so that nothing is lost in between.
    fn set_aside(&mut self, torn: &Torn, file: &File, head: &Head) -> io::Result<String> {
        // Named by what is in it: trying again after a failure does not leave a second copy.
        let name = format!("audit-torn-{:06}-{}.txt", head.segment, Digest::of(&torn.text).short());
        self.disk.replace(&self.folder.join(&name), &torn.text)?;
        self.disk.truncate(file, head.bytes)?;
        Ok(format!("half a row of {} bytes was moved to {name}", torn.text.len()))
    }

    fn begin_segment(&mut self, number: u32, link: Link) -> Result<End, Failure> {
        let path = segments::path(&self.folder, number);
        let file = self.disk.create(&path).map_err(|error| self.unusable(&error))?;
        Ok(End { head: Head::new(number, 0, link), file })
    }

    fn lines<'a>(
        &self,
        rows: impl Iterator<Item = &'a Waiting>,
        mut link: Link,
    ) -> Result<(Vec<u8>, Link), Failure> {
        let mut bytes = Vec::new();
        for waiting in rows {
            let sequence = link.sequence + 1;
            let hash = row::write_line(&mut bytes, waiting, sequence, link.hash)
                .map_err(|error| self.unusable(&error))?;
            link = Link { sequence, hash };
        }
        Ok((bytes, link))
    }

    fn write_durably(&mut self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.disk.append(file, bytes)?;
        self.disk.sync(file)
    }

    fn write_head(&mut self, head: &Head) -> io::Result<()> {
        let bytes = serde_json::to_vec(head)?;
        self.disk.replace(&self.folder.join(HEAD), &bytes)
    }

    fn no_tail(&self, error: NoTail) -> Failure {
        match error {
            NoTail::Unreadable(error) => self.unusable(&error),
            // Reading from the beginning finds the exact place; what is wrong is usually further up.
            NoTail::Broken(broken) => {
                reading::broken_failure(&self.folder, &reading::first_break(&self.folder).unwrap_or(broken))
            }
        }
    }

    fn unusable(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::new(Reason::AuditUnusable, format!("{}: {why}", self.folder.display()))
    }
}
