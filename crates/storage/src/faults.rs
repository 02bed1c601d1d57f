//! Failing on purpose: tests let the N-th step of a change fail, for every N.

use crate::error::StorageError;
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// Which step fails next, if any. A step is one statement or one commit.
#[derive(Debug, Clone)]
pub struct Faults(Arc<AtomicI64>);

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(NEVER)))
    }
}

/// So far away that no host takes as many steps.
const NEVER: i64 = i64::MAX;

impl Faults {
    /// Lets the step after this many others fail, once.
    pub fn fail_after(&self, steps: u32) {
        self.0.store(i64::from(steps), Ordering::SeqCst);
    }

    /// True when the fault that was asked for has not come yet; it no longer will.
    #[must_use]
    pub fn take_back(&self) -> bool {
        self.0.swap(NEVER, Ordering::SeqCst) < NEVER / 2
    }

    pub(crate) fn step(&self) -> Result<(), StorageError> {
        // Most hosts never count.
        if self.0.load(Ordering::Relaxed) == NEVER {
            return Ok(());
        }
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.0.store(NEVER, Ordering::SeqCst);
            return Err(StorageError::Unavailable { message: "this step was told to fail".to_owned() });
        }
        Ok(())
    }
}
