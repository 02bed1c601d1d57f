//! How many questions wait for workers: a host that waits for one only may wait on the spot.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Counts the questions that wait for an answer, over all workers of a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking(Arc<AtomicUsize>);

/// One of those questions, as long as it lives.
pub(crate) struct Asked {
    among: Asking,
    others: usize,
}

impl Asking {
    /// Counts one more, until what it returns is dropped.
    pub(crate) fn enter(&self) -> Asked {
        Asked { others: self.0.fetch_add(1, Ordering::Relaxed), among: self.clone() }
    }
}

impl Asked {
    /// True when no other question waited as this one began.
    pub(crate) fn is_alone(&self) -> bool {
        self.others == 0
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.among.0.fetch_sub(1, Ordering::Relaxed);
    }
}
