//! The soul file: who the host is when it speaks. Read again whenever it changed; a turn never waits for a restart.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// A soul longer than this would leave no room for a conversation.
const SOUL_BYTES_MAX: u64 = 256 << 10;

/// The soul of one home.
#[derive(Debug)]
pub(crate) struct Soul {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    stamp: Option<(u64, i64, i64, u64)>,
    text: Arc<str>,
}

impl Soul {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, known: Mutex::default() }
    }

    /// The text as it is now; empty without a file. A file that became unreadable leaves the last good text.
    pub(crate) fn text(&self) -> Arc<str> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = fs::metadata(&self.path).ok().map(|metadata| {
            (metadata.ino(), metadata.mtime(), metadata.mtime_nsec() ^ metadata.ctime_nsec(), metadata.len())
        });
        if stamp != known.stamp || stamp.is_none() {
            match (stamp, read(&self.path)) {
                (None, _) => known.text = Arc::default(),
                (Some(_), Ok(text)) => known.text = text.into(),
                (Some(_), Err(error)) => {
                    tracing::warn!(path = %self.path.display(), error, "read the soul; the last good one stays");
                }
            }
            known.stamp = stamp;
        }
        Arc::clone(&known.text)
    }
}

fn read(path: &Path) -> Result<String, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > SOUL_BYTES_MAX {
        return Err(format!("it has {length} bytes; at most {SOUL_BYTES_MAX} are read"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::Soul;
    use std::fs;

    #[test]
    fn a_change_is_seen_and_damage_leaves_the_last_good_soul() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("soul.md");
        let soul = Soul::new(path.clone());
        assert_eq!(&*soul.text(), "");
        fs::write(&path, "I am one.").unwrap();
        assert_eq!(&*soul.text(), "I am one.");
        fs::write(&path, "I am another.").unwrap();
        assert_eq!(&*soul.text(), "I am another.");
        fs::write(&path, b"\xff\xfe not text").unwrap();
        assert_eq!(&*soul.text(), "I am another.");
        fs::remove_file(&path).unwrap();
        assert_eq!(&*soul.text(), "");
    }
}
