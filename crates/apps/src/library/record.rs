//! What is known of an installed app: who it is, the version that serves, the one before, and one that waits.

use super::native_record::NativeRecord;
use crate::{
    BundleId,
    catalog::FetchOrigin,
    native::{NativeId, is_version},
};
use roost_protocol::{Digest, Failure, FileKind, Right};
use serde::{Deserialize, Serialize};

/// What an app is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppKind {
    /// One agent file.
    Agent,
    /// An agent, a page, an HTTP module: at least one of the first and the last.
    Rapplication,
    /// A signed program.
    Native,
}

impl AppKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Rapplication => "rapplication",
            Self::Native => "native",
        }
    }
}

/// Where a version came from. Holds no credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AppOrigin {
    /// Files that a catalog keeps itself.
    Catalog {
        /// Name of the catalog here.
        source: String,
    },
    /// Another repository that a catalog names.
    Federation {
        /// Name of the catalog here.
        source: String,
        /// `owner/repository`.
        repo: String,
        /// The commit the files are of.
        commit: String,
    },
    /// A private repository that a catalog names.
    Gated {
        /// Name of the catalog here.
        source: String,
        /// `owner/repository`.
        repo: String,
    },
    /// A repository that a person named.
    Repository {
        /// `owner/repository`.
        repo: String,
        /// The branch, tag or commit that was asked for.
        #[serde(rename = "ref")]
        reference: String,
        /// Folder or file in it.
        path: String,
        /// The commit the files are of.
        commit: String,
    },
    /// One file at an address.
    File {
        /// The address.
        url: String,
    },
    /// A file, a folder or a zip of this machine.
    Path {
        /// Where it was.
        path: String,
    },
    /// A store that keeps native apps and vouches for them.
    Store {
        /// Where the store is.
        url: String,
    },
    /// A folder of a person who writes the app; nobody vouches for it.
    Sideload {
        /// The folder.
        path: String,
    },
    /// Bytes that somebody sent.
    Sent,
}

impl AppOrigin {
    /// The catalog that named the app.
    #[must_use]
    pub fn catalog(&self) -> Option<&str> {
        match self {
            Self::Catalog { source } | Self::Federation { source, .. } | Self::Gated { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }

    /// True for what a person runs from their own folder, signed by nobody.
    #[must_use]
    pub fn is_sideload(&self) -> bool {
        matches!(self, Self::Sideload { .. })
    }

    /// The commit its files are of.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Federation { commit, .. } | Self::Repository { commit, .. } => Some(commit),
            _ => None,
        }
    }

    /// In words.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Catalog { source } => format!("catalog {source}"),
            Self::Federation { source, repo, commit } => {
                format!("{repo} at {commit:.12}, named by catalog {source}")
            }
            Self::Gated { source, repo } => format!("private {repo}, named by catalog {source}"),
            Self::Repository { repo, commit, .. } => format!("{repo} at {commit:.12}"),
            Self::File { url } => url.clone(),
            Self::Path { path } => path.clone(),
            Self::Store { url } => format!("store {url}"),
            Self::Sideload { path } => format!("sideloaded from {path}"),
            Self::Sent => "sent to this host".to_owned(),
        }
    }

    /// True when the other is the same place, whatever its commit.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Repository { repo, path, .. }, Self::Repository { repo: other, path: below, .. }) => {
                repo == other && path == below
            }
            _ => match (self.catalog(), other.catalog()) {
                (Some(one), Some(other)) => one == other,
                (None, None) => self == other,
                _ => false,
            },
        }
    }
}

impl From<FetchOrigin> for AppOrigin {
    fn from(origin: FetchOrigin) -> Self {
        match origin {
            FetchOrigin::Catalog { source } => Self::Catalog { source },
            FetchOrigin::Federation { source, repo, commit } => Self::Federation { source, repo, commit },
            FetchOrigin::Gated { source, repo } => Self::Gated { source, repo },
            FetchOrigin::Repository { repo, reference, path, commit } => {
                Self::Repository { repo, reference, path, commit }
            }
            FetchOrigin::File { url } => Self::File { url },
        }
    }
}

/// One file of an app that the home uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Where it is in the app's own folder.
    pub path: String,
    /// What it is called where the home uses it.
    pub file_name: String,
    /// Digest of its bytes.
    pub digest: Digest,
}

/// One version of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version; a single file has none.
    pub version: Option<String>,
    /// Digest of all of its files.
    pub digest: Digest,
    /// Where it came from.
    pub origin: AppOrigin,
    /// The rights it asks for.
    pub rights: Vec<Right>,
    /// Its agent.
    pub agent: Option<PartRecord>,
    /// Its HTTP module.
    pub service: Option<PartRecord>,
    /// Its page.
    pub page: Option<PartRecord>,
    /// Its program, and who vouched for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeRecord>,
    /// When it was put here, UTC.
    pub installed_at: String,
}

impl VersionRecord {
    /// Name of the folder with its files: the version, and enough of the digest to tell it from every other.
    #[must_use]
    pub fn folder_name(&self) -> String {
        let digest = self.digest.to_string();
        format!("{}-{}", self.shown_version(), &digest[..12])
    }

    /// The version as text.
    #[must_use]
    pub fn shown_version(&self) -> &str {
        self.version.as_deref().unwrap_or("0")
    }

    /// The files that run, with what each is for.
    pub fn code(&self) -> impl Iterator<Item = (FileKind, &PartRecord)> {
        let agent = self.agent.iter().map(|part| (FileKind::Agent, part));
        agent.chain(self.service.iter().map(|part| (FileKind::Service, part)))
    }

    /// Whom rights are given to: each file that runs, or the app as a whole where it is a program.
    pub fn principals(&self, id: &str) -> impl Iterator<Item = (String, Digest)> {
        let files = self.code().map(|(_, part)| (part.file_name.clone(), part.digest));
        // An id may look like the name of a file.
        files.chain(self.native.iter().map(move |_| (format!("native:{id}"), self.digest)))
    }
}

/// When a version that is not taken yet was first seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenVersion {
    /// The version.
    pub version: String,
    /// When, UTC.
    pub at: String,
}

/// One installed app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppRecord {
    /// Its id; the first to hold it keeps it.
    pub id: String,
    /// Who publishes it, as was said when it was first installed.
    pub publisher: Option<String>,
    /// What it is made of.
    pub kind: AppKind,
    /// What people call it.
    pub name: String,
    /// What it does.
    pub summary: String,
    /// The version that serves.
    pub current: VersionRecord,
    /// The version before, which a rollback brings back.
    pub previous: Option<VersionRecord>,
    /// A version that waits for a person.
    pub waiting: Option<VersionRecord>,
    /// A version that was seen and is too young.
    #[serde(default)]
    pub seen: Option<SeenVersion>,
    /// Why it is not simply enabled: an update that waits, or that did not answer.
    #[serde(default)]
    pub reason: Option<Failure>,
    /// Why its program was taken away. It is never started again, and only removing it frees its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
}

/// A program that was taken away. What the app kept and what it printed stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// When, UTC.
    pub at: String,
    /// Why.
    pub reason: Failure,
}

impl AppRecord {
    /// Every version that is kept.
    pub fn versions(&self) -> impl Iterator<Item = &VersionRecord> {
        [Some(&self.current), self.previous.as_ref(), self.waiting.as_ref()].into_iter().flatten()
    }

    /// Versions whose files are kept: none of an app in quarantine.
    pub(super) fn kept_versions(&self) -> impl Iterator<Item = &VersionRecord> {
        self.versions().filter(|_| self.quarantine.is_none())
    }

    /// False for what no record may hold: names that lead elsewhere.
    pub(super) fn is_sound(&self) -> bool {
        if self.kind == AppKind::Native {
            let is_native = |version: &VersionRecord| {
                version.native.as_ref().is_some_and(NativeRecord::is_sound)
                    && version
                        .native
                        .as_ref()
                        .is_some_and(|native| native.signed.is_none() == version.origin.is_sideload())
                    && is_version(version.shown_version())
                    && version.code().next().is_none()
                    && version.page.is_none()
            };
            return NativeId::parse(&self.id).is_some() && self.versions().all(is_native);
        }
        let is_version = |version: &VersionRecord| {
            let text = version.shown_version();
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                && !text.starts_with('.')
                && version.native.is_none()
        };
        let is_name = |(kind, part): (FileKind, &PartRecord)| {
            crate::agent_file::check_file_name(&part.file_name).is_ok()
                && kind.language_of(&part.file_name).is_some()
        };
        BundleId::parse_existing(&self.id).is_some()
            && self.versions().all(|version| is_version(version) && version.code().all(is_name))
    }
}
