//! A tar that keeps every rule, compressed with gzip or not: the list first, then the content.
//!
//! Knows plain files and folders, and the two ways of giving them long names. Every other kind of entry is refused.

use super::{
    ContainerLimits,
    files::Files,
    paths::{self, Kind, Together},
    refusal::{REFUSALS_MAX, Refusal, Refused},
};
use flate2::bufread::GzDecoder;
use std::{collections::BTreeMap, io::Read as _, ops::Range};

const BLOCK: usize = 512;
const GZIP: &[u8] = b"\x1f\x8b";
/// Longest name or list of attributes before an entry.
const ATTRIBUTES_BYTES_MAX: usize = 64 << 10;
/// What one entry takes beside its content: its header, a long name before it, and what fills up blocks.
const OVERHEAD_BYTES: u64 = 4 * BLOCK as u64;
/// Some programs fill the end up to the size of a tape's record.
const RECORD_BYTES: u64 = 1 << 20;

pub(super) fn read(bytes: &[u8], limits: &ContainerLimits) -> Result<Files, Vec<Refused>> {
    if bytes.len() as u64 > limits.archive_bytes_max {
        let detail = format!("{} bytes; at most {} are read", bytes.len(), limits.archive_bytes_max);
        return Err(vec![Refused::new(Refusal::TooLarge, detail)]);
    }
    let unpacked;
    let tar = if bytes.starts_with(GZIP) {
        unpacked = gunzip(bytes, limits).map_err(|refused| vec![refused])?;
        &unpacked[..]
    } else {
        bytes
    };
    let entries = list(tar, limits)?;
    Ok(Files::checked(entries.into_iter().map(|(path, content)| (path, tar[content].to_vec())).collect()))
}

fn gunzip(bytes: &[u8], limits: &ContainerLimits) -> Result<Vec<u8>, Refused> {
    let entries = u64::try_from(limits.entries_max).unwrap_or(u64::MAX);
    let overhead = entries.saturating_mul(OVERHEAD_BYTES).saturating_add(RECORD_BYTES);
    let bytes_max = limits.content_bytes_max.saturating_add(overhead);
    let mut decoder = GzDecoder::new(bytes);
    let mut tar = Vec::new();
    let read = (&mut decoder).take(bytes_max.saturating_add(1)).read_to_end(&mut tar);
    read.map_err(|_| bad("it cannot be inflated"))?;
    if tar.len() as u64 > bytes_max {
        return Err(Refused::new(
            Refusal::TooManyBytes,
            format!("it inflates to more than {bytes_max} bytes"),
        ));
    }
    if !decoder.into_inner().is_empty() {
        return Err(Refused::new(Refusal::StrayBytes, "there are bytes after the end of its gzip stream"));
    }
    Ok(tar)
}

/// Where the content of every file is. Content stays where it is until the whole list was checked.
fn list(tar: &[u8], limits: &ContainerLimits) -> Result<BTreeMap<String, Range<usize>>, Vec<Refused>> {
    let mut listing = Listing::default();
    let mut at = 0;
    let mut entries = 0;
    loop {
        let Some(header) = tar.get(at..at + BLOCK) else { return Err(vec![bad("it has no end")]) };
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        entries += 1;
        // A long name is an entry too, so there may be twice as many as files and folders.
        if entries > limits.entries_max.saturating_mul(2) {
            let detail = format!("it has more than {} entries", limits.entries_max);
            return Err(vec![Refused::new(Refusal::TooManyEntries, detail)]);
        }
        let size = listing.size_of(header).map_err(|refused| vec![refused])?;
        let start = at + BLOCK;
        let end = start.checked_add(size).filter(|end| *end <= tar.len());
        let end = end.ok_or_else(|| vec![bad("an entry is not inside of it")])?;
        let entry = Entry { header, content: start..end, tar };
        listing.take(&entry, limits).map_err(|refused| listing.with(refused))?;
        at = end.next_multiple_of(BLOCK);
    }
    if tar[at..].iter().any(|byte| *byte != 0) {
        return Err(vec![Refused::new(Refusal::StrayBytes, "there are bytes after its end")]);
    }
    if tar.len() - at < 2 * BLOCK {
        return Err(vec![bad("it has no end")]);
    }
    if listing.long_name.is_some() || listing.long_size.is_some() {
        return Err(vec![bad("a long name belongs to no entry")]);
    }
    if listing.refused.is_empty() { Ok(listing.files) } else { Err(listing.refused) }
}

struct Entry<'a> {
    header: &'a [u8],
    content: Range<usize>,
    tar: &'a [u8],
}

#[derive(Default)]
struct Listing {
    files: BTreeMap<String, Range<usize>>,
    together: Together,
    taken: usize,
    total: u64,
    /// What the next entry is called, and how long it is.
    long_name: Option<String>,
    long_size: Option<usize>,
    refused: Vec<Refused>,
}

impl Listing {
    /// What was refused so far, and this.
    fn with(&mut self, last: Refused) -> Vec<Refused> {
        let mut refused = std::mem::take(&mut self.refused);
        refused.push(last);
        refused
    }

    fn size_of(&self, header: &[u8]) -> Result<usize, Refused> {
        let sum: u64 = header
            .iter()
            .enumerate()
            .map(|(index, byte)| u64::from(if (148..156).contains(&index) { b' ' } else { *byte }))
            .sum();
        if number(&header[148..156]) != Some(sum) {
            return Err(bad("a header does not match its checksum"));
        }
        let small = number(&header[124..136]).and_then(|size| usize::try_from(size).ok());
        match (header[156], self.long_size) {
            (b'0' | 0, Some(size)) => Ok(size),
            _ => small.ok_or_else(|| bad("a size cannot be read")),
        }
    }

    fn take(&mut self, entry: &Entry<'_>, limits: &ContainerLimits) -> Result<(), Refused> {
        let content = &entry.tar[entry.content.clone()];
        match entry.header[156] {
            b'L' => {
                let name = text(content.strip_suffix(b"\0").unwrap_or(content), content.len())?;
                return self.remember(Some(name), None);
            }
            b'x' => {
                let attributes = attributes(content)?;
                return self.remember(attributes.path, attributes.size);
            }
            // What holds for the whole archive is a comment in practice; anything that would change entries is refused.
            b'g' => {
                let attributes = attributes(content)?;
                let is_comment = attributes.path.is_none() && attributes.size.is_none();
                return if is_comment { Ok(()) } else { Err(bad("its attributes rename every entry")) };
            }
            _ => {}
        }
        let name = match self.long_name.take() {
            Some(name) => name,
            None => short_name(entry.header)?,
        };
        self.long_size = None;
        self.taken += 1;
        if self.taken > limits.entries_max {
            let detail = format!("it has more than {} entries", limits.entries_max);
            return Err(Refused::new(Refusal::TooManyEntries, detail));
        }
        let is_folder = entry.header[156] == b'5';
        // `tar -C folder .` begins every name so.
        let shown = name.strip_prefix("./").unwrap_or(&name);
        let path = shown.strip_suffix('/').filter(|_| is_folder).unwrap_or(shown);
        if is_folder && path.is_empty() || path == "." {
            return Ok(());
        }
        if let Err(refused) = self.check(entry, path, is_folder) {
            self.refused.push(refused);
        } else if !is_folder {
            self.files.insert(path.to_owned(), entry.content.clone());
        }
        self.total = self.total.saturating_add(entry.content.len() as u64);
        if self.total > limits.content_bytes_max {
            let detail = format!("its files have more than {} bytes together", limits.content_bytes_max);
            return Err(Refused::new(Refusal::TooManyBytes, detail));
        }
        if self.refused.len() >= REFUSALS_MAX {
            return Err(bad("it has too much wrong with it"));
        }
        Ok(())
    }

    fn remember(&mut self, name: Option<String>, size: Option<usize>) -> Result<(), Refused> {
        if self.long_name.is_some() || self.long_size.is_some() {
            return Err(bad("an entry has two long names"));
        }
        (self.long_name, self.long_size) = (name, size);
        Ok(())
    }

    fn check(&mut self, entry: &Entry<'_>, path: &str, is_folder: bool) -> Result<(), Refused> {
        let refuse = |refusal, why: &str| Err(Refused::at(refusal, path, why));
        match entry.header[156] {
            b'0' | 0 | b'5' => {}
            b'1' => return refuse(Refusal::Link, "it is a hard link"),
            b'2' => return refuse(Refusal::Link, "it is a symbolic link"),
            _ => return refuse(Refusal::SpecialFile, "it is neither a file nor a folder"),
        }
        paths::check(path)?;
        if is_folder && !entry.content.is_empty() {
            return refuse(Refusal::FileAndFolder, "a folder has no content");
        }
        self.together.add(path, if is_folder { Kind::Folder } else { Kind::File })
    }
}

struct Attributes {
    path: Option<String>,
    size: Option<usize>,
}

/// The lines `length key=value` of an extended header.
fn attributes(content: &[u8]) -> Result<Attributes, Refused> {
    let damaged = || bad("an extended header is damaged");
    if content.len() > ATTRIBUTES_BYTES_MAX {
        return Err(bad("an extended header is too long"));
    }
    let mut found = Attributes { path: None, size: None };
    let mut rest = content;
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(damaged)?;
        let length = std::str::from_utf8(&rest[..space]).ok().and_then(|text| text.parse::<usize>().ok());
        let length =
            length.filter(|length| *length > space + 1 && *length <= rest.len()).ok_or_else(damaged)?;
        let line = rest[space + 1..length].strip_suffix(b"\n").ok_or_else(damaged)?;
        rest = &rest[length..];
        let equals = line.iter().position(|byte| *byte == b'=').ok_or_else(damaged)?;
        let (key, value) = (&line[..equals], &line[equals + 1..]);
        match key {
            b"path" if found.path.is_none() => found.path = Some(text(value, value.len())?),
            b"size" if found.size.is_none() => {
                let size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                found.size = Some(size.ok_or_else(damaged)?);
            }
            b"path" | b"size" => return Err(damaged()),
            _ if key.starts_with(b"GNU.sparse") => {
                return Err(Refused::new(Refusal::SpecialFile, "a file with holes is not taken"));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn short_name(header: &[u8]) -> Result<String, Refused> {
    let until_zero = |field: &[u8]| {
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        text(&field[..end], end)
    };
    let name = until_zero(&header[..100])?;
    let prefix = if &header[257..263] == b"ustar\0" { until_zero(&header[345..500])? } else { String::new() };
    Ok(if prefix.is_empty() { name } else { format!("{prefix}/{name}") })
}

fn text(bytes: &[u8], length: usize) -> Result<String, Refused> {
    if length > ATTRIBUTES_BYTES_MAX {
        return Err(bad("a name is too long"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Refused::at(Refusal::BadPath, bytes, "its name is not UTF-8")),
    }
}

/// Digits of base eight, with blanks or zero bytes around them.
fn number(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|character| matches!(character, ' ' | '\0'));
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

fn bad(detail: &str) -> Refused {
    Refused::new(Refusal::NotAnArchive, detail)
}
