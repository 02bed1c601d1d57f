//! The root folder of a worker: what it may see is mounted into an empty file system, and nothing else exists for it.
//!
//! Everything is planned here, by the host, as texts and numbers. The steps that mount it are taken by a new process in
//! its own namespaces (`entry`), which only makes system calls.

use super::places::OpenPlace;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CStr, CString},
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Where a root is put together before it becomes one. It exists on every machine that can run the host, and nothing
/// that is mounted into a root lies below it.
pub(super) const STAGING: &CStr = c"/proc";
const STAGING_PATH: &str = "/proc";

/// What a mount gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Read, and load code from.
    Read,
    /// Read and change. Nothing there can be executed, which the file rules see to: code may be loaded from it, for some
    /// apps unpack their own.
    Write,
    /// A device that holds nothing.
    Device,
    /// Processes of the machine, for a process that has no view of its own.
    Processes,
}

impl Access {
    fn attributes(self) -> u64 {
        match self {
            Self::Read => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            Self::Write => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            Self::Device => libc::MOUNT_ATTR_NOEXEC | libc::MOUNT_ATTR_NOSUID,
            Self::Processes => libc::MOUNT_ATTR_NOEXEC | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        }
    }

    fn covers(self, other: Self) -> bool {
        self == other || (self == Self::Write && other == Self::Read)
    }
}

/// Everything a process sees, by where it sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    mounts: BTreeMap<PathBuf, Mount>,
    folders: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
}

#[derive(Debug, Clone)]
struct Mount {
    source: PathBuf,
    identity: (u64, u64),
    is_folder: bool,
    access: Access,
}

impl View {
    /// Lets something be seen at its own path.
    pub(crate) fn add(&mut self, place: &OpenPlace, access: Access) {
        self.add_at(place.real.clone(), place, access);
    }

    /// Lets something be seen elsewhere. Where the same was added before, the wider access holds.
    pub(crate) fn add_at(&mut self, target: PathBuf, place: &OpenPlace, access: Access) {
        let mount = Mount {
            source: place.real.clone(),
            identity: place.identity,
            is_folder: place.is_folder,
            access,
        };
        match self.mounts.get(&target) {
            Some(before) if before.access.covers(access) => {}
            _ => drop(self.mounts.insert(target, mount)),
        }
    }

    /// Lets an empty folder be seen where nothing else is.
    pub(crate) fn add_folder(&mut self, path: PathBuf) {
        self.folders.insert(path);
    }

    /// Lets a link be seen.
    pub(crate) fn add_link(&mut self, path: PathBuf, target: PathBuf) {
        self.links.insert(path, target);
    }

    /// The same with everything of another view, which goes before.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.folders.extend(other.folders.iter().cloned());
        both.links.extend(other.links.clone());
        for (target, mount) in &other.mounts {
            match both.mounts.get(target) {
                Some(before) if before.access.covers(mount.access) => {}
                _ => drop(both.mounts.insert(target.clone(), mount.clone())),
            }
        }
        both
    }

    /// Where mounts of `other` are not seen in this view: parts that put over this one show both.
    pub(super) fn parts_over(&self, other: &Self) -> io::Result<Vec<Part>> {
        let both = self.with(other);
        let mut tops = BTreeSet::new();
        for (target, mount) in &other.mounts {
            let holder = self.mounts.iter().rfind(|(place, _)| target.starts_with(place));
            match holder {
                Some((_, held)) if held.access.covers(mount.access) => {}
                // It is there already, to be read: the wider access is put right over it.
                Some(_) => drop(tops.insert(target.clone())),
                None if self.folders.contains(target) => drop(tops.insert(target.clone())),
                None => drop(tops.insert(top_of(target))),
            }
        }
        let all = tops.clone();
        let is_highest = |top: &&PathBuf| !top.ancestors().skip(1).any(|above| all.contains(above));
        tops.iter().filter(is_highest).map(|top| Part::new(&both, top)).collect()
    }

    /// The whole view, as one part.
    pub(super) fn whole(&self) -> io::Result<Part> {
        Part::new(self, Path::new("/"))
    }
}

/// The folder right below the root that a path lies in.
fn top_of(path: &Path) -> PathBuf {
    path.components().take(2).collect()
}

/// One piece of a view, in the form the kernel takes it.
#[derive(Debug)]
pub(crate) struct Part {
    target: CString,
    /// Folders, files and links of the empty file system, below [`STAGING`]; none when it is one mount.
    pub(super) folders: Vec<CString>,
    pub(super) files: Vec<CString>,
    pub(super) links: Vec<(CString, CString)>,
    pub(super) mounts: Vec<StagedMount>,
    /// It is a mount itself, and not a file system with mounts in it.
    pub(super) is_single: bool,
}

/// One mount of a part.
#[derive(Debug)]
pub(super) struct StagedMount {
    pub(super) source: CString,
    pub(super) identity: (u64, u64),
    pub(super) at: CString,
    pub(super) attributes: u64,
}

impl StagedMount {
    /// True for the one whose source lies where roots are put together.
    pub(super) fn is_of_processes(&self) -> bool {
        self.source.as_c_str() == STAGING
    }
}

impl Part {
    /// Where it goes.
    pub(super) fn target(&self) -> PathBuf {
        PathBuf::from(std::ffi::OsStr::from_bytes(self.target.as_bytes()))
    }

    fn new(view: &View, top: &Path) -> io::Result<Self> {
        // What lies behind a link is seen through it.
        let is_behind_link = |target: &Path| target.ancestors().any(|above| view.links.contains_key(above));
        let inside: Vec<(&PathBuf, &Mount)> = view
            .mounts
            .iter()
            .filter(|(target, _)| target.starts_with(top) && !is_behind_link(target))
            .collect();
        let staged = |path: &Path| staged(path, top);
        let mut part = Self {
            target: text(top)?,
            folders: Vec::new(),
            files: Vec::new(),
            links: Vec::new(),
            mounts: Vec::new(),
            is_single: view.mounts.contains_key(top),
        };
        let mut folders: BTreeSet<PathBuf> =
            view.folders.iter().filter(|folder| folder.starts_with(top)).cloned().collect();
        let mut holders: Vec<(&Path, Access)> = Vec::new();
        for (target, mount) in inside {
            while holders.last().is_some_and(|(holder, _)| !target.starts_with(holder)) {
                holders.pop();
            }
            if holders.last().is_some_and(|(_, access)| access.covers(mount.access)) {
                continue;
            }
            if holders.is_empty() && !part.is_single {
                let above = if mount.is_folder { target.as_path() } else { target.parent().unwrap_or(top) };
                folders.extend(above.ancestors().map(Path::to_owned));
                if !mount.is_folder {
                    part.files.push(staged(target)?);
                }
            }
            part.mounts.push(StagedMount {
                source: text(&mount.source)?,
                identity: mount.identity,
                at: staged(target)?,
                attributes: mount.access.attributes(),
            });
            holders.push((target, mount.access));
        }
        if !part.is_single {
            for (path, link) in view.links.iter().filter(|(path, _)| path.starts_with(top)) {
                folders.extend(path.parent().into_iter().flat_map(Path::ancestors).map(Path::to_owned));
                part.links.push((text(link)?, staged(path)?));
            }
            let below = folders.iter().filter(|folder| folder.starts_with(top) && *folder != top);
            part.folders = below.map(|folder| staged(folder)).collect::<io::Result<_>>()?;
        }
        Ok(part)
    }
}

fn staged(path: &Path, top: &Path) -> io::Result<CString> {
    let below = path.strip_prefix(top).unwrap_or(path);
    match below.as_os_str().is_empty() {
        true => text(Path::new(STAGING_PATH)),
        false => text(&Path::new(STAGING_PATH).join(below)),
    }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}
