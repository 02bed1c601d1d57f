//! Where the log ends. `head.json` says it after every batch, so that rows cut off at the end are missed; what lies
//! behind it was written by a batch that did not come to its end.

use super::{
    row::{Link, Row},
    segments::{self, Broken, Line, Lines},
};
use roost_protocol::Digest;
use serde::{Deserialize, Serialize};
use std::{fs, io, path::Path};

/// The name of the file.
pub(super) const HEAD: &str = "head.json";

/// The form this program reads and writes.
const VERSION: u64 = 1;

/// The end of the log, as its last batch left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    version: u64,
    /// The number of the last segment; 0 before the first.
    pub(super) segment: u32,
    /// How long that segment is.
    pub(super) bytes: u64,
    /// The number of the last row; 0 before the first.
    pub(super) sequence: u64,
    /// The hash of the last row.
    pub(super) hash: Digest,
}

impl Head {
    pub(super) fn new(segment: u32, bytes: u64, link: Link) -> Self {
        Self { version: VERSION, segment, bytes, sequence: link.sequence, hash: link.hash }
    }

    /// The head of a log without rows.
    pub(super) fn empty() -> Self {
        Self::new(0, 0, Link::first())
    }

    pub(super) fn link(&self) -> Link {
        Link { sequence: self.sequence, hash: self.hash }
    }

    /// Reads `head.json`; nothing when there is none.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Result<Self, Broken>>> {
        let bytes = match fs::read(folder.join(HEAD)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let parsed = serde_json::from_slice::<Self>(&bytes).map_err(|error| error.to_string());
        let checked = parsed.and_then(|head| {
            if head.version == VERSION { Ok(head) } else { Err(format!("has the form {}", head.version)) }
        });
        Ok(Some(checked.map_err(|why| about_head(why, 0))))
    }
}

pub(super) fn about_head(why: String, sequence: u64) -> Broken {
    Broken { segment: HEAD.to_owned(), line: 1, sequence, why }
}

/// The end of the log as it really is.
#[derive(Debug)]
pub(super) struct Tail {
    /// Up to the last whole row.
    pub(super) head: Head,
    /// Rows that `head.json` did not know of yet.
    pub(super) rows_behind: u64,
    /// Half a row after that, which a crash left.
    pub(super) torn: Option<Torn>,
}

#[derive(Debug)]
pub(super) struct Torn {
    pub(super) text: Vec<u8>,
}

/// Why the end could not be found.
#[derive(Debug)]
pub(super) enum NoTail {
    Unreadable(io::Error),
    Broken(Broken),
}

impl From<io::Error> for NoTail {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Broken> for NoTail {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// Finds the end, reading only what `head.json` does not vouch for. The caller holds the log's lock.
pub(super) fn find(folder: &Path) -> Result<Option<Tail>, NoTail> {
    let count = segments::count(folder)??;
    let Some(head) = Head::read(folder)? else {
        if count == 0 {
            return Ok(None);
        }
        return Err(about_head("is missing, though there are rows".to_owned(), 0).into());
    };
    let head = head?;
    check_last_row(folder, &head, count)?;
    let mut tail = Tail { head, rows_behind: 0, torn: None };
    for number in head.segment.max(1)..=count {
        let from = if number == head.segment { head.bytes } else { 0 };
        read_behind(folder, number, from, &mut tail)?;
        if tail.torn.is_some() && number != count {
            let why = "ends in the middle, and more rows follow".to_owned();
            let sequence = tail.head.sequence + 1;
            return Err(Broken { segment: segments::name(number), line: 0, sequence, why }.into());
        }
    }
    Ok(Some(tail))
}

/// The last row that `head.json` knows must be there, as it was.
fn check_last_row(folder: &Path, head: &Head, count: u32) -> Result<(), NoTail> {
    if head.segment == 0 {
        return Ok(());
    }
    let segment = segments::name(head.segment);
    let broken = |why: &str| {
        let broken =
            Broken { segment: segment.clone(), line: 0, sequence: head.sequence, why: why.to_owned() };
        NoTail::Broken(broken)
    };
    if head.segment > count {
        return Err(broken("is missing: the end of the log was cut off"));
    }
    let path = segments::path(folder, head.segment);
    if fs::metadata(&path)?.len() < head.bytes {
        return Err(broken("is missing: the end of the log was cut off"));
    }
    if head.bytes == 0 {
        return Ok(());
    }
    let line = segments::line_before(&path, head.bytes)?;
    let row: Row = serde_json::from_slice(&line).map_err(|_| broken("was changed: it is no row"))?;
    let mut link = Link { sequence: head.sequence.wrapping_sub(1), hash: row.previous };
    match link.follow(&line) {
        Ok(row) if row.hash == head.hash => Ok(()),
        Ok(_) => Err(broken("is another than the one head.json knows")),
        Err(why) => Err(broken(&why)),
    }
}

fn read_behind(folder: &Path, number: u32, from: u64, tail: &mut Tail) -> Result<(), NoTail> {
    let path = segments::path(folder, number);
    let mut lines = Lines::open(&path, from, u64::MAX)?;
    let mut link = tail.head.link();
    loop {
        let broken = |why: String| Broken {
            segment: segments::name(number),
            line: 0,
            sequence: link.sequence + 1,
            why,
        };
        match lines.next()? {
            None => break,
            Some(Line::TooLong) => return Err(broken("is too long for a row".to_owned()).into()),
            Some(Line::Half(text)) => {
                tail.torn = Some(Torn { text: text.to_vec() });
                break;
            }
            Some(Line::Whole(line)) => {
                let mut next = link;
                next.follow(line).map_err(broken)?;
                link = next;
                tail.rows_behind += 1;
            }
        }
    }
    tail.head = Head::new(number, lines.bytes, link);
    Ok(())
}
