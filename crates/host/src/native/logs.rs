//! What native apps print, for those who read it: the end of it, and what comes.

use crate::host::Host;
use roost_apps::native::NativeId;
use roost_protocol::{Failure, Reason};
use roost_runtime::NativeStream;
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
};

/// So much of the end is shown first.
const TAIL_BYTES: u64 = 32 << 10;

/// Read at once.
const PIECE_BYTES: u64 = 64 << 10;

/// What one app prints to one stream, read from its end on.
#[derive(Debug)]
pub struct NativeLog {
    path: PathBuf,
    file: Option<File>,
}

impl Host {
    /// What an app printed, also one that does not run.
    pub async fn native_log(&self, id: &str, stream: NativeStream) -> Result<NativeLog, Failure> {
        let known = NativeId::parse(id).ok_or_else(|| Failure::plain(Reason::UnknownNativeApp))?;
        let path = self.inner.runtime.native_log_path(known.as_str(), stream);
        if !path.exists() {
            // Nothing was printed; that there is such an app at all is found out elsewhere.
            self.inner.native_standing(id).await?;
        }
        Ok(NativeLog { path, file: None })
    }
}

impl NativeLog {
    /// What came since the last look; the end of it at the first. Empty when there is nothing new.
    pub fn read(&mut self) -> Result<Vec<u8>, Failure> {
        self.read_more()
            .map_err(|error| Failure::new(Reason::Unreadable, format!("{}: {error}", self.path.display())))
    }

    fn read_more(&mut self) -> io::Result<Vec<u8>> {
        let Some(file) = &mut self.file else {
            let Some(mut file) = opened(&self.path)? else { return Ok(Vec::new()) };
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            let read = piece(&mut file)?;
            self.file = Some(file);
            return Ok(read);
        };
        let read = piece(file)?;
        if !read.is_empty() {
            return Ok(read);
        }
        // The end of this file; it may have been put aside for a new one.
        let Some(mut newer) = opened(&self.path)? else { return Ok(Vec::new()) };
        if newer.metadata()?.ino() == file.metadata()?.ino() {
            return Ok(Vec::new());
        }
        let read = piece(&mut newer)?;
        self.file = Some(newer);
        Ok(read)
    }
}

fn opened(path: &PathBuf) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn piece(file: &mut File) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    file.take(PIECE_BYTES).read_to_end(&mut read)?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::{NativeLog, TAIL_BYTES};
    use std::fs;

    #[test]
    fn a_reader_goes_on_in_the_new_file_and_misses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout.log");
        let mut log = NativeLog { path: path.clone(), file: None };
        assert!(log.read().unwrap().is_empty());
        fs::write(&path, "x".repeat(50_000)).unwrap();
        assert_eq!(log.read().unwrap().len() as u64, TAIL_BYTES);
        fs::write(&path, format!("{}one", "x".repeat(50_000))).unwrap();
        fs::rename(&path, folder.path().join("stdout.log.1")).unwrap();
        fs::write(&path, "two").unwrap();
        assert_eq!(log.read().unwrap(), b"one");
        assert_eq!(log.read().unwrap(), b"two");
        assert!(log.read().unwrap().is_empty());
    }
}
