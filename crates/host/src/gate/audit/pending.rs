//! Rows that wait for the next batch. Equal ones are one row with a count, so that repeating does not fill the log.

use super::row::Subject;
use jiff::Timestamp;
use std::{collections::HashMap, sync::Arc};

/// Rows in the order in which each was first seen.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: Vec<Waiting>,
    positions: HashMap<Arc<Subject>, usize>,
}

/// A row without its place in the chain.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) subject: Arc<Subject>,
    /// When it was first seen.
    pub(super) time: Timestamp,
    pub(super) count: u64,
}

impl Waiting {
    pub(super) fn once(subject: Subject) -> Self {
        Self { subject: Arc::new(subject), time: Timestamp::now(), count: 1 }
    }
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn add(&mut self, subject: Subject, time: Timestamp, count: u64) {
        if let Some(row) = self.positions.get(&subject).and_then(|position| self.rows.get_mut(*position)) {
            row.count = row.count.saturating_add(count);
            return;
        }
        let subject = Arc::new(subject);
        self.positions.insert(Arc::clone(&subject), self.rows.len());
        self.rows.push(Waiting { subject, time, count });
    }

    pub(super) fn take(&mut self) -> Vec<Waiting> {
        self.positions.clear();
        std::mem::take(&mut self.rows)
    }
}
