//! Why an archive or a folder is not read: one closed list.

use std::fmt;

/// How many refusals of one archive are told; the rest would be more of the same.
pub(super) const REFUSALS_MAX: usize = 32;

/// A rule that an archive breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// More bytes than are read at all.
    TooLarge,
    /// No archive of this kind, or one whose parts do not fit together.
    NotAnArchive,
    /// More files and folders than are taken.
    TooManyEntries,
    /// More content than is taken, or than is told.
    TooManyBytes,
    /// A path that is absolute, climbs, names a drive or has a backslash.
    Traversal,
    /// A path that no file system should be given.
    BadPath,
    /// A symbolic or hard link.
    Link,
    /// A device, a pipe, a socket.
    SpecialFile,
    /// Two entries with one path.
    Duplicate,
    /// Two paths that differ in case only.
    CaseTwin,
    /// One path that is a file and a folder.
    FileAndFolder,
    /// A password is needed.
    Encrypted,
    /// Compressed by a method other than deflate.
    Method,
    /// What stands before an entry is not what the directory says of it.
    HeaderMismatch,
    /// Two entries share bytes.
    Overlap,
    /// Bytes that belong to no entry: before, between or after.
    StrayBytes,
    /// The content is not what its checksum says.
    Checksum,
    /// Not everything is in one folder, where that is asked for.
    ManyRoots,
    /// The operating system did not let it be read.
    Unreadable,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// Which rule.
    pub refusal: Refusal,
    /// The entry, where it is about one; made printable.
    pub path: Option<String>,
    /// What was seen.
    pub detail: String,
}

impl Refused {
    pub(super) fn new(refusal: Refusal, detail: impl Into<String>) -> Self {
        Self { refusal, path: None, detail: detail.into() }
    }

    pub(super) fn at(refusal: Refusal, path: impl AsRef<[u8]>, detail: impl Into<String>) -> Self {
        Self { refusal, path: Some(printable(path.as_ref())), detail: detail.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(formatter, "`{path}`: {}", self.detail),
            None => formatter.write_str(&self.detail),
        }
    }
}

/// A name from an archive as it can be shown: no control characters, and not longer than a line.
fn printable(name: &[u8]) -> String {
    const CHARACTERS_MAX: usize = 200;
    let text = String::from_utf8_lossy(name);
    let mut shown: String = text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
