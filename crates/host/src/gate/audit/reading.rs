//! Checking the log and listing its rows, in bounded memory, beside those who write it.

use super::{
    log::LOCK,
    row::{Link, Row, shown_app},
    segments::{self, Broken, Line, Lines},
    tail::{Head, about_head},
};
use jiff::Timestamp;
use roost_apps::LockFile;
use roost_protocol::{AppId, Failure, Reason};
use std::{collections::VecDeque, fs, io, path::Path, time::Duration};

/// Rows that one listing holds at most: what a person or a page reads at once, a few megabytes.
const LISTED_ROWS_MAX: usize = 10_000;

/// How long a reader waits for a batch to end.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// What a sound log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub segments: u32,
}

/// Which rows to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this app.
    pub app: Option<AppId>,
    /// Only those of this time or later.
    pub since: Option<Timestamp>,
    /// Only the last so many; at most 10 000.
    pub limit: Option<usize>,
}

/// Rows of a log, oldest first.
#[derive(Debug)]
pub struct Listing {
    /// Those that fit.
    pub rows: Vec<Row>,
    /// Fitting rows before them, which the limit left out.
    pub left_out: u64,
    /// Where reading stopped because the chain does not hold.
    pub broken: Option<Broken>,
}

/// Reads every row and follows the chain. What cannot be read counts as broken.
pub(crate) fn verify(folder: &Path) -> Result<Verified, Broken> {
    read(folder, |_| {}).unwrap_or_else(|error| Err(unreadable(&error)))
}

/// Lists rows, following the chain from the beginning: what is shown before a break is sound.
#[must_use]
pub(crate) fn rows(folder: &Path, filter: &Filter) -> Listing {
    let limit = filter.limit.unwrap_or(LISTED_ROWS_MAX).min(LISTED_ROWS_MAX);
    let app = filter.app.as_ref().map(shown_app);
    let mut kept = VecDeque::new();
    let mut left_out = 0;
    let checked = read(folder, |row| {
        let fits = app.as_ref().is_none_or(|app| row.app == *app)
            && filter.since.is_none_or(|since| row.time >= since);
        if fits {
            kept.push_back(row);
        }
        if kept.len() > limit {
            kept.pop_front();
            left_out += 1;
        }
    });
    let broken = checked.unwrap_or_else(|error| Err(unreadable(&error))).err();
    Listing { rows: kept.into(), left_out, broken }
}

/// The failure that tells of a broken log.
pub(super) fn broken_failure(folder: &Path, broken: &Broken) -> Failure {
    Failure::new(Reason::AuditBroken, format!("{}/{broken}", folder.display())).with_next(format!(
        "keep {0} as evidence: move it aside, and the host begins a new log; rows before the named one are intact",
        folder.display()
    ))
}

/// The first place where the chain does not hold, looked for by whoever holds the lock.
pub(super) fn first_break(folder: &Path) -> Option<Broken> {
    let extent = Extent::now(folder).ok()?;
    extent.map_or_else(Some, |extent| extent.read(folder, &mut |_| {}).ok()?.err())
}

fn unreadable(error: &io::Error) -> Broken {
    Broken { segment: "audit".to_owned(), line: 0, sequence: 0, why: format!("cannot be read: {error}") }
}

fn read(folder: &Path, mut each: impl FnMut(Row)) -> io::Result<Result<Verified, Broken>> {
    if !folder.try_exists()? {
        return Ok(Ok(Verified { rows: 0, segments: 0 }));
    }
    // Only the extent is taken under the lock: a long read must not keep the gate waiting. A copy of a log in a folder
    // that cannot be written has no writers either.
    let lock = match LockFile::take(&folder.join(LOCK), LOCK_WAIT_MAX) {
        Err(error) if is_read_only(&error) => None,
        other => Some(other?),
    };
    let extent = Extent::now(folder)?;
    drop(lock);
    match extent {
        Ok(extent) => extent.read(folder, &mut each),
        Err(broken) => Ok(Err(broken)),
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// How far the log reached at one moment.
struct Extent {
    head: Option<Head>,
    segments: u32,
    last_segment_bytes: u64,
}

impl Extent {
    fn now(folder: &Path) -> io::Result<Result<Self, Broken>> {
        let (segments, head) = match (segments::count(folder)?, Head::read(folder)?.transpose()) {
            (Ok(segments), Ok(head)) => (segments, head),
            (Err(broken), _) | (_, Err(broken)) => return Ok(Err(broken)),
        };
        let last_segment_bytes = match segments {
            0 => 0,
            last => fs::metadata(segments::path(folder, last))?.len(),
        };
        Ok(Ok(Self { head, segments, last_segment_bytes }))
    }

    fn read(&self, folder: &Path, each: &mut dyn FnMut(Row)) -> io::Result<Result<Verified, Broken>> {
        let mut link = Link::first();
        // What `head.json` says, once the row it names has been read.
        let mut is_head_met = self.head.is_some_and(|head| head.sequence == 0 && head.hash == link.hash);
        for number in 1..=self.segments {
            let to = if number == self.segments { self.last_segment_bytes } else { u64::MAX };
            let mut lines = Lines::open(&segments::path(folder, number), 0, to)?;
            loop {
                let sequence = link.sequence + 1;
                let followed = match lines.next()? {
                    None => break,
                    Some(Line::Whole(line)) => link.follow(line),
                    Some(Line::Half(_)) if number == self.segments => {
                        Err("is only half there: a write was cut off; the host repairs this when it starts"
                            .to_owned())
                    }
                    Some(Line::Half(_)) => Err("is only half there".to_owned()),
                    Some(Line::TooLong) => Err("is too long for a row".to_owned()),
                };
                match followed {
                    Ok(row) => each(row),
                    Err(why) => {
                        let segment = segments::name(number);
                        return Ok(Err(Broken { segment, line: lines.number, sequence, why }));
                    }
                }
                is_head_met |= self.head.is_some_and(|head| head.link() == link);
            }
        }
        Ok(self.check_head(link, is_head_met))
    }

    fn check_head(&self, link: Link, is_head_met: bool) -> Result<Verified, Broken> {
        let verified = Verified { rows: link.sequence, segments: self.segments };
        match self.head {
            None if self.segments == 0 => Ok(verified),
            None => Err(about_head(
                "is missing: without the head, rows cut off would not be missed".to_owned(),
                0,
            )),
            Some(_) if is_head_met => Ok(verified),
            Some(head) if head.sequence > link.sequence => Err(Broken {
                segment: segments::name(self.segments.max(1)),
                line: 0,
                sequence: link.sequence + 1,
                why: format!("is missing: the log had {} rows, and its end was cut off", head.sequence),
            }),
            Some(head) => Err(about_head("is another than the one in the log".to_owned(), head.sequence)),
        }
    }
}
