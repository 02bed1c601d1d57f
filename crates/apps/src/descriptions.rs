//! What files said about themselves, remembered by the digest of their content.
//!
//! A cache: whatever is wrong with the file on disk, the answer is to start without it. With it, listing an unchanged
//! folder starts no process and reads no agent file. Also keeps the bytes of the last version of each file that
//! loaded, so that a broken edit does not take an agent away.

mod sources; // bytes of the last good versions

use crate::{Error, agent_file::AgentFile, atomic_file, stamp::Seen};
use roost_protocol::{AgentDescription, ClassFailure, Digest, Failure};
use serde::{Deserialize, Serialize};
use sources::Sources;
use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Version of the format on disk. A file of another version is not read.
const FORMAT: u32 = 1;

/// Largest cache that is read: a hundred times what the whole registry needs. A larger file is not one of ours.
const CACHE_BYTES_MAX: u64 = 64 << 20;

/// What a file said when it was loaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Description {
    /// Agents that can be called.
    pub agents: Vec<AgentDescription>,
    /// Classes that cannot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ClassFailure>,
}

/// The outcome of loading some content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Described {
    /// It loaded.
    Loaded(Description),
    /// It did not.
    Failed(Failure),
}

/// The cache. Changes are kept in memory until `save`.
#[derive(Debug)]
pub struct Descriptions {
    path: PathBuf,
    key: String,
    sources: Sources,
    files: BTreeMap<String, KnownFile>,
    described: BTreeMap<Digest, Described>,
    changed: bool,
}

/// What is known of a file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct KnownFile {
    #[serde(flatten)]
    seen: Seen,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_good: Option<Digest>,
}

/// The file on disk, as it is read.
#[derive(Deserialize)]
struct OnDisk {
    format: u32,
    key: String,
    files: BTreeMap<String, KnownFile>,
    described: BTreeMap<Digest, Described>,
}

/// The same, as it is written.
#[derive(Serialize)]
struct ToDisk<'a> {
    format: u32,
    key: &'a str,
    files: &'a BTreeMap<String, KnownFile>,
    described: &'a BTreeMap<Digest, Described>,
}

impl Descriptions {
    /// Reads the cache at `path`; sources are kept in a folder beside it. `key` names what descriptions depend on
    /// besides the content: the runner and the interpreter. Descriptions made under another key are not used, but
    /// which versions were good is still known. An unreadable cache is an empty one.
    #[must_use]
    pub fn open(path: &Path, key: &str) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut cache = Self {
            path: path.to_owned(),
            key: key.to_owned(),
            sources: Sources::new(folder.join("sources")),
            files: BTreeMap::new(),
            described: BTreeMap::new(),
            changed: false,
        };
        match read(path) {
            Ok(None) => {}
            Ok(Some(on_disk)) => {
                cache.files = on_disk.files;
                if on_disk.key == key {
                    cache.described = on_disk.described;
                } else {
                    cache.changed = true;
                }
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the cache of descriptions is not readable; starting without");
                cache.changed = true;
            }
        }
        cache
    }

    /// What was last read of a file: the argument of `AgentsFolder::scan`.
    #[must_use]
    pub fn seen(&self, file_name: &str) -> Option<Seen> {
        self.files.get(file_name).map(|known| known.seen)
    }

    /// What the content with this digest said.
    #[must_use]
    pub fn described(&self, digest: &Digest) -> Option<&Described> {
        self.described.get(digest)
    }

    /// The last version of a file that loaded.
    #[must_use]
    pub fn last_good(&self, file_name: &str) -> Option<Digest> {
        self.files.get(file_name)?.last_good
    }

    /// Remembers what was read of a file.
    pub fn set_seen(&mut self, file_name: &str, seen: Seen) {
        let last_good = self.last_good(file_name);
        let known = KnownFile { seen, last_good };
        self.changed |= self.files.insert(file_name.to_owned(), known) != Some(known);
    }

    /// Remembers what some content said.
    pub fn set_described(&mut self, digest: Digest, described: Described) {
        self.described.insert(digest, described);
        self.changed = true;
    }

    /// Keeps the file's bytes and remembers them as its last good version.
    pub fn keep_source(&mut self, file: &AgentFile) -> Result<(), Error> {
        self.sources.keep(file.digest, &file.bytes)?;
        self.set_seen(&file.file_name, file.seen());
        if let Some(known) = self.files.get_mut(&file.file_name) {
            self.changed |= known.last_good.replace(file.digest) != Some(file.digest);
        }
        Ok(())
    }

    /// The bytes of a version that was kept; nothing when they are not there or are not what was kept.
    #[must_use]
    pub fn source(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.sources.read(digest)
    }

    /// Forgets every file that is not in the folder any more.
    pub fn retain_files(&mut self, is_present: impl Fn(&str) -> bool) {
        let before = self.files.len();
        self.files.retain(|name, _| is_present(name));
        self.changed |= self.files.len() != before;
    }

    /// Forgets what some contents said, so that those files are described again. Last good versions are kept.
    pub fn forget(&mut self, is_unwanted: impl Fn(&Described) -> bool) {
        let before = self.described.len();
        self.described.retain(|_, described| !is_unwanted(described));
        self.changed |= self.described.len() != before;
    }

    /// Writes the cache if anything changed, without what no known file refers to.
    pub fn save(&mut self) -> Result<(), Error> {
        if !self.changed {
            return Ok(());
        }
        let last_good: HashSet<Digest> = self.files.values().filter_map(|known| known.last_good).collect();
        let current: HashSet<Digest> = self.files.values().map(|known| known.seen.digest).collect();
        self.described.retain(|digest, _| last_good.contains(digest) || current.contains(digest));
        let write_error = |source| Error::Write { path: self.path.clone(), source };
        let on_disk =
            ToDisk { format: FORMAT, key: &self.key, files: &self.files, described: &self.described };
        let bytes = serde_json::to_vec(&on_disk).map_err(|error| write_error(error.into()))?;
        atomic_file::replace(&self.path, &bytes).map_err(write_error)?;
        self.changed = false;
        // After the file that refers to them: cut off in between, there are too many sources, not too few.
        self.sources.drop_others(&last_good);
        Ok(())
    }
}

/// The cache on disk; nothing when there is none, or one of another format.
fn read(path: &Path) -> std::io::Result<Option<OnDisk>> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(CACHE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CACHE_BYTES_MAX {
        return Err(std::io::Error::other("the file is too large"));
    }
    match serde_json::from_slice::<OnDisk>(&bytes) {
        Ok(on_disk) if on_disk.format == FORMAT => Ok(Some(on_disk)),
        Ok(_) => Ok(None),
        // A newer format may have another shape; that is no damage.
        Err(error) => match serde_json::from_slice::<Format>(&bytes) {
            Ok(other) if other.format != FORMAT => Ok(None),
            _ => Err(error.into()),
        },
    }
}

#[cfg(test)]
mod tests;
