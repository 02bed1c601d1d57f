//! The files of the log and their lines, read one at a time with bounded memory.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

/// A line above this was not written by us: the longest right and app id, with all quotes escaped, stay below.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Where the chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of the file.
    pub segment: String,
    /// The line in it, from 1; 0 when it is about the file as a whole.
    pub line: u64,
    /// The number of the row that belongs there.
    pub sequence: u64,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}:{}: row {} {}", self.segment, self.line, self.sequence, self.why)
    }
}

/// The file name of a segment; segments count from 1.
pub(super) fn name(number: u32) -> String {
    format!("audit-{number:06}.jsonl")
}

pub(super) fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(name(number))
}

/// How many segments there are. They are numbered without gaps; a file that only looks like one is an error.
pub(super) fn count(folder: &Path) -> io::Result<Result<u32, Broken>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file_name = entry?.file_name();
        let file_name = file_name.to_string_lossy();
        let Some(number) = file_name.strip_prefix("audit-").and_then(|rest| rest.strip_suffix(".jsonl"))
        else {
            continue;
        };
        match number.parse().ok().filter(|number| name(*number) == file_name) {
            Some(number) => numbers.push(number),
            None => return Ok(Err(whole(&file_name, "belongs to no segment of the log"))),
        }
    }
    numbers.sort_unstable();
    for (expected, number) in (1..).zip(&numbers) {
        if expected != *number {
            return Ok(Err(whole(&name(expected), "is missing")));
        }
    }
    Ok(Ok(u32::try_from(numbers.len()).unwrap_or(u32::MAX)))
}

fn whole(file_name: &str, why: &str) -> Broken {
    Broken { segment: file_name.to_owned(), line: 0, sequence: 0, why: why.to_owned() }
}

/// One line of a segment.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// With its end, which is not part of the text.
    Whole(&'a [u8]),
    /// The file ends in the middle of it.
    Half(&'a [u8]),
    /// Longer than any line we write.
    TooLong,
}

/// Reads a segment from some place to another.
#[derive(Debug)]
pub(super) struct Lines {
    reader: io::Take<BufReader<File>>,
    buffer: Vec<u8>,
    /// Up to where whole lines were read.
    pub(super) bytes: u64,
    /// The number of the line last read, counted from where reading began.
    pub(super) number: u64,
}

impl Lines {
    pub(super) fn open(path: &Path, from: u64, to: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let reader = BufReader::with_capacity(128 << 10, file).take(to.saturating_sub(from));
        Ok(Self { reader, buffer: Vec::new(), bytes: from, number: 0 })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let read = (&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer)?;
        self.number += 1;
        if read == 0 {
            return Ok(None);
        }
        if let Some(line) = self.buffer.strip_suffix(b"\n") {
            self.bytes += read as u64;
            return Ok(Some(Line::Whole(line)));
        }
        let is_too_long = read as u64 == LINE_BYTES_MAX;
        Ok(Some(if is_too_long { Line::TooLong } else { Line::Half(&self.buffer) }))
    }
}

/// The last whole line before this place.
pub(super) fn line_before(path: &Path, end: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let start = end.saturating_sub(LINE_BYTES_MAX);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end - start).read_to_end(&mut bytes)?;
    let text = bytes.strip_suffix(b"\n").unwrap_or_default();
    let begin = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
    Ok(text[begin..].to_vec())
}
