//! All installed apps, as `apps/library.json` has them.

use super::record::AppRecord;
use roost_protocol::{Digest, FileKind};
use serde::{Deserialize, Serialize};
use std::{fs::File, io, io::Read as _, path::Path};

/// The form of the file.
const SCHEMA: &str = "roost-library/1";

/// Largest library: more than a hundred thousand apps.
const BYTES_MAX: u64 = 256 << 20;

/// What is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub(super) schema: String,
    /// The apps, in the order of their ids.
    pub apps: Vec<AppRecord>,
    /// A change that counts already and whose files may not all be in place.
    #[serde(default)]
    pub(super) unfinished: Option<Unfinished>,
}

/// What must still be done for a change that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unfinished {
    /// The app it is about.
    pub(super) id: String,
    /// Files that the library put there for the state before.
    pub(super) before: Vec<Placed>,
}

/// A file of an agent or a service that the library put into the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Placed {
    pub(super) kind: FileKind,
    pub(super) file_name: String,
    pub(super) digest: Digest,
}

impl Default for Contents {
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), apps: Vec::new(), unfinished: None }
    }
}

impl Contents {
    /// The app with this id.
    #[must_use]
    pub fn app(&self, id: &str) -> Option<&AppRecord> {
        self.apps.iter().find(|app| app.id == id)
    }

    /// The app that a file of the agents or services folder came with.
    #[must_use]
    pub fn owner_of(&self, kind: FileKind, file_name: &str) -> Option<&AppRecord> {
        let is_meant =
            |app: &&AppRecord| app.current.code().any(|(of, part)| of == kind && part.file_name == file_name);
        self.apps.iter().find(is_meant)
    }

    /// The same with this app, in place of the one that has its id.
    pub(super) fn with(&self, app: AppRecord) -> Self {
        let mut changed = self.without(&app.id);
        let place = changed.apps.partition_point(|other| other.id < app.id);
        changed.apps.insert(place, app);
        changed
    }

    /// The same without this app.
    pub(super) fn without(&self, id: &str) -> Self {
        let mut changed = self.clone();
        changed.apps.retain(|app| app.id != id);
        changed
    }

    /// The files that the library has put into the home for an app.
    pub(super) fn placed(&self, id: &str) -> Vec<Placed> {
        let placed = self.app(id).into_iter().flat_map(|app| app.current.code()).map(|(kind, part)| Placed {
            kind,
            file_name: part.file_name.clone(),
            digest: part.digest,
        });
        placed.collect()
    }

    /// Reads the file; a home without one has no apps.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
            Ok(file) => file.take(BYTES_MAX).read_to_end(&mut bytes)?,
        };
        let wrong = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        let contents: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if contents.schema != SCHEMA {
            return Err(wrong(format!("its schema is not {SCHEMA}")));
        }
        if let Some(app) = contents.apps.iter().find(|app| !app.is_sound()) {
            return Err(wrong(format!("the entry `{}` has names that cannot be", app.id.escape_debug())));
        }
        Ok(contents)
    }

    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
