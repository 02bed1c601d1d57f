//! The same files make the same zip, byte for byte: sorted, without a clock, one set of permissions, one level.

use super::files::Files;
use flate2::{Compress, Compression, FlushCompress, Status};

/// 1 January 1980, the first day that the format knows.
const DATE: u16 = 0x0021;
/// The lowest version that knows deflate.
const VERSION_NEEDED: u16 = 20;
/// Made on a system whose files have kinds and permissions.
const MADE_BY: u16 = 0x0314;
/// A file that its owner writes and everyone reads.
const MODE: u32 = 0o100_644 << 16;
const LEVEL: u32 = 6;
const FLAG_UTF_8: u16 = 0x0800;

/// The files as a zip, each under `prefix` and its path.
///
/// Invariant: [`Files`] come from a reader whose limits are far below what needs the format for large archives.
pub(super) fn write(files: &Files, prefix: &str) -> Vec<u8> {
    let mut zip = Vec::new();
    let mut directory = Vec::new();
    let mut count = 0_u16;
    for (path, content) in files.iter() {
        let name = format!("{prefix}{path}");
        let deflated = deflate(content);
        let (method, packed) = if deflated.len() < content.len() { (8, &deflated[..]) } else { (0, content) };
        let mut header = Vec::with_capacity(26);
        for number in [VERSION_NEEDED, FLAG_UTF_8, method, 0, DATE] {
            header.extend(number.to_le_bytes());
        }
        for number in [crc32fast::hash(content), length(packed), length(content)] {
            header.extend(number.to_le_bytes());
        }
        header.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
        header.extend([0, 0]);
        let start = length(&zip);
        zip.extend(b"PK\x03\x04");
        zip.extend(&header);
        zip.extend(name.as_bytes());
        zip.extend(packed);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&header);
        // No comment, the first disk, no hint at what the content is.
        directory.extend([0; 6]);
        directory.extend(MODE.to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
        count = count.saturating_add(1);
    }
    let (start, size) = (length(&zip), length(&directory));
    zip.extend(directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend(count.to_le_bytes());
    zip.extend(count.to_le_bytes());
    zip.extend(size.to_le_bytes());
    zip.extend(start.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut deflater = Compress::new(Compression::new(LEVEL), false);
    let mut packed = Vec::with_capacity(content.len() / 2 + 64);
    loop {
        let read = usize::try_from(deflater.total_in()).unwrap_or(content.len());
        match deflater.compress_vec(&content[read..], &mut packed, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return packed,
            Ok(_) => packed.reserve(packed.capacity().max(4096)),
            // Not smaller, so the content is stored.
            Err(_) => return content.to_vec(),
        }
    }
}
