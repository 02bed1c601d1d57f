//! The one way in for everything that arrives as an archive or a folder: zip, tar, tar.gz.
//!
//! An archive is read whole, in memory, within limits: its list of entries is checked before any byte of content is
//! inflated, and what comes out is [`Files`], in which every path is safe to join to a folder and no two paths can
//! meet on any file system. Nothing is written here but by [`Files::write_beneath`], and what it writes is what was
//! checked. Knows nothing of bundles, eggs or packages.

mod refusal; // why an archive is not read
mod paths; // which paths are safe, alone and together
mod files; // what came out: paths and bytes
mod folder; // a folder as if it were an archive
mod write_beneath; // files onto the disk, all or none
mod zip_end; // where a zip's directory is
mod zip_entries; // the directory and the header before each entry
mod rare_methods; // what only the published validator unpacks
mod inflate; // bytes out, counted
mod zip_reader; // a zip that keeps every rule
mod zip_loose; // a zip as Python's library takes it
mod zip_writer; // the same files, the same zip
mod tar_reader; // a tar that keeps every rule
mod tar_writer; // the same files, the same tar

pub(crate) use self::zip_loose::read_loose_zip;
pub use self::{
    files::Files,
    refusal::{Refusal, Refused},
};

/// What an archive may take. Every reader of archives says its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerLimits {
    /// Bytes of the archive itself.
    pub archive_bytes_max: u64,
    /// Files and folders in it.
    pub entries_max: usize,
    /// Bytes of all files together, as they come out.
    pub content_bytes_max: u64,
}

impl ContainerLimits {
    /// What the submission gate takes: 5 MiB of zip, 20 MiB of files. Real bundles have a few dozen files.
    pub const BUNDLE: Self =
        Self { archive_bytes_max: 5 << 20, entries_max: 4096, content_bytes_max: 20 << 20 };

    /// What a native package may be: a program of 500 MiB, and pages.
    pub const NATIVE: Self =
        Self { archive_bytes_max: 600 << 20, entries_max: 4096, content_bytes_max: 600 << 20 };
}

/// Reads a zip. Everything that is wrong with its list of entries is told at once.
pub fn read_zip(bytes: &[u8], limits: &ContainerLimits) -> Result<Files, Vec<Refused>> {
    zip_reader::read(bytes, limits)
}

/// Reads a tar, compressed with gzip or not.
pub fn read_tar(bytes: &[u8], limits: &ContainerLimits) -> Result<Files, Vec<Refused>> {
    tar_reader::read(bytes, limits)
}
