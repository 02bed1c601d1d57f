//! What became of an agent's folder when a call ended.

use serde::{Deserialize, Serialize};

/// What a call changed in the agent's folder, and what of it has a history now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderReport {
    /// Files that have a new version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub committed: Vec<CommittedFile>,
    /// Files that were changed on both sides; both are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictingFile>,
    /// What is in the folder only, or was put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedFile>,
    /// How many more there are of all three, where there are too many to name.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Why the folder could not be compared with its history; it is tried again with the next call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A file with a new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedFile {
    /// Its name below the folder.
    pub path: String,
    /// The new version.
    pub version: i64,
    /// True when the file was removed with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// A file that was changed on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictingFile {
    /// Its name, which the history's version has.
    pub path: String,
    /// The name under which the folder's version is kept.
    pub kept_as: String,
}

/// A file without a new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Its name below the folder, with escapes where it is no plain text.
    pub path: String,
    /// Why.
    pub why: String,
}

impl FolderReport {
    /// Most files that are named of each kind: an agent may make thousands.
    pub const NAMED_MAX: usize = 32;

    /// True when there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what came later.
    pub fn add(&mut self, later: Self) {
        let Self { committed, conflicts, skipped, more, problem } = later;
        let dropped = fill(&mut self.committed, committed)
            + fill(&mut self.conflicts, conflicts)
            + fill(&mut self.skipped, skipped);
        self.more += more + u64::try_from(dropped).unwrap_or(u64::MAX);
        self.problem = problem.or(self.problem.take());
    }
}

/// Adds what there is room for; how many there was none for.
fn fill<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) -> usize {
    let mut dropped = 0;
    for item in more {
        if list.len() >= FolderReport::NAMED_MAX {
            dropped += 1;
        } else if !list.contains(&item) {
            list.push(item);
        }
    }
    dropped
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::{FolderReport, SkippedFile};

    #[test]
    fn a_report_names_some_and_counts_the_rest() {
        let skipped = |number: usize| SkippedFile { path: number.to_string(), why: "a link".to_owned() };
        let mut report = FolderReport::default();
        assert!(report.is_empty());
        let many = FolderReport { skipped: (0..100).map(skipped).collect(), ..FolderReport::default() };
        report.add(many);
        assert_eq!((report.skipped.len(), report.more), (32, 68));
        assert_eq!(serde_json::to_value(FolderReport::default()).unwrap(), serde_json::json!({}));
    }
}
