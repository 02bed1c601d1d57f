//! How many questions wait for answers: a host that waits for one only may wait on the spot.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Whoever answered within this the last time is worth waiting for on the spot.
const QUICK: Duration = Duration::from_micros(500);

/// How long the thread is kept for an answer: a few answers of a quick agent, and no longer than a thread of the
/// runtime may be kept from other work.
const WAIT_ON_THE_SPOT: Duration = Duration::from_micros(100);

/// Counts the questions that wait for an answer, over all workers and native apps of a host.
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
    /// How long its thread may be kept for the answer of somebody who took so long the last time. Only for the sole
    /// question: with more, the processor is needed by those who answer.
    pub(crate) fn on_the_spot(&self, last_answer_took: Duration) -> Duration {
        if self.others == 0 && last_answer_took < QUICK { WAIT_ON_THE_SPOT } else { Duration::ZERO }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.among.0.fetch_sub(1, Ordering::Relaxed);
    }
}
