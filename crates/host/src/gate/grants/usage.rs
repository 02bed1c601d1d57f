//! How many runs passed since a grant was last used, counted in memory between two writes of the store.

use super::store::Grant;
use jiff::Timestamp;
use roost_protocol::{AppId, Digest, Right};
use std::collections::HashMap;

/// What happened since the last write. As many entries as there are grants, at most.
#[derive(Debug, Default)]
pub(super) struct Usage {
    counts: HashMap<(AppId, Digest, Right), Count>,
}

#[derive(Debug, Default)]
struct Count {
    /// Runs without a use, since the last use or the last write.
    runs_unused: u64,
    used_at: Option<Timestamp>,
}

impl Usage {
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// One more run of the grant's app.
    pub(super) fn count(&mut self, grant: &Grant, used: &[Right]) {
        let count = self.counts.entry((grant.app.clone(), grant.digest, grant.right.clone())).or_default();
        if used.iter().any(|right| grant.right.covers(right)) {
            *count = Count { runs_unused: 0, used_at: Some(Timestamp::now()) };
        } else {
            count.runs_unused = count.runs_unused.saturating_add(1);
        }
    }

    /// Adds what was counted to the grant's own numbers.
    pub(super) fn apply(&self, grant: &mut Grant) {
        if self.counts.is_empty() {
            return;
        }
        let key = (grant.app.clone(), grant.digest, grant.right.clone());
        let Some(count) = self.counts.get(&key) else { return };
        match count.used_at {
            Some(used_at) => {
                grant.last_used_at = Some(grant.last_used_at.map_or(used_at, |before| before.max(used_at)));
                grant.runs_unused = count.runs_unused;
            }
            None => grant.runs_unused = grant.runs_unused.saturating_add(count.runs_unused),
        }
    }
}
