//! Files onto the disk, all of them or none.
//!
//! Every folder is opened from the one above it by a single plain name and without following links, so no name that
//! arrived in an archive, and nobody who changes folders meanwhile, leads a write elsewhere.

use super::files::Files;
use rustix::{
    fd::{AsFd as _, BorrowedFd, OwnedFd},
    fs::{AtFlags, Mode, OFlags, fsync, mkdirat, openat, unlinkat},
    io::Errno,
};
use std::{
    collections::HashMap,
    fs::{DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Who may use what is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permissions<'a> {
    pub(super) folder: u32,
    pub(super) file: u32,
    /// The one file that may be executed.
    pub(super) program: Option<&'a str>,
}

impl Permissions<'_> {
    /// Everybody reads, the owner writes.
    pub(super) const PUBLIC: Self = Self { folder: 0o755, file: 0o644, program: None };
    /// The owner only.
    pub(super) const PRIVATE: Self = Self { folder: 0o700, file: 0o600, program: None };

    fn of(&self, path: &str) -> Mode {
        let is_program = self.program == Some(path);
        // Whoever may read the program may execute it.
        let execute = if is_program { (self.file & 0o444) >> 2 } else { 0 };
        Mode::from_raw_mode(self.file | execute)
    }
}

/// The steps, each named for what is done when it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    FolderMade,
    FileMade,
    FileWritten,
    FileSynced,
    FoldersSynced,
}

type After<'a> = &'a mut dyn FnMut(Step) -> io::Result<()>;

pub(super) fn write(
    files: &Files,
    folder: &Path,
    permissions: &Permissions<'_>,
    after: After<'_>,
) -> io::Result<()> {
    let made_folder = match DirBuilder::new().mode(permissions.folder).create(folder) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    let mut writing = Writing::default();
    let written = writing.write_all(files, folder, permissions, after);
    if written.is_err() {
        writing.undo();
        if made_folder {
            // Only when nobody else put something there meanwhile.
            std::fs::remove_dir(folder).ok();
        }
    }
    written
}

#[derive(Default)]
struct Writing {
    /// Every folder that was opened, by its path; the target itself is the empty path.
    folders: HashMap<String, OwnedFd>,
    /// What was made, in order: its folder, its name, and whether it is a folder.
    made: Vec<(String, String, bool)>,
}

impl Writing {
    fn write_all(
        &mut self,
        files: &Files,
        folder: &Path,
        permissions: &Permissions<'_>,
        after: After<'_>,
    ) -> io::Result<()> {
        self.folders.insert(String::new(), rustix::fs::open(folder, FOLDER, Mode::empty())?);
        for (path, content) in files.iter() {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            self.make_folders(parent, permissions.folder, after)?;
            let file = openat(self.folder(parent)?, name, NEW_FILE, permissions.of(path))?;
            self.made.push((parent.to_owned(), name.to_owned(), false));
            after(Step::FileMade)?;
            let mut file = File::from(file);
            file.write_all(content)?;
            after(Step::FileWritten)?;
            file.sync_all()?;
            after(Step::FileSynced)?;
        }
        for opened in self.folders.values() {
            fsync(opened)?;
        }
        // The name of the target is only sure to stay once the folder above it is on disk.
        if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
            File::open(above)?.sync_all()?;
        }
        after(Step::FoldersSynced)
    }

    fn make_folders(&mut self, path: &str, mode: u32, after: After<'_>) -> io::Result<()> {
        if self.folders.contains_key(path) {
            return Ok(());
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.make_folders(parent, mode, after)?;
        match mkdirat(self.folder(parent)?, name, Mode::from_raw_mode(mode)) {
            Ok(()) => {
                self.made.push((parent.to_owned(), name.to_owned(), true));
                after(Step::FolderMade)?;
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let opened = openat(self.folder(parent)?, name, FOLDER, Mode::empty())?;
        self.folders.insert(path.to_owned(), opened);
        Ok(())
    }

    fn folder(&self, path: &str) -> io::Result<BorrowedFd<'_>> {
        let opened = self.folders.get(path).map(OwnedFd::as_fd);
        opened.ok_or_else(|| io::Error::other("a folder was not opened"))
    }

    /// Removes what was made, newest first. What cannot be removed was taken over by somebody else.
    fn undo(&self) {
        for (parent, name, is_folder) in self.made.iter().rev() {
            let flags = if *is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            if let Some(opened) = self.folders.get(parent) {
                unlinkat(opened, name.as_str(), flags).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Permissions, write};
    use crate::container::Files;
    use std::{
        fs, io,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    fn three() -> Files {
        let contents = [("a.txt", "one"), ("b/c.txt", "two"), ("b/d/e.txt", "three")];
        Files::from_contents(contents.map(|(path, text)| (path.to_owned(), text.into()))).unwrap()
    }

    #[test]
    fn every_file_is_written_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new");
        three().write_beneath(&target).unwrap();
        assert_eq!(fs::read_to_string(target.join("b/d/e.txt")).unwrap(), "three");
        assert_eq!(Files::read_folder(&target, &crate::ContainerLimits::BUNDLE).unwrap(), three());
    }

    #[test]
    fn private_files_are_their_owners_and_one_may_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new");
        three().write_private_beneath(&target, "b/c.txt").unwrap();
        for (path, mode) in
            [("", 0o700), ("b", 0o700), ("a.txt", 0o600), ("b/c.txt", 0o700), ("b/d/e.txt", 0o600)]
        {
            let known = fs::metadata(target.join(path)).unwrap();
            assert_eq!(known.permissions().mode() & 0o777, mode, "{path}");
        }
    }

    #[test]
    fn stopped_after_any_step_nothing_of_it_is_left() {
        for is_there in [false, true] {
            let mut stop = 0;
            loop {
                let folder = tempfile::tempdir().unwrap();
                let target = folder.path().join("new");
                if is_there {
                    fs::create_dir(&target).unwrap();
                    fs::write(target.join("kept"), "kept").unwrap();
                }
                let mut step = 0;
                let written = write(&three(), &target, &Permissions::PUBLIC, &mut |_| {
                    step += 1;
                    if step > stop { Err(io::Error::other("stopped")) } else { Ok(()) }
                });
                if written.is_ok() {
                    break;
                }
                assert_eq!(target.exists(), is_there, "{stop}");
                if is_there {
                    assert_eq!(fs::read_dir(&target).unwrap().count(), 1, "{stop}");
                }
                stop += 1;
            }
            // Two folders, three files in three steps each, and the end.
            assert_eq!(stop, 12);
        }
    }

    #[test]
    fn nothing_that_is_there_is_replaced_or_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let target = folder.path().join("target");
        for (name, leads_to) in [("b", &outside), ("a.txt", &outside.join("x"))] {
            fs::create_dir(&target).unwrap();
            symlink(leads_to, target.join(name)).unwrap();
            assert!(three().write_beneath(&target).is_err());
            assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
            fs::remove_dir_all(&target).unwrap();
        }
        symlink(&outside, &target).unwrap();
        assert!(three().write_beneath(&target).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(&target).unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(target.join("a.txt"), "old").unwrap();
        assert!(three().write_beneath(&target).is_err());
        assert_eq!(fs::read_to_string(target.join("a.txt")).unwrap(), "old");
    }
}
