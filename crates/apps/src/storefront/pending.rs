//! What waits for review: `staging/_pending.json`, and beside it the files of each submission.

use super::{StoreError, ground::Ground};
use crate::{
    bundle::{BundleId, Code, Publisher, Version},
    catalog::{is_commit, is_inner_path, is_reference, is_repository},
};
use jiff::Timestamp;
use roost_protocol::{Digest, Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

pub(super) const FILE: &str = "staging/_pending.json";

/// A list above this is not one a store made: as many submissions as may wait, each with a large entry, stay below it.
const BYTES_MAX: usize = 64 << 20;

/// Most submissions that wait at once, and most of one account: nobody fills the store's disk.
const WAITING_MAX: usize = 500;
const WAITING_OF_ONE_MAX: usize = 20;

/// Longest name of a submission: an id, a version and a few digits.
const NAME_BYTES_MAX: usize = 160;

/// What a submission is called: `issue-7`, or id, version and the beginning of its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubmissionName(String);

impl SubmissionName {
    /// Checks the form; it is the name of a folder.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_fine = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
        };
        let fits = text.len() <= NAME_BYTES_MAX
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(is_fine)
            && !text.contains("..");
        fits.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn of_issue(number: u64) -> Self {
        Self(format!("issue-{number}"))
    }

    pub(super) fn of_content(id: &BundleId, version: Version, digest: &Digest) -> Self {
        Self(format!("{id}-{version}-{}", hex::encode(&digest.to_bytes()[..6])))
    }

    /// The folder of its files.
    pub(super) fn folder(&self) -> String {
        format!("staging/{}", self.0)
    }
}

impl fmt::Display for SubmissionName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl From<SubmissionName> for String {
    fn from(name: SubmissionName) -> Self {
        name.0
    }
}

impl TryFrom<String> for SubmissionName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not the name of a submission")
    }
}

/// Where the files of a submission will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In the store.
    Bundle,
    /// In a repository of their publisher.
    Federation,
}

/// The repository of a federation, at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingSource {
    pub(super) repo: String,
    #[serde(rename = "ref")]
    pub(super) reference: String,
    #[serde(default)]
    pub(super) path: String,
    #[serde(default)]
    pub(super) commit_sha: String,
}

impl PendingSource {
    pub(super) fn is_usable(&self) -> bool {
        is_repository(&self.repo)
            && is_reference(&self.reference)
            && is_commit(&self.commit_sha)
            && (self.path.is_empty() || is_inner_path(&self.path))
    }
}

/// One submission that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingItem {
    /// What it is called here.
    pub submission: SubmissionName,
    /// The issue it came with.
    pub issue: Option<u64>,
    /// Who submits it.
    pub submitter: String,
    /// Where its files will be; text, because the list may have been written by another program.
    pub(super) mode: String,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its publisher.
    pub publisher: String,
    /// One digest of all its files: what was looked at is what is promoted.
    pub digest: Digest,
    /// When it came.
    pub received_at: Timestamp,
    /// Set when its publisher is not who submits it: a maintainer must say yes to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher_override: Option<String>,
    /// Where its files wait, for whoever looks into the folder. Never used as a path here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<PendingSource>,
    /// The entry that the store would make of it.
    pub entry: Map<String, Value>,
}

impl PendingItem {
    /// Where its files will be.
    pub fn mode(&self) -> Result<Mode, StoreError> {
        match self.mode.as_str() {
            "bundle" => Ok(Mode::Bundle),
            "federation" => Ok(Mode::Federation),
            _ => {
                Err(StoreError::refused(Code::UnknownMode, format!("{} has no known mode", self.submission)))
            }
        }
    }

    pub(super) fn names(&self) -> Result<(BundleId, Publisher), StoreError> {
        let damaged = || StoreError::refused(Code::StagedMissing, format!("{} is damaged", self.submission));
        let id = BundleId::parse(&self.id).ok_or_else(damaged)?;
        Ok((id, Publisher::parse(&self.publisher).ok_or_else(damaged)?))
    }
}

/// The list.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) items: Vec<PendingItem>,
}

impl Pending {
    pub(super) fn read(ground: &Ground) -> Result<Self, Failure> {
        let Some(bytes) = ground.read(FILE, BYTES_MAX)? else { return Ok(Self::default()) };
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::new(Reason::StoreUnusable, format!("{FILE}: {error}")))
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        Ok(format!("{text}\n").into_bytes())
    }

    pub(super) fn find(&self, name: &str) -> Result<&PendingItem, StoreError> {
        if self.items.is_empty() {
            return Err(StoreError::refused(Code::NoPending, "nothing waits for review"));
        }
        let found = self.items.iter().find(|item| item.submission.as_str() == name);
        found.ok_or_else(|| {
            let message = format!("{} does not wait for review", crate::catalog::shown(name));
            StoreError::refused(Code::NoPendingForIssue, message)
        })
    }

    /// Takes a submission in, in place of what it replaces. Says which folders are not needed any more.
    pub(super) fn add(&mut self, item: PendingItem) -> Result<Vec<SubmissionName>, StoreError> {
        let is_replaced = |old: &PendingItem| {
            let is_same_app = old.id == item.id
                && old.submitter.eq_ignore_ascii_case(&item.submitter)
                && old.issue.is_none()
                && item.issue.is_none();
            old.submission == item.submission || is_same_app
        };
        let replaced: Vec<SubmissionName> =
            self.items.iter().filter(|old| is_replaced(old)).map(|old| old.submission.clone()).collect();
        self.items.retain(|old| !replaced.contains(&old.submission));
        let of_one = self.items.iter().filter(|old| old.submitter.eq_ignore_ascii_case(&item.submitter));
        if self.items.len() >= WAITING_MAX || of_one.count() >= WAITING_OF_ONE_MAX {
            let message =
                format!("at most {WAITING_OF_ONE_MAX} of one account wait, and {WAITING_MAX} in all");
            return Err(StoreError::refused(Code::TooManyPending, message));
        }
        let own = item.submission.clone();
        self.items.push(item);
        Ok(replaced.into_iter().filter(|name| *name != own).collect())
    }

    pub(super) fn remove(&mut self, name: &SubmissionName) {
        self.items.retain(|item| item.submission != *name);
    }
}
