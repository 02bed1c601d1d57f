//! The files of an app as a catalog names them: where each is, what it is called, and its digest.

use super::{entry::text_of, file_name::FileName};
use crate::AGENT_FILE_BYTES_MAX;
use roost_protocol::Digest;
use serde::Serialize;
use serde_json::{Map, Value};

/// What a file is to its app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// `manifest.json`, of a repository only.
    Manifest,
    /// The single agent file, `singleton_*` in catalogs.
    Agent,
    /// The service, `service_*`.
    Service,
    /// The page, `ui_*`.
    Page,
    /// An organ, `organ_*`.
    Organ,
    /// Tools, `tools_*`.
    Tools,
    /// A snapshot of state, `egg_*`.
    Egg,
}

impl PartKind {
    /// Those a catalog can name, in the order they are fetched.
    pub const IN_CATALOGS: [PartKind; 6] =
        [Self::Agent, Self::Service, Self::Page, Self::Organ, Self::Tools, Self::Egg];

    /// How the keys of a catalog entry begin.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Agent => "singleton",
            Self::Service => "service",
            Self::Page => "ui",
            Self::Organ => "organ",
            Self::Tools => "tools",
            Self::Egg => "egg",
        }
    }

    /// What a person calls it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Agent => "agent",
            Self::Service => "service",
            Self::Page => "page",
            Self::Organ => "organ",
            Self::Tools => "tools",
            Self::Egg => "egg",
        }
    }

    /// More is not fetched. Wider than the submission gate, because what is in a catalog already is taken as it is.
    pub(super) fn bytes_max(self) -> usize {
        match self {
            Self::Manifest => 256 << 10,
            Self::Agent | Self::Service | Self::Organ => {
                usize::try_from(AGENT_FILE_BYTES_MAX).unwrap_or(1 << 20)
            }
            Self::Page | Self::Tools => 5 << 20,
            Self::Egg => 20 << 20,
        }
    }
}

/// One file of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Where it is: an address, or a path below the catalog.
    pub url: String,
    /// What it is called once it is here.
    pub file_name: FileName,
    /// Digest of its bytes, where the catalog has one.
    pub sha256: Option<Digest>,
    /// How many bytes the catalog says it has.
    pub bytes: Option<u64>,
    /// How many lines the catalog says it has.
    pub lines: Option<u64>,
}

impl Part {
    /// The part of this kind, if the entry has one. A mistake in it is told in a sentence.
    pub(super) fn of_entry(fields: &Map<String, Value>, kind: PartKind) -> Result<Option<Self>, String> {
        let key = kind.key();
        let Some(url) = text_of(fields, &format!("{key}_url"))? else { return Ok(None) };
        let sha256 = digest_of(fields, kind)?;
        let named = text_of(fields, &format!("{key}_filename"))?;
        let last = last_segment(url);
        let name = match (named, kind) {
            (Some(name), _) => name,
            (None, PartKind::Page) => "index.html",
            (None, _) => last,
        };
        let file_name =
            FileName::parse(name).map_err(|_| format!("`{key}_filename` is not the name of one file"))?;
        let count = |what: &str| fields.get(&format!("{key}_{what}")).and_then(Value::as_u64);
        Ok(Some(Self {
            kind,
            url: url.to_owned(),
            file_name,
            sha256,
            bytes: count("bytes"),
            lines: count("lines"),
        }))
    }
}

/// The digest of one part in an object with the keys of an entry.
pub(super) fn digest_of(fields: &Map<String, Value>, kind: PartKind) -> Result<Option<Digest>, String> {
    let key = format!("{}_sha256", kind.key());
    let text = text_of(fields, &key)?;
    text.map(|text| Digest::parse(text).map_err(|_| format!("`{key}` is not a SHA-256"))).transpose()
}

/// What stands after the last slash, without query and fragment.
pub(super) fn last_segment(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}
