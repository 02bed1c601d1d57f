//! One agent file, read once: the bytes that were hashed are the bytes that are checked and run.
//!
//! Whatever stands at the path (a directory, a pipe, a device, 50 GB of zeros) is refused without blocking and
//! without being read.

use crate::stamp::{Seen, Stamp};
use roost_protocol::{Digest, Failure, FileKind, Language, Reason};
use rustix::{
    fs::{FileType, Mode, OFlags, Stat},
    io::Errno,
};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

/// Largest agent file: forty times the average of the registry's files. Data belongs in a file of its own.
pub const AGENT_FILE_BYTES_MAX: u64 = 1 << 20;

/// An agent file as it was when it was read.
#[derive(Debug, Clone)]
pub struct AgentFile {
    /// Where it was read, absolute.
    pub path: PathBuf,
    /// Its name without the folder: ASCII letters, digits, `_`, `-` and `.` only.
    pub file_name: String,
    /// What it is for.
    pub kind: FileKind,
    /// The language its name announces.
    pub language: Language,
    /// Its whole content.
    pub bytes: Arc<[u8]>,
    /// Digest of the content.
    pub digest: Digest,
    /// The state the file was in before the first byte was read.
    pub stamp: Stamp,
    /// When reading began.
    pub read_at: SystemTime,
}

impl AgentFile {
    /// Reads a file a person named. Any name with a known extension will do, and links may lead anywhere.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(path).map_err(|error| unreadable(&error))?;
        let Some(name) = path.file_name() else { return Err(Failure::plain(Reason::NotAFile)) };
        let Some(name) = name.to_str() else { return Err(invalid_file_name(&name.to_string_lossy())) };
        // Before the name is judged: a name that is mistyped is a file that is not there.
        let followed = std::fs::canonicalize(&path).map_err(|error| unreadable(&error))?;
        check_file_name(name)?;
        let language =
            Language::of_file_name(name).or_else(|| language_of_extension(name)).ok_or_else(|| {
                Failure::new(Reason::InvalidFileName, format!("`{name}` does not end in .py, .ts or .js"))
                    .with_next("rename the file to end in `_agent.py` or `Agent.ts`")
            })?;
        read_at(path.clone(), name, (FileKind::Agent, language), &followed)
    }

    /// Reads a file of a folder of such files. Its name must be one of theirs, and a link must stay in the folder.
    pub fn read_in(folder: &Path, kind: FileKind, file_name: &str) -> Result<Self, Failure> {
        check_file_name(file_name)?;
        let language = kind.language_of(file_name).ok_or_else(|| misnamed(kind, file_name))?;
        let folder = std::path::absolute(folder).map_err(|error| unreadable(&error))?;
        let path = folder.join(file_name);
        let target = resolve_in(&folder, &path)?;
        read_at(path, file_name, (kind, language), &target)
    }

    /// What to remember of this reading.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen { stamp: self.stamp, digest: self.digest, read_at: self.read_at }
    }
}

/// Checks that a name has only characters that mean the same on every file system, in every URL and every shell.
pub(crate) fn check_file_name(name: &str) -> Result<(), Failure> {
    if !name.is_empty() && name.bytes().all(is_file_name_byte) {
        Ok(())
    } else {
        Err(invalid_file_name(name))
    }
}

/// The refusal of a name, with the repaired name as the next step.
pub(crate) fn invalid_file_name(name: &str) -> Failure {
    let mut repaired = String::with_capacity(name.len());
    for character in name.chars() {
        let fits = u8::try_from(character).is_ok_and(is_file_name_byte);
        let replacement = if fits { character } else { '_' };
        if fits || !repaired.ends_with('_') {
            repaired.push(replacement);
        }
    }
    let shown: String = name.escape_debug().take(200).collect();
    let message = format!("`{shown}` has characters an agent file cannot have; `{repaired}` would do");
    Failure::new(Reason::InvalidFileName, message).with_next(format!("rename the file to `{repaired}`"))
}

/// The file to open for a path in the folder: itself, or where its links lead if that is in the folder too.
pub(crate) fn resolve_in(folder: &Path, path: &Path) -> Result<PathBuf, Failure> {
    let stat = rustix::fs::lstat(path).map_err(|error| unreadable(&error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Ok(path.to_owned());
    }
    let target = std::fs::canonicalize(path).map_err(|error| unreadable(&error))?;
    let folder = std::fs::canonicalize(folder).map_err(|error| unreadable(&error))?;
    if target.starts_with(&folder) {
        Ok(target)
    } else {
        Err(Failure::new(Reason::SymlinkOutside, format!("the link leads to {}", target.display())))
    }
}

/// The state of a regular file that is not too large; refuses everything else before it is opened.
pub(crate) fn check_stat(stat: &Stat) -> Result<Stamp, Failure> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let stamp = Stamp::of_stat(stat);
            return if stamp.size > AGENT_FILE_BYTES_MAX { Err(too_large(stamp.size)) } else { Ok(stamp) };
        }
        FileType::Directory => "a directory",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::Symlink => "a symbolic link",
        _ => "a device",
    };
    Err(Failure::new(Reason::NotAFile, format!("this is {kind}, not a file")))
}

/// The refusal of what the operating system does not give.
pub(crate) fn unreadable(error: &std::io::Error) -> Failure {
    let message = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => "the symbolic links form a loop".to_owned(),
        Some(Errno::NOENT) => "there is no such file, or the link leads nowhere".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => "you may not read this file".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(Reason::Unreadable, message)
}

fn misnamed(kind: FileKind, file_name: &str) -> Failure {
    let (whose, next) = match kind {
        FileKind::Agent => ("an agent", "rename the file to end in `_agent.py` or `Agent.ts`"),
        FileKind::Service => ("a service", "rename the file to end in `_service.py`"),
    };
    Failure::new(Reason::InvalidFileName, format!("`{file_name}` is not {whose} file's name")).with_next(next)
}

/// Reads `target`, which is `path` with its links followed.
fn read_at(
    path: PathBuf,
    file_name: &str,
    (kind, language): (FileKind, Language),
    target: &Path,
) -> Result<AgentFile, Failure> {
    // Before the first look at the file: a change after this moment has a later time than `read_at`.
    let read_at = SystemTime::now();
    // Looked at before it is opened, because opening a device can already do something.
    check_stat(&rustix::fs::stat(target).map_err(|error| unreadable(&error.into()))?)?;
    // Non-blocking, so that a pipe put there in between cannot hold the host up.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = match rustix::fs::open(target, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::NXIO) => return Err(Failure::plain(Reason::NotAFile)),
        Err(error) => return Err(unreadable(&error.into())),
    };
    let stamp = check_stat(&rustix::fs::fstat(&file).map_err(|error| unreadable(&error.into()))?)?;
    let bytes = read_limited(file, stamp.size)?;
    let digest = Digest::of(&bytes);
    Ok(AgentFile {
        path,
        file_name: file_name.to_owned(),
        kind,
        language,
        bytes: bytes.into(),
        digest,
        stamp,
        read_at,
    })
}

/// The whole content; a file that grows while it is read is cut off by the limit and refused.
fn read_limited(file: impl std::io::Read, expected: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0).saturating_add(1));
    file.take(AGENT_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > AGENT_FILE_BYTES_MAX { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}

fn too_large(bytes: u64) -> Failure {
    let message = format!("the file has {bytes} bytes; an agent file has at most {AGENT_FILE_BYTES_MAX}");
    Failure::new(Reason::FileTooLarge, message)
}

fn is_file_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn language_of_extension(name: &str) -> Option<Language> {
    match name.rsplit_once('.')?.1 {
        "py" => Some(Language::Python),
        "ts" | "js" => Some(Language::TypeScript),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
