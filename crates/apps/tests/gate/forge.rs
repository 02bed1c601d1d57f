//! Zips and tars put together byte by byte, so that every part of them can be made to lie.

use flate2::{Compress, Compression, FlushCompress};

/// One entry, and what is said about it where.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) mode: u32,
    pub(crate) extra: Vec<u8>,
    /// What the header before the content says, where that is something else.
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) local_method: Option<u16>,
    pub(crate) local_flags: Option<u16>,
    pub(crate) local_extra: Vec<u8>,
    /// What is said of the sizes and the checksum, where that is something else.
    pub(crate) told_size: Option<u32>,
    pub(crate) told_compressed: Option<u32>,
    pub(crate) told_checksum: Option<u32>,
    pub(crate) local_size: Option<u32>,
    /// Bytes in place of the packed content.
    pub(crate) packed: Option<Vec<u8>>,
    /// Bytes after the content.
    pub(crate) after: Vec<u8>,
    /// Where the directory says it is, when that is elsewhere.
    pub(crate) told_at: Option<u32>,
}

pub(crate) fn entry(name: &str, content: &[u8]) -> Entry {
    Entry {
        name: name.as_bytes().to_vec(),
        content: content.to_vec(),
        method: 8,
        flags: 0,
        mode: 0o100_644,
        extra: Vec::new(),
        local_name: None,
        local_method: None,
        local_flags: None,
        local_extra: Vec::new(),
        told_size: None,
        told_compressed: None,
        told_checksum: None,
        local_size: None,
        packed: None,
        after: Vec::new(),
        told_at: None,
    }
}

pub(crate) fn deflated(content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(content.len() + 1024);
    Compress::new(Compression::best(), false)
        .compress_vec(content, &mut packed, FlushCompress::Finish)
        .unwrap();
    packed
}

/// Entries, size and start of the directory to the record of large archives.
pub(crate) type LargeEnd = fn(u64, u64, u64) -> Vec<u8>;

/// What the end of a zip says, and what is around it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Around {
    pub(crate) before: Vec<u8>,
    pub(crate) between: Vec<u8>,
    pub(crate) after: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) told_entries: Option<u16>,
    /// Offsets count from the start of the file rather than of the archive.
    pub(crate) offsets_count_prefix: bool,
    /// The record for large archives, made from what the end would say.
    pub(crate) large: Option<LargeEnd>,
}

pub(crate) fn zip(entries: &[Entry]) -> Vec<u8> {
    zip_with(entries, &Around::default())
}

pub(crate) fn zip_with(entries: &[Entry], around: &Around) -> Vec<u8> {
    let mut bytes = around.before.clone();
    let shift = if around.offsets_count_prefix { 0 } else { around.before.len() };
    let mut directory = Vec::new();
    for entry in entries {
        let packed = entry.packed.clone().unwrap_or_else(|| match entry.method {
            8 => deflated(&entry.content),
            _ => entry.content.clone(),
        });
        let at = u32::try_from(bytes.len() - shift).unwrap();
        let checksum = entry.told_checksum.unwrap_or_else(|| crc32fast::hash(&entry.content));
        let compressed = entry.told_compressed.unwrap_or(u32::try_from(packed.len()).unwrap());
        let size = entry.told_size.unwrap_or(u32::try_from(entry.content.len()).unwrap());
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04\x14\0");
        for number in [entry.local_flags.unwrap_or(entry.flags), entry.local_method.unwrap_or(entry.method)] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0, 0, 0x21, 0]);
        for number in [checksum, compressed, entry.local_size.unwrap_or(size)] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(u16::try_from(local_name.len()).unwrap().to_le_bytes());
        bytes.extend(u16::try_from(entry.local_extra.len()).unwrap().to_le_bytes());
        bytes.extend(local_name);
        bytes.extend(&entry.local_extra);
        bytes.extend(&packed);
        bytes.extend(&entry.after);
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        for number in [entry.flags, entry.method, 0, 0x21] {
            directory.extend(number.to_le_bytes());
        }
        for number in [checksum, compressed, size] {
            directory.extend(number.to_le_bytes());
        }
        directory.extend(u16::try_from(entry.name.len()).unwrap().to_le_bytes());
        directory.extend(u16::try_from(entry.extra.len()).unwrap().to_le_bytes());
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(entry.told_at.unwrap_or(at).to_le_bytes());
        directory.extend(&entry.name);
        directory.extend(&entry.extra);
    }
    let start = bytes.len() - shift;
    let size = directory.len();
    bytes.extend(directory);
    bytes.extend(&around.between);
    let count = around.told_entries.unwrap_or(u16::try_from(entries.len()).unwrap());
    if let Some(large) = around.large {
        bytes.extend(large(u64::from(count), size as u64, start as u64));
    }
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
    bytes.extend(u32::try_from(start).unwrap().to_le_bytes());
    bytes.extend(u16::try_from(around.comment.len()).unwrap().to_le_bytes());
    bytes.extend(&around.comment);
    bytes.extend(&around.after);
    bytes
}

/// One entry of a tar.
pub(crate) fn tar_entry(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

pub(crate) fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.extend([0; 1024]);
    bytes
}
