//! The folder of a store: reading in it without leaving it, and one writer at a time.
//!
//! The folder may be a checkout that strangers sent changes for. No link in it is followed, for reading or for writing,
//! and nothing is read without a limit.

use crate::lock_file::LockFile;
use roost_protocol::{Failure, Reason};
use rustix::{
    fd::OwnedFd,
    fs::{Dir, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat2},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// What only this machine needs: the lock, the journal, unfinished work and tokens.
pub(super) const PRIVATE: &str = ".store";

/// How long another process may change the store: an approval takes milliseconds, or seconds where the disk is slow.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(20);

/// A list of more names is not one a store made.
const NAMES_MAX: usize = 100_000;

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// The folder of one store.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    root: PathBuf,
}

impl Ground {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The content of a file, or nothing where there is none. A link is an error.
    pub(super) fn read(&self, path: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, Failure> {
        let read = || -> io::Result<Option<Vec<u8>>> {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let opened = match openat2(File::open(&self.root)?, path, flags, Mode::empty(), RESOLVE) {
                Ok(opened) => File::from(opened),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if !opened.metadata()?.is_file() {
                return Err(io::Error::other("not a file"));
            }
            let mut bytes = Vec::new();
            opened.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
            if bytes.len() > bytes_max {
                return Err(io::Error::other(format!("more than {bytes_max} bytes")));
            }
            Ok(Some(bytes))
        };
        read().map_err(|error| self.failed(path, &error))
    }

    /// The names of the folders in a folder, in order; hidden ones are not listed.
    pub(super) fn folders(&self, path: &str) -> Result<Vec<String>, Failure> {
        self.names(path, FileType::Directory)
    }

    /// The names of the files in a folder, in order; hidden ones are not listed.
    pub(super) fn files(&self, path: &str) -> Result<Vec<String>, Failure> {
        self.names(path, FileType::RegularFile)
    }

    fn names(&self, path: &str, kind: FileType) -> Result<Vec<String>, Failure> {
        let list = || -> io::Result<Vec<String>> {
            let Some(folder) = self.open_folder(path)? else { return Ok(Vec::new()) };
            let mut names = Vec::new();
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                if let Ok(name) = entry.file_name().to_str()
                    && entry.file_type() == kind
                    && !name.starts_with('.')
                {
                    names.push(name.to_owned());
                }
                if names.len() > NAMES_MAX {
                    return Err(io::Error::other(format!("more than {NAMES_MAX} names")));
                }
            }
            names.sort();
            Ok(names)
        };
        list().map_err(|error| self.failed(path, &error))
    }

    /// True when a folder is there, itself and not by a link.
    pub(super) fn has_folder(&self, path: &str) -> Result<bool, Failure> {
        self.open_folder(path).map(|folder| folder.is_some()).map_err(|error| self.failed(path, &error))
    }

    /// The path on disk of something in the store, once nothing above it is a link.
    pub(super) fn place(&self, path: &str) -> io::Result<PathBuf> {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.open_folder(above)?;
        }
        Ok(self.root.join(path))
    }

    /// Makes a folder and those above it. A link on the way is an error.
    pub(super) fn make_folders(&self, path: &str) -> io::Result<()> {
        let mut made = String::new();
        for name in path.split('/') {
            let above = if made.is_empty() { None } else { self.open_folder(&made)? };
            let above = match above {
                Some(above) => above,
                None => File::open(&self.root)?.into(),
            };
            match mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            made = if made.is_empty() { name.to_owned() } else { format!("{made}/{name}") };
        }
        match self.open_folder(path)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other("not a folder")),
        }
    }

    /// The right to change the store, held until dropped.
    pub(super) fn lock(&self) -> Result<LockFile, Failure> {
        let take = || {
            self.make_folders(PRIVATE)?;
            LockFile::take(&self.place(&format!("{PRIVATE}/lock"))?, LOCK_WAIT_MAX)
        };
        take().map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Failure::new(Reason::StoreBusy, error.to_string()),
            _ => self.failed(PRIVATE, &error),
        })
    }

    pub(super) fn failed(&self, path: &str, error: &io::Error) -> Failure {
        let shown = self.root.join(path);
        Failure::new(Reason::StoreUnusable, format!("{}: {error}", shown.display()))
    }

    fn open_folder(&self, path: &str) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(File::open(&self.root)?, path, flags, Mode::empty(), RESOLVE) {
            Ok(opened) => Ok(Some(opened)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ground;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn no_link_leads_out_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("store"), folder.path().join("outside"));
        fs::create_dir_all(root.join("apps")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        symlink(&outside, root.join("staging")).unwrap();
        symlink(outside.join("secret"), root.join("apps/file")).unwrap();
        let ground = Ground::new(root.clone());
        assert!(ground.read("staging/secret", 10).is_err());
        assert!(ground.read("apps/file", 10).is_err());
        assert!(ground.read("../outside/secret", 10).is_err());
        assert!(ground.folders("staging").is_err() && ground.has_folder("staging").is_err());
        assert!(ground.place("staging/new").is_err() && ground.make_folders("staging/new").is_err());
        assert!(ground.make_folders("apps/a/b").is_ok() && ground.has_folder("apps/a/b").unwrap());
        assert_eq!(ground.folders("apps").unwrap(), ["a"]);
        assert_eq!(ground.read("apps/none", 10).unwrap(), None);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        symlink(&outside, root.join(".store")).unwrap();
        assert!(ground.lock().is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}
