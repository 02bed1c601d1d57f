//! Small files of state: written whole and for the owner's eyes only, read with patience.
//!
//! A damaged file counts as missing: signing in again or choosing again is always possible, and a host must start.

use serde_json::Value;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Far above any of these files; what is larger is not ours.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// One file of state.
#[derive(Debug, Clone)]
pub(crate) struct StateFile(PathBuf);

impl StateFile {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self(folder.join(name))
    }

    /// The content as text; none when there is nothing that can be read.
    pub(crate) fn text(&self) -> Option<String> {
        let mut text = String::new();
        let read = File::open(&self.0).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
        match read {
            Ok(_) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %self.0.display(), %error, "a file of state cannot be read");
                None
            }
        }
    }

    /// The content as JSON; none when it is not.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.text()?).ok()
    }

    /// Replaces the content in one step, readable only by the owner.
    pub(crate) fn write(&self, content: &Value) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        // Temporary files are made for the owner only, and a rename keeps that.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(content.to_string().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.0)?;
        File::open(folder)?.sync_all()
    }

    /// Removes it, if it is there.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StateFile;
    use serde_json::json;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    #[test]
    fn state_is_replaced_for_the_owner_only_and_removed_without_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(&folder.path().join("new"), ".state");
        assert_eq!(file.text(), None);
        file.write(&json!({"a": 1})).unwrap();
        std::fs::set_permissions(&file.0, Permissions::from_mode(0o644)).unwrap();
        file.write(&json!({"a": 2})).unwrap();
        assert_eq!(file.json(), Some(json!({"a": 2})));
        assert_eq!(std::fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
        file.remove().unwrap();
        file.remove().unwrap();
    }

    #[test]
    fn damaged_files_count_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(folder.path(), ".state");
        for content in [&b"{\"a\":"[..], b"\xff\xfe", b""] {
            std::fs::write(&file.0, content).unwrap();
            assert_eq!(file.json(), None);
        }
    }
}
