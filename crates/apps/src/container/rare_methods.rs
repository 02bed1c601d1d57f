//! Two ways of packing that nobody uses in zips but that Python's library reads, and so the published validator.
//!
//! Only for answering as it does: what comes out is judged and dropped.

use lzma_rs::decompress::{Options, UnpackedSize};
use std::{
    io::{self, Read as _, Write},
    panic::AssertUnwindSafe,
};

pub(super) const BZIP2: u16 = 12;
pub(super) const LZMA: u16 = 14;

/// More than a dictionary needs for files of this size.
const DICTIONARY_BYTES_MAX: usize = 24 << 20;

/// At most `size` bytes; nothing when they cannot be unpacked.
pub(super) fn unpacked(method: u16, packed: &[u8], size: usize) -> Option<Vec<u8>> {
    // The decoders are someone else's and the bytes are a stranger's.
    std::panic::catch_unwind(AssertUnwindSafe(|| match method {
        BZIP2 => bunzip(packed, size),
        LZMA => unlzma(packed, size),
        _ => None,
    }))
    .ok()
    .flatten()
}

fn bunzip(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let limit = u64::try_from(size).ok()?;
    bzip2_rs::DecoderReader::new(packed).take(limit).read_to_end(&mut content).ok()?;
    Some(content)
}

/// A zip puts a version and a length before the five bytes of properties, and no size behind them.
fn unlzma(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_le_bytes(packed.get(2..4)?.try_into().ok()?));
    let properties = packed.get(4..4 + length).filter(|properties| properties.len() == 5)?;
    let mut stream = properties.chain(&packed[4 + length..]);
    let options = Options {
        unpacked_size: UnpackedSize::UseProvided(Some(u64::try_from(size).ok()?)),
        memlimit: Some(DICTIONARY_BYTES_MAX),
        allow_incomplete: true,
    };
    let mut content = AtMost { content: Vec::new(), size };
    lzma_rs::lzma_decompress_with_options(&mut io::BufReader::new(&mut stream), &mut content, &options)
        .ok()?;
    Some(content.content)
}

/// Takes no more than is told.
struct AtMost {
    content: Vec<u8>,
    size: usize,
}

impl Write for AtMost {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.size - self.content.len();
        self.content.extend(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
