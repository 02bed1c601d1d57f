//! The same files make the same packed tar, byte for byte: sorted, without a clock, without an owner, one level.

use super::files::Files;
use flate2::{Compression, GzBuilder};
use std::io::{self, Write as _};

const BLOCK: usize = 512;
const LEVEL: u32 = 6;
/// Longest name that needs no header of its own.
const NAME_BYTES_MAX: usize = 100;
/// Not one of the systems that the format knows.
const NO_SYSTEM: u8 = 255;

/// The files; `program` may be executed.
pub(super) fn write(files: &Files, program: &str) -> io::Result<Vec<u8>> {
    let packed = GzBuilder::new().operating_system(NO_SYSTEM).write(Vec::new(), Compression::new(LEVEL));
    let mut tar = packed;
    for (path, content) in files.iter() {
        if path.len() > NAME_BYTES_MAX {
            let attribute = path_attribute(path);
            tar.write_all(&header("././@LongName", b'x', attribute.len(), 0o600))?;
            write_filled(&mut tar, &attribute)?;
        }
        let mode = if path == program { 0o700 } else { 0o600 };
        // The attribute before it says the whole name.
        let end = (0..=path.len().min(NAME_BYTES_MAX)).rev().find(|end| path.is_char_boundary(*end));
        tar.write_all(&header(&path[..end.unwrap_or(0)], b'0', content.len(), mode))?;
        write_filled(&mut tar, content)?;
    }
    tar.write_all(&[0; 2 * BLOCK])?;
    tar.finish()
}

fn write_filled(tar: &mut impl io::Write, content: &[u8]) -> io::Result<()> {
    tar.write_all(content)?;
    tar.write_all(&[0; BLOCK][..content.len().next_multiple_of(BLOCK) - content.len()])
}

fn header(name: &str, kind: u8, size: usize, mode: u32) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000\x000000000\0");
    put(124, format!("{size:011o}").as_bytes());
    put(136, b"00000000000\0        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// A line that counts itself: `27 path=…\n`.
fn path_attribute(path: &str) -> Vec<u8> {
    let rest = format!(" path={path}\n");
    let mut length = rest.len();
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}").into_bytes()
}

#[cfg(test)]
mod tests {
    use crate::{
        ContainerLimits,
        container::{Files, read_tar},
    };

    #[test]
    fn what_is_written_is_read_back_and_is_the_same_each_time() {
        let long = format!("ui/{}/{}.html", "f".repeat(90), "g".repeat(120));
        let umlauts = format!("ui/{}", "ä".repeat(80));
        let contents = [("binary", &b"\x7fELF"[..]), ("ui/empty", b""), (&long, b"x"), (&umlauts, &[7; 513])];
        let contents = contents.map(|(path, content)| (path.to_owned(), content.to_vec()));
        let files = Files::from_contents(contents).unwrap();
        let tar = files.to_tar_gz("binary").unwrap();
        assert_eq!(read_tar(&tar, &ContainerLimits::NATIVE).unwrap(), files);
        assert_eq!(files.to_tar_gz("binary").unwrap(), tar);
        assert_eq!(&tar[..10], b"\x1f\x8b\x08\0\0\0\0\0\0\xff");
    }
}
