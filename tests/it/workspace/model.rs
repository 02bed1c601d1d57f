//! What a workspace should be, kept in memory in the plainest way: every version ever written, and nothing clever.

use roost_workspace::{Done, Etag, FileInfo, Limit, Limits, Usage, WorkspaceError};
use std::collections::{BTreeMap, HashMap};

/// One version as it was written.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) content: Option<Vec<u8>>,
    pub(super) etag: Option<Etag>,
    pub(super) updated_at: i64,
    pub(super) sequence: i64,
    pub(super) reason: Option<String>,
}

/// What must hold of the live file, in terms of tags that the engine gave out.
#[derive(Debug, Clone)]
pub(super) enum Must {
    Nothing,
    Exist,
    NotExist,
    HaveTag(Etag),
}

/// A write as the model sees it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) path: String,
    pub(super) must: Must,
    pub(super) content: Option<Vec<u8>>,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) files: BTreeMap<String, Vec<Version>>,
    /// Path and version of each write; its sequence is its place, from 1.
    pub(super) events: Vec<(String, i64)>,
    /// Pinned moments, and what was there.
    pub(super) pins: BTreeMap<i64, BTreeMap<String, (i64, Vec<u8>)>>,
    /// Requests that were answered.
    pub(super) answers: HashMap<(String, String), ([u8; 32], Done)>,
}

impl Model {
    pub(super) fn sequence(&self) -> i64 {
        i64::try_from(self.events.len()).unwrap()
    }

    pub(super) fn newest_version(&self, path: &str) -> i64 {
        self.files.get(path).map_or(0, |versions| i64::try_from(versions.len()).unwrap())
    }

    /// The live file: its version and what it holds.
    pub(super) fn live(&self, path: &str) -> Option<(i64, &Version, &[u8])> {
        let newest = self.files.get(path)?.last()?;
        Some((self.newest_version(path), newest, newest.content.as_deref()?))
    }

    pub(super) fn live_files(&self) -> BTreeMap<String, (i64, Vec<u8>)> {
        let live = |path: &String| self.live(path).map(|(version, _, content)| (version, content.to_vec()));
        self.files.keys().filter_map(|path| Some((path.clone(), live(path)?))).collect()
    }

    /// A version is kept while it is among the newest, or the newest one at a pinned moment.
    pub(super) fn keeps(&self, limits: &Limits, path: &str, version: i64) -> bool {
        let Some(versions) = self.files.get(path) else { return false };
        let Some(index) = usize::try_from(version).ok().and_then(|version| version.checked_sub(1)) else {
            return false;
        };
        let Some(of_version) = versions.get(index) else { return false };
        let until = versions.get(index + 1).map_or(i64::MAX, |next| next.sequence);
        version > self.newest_version(path) - limits.versions_max
            || self.pins.range(of_version.sequence..until).next().is_some()
    }

    pub(super) fn readable(&self, limits: &Limits, path: &str, version: i64) -> Option<&[u8]> {
        if !self.keeps(limits, path, version) {
            return None;
        }
        self.files[path][usize::try_from(version).unwrap() - 1].content.as_deref()
    }

    pub(super) fn usage(&self, limits: &Limits) -> Usage {
        let live = self.live_files();
        let mut usage = Usage {
            files: i64::try_from(live.len()).unwrap(),
            bytes: live.values().map(|(_, content)| length(content)).sum(),
            history_bytes: 0,
            versions: 0,
            sequence: self.sequence(),
        };
        for (path, versions) in &self.files {
            for (version, of_version) in (1..).zip(versions) {
                if self.keeps(limits, path, version) {
                    usage.versions += 1;
                    usage.history_bytes += of_version.content.as_deref().map_or(0, length);
                }
            }
        }
        usage
    }

    /// Whether a step may be made now.
    fn check(&self, limits: &Limits, step: &Step) -> Result<(), WorkspaceError> {
        let live = self.live(&step.path);
        let holds = match &step.must {
            Must::Nothing => true,
            Must::Exist => live.is_some(),
            Must::NotExist => live.is_none(),
            Must::HaveTag(etag) => live.is_some_and(|(_, version, _)| version.etag.as_ref() == Some(etag)),
        };
        if !holds {
            return Err(WorkspaceError::Conflict { current_version: live.map_or(0, |live| live.0) });
        }
        let Some(content) = &step.content else {
            return if live.is_some() { Ok(()) } else { Err(WorkspaceError::NotFound) };
        };
        within(Limit::FileBytes, limits.file_bytes_max, length(content))?;
        let usage = self.usage(limits);
        if live.is_none() {
            within(Limit::Files, limits.files_max, usage.files + 1)?;
        }
        let bytes = usage.bytes - live.map_or(0, |(_, _, content)| length(content)) + length(content);
        if bytes > usage.bytes {
            within(Limit::WorkspaceBytes, limits.workspace_bytes_max, bytes)?;
        }
        Ok(())
    }

    /// Makes all steps or none, and says what the versions are.
    pub(super) fn make(&mut self, limits: &Limits, steps: &[Step]) -> Result<Vec<i64>, WorkspaceError> {
        let mut after = self.clone();
        let mut versions = Vec::new();
        for step in steps {
            after.check(limits, step)?;
            let version = after.newest_version(&step.path) + 1;
            after.events.push((step.path.clone(), version));
            let made = Version {
                content: step.content.clone(),
                etag: None,
                updated_at: 0,
                sequence: after.sequence(),
                reason: step.reason.clone(),
            };
            after.files.entry(step.path.clone()).or_default().push(made);
            versions.push(version);
        }
        *self = after;
        Ok(versions)
    }

    /// Takes over what only the engine can know of the versions that were just made.
    pub(super) fn learn(&mut self, done: &[FileInfo]) {
        for info in done {
            let versions = self.files.get_mut(info.path.as_str()).unwrap();
            let index = usize::try_from(info.version).unwrap() - 1;
            if let Some(before) = index.checked_sub(1) {
                assert!(versions[before].updated_at <= info.updated_at, "a newer version is older");
            }
            assert!(
                !versions.iter().any(|version| version.etag.as_ref() == Some(&info.etag)),
                "a tag came twice"
            );
            (versions[index].etag, versions[index].updated_at) = (Some(info.etag.clone()), info.updated_at);
        }
    }
}

fn within(limit: Limit, max: i64, provided: i64) -> Result<(), WorkspaceError> {
    if provided <= max { Ok(()) } else { Err(WorkspaceError::TooLarge { limit, max, provided }) }
}

pub(super) fn length(content: &[u8]) -> i64 {
    i64::try_from(content.len()).unwrap()
}
