//! What a path that a person names holds: an agent file, the folder of a bundle, or its zip.

use crate::container::ContainerLimits;
use roost_protocol::{Failure, Reason};
use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// How a zip begins; an empty one begins with its end.
const ZIP_BEGINNINGS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// What a path holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A file that is no zip: an agent, if anything.
    File,
    /// A folder.
    Folder,
    /// A zip, with its bytes: at most one more than is taken, so that too many are seen.
    Zip(Vec<u8>),
}

/// Looks at what is there. A path where nothing is counts as a file, whose reader says what is wrong.
pub fn look_at(path: &Path) -> Result<Arrival, Failure> {
    if path.is_dir() {
        return Ok(Arrival::Folder);
    }
    let unreadable =
        |error: io::Error| Failure::new(Reason::Unreadable, format!("{}: {error}", path.display()));
    let is_named_zip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
    let is_file = path.metadata().is_ok_and(|known| known.is_file());
    if !is_file {
        return Ok(Arrival::File);
    }
    let mut beginning = [0; 4];
    let length = File::open(path).and_then(|file| file.take(4).read(&mut beginning)).map_err(unreadable)?;
    if !is_named_zip && !ZIP_BEGINNINGS.contains(&&beginning[..length]) {
        return Ok(Arrival::File);
    }
    read_first(path, ContainerLimits::BUNDLE.archive_bytes_max + 1).map(Arrival::Zip).map_err(unreadable)
}

/// Reads a file that may be as large as `bytes_max`.
pub fn read_at_most(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let bytes = read_first(path, bytes_max + 1)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// The first bytes of a file, and all where it has no more.
fn read_first(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let told = file.metadata()?.len().min(bytes);
    let mut read = Vec::with_capacity(usize::try_from(told).unwrap_or_default());
    file.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}
