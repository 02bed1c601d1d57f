//! Agent files that come into the folder and leave it. Nothing that was there is destroyed: it goes to a trash folder.
//!
//! What may come in is decided elsewhere; here it gets a name, and arrives whole or not at all.

use crate::{agent_file, atomic_file, folder::AgentsFolder};
use roost_protocol::{Failure, Language, Reason};
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, symlink},
    path::{Path, PathBuf},
};

/// Longest name a file can arrive with: file systems end at 255 bytes, and the trash puts a time before it.
const ARRIVAL_NAME_BYTES_MAX: usize = 120;

/// Most files in the trash; beyond that the oldest goes.
const TRASH_ENTRIES_MAX: usize = 1000;

/// Files that were taken out at the same moment under the same name.
const TRASH_TWINS_MAX: usize = 100;

/// Every kernel has the base class under this name; an agent cannot take its place.
const BASE_CLASS_FILE: &str = "basic_agent.py";

/// Where files go that were removed or replaced.
#[derive(Debug, Clone)]
pub struct Trash {
    folder: PathBuf,
}

impl Trash {
    /// The trash in this folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Keeps what is at `path` as `<time>-<name>`: the file itself, or the link.
    pub(crate) fn keep(&self, path: &Path, file_name: &str, time: &str) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        for twin in 1..=TRASH_TWINS_MAX {
            let number = if twin == 1 { String::new() } else { format!("-{twin}") };
            let kept = self.folder.join(format!("{time}{number}-{file_name}"));
            let made = if is_link { symlink(target_of(path)?, &kept) } else { link_or_copy(path, &kept) };
            match made {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made?;
                    self.make_room();
                    return Ok(kept);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Names begin with their time, so the first ones are the oldest.
    fn make_room(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let surplus = paths.len().saturating_sub(TRASH_ENTRIES_MAX);
        for path in paths.iter().take(surplus) {
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "make room in the trash");
            }
        }
    }
}

/// The second name costs nothing; another file system needs a copy.
fn link_or_copy(path: &Path, kept: &Path) -> io::Result<()> {
    match fs::hard_link(path, kept) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            if kept.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // Half a copy would look like the file.
            fs::copy(path, kept).map(drop).inspect_err(|_| drop(fs::remove_file(kept)))
        }
        linked => linked,
    }
}

/// Where a link leads, in words that mean the same in another folder.
fn target_of(link: &Path) -> io::Result<PathBuf> {
    let target = fs::read_link(link)?;
    Ok(link.parent().map_or(target.clone(), |folder| folder.join(&target)))
}

/// The name a file arrives under: without folders, without characters that mean something elsewhere, and with the
/// ending that makes it an agent's.
pub fn arrival_name(sent: &str) -> Result<String, Failure> {
    let refuse = |message: String| {
        Failure::new(Reason::InvalidFileName, message).with_next("name the file `something_agent.py`")
    };
    let bare = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String =
        bare.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    let clean = clean.trim_start_matches('.');
    let name = match clean.rsplit_once('.') {
        Some((stem, "py")) if !stem.is_empty() => {
            let stem = stem.strip_suffix("_agent").unwrap_or(stem);
            format!("{stem}_agent.py")
        }
        Some((_, "ts" | "js")) => clean.to_owned(),
        _ => return Err(refuse(format!("`{}` does not end in .py, .ts or .js", sent.escape_debug()))),
    };
    if name == BASE_CLASS_FILE {
        return Err(refuse(format!("{BASE_CLASS_FILE} is the base class of all agents and stays as it is")));
    }
    if name.len() > ARRIVAL_NAME_BYTES_MAX {
        return Err(refuse(format!("the name is longer than {ARRIVAL_NAME_BYTES_MAX} characters")));
    }
    match Language::of_file_name(&name) {
        Some(_) => Ok(name),
        None => Err(refuse(format!("`{name}` is not an agent file's name"))),
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

impl AgentsFolder {
    /// Puts a file into the folder, whole or not at all. What had the name before is kept; the result says where.
    pub fn put(
        &self,
        file_name: &str,
        bytes: &[u8],
        trash: &Trash,
        time: &str,
    ) -> Result<Option<PathBuf>, Failure> {
        let path = self.member(file_name)?;
        let write = |error: &io::Error| {
            Failure::new(Reason::HomeUnusable, format!("write {}: {error}", path.display()))
        };
        let kept = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(write(&error)),
            Ok(metadata) if metadata.is_file() && fs::read(&path).is_ok_and(|before| before == bytes) => None,
            Ok(metadata) if metadata.is_file() || metadata.is_symlink() => {
                Some(trash.keep(&path, file_name, time).map_err(|error| write(&error))?)
            }
            Ok(_) => return Err(Failure::plain(Reason::NotAFile)),
        };
        match atomic_file::replace(&path, bytes) {
            Ok(()) => Ok(kept),
            Err(error) => {
                // The file is still where it was; a second copy would only confuse.
                if let Some(kept) = kept {
                    fs::remove_file(kept).ok();
                }
                Err(write(&error))
            }
        }
    }

    /// Takes a file out of the folder; the result says where it is kept.
    pub fn take_out(&self, file_name: &str, trash: &Trash, time: &str) -> Result<PathBuf, Failure> {
        if file_name == BASE_CLASS_FILE {
            let message = format!("{BASE_CLASS_FILE} is the base class of all agents and cannot be removed");
            return Err(Failure::new(Reason::BadRequest, message));
        }
        let path = self.member(file_name)?;
        let metadata = fs::symlink_metadata(&path).map_err(|_| not_found(file_name))?;
        if !metadata.is_file() && !metadata.is_symlink() {
            return Err(not_found(file_name));
        }
        // Kept first: cut off in between, the file is in both places, never in none.
        trash.keep(&path, file_name, time).and_then(|kept| fs::remove_file(&path).map(|()| kept)).map_err(
            |error| Failure::new(Reason::HomeUnusable, format!("remove {}: {error}", path.display())),
        )
    }

    /// The path of an agent file in this folder; a name that could lead elsewhere is nobody's.
    fn member(&self, file_name: &str) -> Result<PathBuf, Failure> {
        let is_agent = agent_file::check_file_name(file_name).is_ok()
            && !file_name.starts_with('.')
            && Language::of_file_name(file_name).is_some();
        if is_agent { Ok(self.path().join(file_name)) } else { Err(not_found(file_name)) }
    }
}

fn not_found(file_name: &str) -> Failure {
    let shown: String = file_name.escape_debug().take(200).collect();
    Failure::new(Reason::UnknownAgent, format!("Agent not found: there is no agent file `{shown}`"))
}

#[cfg(test)]
mod tests;
