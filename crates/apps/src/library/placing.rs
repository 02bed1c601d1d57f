//! Files of apps into the home, and out of it. Every one of them can be done again: what is right already stays, and
//! what a person changed is kept in the trash before something else takes its place.

use super::{
    contents::Placed,
    places::LibraryPlaces,
    record::{AppKind, AppRecord, VersionRecord},
    steps::Steps,
};
use crate::{ContainerLimits, Files, Trash, atomic_file, bundle::read_at_most};
use roost_protocol::{Digest, FileKind};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Largest file of an app that is read back: more than any part that can be fetched.
const PART_BYTES_MAX: u64 = 32 << 20;

/// What the folder of one version may hold: an egg, a page and everything beside them.
const VERSION_LIMITS: ContainerLimits =
    ContainerLimits { content_bytes_max: 64 << 20, ..ContainerLimits::BUNDLE };

/// Reads the folder of one version.
pub(super) fn version_files(tree: &Path, version: &VersionRecord) -> io::Result<Files> {
    let limits = if version.native.is_some() { ContainerLimits::NATIVE } else { VERSION_LIMITS };
    read_folder(tree, &limits)
}

fn read_folder(tree: &Path, limits: &ContainerLimits) -> io::Result<Files> {
    Files::read_folder(tree, limits)
        .map_err(|refused| io::Error::other(refused.first().map(ToString::to_string).unwrap_or_default()))
}

/// Puts files where they belong.
pub(super) struct Placing<'a> {
    pub(super) places: &'a LibraryPlaces,
    pub(super) steps: &'a Steps,
    /// Now, as files in the trash are named by it.
    pub(super) time: &'a str,
    /// Files that the library put there before: these may go without being kept.
    pub(super) before: &'a [Placed],
    /// Where changed files were kept.
    pub(super) kept: Vec<PathBuf>,
}

impl Placing<'_> {
    /// Puts an app's files into the home.
    pub(super) fn put(&mut self, app: &AppRecord) -> io::Result<()> {
        if app.kind == AppKind::Native {
            self.steps.next()?;
            make_folder(&self.places.native_data(&app.id))?;
            return make_folder(&self.places.native_logs(&app.id));
        }
        let tree = self.places.version(app, &app.current);
        for (kind, part) in app.current.code() {
            let bytes = read_part(&tree, &part.path, part.digest)?;
            let path = self.places.code(kind, &part.file_name);
            if digest_at(&path) != Some(part.digest) {
                self.set_aside(kind, &part.file_name)?;
                self.steps.next()?;
                atomic_file::replace(&path, &bytes)?;
                readable_by_others(&path)?;
            }
        }
        self.steps.next()?;
        for folder in [self.places.workspace(&app.id), self.places.state(&app.id)] {
            make_folder(&folder)?;
        }
        match &app.current.page {
            Some(page) => self.put_page(&app.id, &tree, &page.path),
            None => self.remove_page(&app.id),
        }
    }

    /// Takes away what the library put there and what the app no longer has.
    pub(super) fn take_out(&mut self, now: Option<&AppRecord>, id: &str) -> io::Result<()> {
        for old in self.before {
            let is_used = now.is_some_and(|app| {
                app.current.code().any(|(kind, part)| kind == old.kind && part.file_name == old.file_name)
            });
            if !is_used {
                self.set_aside(old.kind, &old.file_name)?;
                let path = self.places.code(old.kind, &old.file_name);
                self.steps.next()?;
                gone(fs::remove_file(&path))?;
            }
        }
        if now.is_none() {
            self.remove_page(id)?;
        }
        Ok(())
    }

    /// Keeps what is at this place unless the library put it there.
    fn set_aside(&mut self, kind: FileKind, file_name: &str) -> io::Result<()> {
        let path = self.places.code(kind, file_name);
        let Ok(found) = fs::symlink_metadata(&path) else { return Ok(()) };
        if found.is_dir() {
            return Err(io::Error::other(format!("{} is a folder", path.display())));
        }
        let digest = if found.is_file() { digest_at(&path) } else { None };
        let is_ours =
            |old: &Placed| old.kind == kind && old.file_name == file_name && Some(old.digest) == digest;
        if self.before.iter().any(is_ours) {
            return Ok(());
        }
        self.steps.next()?;
        let folder = match kind {
            FileKind::Agent => "agents",
            FileKind::Service => "services",
        };
        let trash = Trash::new(self.places.trash.join(folder));
        self.kept.push(trash.keep(&path, file_name, self.time)?);
        Ok(())
    }

    /// The folder of the page, as a whole.
    fn put_page(&mut self, id: &str, tree: &Path, page: &str) -> io::Result<()> {
        let files = page_files(tree, page)?;
        let folder = self.places.page(id);
        let above = folder.parent().unwrap_or(&folder).to_owned();
        make_folder(&above)?;
        let (new, old) = (above.join(format!(".new-{id}")), above.join(format!(".old-{id}")));
        self.steps.next()?;
        gone(fs::remove_dir_all(&new))?;
        gone(fs::remove_dir_all(&old))?;
        self.steps.next()?;
        files.write_beneath(&new)?;
        self.steps.next()?;
        gone(fs::rename(&folder, &old))?;
        self.steps.next()?;
        fs::rename(&new, &folder)?;
        self.steps.next()?;
        gone(fs::remove_dir_all(&old))
    }

    fn remove_page(&mut self, id: &str) -> io::Result<()> {
        let folder = self.places.page(id);
        let above = folder.parent().unwrap_or(&folder).to_owned();
        for folder in [folder, above.join(format!(".new-{id}")), above.join(format!(".old-{id}"))] {
            if folder.symlink_metadata().is_ok() {
                self.steps.next()?;
                gone(fs::remove_dir_all(&folder))?;
            }
        }
        Ok(())
    }
}

/// The page and what lies beside it, with paths from its folder.
pub(super) fn page_files(tree: &Path, page: &str) -> io::Result<Files> {
    let whole = read_folder(tree, &VERSION_LIMITS)?;
    match page.rsplit_once('/') {
        Some((folder, _)) => Ok(whole.below(folder)),
        None => {
            let content = whole.get(page).ok_or(io::ErrorKind::NotFound)?.to_vec();
            Files::from_contents([(page.to_owned(), content)]).map_err(|_| io::Error::other("not a name"))
        }
    }
}

/// A file of a version; other bytes than those that were installed are not used.
pub(super) fn read_part(tree: &Path, path: &str, digest: Digest) -> io::Result<Vec<u8>> {
    let bytes = read_at_most(&tree.join(path), PART_BYTES_MAX)?;
    if Digest::of(&bytes) != digest {
        let message = format!("{} is not what was installed", tree.join(path).display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

/// Digest of the file at this path; nothing where there is none that can be read.
pub(super) fn digest_at(path: &Path) -> Option<Digest> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let bytes = if is_file { read_at_most(path, PART_BYTES_MAX).ok() } else { None };
    bytes.map(|bytes| Digest::of(&bytes))
}

pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Agent files are for people to read too, as those they write themselves.
fn readable_by_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// What is gone already need not go.
pub(super) fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
