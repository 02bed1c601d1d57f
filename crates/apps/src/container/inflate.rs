//! Content out of a zip: stored or deflated, counted as it comes, held against its checksum.

use super::{
    rare_methods::{self, BZIP2, LZMA},
    refusal::{Refusal, Refused},
    zip_end::Strictness,
    zip_entries::ZipEntry,
};
use flate2::{Decompress, FlushDecompress, Status};

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;

/// More than this a byte cannot become: the format has two bits for 258 bytes at best.
const EXPANSION_MAX: usize = 1032;

/// The content of an entry. Never more than the entry says, which the caller has held against its limits.
pub(super) fn content(
    packed: &[u8],
    entry: &ZipEntry<'_>,
    strictness: Strictness,
) -> Result<Vec<u8>, Refused> {
    let size = usize::try_from(entry.size)
        .map_err(|_| Refused::at(Refusal::TooManyBytes, entry.name, "it is larger than memory"))?;
    let content = match entry.method {
        STORED => stored(packed, size, entry, strictness)?,
        DEFLATED => inflated(packed, size, entry, strictness)?,
        BZIP2 | LZMA if strictness == Strictness::Loose => {
            let unpacked = rare_methods::unpacked(entry.method, packed, size);
            unpacked.ok_or_else(|| {
                Refused::at(Refusal::NotAnArchive, entry.name, "its content cannot be unpacked")
            })?
        }
        _ => return Err(Refused::at(Refusal::Method, entry.name, "it is neither stored nor deflated")),
    };
    if crc32fast::hash(&content) != entry.checksum {
        return Err(Refused::at(Refusal::Checksum, entry.name, "its content does not match its checksum"));
    }
    Ok(content)
}

fn stored(
    packed: &[u8],
    size: usize,
    entry: &ZipEntry<'_>,
    strictness: Strictness,
) -> Result<Vec<u8>, Refused> {
    if strictness == Strictness::Strict && packed.len() != size {
        return Err(other_size(entry));
    }
    Ok(packed[..size.min(packed.len())].to_vec())
}

fn inflated(
    packed: &[u8],
    size: usize,
    entry: &ZipEntry<'_>,
    strictness: Strictness,
) -> Result<Vec<u8>, Refused> {
    let damaged = || Refused::at(Refusal::NotAnArchive, entry.name, "its content cannot be inflated");
    let mut inflater = Decompress::new(false);
    // All room at once, since to grow is to have the content twice; but a size that is told is only a wish. One more
    // than is told, so that more than is told is seen.
    let could_become = packed.len().saturating_mul(EXPANSION_MAX);
    let mut content = Vec::with_capacity(size.min(could_become).saturating_add(1));
    loop {
        let read = usize::try_from(inflater.total_in()).unwrap_or(packed.len());
        let before = content.len();
        let status = inflater
            .decompress_vec(&packed[read..], &mut content, FlushDecompress::None)
            .map_err(|_| damaged())?;
        if content.len() > size {
            match strictness {
                Strictness::Strict => return Err(other_size(entry)),
                Strictness::Loose => content.truncate(size),
            }
            return Ok(content);
        }
        let all_read = usize::try_from(inflater.total_in()).is_ok_and(|read| read == packed.len());
        match status {
            Status::StreamEnd => {
                return match strictness {
                    Strictness::Strict if !all_read || content.len() != size => Err(other_size(entry)),
                    _ => Ok(content),
                };
            }
            // Nothing came although there is room: the stream is cut off.
            _ if content.len() == before => {
                return match strictness {
                    Strictness::Strict => Err(damaged()),
                    Strictness::Loose => Ok(content),
                };
            }
            _ => {}
        }
    }
}

fn other_size(entry: &ZipEntry<'_>) -> Refused {
    Refused::at(Refusal::HeaderMismatch, entry.name, "its content has another size than is told")
}
