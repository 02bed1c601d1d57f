//! `roost.lock`: what is installed, exactly, so that another home can install the same.

use super::{
    contents::Contents,
    record::{AppKind, AppOrigin, AppRecord},
};
use roost_protocol::{Digest, Failure, Reason, Right};
use serde::{Deserialize, Serialize};

/// The form of the file.
pub const LOCK_SCHEMA: &str = "roost-lock/1";

/// What stands at its beginning, for people.
const OPENING: &str = "# Written by roost: the apps of this home. `roost install --locked FILE` installs exactly these elsewhere.\n";

/// One app that is to be installed exactly so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedApp {
    /// Its id.
    pub id: String,
    /// Who publishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// What it is made of.
    pub kind: AppKind,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Digest of all of its files.
    pub digest: Digest,
    /// The commit its files are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The rights it asks for.
    pub rights: Vec<Right>,
    /// Where it came from.
    pub source: AppOrigin,
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    #[serde(default)]
    app: Vec<LockedApp>,
}

/// What is installed, as it is locked.
#[must_use]
pub fn locked(app: &AppRecord) -> LockedApp {
    let current = &app.current;
    LockedApp {
        id: app.id.clone(),
        publisher: app.publisher.clone(),
        kind: app.kind,
        version: current.version.clone(),
        digest: current.digest,
        commit: current.origin.commit().map(str::to_owned),
        rights: current.rights.clone(),
        source: current.origin.clone(),
    }
}

/// The text of the file.
pub(super) fn lock_text(contents: &Contents) -> Result<String, toml::ser::Error> {
    // What lies in a person's folder here is nowhere else.
    let lasting = contents.apps.iter().filter(|app| !app.current.origin.is_sideload());
    let document = Document { schema: LOCK_SCHEMA.to_owned(), app: lasting.map(locked).collect() };
    Ok(format!("{OPENING}{}", toml::to_string(&document)?))
}

/// Reads the file.
pub fn read_lock(text: &str) -> Result<Vec<LockedApp>, Failure> {
    let wrong = |message: String| Failure::new(Reason::LockInvalid, message);
    let document: Document = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if document.schema != LOCK_SCHEMA {
        return Err(wrong(format!("its schema is not {LOCK_SCHEMA}")));
    }
    Ok(document.app)
}
