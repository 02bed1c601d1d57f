//! A zip's directory, and the header that stands before each entry, compared field by field.

use super::{
    refusal::{Refusal, Refused},
    zip_end::{Strictness, ZipEnd, u16_at, u32_at, u64_at},
};

const DIRECTORY: &[u8; 4] = b"PK\x01\x02";
const DIRECTORY_BYTES: usize = 46;
const LOCAL: &[u8; 4] = b"PK\x03\x04";
const LOCAL_BYTES: usize = 30;
const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";

/// Sizes and checksum follow the content.
const FLAG_DESCRIPTOR: u16 = 0x0008;
/// The name is UTF-8.
pub(super) const FLAG_UTF_8: u16 = 0x0800;
/// Encrypted, strongly encrypted, or with a hidden directory.
const FLAGS_ENCRYPTED: u16 = 0x2041;
/// Encrypted, strongly encrypted, or only a change to another file: what Python's library stops at.
const FLAGS_UNREADABLE: u16 = 0x0061;
/// Newest version of the format that Python's library reads.
const VERSION_MAX: u8 = 63;

const EXTRA_LARGE: u16 = 0x0001;
const EXTRA_NAME: u16 = 0x7075;

/// One entry as the directory tells it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ZipEntry<'a> {
    pub(super) name: &'a [u8],
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) checksum: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Where its header is.
    pub(super) at: usize,
    /// File kind and permissions, where the archive was made on a system that has them.
    pub(super) mode: u32,
}

impl ZipEntry<'_> {
    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & (FLAGS_ENCRYPTED | FLAGS_UNREADABLE) != 0
    }

    pub(super) fn is_unreadable(&self) -> bool {
        self.flags & FLAGS_UNREADABLE != 0
    }

    pub(super) fn is_folder(&self) -> bool {
        self.name.ends_with(b"/")
    }
}

/// Where an entry's bytes are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) content_start: usize,
    pub(super) content_end: usize,
    pub(super) end: usize,
}

/// Reads the directory. The number of entries is held against `entries_max` before room for them is made.
pub(super) fn directory<'a>(
    bytes: &'a [u8],
    end: &ZipEnd,
    entries_max: usize,
    strictness: Strictness,
) -> Result<Vec<ZipEntry<'a>>, Refused> {
    let too_many =
        || Refused::new(Refusal::TooManyEntries, format!("it has more than {entries_max} entries"));
    if strictness == Strictness::Strict && end.entries > entries_max as u64 {
        return Err(too_many());
    }
    let all = bytes.get(end.directory_start..end.directory_end).ok_or_else(|| bad("it has no directory"))?;
    let mut entries = Vec::new();
    let mut at = 0;
    while at < all.len() {
        if entries.len() == entries_max {
            return Err(too_many());
        }
        let (entry, length) = directory_entry(&all[at..], end.prefix, strictness)?;
        entries.push(entry);
        at += length;
    }
    if strictness == Strictness::Strict && (entries.len() as u64 != end.entries || at != all.len()) {
        return Err(Refused::new(Refusal::HeaderMismatch, "its end tells of another number of entries"));
    }
    Ok(entries)
}

fn directory_entry(
    record: &[u8],
    prefix: usize,
    strictness: Strictness,
) -> Result<(ZipEntry<'_>, usize), Refused> {
    if record.len() < DIRECTORY_BYTES || !record.starts_with(DIRECTORY) {
        return Err(bad("its directory is damaged"));
    }
    if record[6] > VERSION_MAX {
        return Err(bad("an entry needs a newer version of the format"));
    }
    let [name_length, extra_length, comment_length] = [28, 30, 32].map(|at| usize::from(u16_at(record, at)));
    let length = DIRECTORY_BYTES + name_length + extra_length + comment_length;
    if strictness == Strictness::Strict && length > record.len() {
        return Err(bad("its directory is damaged"));
    }
    let part = |from: usize, length: usize| {
        let from = (DIRECTORY_BYTES + from).min(record.len());
        &record[from..(from + length).min(record.len())]
    };
    let name = part(0, name_length);
    let mut numbers = Numbers {
        size: u64::from(u32_at(record, 24)),
        compressed: u64::from(u32_at(record, 20)),
        at: u64::from(u32_at(record, 42)),
    };
    numbers.enlarge(part(name_length, extra_length), name, Some(0xffff_ffff), strictness)?;
    let at = usize::try_from(numbers.at).ok().and_then(|at| at.checked_add(prefix));
    let entry = ZipEntry {
        name,
        flags: u16_at(record, 8),
        method: u16_at(record, 10),
        checksum: u32_at(record, 16),
        compressed: numbers.compressed,
        size: numbers.size,
        at: at.ok_or_else(|| bad("an entry is not inside of it"))?,
        mode: u32_at(record, 38) >> 16,
    };
    Ok((entry, length))
}

/// The numbers of an entry that may be too large for their place.
struct Numbers {
    size: u64,
    compressed: u64,
    at: u64,
}

impl Numbers {
    /// Takes the large numbers from the extra fields, where the small ones are all ones.
    fn enlarge(
        &mut self,
        extra: &[u8],
        name: &[u8],
        at_ones: Option<u64>,
        strictness: Strictness,
    ) -> Result<(), Refused> {
        const ONES: u64 = 0xffff_ffff;
        let refusal = match strictness {
            Strictness::Strict => Refusal::HeaderMismatch,
            Strictness::Loose => Refusal::NotAnArchive,
        };
        let lies = || Refused::at(refusal, name, "its extra fields contradict its header");
        let mut rest = extra;
        let mut is_enlarged = false;
        while rest.len() >= 4 {
            let (kind, length) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
            let mut data = rest.get(4..4 + length).ok_or_else(lies)?;
            rest = &rest[4 + length..];
            if kind == EXTRA_NAME && strictness == Strictness::Strict && data.get(5..) != Some(name) {
                return Err(lies());
            }
            if kind != EXTRA_LARGE {
                continue;
            }
            if is_enlarged && strictness == Strictness::Strict {
                return Err(lies());
            }
            is_enlarged = true;
            let numbers = [(&mut self.size, ONES), (&mut self.compressed, ONES)];
            for (number, ones) in numbers.into_iter().chain(at_ones.map(|ones| (&mut self.at, ones))) {
                if *number == ones {
                    let (large, after) = data.split_at_checked(8).ok_or_else(lies)?;
                    *number = u64_at(large, 0);
                    data = after;
                }
            }
            if !data.is_empty() && strictness == Strictness::Strict {
                return Err(lies());
            }
        }
        Ok(())
    }
}

/// Where the entry's content is. Loosely only the name is compared, as Python's library does.
pub(super) fn span(
    bytes: &[u8],
    entry: &ZipEntry<'_>,
    directory_start: usize,
    strictness: Strictness,
) -> Result<Span, Refused> {
    let differs = |what: &str| {
        Refused::at(
            Refusal::HeaderMismatch,
            entry.name,
            format!("{what} in its header differs from the directory"),
        )
    };
    let outside = || Refused::at(Refusal::NotAnArchive, entry.name, "its content is not inside of the zip");
    let area = bytes.get(..directory_start).ok_or_else(outside)?;
    let header = area.get(entry.at..).filter(|header| header.len() >= LOCAL_BYTES).ok_or_else(outside)?;
    if !header.starts_with(LOCAL) {
        return Err(differs("the signature"));
    }
    let (name_length, extra_length) = (usize::from(u16_at(header, 26)), usize::from(u16_at(header, 28)));
    let head = LOCAL_BYTES + name_length + extra_length;
    let name = header.get(LOCAL_BYTES..LOCAL_BYTES + name_length).ok_or_else(outside)?;
    let extra = header.get(LOCAL_BYTES + name_length..head).ok_or_else(outside)?;
    if name != entry.name {
        return Err(differs("the name"));
    }
    let compressed = usize::try_from(entry.compressed).map_err(|_| outside())?;
    let content_start = entry.at + head;
    let content_end = content_start.checked_add(compressed).filter(|end| *end <= area.len());
    let content_end = content_end.ok_or_else(outside)?;
    let mut span = Span { start: entry.at, content_start, content_end, end: content_end };
    if strictness == Strictness::Loose {
        return Ok(span);
    }
    if u16_at(header, 6) != entry.flags {
        return Err(differs("a flag"));
    }
    if u16_at(header, 8) != entry.method {
        return Err(differs("the method"));
    }
    let (small_compressed, small_size) = (u64::from(u32_at(header, 18)), u64::from(u32_at(header, 22)));
    let mut numbers = Numbers { size: small_size, compressed: small_compressed, at: 0 };
    numbers.enlarge(extra, name, None, strictness)?;
    let told = (u32_at(header, 14), numbers.compressed, numbers.size);
    let known = (entry.checksum, entry.compressed, entry.size);
    if entry.flags & FLAG_DESCRIPTOR != 0 {
        if told != (0, 0, 0) && told != known {
            return Err(differs("a size or the checksum"));
        }
        span.end +=
            descriptor(&area[content_end..], known).ok_or_else(|| differs("what follows its content"))?;
    } else if told != known {
        return Err(differs("a size or the checksum"));
    }
    Ok(span)
}

/// The length of the record after the content, in whichever of its four forms it says what is known.
fn descriptor(after: &[u8], known: (u32, u64, u64)) -> Option<usize> {
    let signed = if after.starts_with(DESCRIPTOR) { &[4, 0][..] } else { &[0][..] };
    signed.iter().find_map(|start| {
        let record = &after[*start..];
        let small = (u32_at(record, 0), u64::from(u32_at(record, 4)), u64::from(u32_at(record, 8)));
        let large = (u32_at(record, 0), u64_at(record, 4), u64_at(record, 12));
        if record.len() >= 12 && small == known {
            Some(start + 12)
        } else {
            (record.len() >= 20 && large == known).then_some(start + 20)
        }
    })
}

/// Two entries that share bytes, and bytes that belong to none.
pub(super) fn check_tiling(spans: &[Span], directory_start: usize) -> Result<(), Refused> {
    let mut sorted: Vec<(usize, usize)> = spans.iter().map(|span| (span.start, span.end)).collect();
    sorted.sort_unstable();
    let mut reached = 0;
    for (start, end) in sorted.into_iter().chain([(directory_start, directory_start)]) {
        match start.cmp(&reached) {
            std::cmp::Ordering::Less => return Err(overlap()),
            std::cmp::Ordering::Greater => {
                return Err(Refused::new(Refusal::StrayBytes, "there are bytes that belong to no entry"));
            }
            std::cmp::Ordering::Equal => reached = end,
        }
    }
    Ok(())
}

/// Where the next entry or the directory begins, for each entry.
pub(super) fn next_starts(entries: &[ZipEntry<'_>], directory_start: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|index| entries[*index].at);
    let mut next = vec![directory_start; entries.len()];
    for pair in order.windows(2) {
        next[pair[0]] = entries[pair[1]].at;
    }
    next
}

pub(super) fn overlap() -> Refused {
    Refused::new(Refusal::Overlap, "two entries share bytes")
}

fn bad(detail: &str) -> Refused {
    Refused::new(Refusal::NotAnArchive, detail)
}
