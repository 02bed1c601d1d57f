//! The steps of a change, counted, so that a test can let any of them fail or be the last one that is taken.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// No step fails.
const NEVER: u64 = u64::MAX;

/// Which step fails next, if any. Clones count together.
#[derive(Debug, Clone)]
pub struct Steps {
    left: Arc<AtomicU64>,
    /// True when nothing works after the step that fails, as after a power cut.
    is_last: bool,
}

impl Default for Steps {
    fn default() -> Self {
        Self { left: Arc::new(AtomicU64::new(NEVER)), is_last: false }
    }
}

impl Steps {
    /// The step after so many others fails, once.
    #[must_use]
    pub fn failing_after(count: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(count)), is_last: false }
    }

    /// Nothing is done any more after so many steps.
    #[must_use]
    pub fn dying_after(count: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(count)), is_last: true }
    }

    /// True when there were fewer steps than that.
    #[cfg(test)]
    pub(super) fn was_not_reached(&self) -> bool {
        !matches!(self.left.load(Ordering::SeqCst), 0 | NEVER)
    }

    /// Taken before each thing that is done to the disk.
    pub(super) fn next(&self) -> io::Result<()> {
        match self.left.load(Ordering::SeqCst) {
            NEVER => Ok(()),
            0 => {
                if !self.is_last {
                    self.left.store(NEVER, Ordering::SeqCst);
                }
                Err(io::Error::other("this step was told to fail"))
            }
            left => {
                self.left.store(left - 1, Ordering::SeqCst);
                Ok(())
            }
        }
    }
}
