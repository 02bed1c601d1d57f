//! Files below one folder, touched so that nothing outside is ever read or written.
//!
//! Whoever owns the folder may be hostile and change it meanwhile: no link is followed, whatever is no plain file is left
//! alone, and what was looked at is looked at again on the opened file itself.

use roost_workspace::{FilePath, PathError};
use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, open, openat2, renameat,
        statat, unlinkat,
    },
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Write as _},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How names begin that the host keeps for itself: they are never part of a workspace.
const RESERVED: &str = ".roost-";

/// Entries that are looked at; a folder with more is looked at in part.
const ENTRIES_MAX: usize = 20_000;

/// Two changes within this time may leave the same stamp.
const STAMP_SETTLES: Duration = Duration::from_millis(50);

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    inode: u64,
    pub(super) bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let at = |seconds: i64, ns: u64| {
            let ns = i64::try_from(ns).unwrap_or(0);
            seconds.saturating_mul(1_000_000_000).saturating_add(ns)
        };
        Self {
            inode: stat.st_ino,
            bytes: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            modified_ns: at(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: at(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// When the content was last changed, in seconds since 1970.
    pub(super) fn modified_seconds(&self) -> i64 {
        self.modified_ns.div_euclid(1_000_000_000)
    }

    /// True when a later change is sure to leave another stamp.
    pub(super) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = now.saturating_sub(STAMP_SETTLES);
        let changed = Duration::from_nanos(u64::try_from(self.changed_ns.max(self.modified_ns)).unwrap_or(0));
        changed < settled
    }
}

/// What there is below a folder.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) files: BTreeMap<FilePath, Stamp>,
    /// Whatever cannot be part of a workspace, and why.
    pub(super) skipped: Vec<(String, String)>,
    /// False when there is more than was looked at.
    pub(super) is_complete: bool,
}

/// A file as it was read.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// The folder, opened.
pub(super) struct Tree {
    root: OwnedFd,
}

impl Tree {
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        open(path, flags, Mode::empty()).map(|root| Self { root })
    }

    /// Makes the folder where there is none.
    pub(super) fn make(path: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Looks at everything, and shows each directory before it looks into it.
    pub(super) fn look(&self, show: &mut dyn FnMut(BorrowedFd<'_>)) -> Result<Seen, Errno> {
        let mut seen = Seen { is_complete: true, ..Seen::default() };
        let mut entries = 0;
        let mut waiting: Vec<Option<FilePath>> = vec![None];
        while let Some(directory) = waiting.pop() {
            let name = directory.as_ref().map_or(".", FilePath::as_str);
            let opened = match self.beneath(name, OFlags::RDONLY | OFlags::DIRECTORY) {
                Ok(opened) => opened,
                Err(error) if directory.is_none() => return Err(error),
                // It went, or became something else, meanwhile; that is another change.
                Err(_) => continue,
            };
            show(opened.as_fd());
            for entry in Dir::read_from(&opened)? {
                let Ok(entry) = entry else { break };
                let leaf = entry.file_name().to_bytes();
                if leaf == b"." || leaf == b".." || leaf.starts_with(RESERVED.as_bytes()) {
                    continue;
                }
                entries += 1;
                if entries > ENTRIES_MAX {
                    seen.is_complete = false;
                    let why = format!("more than {ENTRIES_MAX} entries; the rest is not looked at");
                    seen.skipped.push((String::new(), why));
                    return Ok(seen);
                }
                let Ok(stat) = statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                match (named(directory.as_ref(), leaf), FileType::from_raw_mode(stat.st_mode)) {
                    (Ok(path), FileType::RegularFile) => {
                        seen.files.insert(path, Stamp::of(&stat));
                    }
                    (Ok(path), FileType::Directory) => waiting.push(Some(path)),
                    (Ok(path), kind) => seen.skipped.push((path.as_str().to_owned(), no_file(kind))),
                    (Err((shown, why)), _) => seen.skipped.push((shown, why)),
                }
            }
        }
        Ok(seen)
    }

    /// Reads a file of at most so many bytes; once more when it changed meanwhile. None when there is no such file any
    /// more, or too much of it.
    pub(super) fn read(&self, path: &FilePath, bytes_max: u64) -> Result<Option<Content>, Errno> {
        let mut content = self.read_once(path, bytes_max)?;
        if let Some((_, false)) = content {
            content = self.read_once(path, bytes_max)?;
        }
        Ok(content.map(|(content, _)| content))
    }

    /// The content, and whether the file stayed as it was.
    fn read_once(&self, path: &FilePath, bytes_max: u64) -> Result<Option<(Content, bool)>, Errno> {
        let opened = match self.beneath(path.as_str(), OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error),
        };
        let before = fstat(&opened)?;
        if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let file = File::from(opened);
        let read = (&file).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max {
            return Ok(None);
        }
        let stamp = Stamp::of(&fstat(&file)?);
        let stayed = stamp == Stamp::of(&before);
        Ok(Some((Content { bytes, stamp }, stayed)))
    }

    /// The stamp of a plain file; None where there is none.
    pub(super) fn stamp(&self, path: &FilePath) -> Option<Stamp> {
        let (directory, leaf) = self.directory_of(path).ok()?;
        let stat = statat(&directory, leaf, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| Stamp::of(&stat))
    }

    /// Puts a content under a name, whole, making the directories above it.
    pub(super) fn put(&self, path: &FilePath, bytes: &[u8]) -> Result<Stamp, Errno> {
        if path.as_str().split('/').any(|segment| segment.starts_with(RESERVED)) {
            return Err(Errno::PERM);
        }
        self.make_directories(path)?;
        let (directory, leaf) = self.directory_of(path)?;
        let incoming = incoming();
        // Left by an earlier one that could not go on.
        unlinkat(&self.root, &incoming, AtFlags::empty()).ok();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.root, &incoming, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        renameat(&self.root, &incoming, &directory, leaf)?;
        // Of the file itself, whatever the name means by now.
        Ok(Stamp::of(&fstat(&file)?))
    }

    /// Gives a file another name beside its own; nothing may have that name.
    pub(super) fn rename(&self, path: &FilePath, to: &FilePath) -> Result<(), Errno> {
        let (directory, leaf) = self.directory_of(path)?;
        let (other, to) = self.directory_of(to)?;
        rustix::fs::renameat_with(&directory, leaf, &other, to, rustix::fs::RenameFlags::NOREPLACE)
    }

    /// Removes a file, and the directories that are empty without it.
    pub(super) fn remove(&self, path: &FilePath) -> Result<(), Errno> {
        let (directory, leaf) = self.directory_of(path)?;
        match unlinkat(&directory, leaf, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => {}
            Err(error) => return Err(error),
        }
        let mut rest = path.as_str();
        while let Some((above, _)) = rest.rsplit_once('/') {
            rest = above;
            let Ok(above) = FilePath::of_folder(above) else { break };
            let Ok((directory, leaf)) = self.directory_of(&above) else { break };
            if unlinkat(&directory, leaf, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn make_directories(&self, path: &FilePath) -> Result<(), Errno> {
        let text = path.as_str();
        for (end, _) in text.match_indices('/') {
            let above = FilePath::of_folder(&text[..end]).map_err(|_| Errno::INVAL)?;
            let (directory, leaf) = self.directory_of(&above)?;
            match mkdirat(&directory, leaf, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The directory a file lies in, opened, and the file's name there.
    fn directory_of<'a>(&self, path: &'a FilePath) -> Result<(OwnedFd, &'a str), Errno> {
        let (above, leaf) = path.as_str().rsplit_once('/').unwrap_or((".", path.as_str()));
        Ok((self.beneath(above, OFlags::RDONLY | OFlags::DIRECTORY)?, leaf))
    }

    /// Opens something below the folder, through no link.
    fn beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }
}

/// The name of an entry, or how to show it and why it cannot be one.
fn named(directory: Option<&FilePath>, leaf: &[u8]) -> Result<FilePath, (String, String)> {
    let above = directory.map(|directory| format!("{directory}/")).unwrap_or_default();
    let refused = |why: PathError| {
        let shown = format!("{above}{}", String::from_utf8_lossy(leaf));
        (shown.escape_debug().collect(), why.to_string())
    };
    let leaf = std::str::from_utf8(leaf).map_err(|_| refused(PathError::NotUtf8))?;
    FilePath::of_folder(&format!("{above}{leaf}")).map_err(refused)
}

fn no_file(kind: FileType) -> String {
    let what = match kind {
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    format!("{what}, not a file")
}

/// A file on its way to its name; another process may have one too.
fn incoming() -> String {
    format!("{RESERVED}incoming-{}", std::process::id())
}
