//! The few writes the gate makes. Each is a step that a test can make fail, as a full or dying disk would.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Create,
    Write,
    Sync,
    Truncate,
    Rename,
    SyncFolder,
}

/// Told of every step before it is made; an error stands for the step's own.
pub(crate) type Interruption = Box<dyn FnMut(Step) -> io::Result<()> + Send>;

/// Where writes go.
#[derive(Default)]
pub(crate) struct Disk {
    interruption: Option<Interruption>,
}

impl Disk {
    /// A disk whose steps fail when told to.
    #[cfg(test)]
    pub(crate) fn interrupted_by(interruption: Interruption) -> Self {
        Self { interruption: Some(interruption) }
    }

    /// A new file that only its owner may read, and whose name is on disk when this returns.
    pub(crate) fn create(&mut self, path: &Path) -> io::Result<File> {
        self.reach(Step::Create)?;
        let file = OpenOptions::new().create_new(true).append(true).read(true).mode(0o600).open(path)?;
        self.sync_folder_of(path)?;
        Ok(file)
    }

    /// Adds to the end. After an error any part of the bytes may be in the file.
    pub(crate) fn append(&mut self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.reach(Step::Write) {
            // As a full disk does: some of it is there, and the error comes with the rest.
            file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        file.write_all(bytes)
    }

    /// Returns once the content is on disk.
    pub(crate) fn sync(&mut self, file: &File) -> io::Result<()> {
        self.reach(Step::Sync)?;
        file.sync_data()
    }

    /// Cuts off what lies after `length`, on disk when this returns.
    pub(crate) fn truncate(&mut self, file: &File, length: u64) -> io::Result<()> {
        self.reach(Step::Truncate)?;
        file.set_len(length)?;
        file.sync_data()
    }

    /// Replaces a file so that a reader, now or after a crash, finds the old content or the new, never a part. The
    /// caller holds the lock of that file: the temporary file has a fixed name, so that crashes leave one at most.
    pub(crate) fn replace(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = beside(path, ".new");
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.reach(Step::Create)?;
        let mut file = OpenOptions::new().create_new(true).append(true).mode(0o600).open(&temporary)?;
        self.append(&mut file, bytes)?;
        self.sync(&file)?;
        self.reach(Step::Rename)?;
        fs::rename(&temporary, path)?;
        // The new name is only sure to survive a power cut once the folder is on disk too.
        self.sync_folder_of(path)
    }

    fn sync_folder_of(&mut self, path: &Path) -> io::Result<()> {
        self.reach(Step::SyncFolder)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    }

    fn reach(&mut self, step: Step) -> io::Result<()> {
        self.interruption.as_mut().map_or(Ok(()), |interruption| interruption(step))
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Disk").finish_non_exhaustive()
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{Disk, Step};
    use std::{fs, io, os::unix::fs::PermissionsExt as _};

    #[test]
    fn stopped_at_any_step_a_replaced_file_is_old_or_new() {
        for stop in [Step::Create, Step::Write, Step::Sync, Step::Rename, Step::SyncFolder] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            fs::write(&path, "old").unwrap();
            let mut disk = Disk::interrupted_by(Box::new(move |step| {
                if step == stop { Err(io::Error::other("stopped")) } else { Ok(()) }
            }));
            assert!(disk.replace(&path, b"new").is_err());
            let expected = if stop == Step::SyncFolder { "new" } else { "old" };
            assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{stop:?}");
            Disk::default().replace(&path, b"newer").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{stop:?}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
