//! Opens a place once, and says what was opened: the file rules and the mounts of a worker are made from this very
//! descriptor, so that a name that changes meanwhile changes nothing.
//!
//! Links are followed only where no agent could have put them: in folders that this user cannot write, and, for root,
//! in the system's own.

use rustix::{
    fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, accessat, fstat, openat, readlinkat},
    io::Errno,
};
use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Component, Path, PathBuf},
};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Folders whose links root follows: nothing there belongs to an agent.
const SYSTEM_FOLDERS: &[&str] = &["/", "/usr", "/etc", "/var", "/lib", "/opt", "/nix", "/gnu"];

/// Something that was opened.
#[derive(Debug)]
pub(crate) struct OpenPlace {
    descriptor: OwnedFd,
    /// Its path without links.
    pub(crate) real: PathBuf,
    pub(crate) is_folder: bool,
    /// Device and inode: the descriptor keeps them from being given to anything else.
    pub(crate) identity: (u64, u64),
}

impl AsFd for OpenPlace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl OpenPlace {
    /// Opens an absolute path. [`io::ErrorKind::NotFound`] when there is nothing, `ELOOP` when a
    /// link stands where an agent could have put it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut rest: VecDeque<OsString> = names(path);
        let mut real = PathBuf::from("/");
        let mut folders = vec![openat(CWD, "/", flags, Mode::empty())?];
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                real.pop();
                folders.truncate(folders.len().saturating_sub(1).max(1));
                continue;
            }
            let folder = folders.last().expect("the first one stays").as_fd();
            let opened = openat(folder, &name, flags, Mode::empty())?;
            if file_type(opened.as_fd())? != FileType::Symlink {
                real.push(&name);
                folders.push(opened);
                continue;
            }
            links += 1;
            if links > LINKS_MAX || !is_trusted(folder, &real) {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
            let target = PathBuf::from(OsString::from_vec(readlinkat(opened, "", Vec::new())?.into_bytes()));
            if target.is_absolute() {
                real = PathBuf::from("/");
                folders.truncate(1);
            }
            names(&target).into_iter().rev().for_each(|name| rest.push_front(name));
        }
        let descriptor = folders.pop().expect("the first one stays");
        let status = fstat(&descriptor)?;
        let is_folder = FileType::from_raw_mode(status.st_mode).is_dir();
        Ok(Self { descriptor, real, is_folder, identity: (status.st_dev, status.st_ino) })
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
        _ => None,
    });
    named.collect()
}

fn file_type(descriptor: BorrowedFd<'_>) -> rustix::io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(descriptor)?.st_mode))
}

/// True when no agent can have put a link into this folder.
fn is_trusted(folder: BorrowedFd<'_>, path: &Path) -> bool {
    if rustix::process::geteuid().is_root() {
        return SYSTEM_FOLDERS.iter().any(|system| match *system {
            "/" => path == Path::new("/"),
            system => path.starts_with(system) && !path.starts_with("/var/tmp"),
        });
    }
    matches!(accessat(folder, ".", Access::WRITE_OK, AtFlags::EACCESS), Err(Errno::ACCESS | Errno::ROFS))
}

#[cfg(test)]
mod tests {
    use super::OpenPlace;
    use std::{fs, io, os::unix::fs::symlink};

    #[test]
    fn a_folder_is_opened_by_its_real_path_and_a_missing_one_is_said_to_be_missing() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("a/b")).unwrap();
        let place = OpenPlace::open(&real.join("a/./b/../b")).unwrap();
        assert_eq!((place.real, place.is_folder), (real.join("a/b"), true));
        let missing = OpenPlace::open(&real.join("a/c")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_in_a_folder_that_an_agent_could_write_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("secret/below")).unwrap();
        symlink(real.join("secret"), real.join("docs")).unwrap();
        symlink("secret", real.join("relative")).unwrap();
        for path in ["docs", "docs/below", "relative", "relative/below"] {
            let refused = OpenPlace::open(&real.join(path)).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::ELOOP), "{path}");
        }
    }

    #[test]
    fn links_of_the_system_are_followed() {
        let shell = OpenPlace::open(std::path::Path::new("/bin/sh")).unwrap();
        assert_eq!(shell.real, fs::canonicalize("/bin/sh").unwrap());
    }
}
