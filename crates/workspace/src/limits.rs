//! How much a workspace holds.

/// Limits of every workspace of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file.
    pub file_bytes_max: i64,
    /// Files at one time.
    pub files_max: i64,
    /// Versions of a file that stay readable.
    pub versions_max: i64,
    /// Bytes of all files at one time.
    pub workspace_bytes_max: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes_max: 1 << 20, files_max: 256, versions_max: 20, workspace_bytes_max: 256 << 20 }
    }
}
