//! Turns: most stories run side by side, those that measure time run alone.
//!
//! Between processes, because some test runners start one per test. Tests of other packages do not take part.

use rustix::fs::{FlockOperation, flock};
use std::{fs::File, path::Path};

/// A turn lasts as long as this value.
#[derive(Debug)]
pub(crate) struct Turn {
    _file: File,
}

impl Turn {
    /// Beside others.
    pub(crate) fn shared(folder: &Path) -> Self {
        Self::take(folder, FlockOperation::LockShared)
    }

    /// With nobody beside.
    pub(crate) fn alone(folder: &Path) -> Self {
        Self::take(folder, FlockOperation::LockExclusive)
    }

    fn take(folder: &Path, operation: FlockOperation) -> Self {
        std::fs::create_dir_all(folder).expect("the target folder can be written");
        let file = File::create(folder.join("turns.lock")).expect("the target folder can be written");
        flock(&file, operation).expect("the target folder is on a file system with locks");
        Self { _file: file }
    }
}
