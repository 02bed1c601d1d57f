//! The agents folder: which files it has, and which of them changed since they were last read.
//!
//! Looking at an unchanged folder costs one directory listing and one `stat` per file. The folder is flat; what
//! lies in folders below it is not an agent.

use crate::{
    agent_file::{self, AgentFile},
    stamp::Seen,
};
use roost_protocol::{Digest, Failure, Language};
use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// Most directory entries that are looked at: thirty times the whole registry, and still listed in a moment.
pub const ENTRIES_MAX: usize = 10_000;

/// A folder of agent files. It need not exist yet.
#[derive(Debug, Clone)]
pub struct AgentsFolder {
    path: PathBuf,
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
        Self { path: path.into() }
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
        let mut found: Vec<Found> = self
            .agent_names()?
            .into_iter()
            .map(|(name, language)| self.look_at(name, language, &known))
            .collect();
        found.sort_by(|left, right| left.file_name.cmp(&right.file_name));
        Ok(found)
    }

    /// Reads one file of the folder.
    pub fn read(&self, file_name: &str) -> Result<AgentFile, Failure> {
        AgentFile::read_in(&self.path, file_name)
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
            if let Some(language) = Language::of_file_name(&text) {
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
        if let Some(seen) = known {
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
