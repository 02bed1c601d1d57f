//! The end of a zip, where it says how many entries it has and where their directory is.
//!
//! Strictly, the records at the end touch the directory and each other, and only one place can be the end. Loosely, as
//! Python's library does it: the last signature wins, and bytes before and after the archive do not matter.

use super::refusal::{Refusal, Refused};

const END: &[u8; 4] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const LOCATOR: &[u8; 4] = b"PK\x06\x07";
const LOCATOR_BYTES: usize = 20;
const END_64: &[u8; 4] = b"PK\x06\x06";
const END_64_BYTES: usize = 56;
/// A comment has a length of two bytes.
const COMMENT_BYTES_MAX: usize = 0xffff;

/// How much a reader forgives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Nothing.
    Strict,
    /// What Python's library forgives.
    Loose,
}

/// Where the directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ZipEnd {
    /// How many entries the end tells of.
    pub(super) entries: u64,
    /// Where the directory begins.
    pub(super) directory_start: usize,
    pub(super) directory_end: usize,
    /// What is to be added to every place that the directory names: bytes before the archive.
    pub(super) prefix: usize,
}

/// Finds the end.
pub(super) fn find(bytes: &[u8], strictness: Strictness) -> Result<ZipEnd, Refused> {
    let at = last_signature(bytes).ok_or_else(|| bad("it has no end record"))?;
    let record = &bytes[at..];
    let comment_length = usize::from(u16_at(record, 20));
    if strictness == Strictness::Strict {
        if at + END_BYTES + comment_length != bytes.len() {
            return Err(Refused::new(Refusal::StrayBytes, "there are bytes after the end of the zip"));
        }
        if has_other_end(bytes, at) {
            return Err(bad("two places in it could be its end"));
        }
        if u16_at(record, 4) != 0 || u16_at(record, 6) != 0 || u16_at(record, 8) != u16_at(record, 10) {
            return Err(bad("it is a part of several"));
        }
    }
    let mut told = Told {
        entries: u64::from(u16_at(record, 10)),
        size: u64::from(u32_at(record, 12)),
        start: u64::from(u32_at(record, 16)),
    };
    let mut records_start = at;
    if let Some((larger, start)) = large_end(bytes, at, strictness)? {
        if strictness == Strictness::Strict {
            told.agrees_with(&larger)?;
        }
        told = larger;
        records_start = start;
    }
    place(told, records_start, strictness)
}

/// What the end record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    entries: u64,
    size: u64,
    start: u64,
}

impl Told {
    /// A number that fits stands in both records; one that does not is all ones in the small.
    fn agrees_with(&self, larger: &Self) -> Result<(), Refused> {
        let agrees = |small: u64, ones: u64, large: u64| small == large || small == ones;
        if agrees(self.entries, 0xffff, larger.entries)
            && agrees(self.size, 0xffff_ffff, larger.size)
            && agrees(self.start, 0xffff_ffff, larger.start)
        {
            Ok(())
        } else {
            Err(Refused::new(Refusal::HeaderMismatch, "its two end records do not agree"))
        }
    }
}

fn place(told: Told, records_start: usize, strictness: Strictness) -> Result<ZipEnd, Refused> {
    let outside = || bad("its directory is not inside of it");
    let size = usize::try_from(told.size).map_err(|_| outside())?;
    let start = usize::try_from(told.start).map_err(|_| outside())?;
    let directory_start = records_start.checked_sub(size).ok_or_else(outside)?;
    let prefix = directory_start.checked_sub(start).ok_or_else(outside)?;
    if strictness == Strictness::Strict && prefix != 0 {
        return Err(Refused::new(
            Refusal::StrayBytes,
            "there are bytes before the zip or between its directory and its end",
        ));
    }
    Ok(ZipEnd { entries: told.entries, directory_start, directory_end: records_start, prefix })
}

/// Where the end record is, as Python finds it: at the very end, else the last signature that is near it.
fn last_signature(bytes: &[u8]) -> Option<usize> {
    let exact = bytes.len().checked_sub(END_BYTES)?;
    if bytes[exact..].starts_with(END) && bytes.ends_with(&[0, 0]) {
        return Some(exact);
    }
    let tail = bytes.len().saturating_sub(COMMENT_BYTES_MAX + 1 + END_BYTES);
    let last = (tail..bytes.len()).rev().find(|at| bytes[*at..].starts_with(END))?;
    // One that is cut off is not passed over for an earlier one.
    (last <= exact).then_some(last)
}

/// True when another signature's comment also ends with the file: readers would disagree.
fn has_other_end(bytes: &[u8], chosen: usize) -> bool {
    let tail = bytes.len().saturating_sub(COMMENT_BYTES_MAX + END_BYTES);
    let fits = |at: usize| at + END_BYTES + usize::from(u16_at(&bytes[at..], 20)) == bytes.len();
    let mut ends = memchr::memmem::find_iter(&bytes[tail..], END).map(|at| tail + at);
    ends.any(|at| at != chosen && at <= bytes.len() - END_BYTES && fits(at))
}

/// The record for large archives and where it begins, when there is one.
fn large_end(bytes: &[u8], end: usize, strictness: Strictness) -> Result<Option<(Told, usize)>, Refused> {
    let Some(locator) = end.checked_sub(LOCATOR_BYTES).filter(|at| bytes[*at..].starts_with(LOCATOR)) else {
        return Ok(None);
    };
    let Some(start) = locator.checked_sub(END_64_BYTES).filter(|at| bytes[*at..].starts_with(END_64)) else {
        return match strictness {
            Strictness::Strict => Err(bad("its end record for large archives is not where it must be")),
            Strictness::Loose => Ok(None),
        };
    };
    let record = &bytes[start..];
    if strictness == Strictness::Strict {
        let is_whole = u64_at(record, 4) == (END_64_BYTES - 12) as u64
            && u64_at(&bytes[locator..], 8) == start as u64
            && u64_at(record, 24) == u64_at(record, 32);
        if !is_whole {
            return Err(bad("its end record for large archives contradicts itself"));
        }
    }
    let told = Told { entries: u64_at(record, 32), size: u64_at(record, 40), start: u64_at(record, 48) };
    Ok(Some((told, start)))
}

fn bad(detail: &str) -> Refused {
    Refused::new(Refusal::NotAnArchive, detail)
}

/// Two bytes as a number. Zero beyond the end: callers look only where they know there are bytes.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|part| part.try_into().ok()).map_or(0, u16::from_le_bytes)
}

/// Four bytes as a number.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Eight bytes as a number.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_le_bytes)
}
