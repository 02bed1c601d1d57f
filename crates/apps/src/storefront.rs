//! A catalog that a maintainer runs, as a plain folder: what was submitted, what is published, and what was before.
//!
//! Nothing reaches `apps/` and `index.json` that did not pass the gate, wait in `staging/` and pass the gate again. Every
//! change is one journal, so that a stop at any moment leaves the store as it was or as it was to be. Nothing is run and
//! nobody is asked here: what must be fetched or tried is brought by the host.

mod ground; // the folder, read without leaving it
mod journal; // several files changed as one
mod settings; // what the maintainer said about the store
mod issue; // a submission as the text of an issue
mod pending; // what waits for review
mod document; // index.json
mod live; // the apps that are published, and their older versions
mod listed; // a bundle as this store lists it
mod sprite; // the picture of an app
mod static_api; // the same catalog as small files
mod incoming; // from bytes to a submission that may wait
mod promotion; // from waiting to published
mod scan; // what a source text should not have
mod tokens; // who may submit over the network
mod native_shelf; // native apps, the keys they are signed with, and those taken back
mod served; // what everybody may read
#[cfg(test)]
mod tests;

pub use self::{
    incoming::{Examined, IssueWish, Payload, Received, Submitter},
    issue::{IssueText, write_issue},
    native_shelf::{NativeShelf, RevokedNative, ShelvedApp, ShelvedVersion},
    pending::{Mode, PendingItem, SubmissionName},
    promotion::{Approval, IndexProblem, Indexed, Promoted},
    scan::{Finding, Scan, scan},
    served::ServedFile,
    settings::StoreFacts,
    tokens::{MadeStoreToken, StoreTokenListing},
};

use crate::bundle::{BundleError, Code};
use ground::Ground;
use jiff::Timestamp;
use journal::{AfterStep, Draft};
use roost_protocol::{Failure, Reason};
use std::{path::Path, sync::Arc};

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// What was submitted is not right.
    #[error("{}", told(.0))]
    Refused(Vec<BundleError>),
    /// The store, or somebody it asked, does not work.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl StoreError {
    pub(crate) fn refused(code: Code, message: impl Into<String>) -> Self {
        Self::Refused(vec![BundleError::new(code, message)])
    }
}

fn told(errors: &[BundleError]) -> String {
    errors.iter().map(BundleError::to_string).collect::<Vec<_>>().join("; ")
}

/// One store. Clones are the same store.
#[derive(Clone)]
pub struct Storefront {
    ground: Ground,
    facts: StoreFacts,
    after: AfterStep,
}

impl Storefront {
    /// Makes a store in a folder that is not there or empty, or that is a checkout with nothing of a store in it.
    pub fn init(folder: &Path, facts: &StoreFacts, now: Timestamp) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Reason::StoreUnusable, format!("{}: {error}", folder.display()))
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let taken = [settings::FILE, document::FILE, "apps", "api", "staging"];
        if let Some(name) = taken.iter().find(|name| folder.join(name).symlink_metadata().is_ok()) {
            let message = format!("{} has {name} already", folder.display());
            return Err(Failure::new(Reason::AlreadyExists, message));
        }
        for (name, text) in settings::first_files(facts)? {
            // A checkout may have its own; what is there counts.
            if folder.join(name).symlink_metadata().is_err() {
                crate::atomic_file::replace(&folder.join(name), text.as_bytes()).map_err(failed)?;
            }
        }
        let store = Self::open(folder)?;
        store.rebuild(now)?;
        Ok(store)
    }

    /// Opens a store, and finishes what was stopped.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        Self::open_with(folder, Arc::new(|_| Ok(())))
    }

    fn open_with(folder: &Path, after: AfterStep) -> Result<Self, Failure> {
        let unusable = |error: std::io::Error| {
            Failure::new(Reason::StoreUnusable, format!("{}: {error}", folder.display()))
        };
        let ground = Ground::new(folder.canonicalize().map_err(unusable)?);
        let facts = settings::read(&ground)?;
        if journal::is_unfinished(&ground)? {
            let _lock = ground.lock()?;
            journal::finish(&ground, &after)?;
        }
        Ok(Self { ground, facts, after })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.ground.root()
    }

    /// What its maintainer says about it.
    #[must_use]
    pub fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn draft(&self) -> Result<Draft<'_>, Failure> {
        Draft::begin(&self.ground, &self.after)
    }
}

impl std::fmt::Debug for Storefront {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_tuple("Storefront").field(&self.ground.root()).finish()
    }
}
