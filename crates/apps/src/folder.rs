//! A folder of agents or services: which files it has, and which of them changed since they were last read.
//!
//! Looking at an unchanged folder costs one directory listing and one `stat` per file. The folder is flat; what
//! lies in folders below it is not an agent. What came from elsewhere is pinned: other content is refused.

use crate::{
    agent_file::{self, AgentFile},
    stamp::Seen,
};
use roost_protocol::{Digest, Failure, FileKind, Language, Reason};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// Most directory entries that are looked at: thirty times the whole registry, and still listed in a moment.
pub const ENTRIES_MAX: usize = 10_000;

/// A folder of agent files, or of service files. It need not exist yet.
#[derive(Debug, Clone)]
pub struct AgentsFolder {
    path: PathBuf,
    kind: FileKind,
    pins: Option<Pins>,
}

/// What the files of a folder must hold, as it was when they were brought there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    /// The source they came from.
    pub source: String,
    /// Digest of each file by its name.
    pub digests: BTreeMap<String, Digest>,
}

/// One file of the folder, or why it could not be read.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its name; where that is not text, the nearest text.
    pub file_name: String,
    /// The language its name announces.
    pub language: Language,
    /// What is in it.
    pub content: Result<Content, Failure>,
}

/// What is in a file that was found.
#[derive(Debug, Clone)]
pub enum Content {
    /// What it held when it was last read.
    Unchanged(Seen),
    /// Something else than before, read just now.
    Read(AgentFile),
}

impl Content {
    /// What to remember of the file.
    #[must_use]
    pub fn seen(&self) -> Seen {
        match self {
            Self::Unchanged(seen) => *seen,
            Self::Read(file) => file.seen(),
        }
    }

    /// Digest of the content.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.seen().digest
    }
}

impl AgentsFolder {
    /// The folder at this path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), kind: FileKind::Agent, pins: None }
    }

    /// The folder of services at this path.
    #[must_use]
    pub fn of_services(path: impl Into<PathBuf>) -> Self {
        Self { kind: FileKind::Service, ..Self::new(path) }
    }

    /// A folder whose files came from a source: any other content than the pinned one is refused.
    #[must_use]
    pub fn pinned(path: impl Into<PathBuf>, pins: Pins) -> Self {
        Self { pins: Some(pins), ..Self::new(path) }
    }

    /// What its files are for.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// What its files must hold, when they came from a source.
    #[must_use]
    pub fn pins(&self) -> Option<&Pins> {
        self.pins.as_ref()
    }

    /// False for content that the file must not hold.
    #[must_use]
    pub fn may_hold(&self, file_name: &str, digest: Digest) -> bool {
        self.check_pin(file_name, Some(digest)).is_ok()
    }

    /// The source its files came from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.pins.as_ref().map(|pins| pins.source.as_str())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every agent file, sorted by name. `known` tells what was last read of a file; a file is read again only
    /// when that may no longer hold. A folder that does not exist has no files; one that cannot be listed is a
    /// failure.
    pub fn scan(&self, known: impl Fn(&str) -> Option<Seen>) -> Result<Vec<Found>, Failure> {
        let mut names = self.agent_names()?;
        // One that is pinned and gone has been tampered with as much as one that was changed.
        for pinned in self.pins.iter().flat_map(|pins| pins.digests.keys()) {
            if let (None, Some(language)) =
                (names.iter().find(|(name, _)| name == pinned.as_str()), self.kind.language_of(pinned))
            {
                names.push((pinned.into(), language));
            }
        }
        let mut found: Vec<Found> =
            names.into_iter().map(|(name, language)| self.look_at(name, language, &known)).collect();
        found.sort_by(|left, right| left.file_name.cmp(&right.file_name));
        Ok(found)
    }

    /// Reads one file of the folder.
    pub fn read(&self, file_name: &str) -> Result<AgentFile, Failure> {
        let read = AgentFile::read_in(&self.path, self.kind, file_name);
        let digest = read.as_ref().ok().map(|file| file.digest);
        self.check_pin(file_name, digest)?;
        read
    }

    fn check_pin(&self, file_name: &str, digest: Option<Digest>) -> Result<(), Failure> {
        let Some(pins) = &self.pins else { return Ok(()) };
        let message = match (pins.digests.get(file_name), digest) {
            (Some(pinned), Some(digest)) if *pinned == digest => return Ok(()),
            (Some(_), Some(_)) => "the file was changed since it was brought here",
            (Some(_), None) => "the file cannot be read any more",
            (None, _) => "the file is not one of those that were brought here",
        };
        Err(Failure::new(Reason::DigestMismatch, format!("{file_name} of source {}: {message}", pins.source))
            .with_next(format!("roost repos sync {}", pins.source)))
    }

    fn agent_names(&self) -> Result<Vec<(OsString, Language)>, Failure> {
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(agent_file::unreadable(&error)),
        };
        let mut names = Vec::new();
        for (index, entry) in entries.enumerate() {
            if index >= ENTRIES_MAX {
                tracing::warn!(folder = %self.path.display(), limit = ENTRIES_MAX, "files beyond the limit are ignored");
                break;
            }
            // An entry that vanishes while the folder is listed is one that is not there.
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            let text = name.to_string_lossy();
            if text.starts_with('.') {
                continue;
            }
            if let Some(language) = self.kind.language_of(&text) {
                names.push((name, language));
            }
        }
        Ok(names)
    }

    fn look_at(&self, name: OsString, language: Language, known: impl Fn(&str) -> Option<Seen>) -> Found {
        match name.into_string() {
            Ok(file_name) => {
                let content = self.content(&file_name, known(&file_name));
                Found { file_name, language, content }
            }
            Err(name) => {
                let file_name = name.to_string_lossy().into_owned();
                let content = Err(agent_file::invalid_file_name(&file_name));
                Found { file_name, language, content }
            }
        }
    }

    fn content(&self, file_name: &str, known: Option<Seen>) -> Result<Content, Failure> {
        agent_file::check_file_name(file_name)?;
        // What is pinned is read each time: there is little of it, and a stamp proves less than a digest.
        if let Some(seen) = known.filter(|_| self.pins.is_none()) {
            // The link is resolved each time: what it leads to can be moved out of the folder unchanged.
            let target = agent_file::resolve_in(&self.path, &self.path.join(file_name))?;
            let stat = rustix::fs::stat(&target).map_err(|error| agent_file::unreadable(&error.into()))?;
            if seen.is_current(&agent_file::check_stat(&stat)?) {
                return Ok(Content::Unchanged(seen));
            }
        }
        self.read(file_name).map(Content::Read)
    }
}

#[cfg(test)]
mod tests;
