//! A folder as if it were an archive: the same limits, the same rules, no link followed.

use super::{
    ContainerLimits,
    files::Files,
    paths::{self, Kind, Together},
    refusal::{Refusal, Refused},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{Dir, FileType, Mode, OFlags, fstat, openat},
};
use std::{collections::BTreeMap, fs::File, io::Read as _, path::Path};

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Says of a path below the folder whether it is a part of what is read.
pub(super) type Takes<'a> = &'a dyn Fn(&str) -> bool;

pub(super) fn read(folder: &Path, limits: &ContainerLimits, takes: Takes<'_>) -> Result<Files, Vec<Refused>> {
    // The folder itself may be reached by a link: a person named it.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(folder, flags, Mode::empty())
        .map_err(|error| vec![unreadable(&folder.display().to_string(), error.into())])?;
    let mut reading = Reading {
        limits,
        takes,
        files: BTreeMap::new(),
        together: Together::default(),
        entries: 0,
        bytes: 0,
    };
    reading.visit(&root, "").map_err(|refused| vec![refused])?;
    Ok(Files::checked(reading.files))
}

struct Reading<'a> {
    limits: &'a ContainerLimits,
    takes: Takes<'a>,
    files: BTreeMap<String, Vec<u8>>,
    together: Together,
    entries: usize,
    bytes: u64,
}

impl Reading<'_> {
    /// Reads what is in a folder. The depth of paths bounds the recursion.
    fn visit(&mut self, folder: &OwnedFd, path: &str) -> Result<(), Refused> {
        let entries = Dir::read_from(folder).map_err(|error| unreadable(path, error.into()))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(path, error.into()))?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            if !(self.takes)(&below(&String::from_utf8_lossy(name))) {
                continue;
            }
            self.entries += 1;
            if self.entries > self.limits.entries_max {
                let detail = format!("it has more than {} entries", self.limits.entries_max);
                return Err(Refused::new(Refusal::TooManyEntries, detail));
            }
            let Ok(name) = std::str::from_utf8(name) else {
                return Err(Refused::at(Refusal::BadPath, name, "its name is not UTF-8"));
            };
            let child = below(name);
            paths::check(&child)?;
            self.take(folder, name, child)?;
        }
        Ok(())
    }

    fn take(&mut self, folder: &OwnedFd, name: &str, path: String) -> Result<(), Refused> {
        let opened = match openat(folder.as_fd(), name, OPEN, Mode::empty()) {
            Ok(opened) => opened,
            Err(rustix::io::Errno::LOOP) => {
                return Err(Refused::at(Refusal::Link, &path, "it is a symbolic link"));
            }
            // A socket cannot be opened at all.
            Err(rustix::io::Errno::NXIO) => return Err(special(&path)),
            Err(error) => return Err(unreadable(&path, error.into())),
        };
        // What was opened is what is judged: a name can lead elsewhere a moment later.
        let known = fstat(&opened).map_err(|error| unreadable(&path, error.into()))?;
        match FileType::from_raw_mode(known.st_mode) {
            FileType::Directory => {
                self.together.add(&path, Kind::Folder)?;
                self.visit(&opened, &path)
            }
            FileType::RegularFile => {
                self.together.add(&path, Kind::File)?;
                self.read_file(opened, path)
            }
            _ => Err(special(&path)),
        }
    }

    fn read_file(&mut self, opened: OwnedFd, path: String) -> Result<(), Refused> {
        let left = self.limits.content_bytes_max - self.bytes;
        let mut content = Vec::new();
        let read = File::from(opened).take(left + 1).read_to_end(&mut content);
        read.map_err(|error| unreadable(&path, error))?;
        if content.len() as u64 > left {
            let detail = format!("its files have more than {} bytes together", self.limits.content_bytes_max);
            return Err(Refused::new(Refusal::TooManyBytes, detail));
        }
        self.bytes += content.len() as u64;
        self.files.insert(path, content);
        Ok(())
    }
}

fn special(path: &str) -> Refused {
    Refused::at(Refusal::SpecialFile, path, "it is neither a file nor a folder")
}

fn unreadable(path: &str, error: std::io::Error) -> Refused {
    Refused::at(Refusal::Unreadable, path, error.to_string())
}
